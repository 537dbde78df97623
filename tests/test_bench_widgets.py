"""The explorers' benchmark reads what the browser tests recorded, and misses no explorer."""

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "benchmarks" / "widgets.py"
CASE = '<testcase classname="tests.browser.test_{}_explorer" name="painted"><properties>{}</properties></testcase>'


def report(**tests):
    """A report of pytest's with these recorded values: {explorer: {name: value}}."""
    properties = {
        explorer: "".join(f'<property name="painted_ms_{name}" value="{value}"/>' for name, value in values.items())
        for explorer, values in tests.items()
    }
    cases = "".join(CASE.format(explorer, text) for explorer, text in properties.items())
    return f"<testsuites><testsuite>{cases}</testsuite></testsuites>"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command on a report; returns (exit status, the table)."""
    spec = importlib.util.spec_from_file_location("widgets_benchmark", PATH)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    def run(text, failed=0, explorers=("cache", "tokenize")):
        monkeypatch.setattr(script, "run_tests", lambda path: path.write_text(text, encoding="utf-8") and failed)
        monkeypatch.setattr(script, "explorers", lambda: list(explorers))
        monkeypatch.setattr(sys, "argv", ["widgets.py", "--out", str(tmp_path / "widgets.md")])
        return script.main(), (tmp_path / "widgets.md").read_text(encoding="utf-8")

    run.explorers = script.explorers
    return run


BOTH = report(
    cache={"median": 12.4, "p95": 30.6},
    tokenize={"median_typing": 20, "p95_typing": 41, "median_steps": 9, "p95_steps": 10},
)


def test_what_was_recorded_stands_in_the_table(run):
    status, table = run(BOTH)
    assert status == 0
    assert "| cache | 12 | 31 |\n| tokenize, steps | 9 | 10 |\n| tokenize, typing | 20 | 41 |\n" in table


def test_a_failed_test_and_an_explorer_without_times_fail_the_run(run):
    assert run(BOTH, failed=1)[0] == 1
    status, table = run(BOTH, explorers=("cache", "lens", "tokenize"))
    assert status == 1 and table.endswith("\nNot measured: lens.\n")


def test_every_explorer_is_known(run):
    tests = {path.stem[5:-9] for path in (PATH.parents[1] / "tests" / "browser").glob("test_*_explorer.py")}
    assert set(run.explorers()) == tests
