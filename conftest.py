"""What holds for every test and notebook: no network, and in CI no skipped test."""

import os
import runpy
from pathlib import Path

import pytest

from tests.close_figures import accept_rounding

OFFLINE = Path(__file__).parent / "tests" / "offline"
IN_CI = os.environ.get("CI", "").lower() in ("1", "true")

os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(OFFLINE), os.environ.get("PYTHONPATH")]))
runpy.run_path(str(OFFLINE / "sitecustomize.py"))  # binds this process; the variable binds those it starts


accept_rounding()


def fail_if_skipped(report):
    """In CI everything a test may need is there: a test that skips itself there would never run anywhere."""
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where nothing may be missing: {report.longrepr[-1]}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return fail_if_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return fail_if_skipped((yield))


def pytest_collection_modifyitems(items):
    """Browser tests last: Playwright's event loop then runs to the end, and asyncio.run refuses beside it."""
    items.sort(key=lambda item: Path(__file__).parent / "tests" / "browser" in item.path.parents)
