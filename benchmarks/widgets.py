"""Every explorer in headless Chromium, on the real model: milliseconds from a move to its painted frame.

    python benchmarks/widgets.py --out widgets.md

The moves are those of tests/browser, 30 to 60 an explorer, one by one: this runs these tests and puts what they
measured into one table. Exit status 1 where one of them fails or an explorer has none.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from helpers.bench import say, write

ROOT = Path(__file__).parents[1]
WIDGETS = ROOT / "helpers" / "widgets"
HEAD = """\
From the input's own time stamp to the end of the frame that shows the new state; headless Chromium, software
rendering; 30 to 60 moves each, every one awaited; SmolLM2-135M's own tensors.

| explorer | median ms | 95th percentile ms |
|---|---|---|"""


def explorers(folder=WIDGETS):
    """Names of the modules that have a script of their own beside them."""
    alike = (path.stem for path in folder.glob("*.py") if path.with_suffix(".js").exists())
    return sorted(name for name in alike if not name.endswith("_words"))


def measured(report):
    """{explorer, or "explorer, kind of move": [median, 95th percentile]} of pytest's report."""
    found = {}
    for test in ElementTree.parse(report).iter("testcase"):
        name = test.get("classname").rpartition("test_")[2].removesuffix("_explorer")
        for one in test.iter("property"):
            kind = one.get("name").removeprefix("painted_ms_").partition("_")[2]  # painted_ms_median_typing
            found.setdefault(f"{name}, {kind}" if kind else name, []).append(float(one.get("value")))
    return found


def run_tests(report):
    """Run the tests that time painted moves; pytest's exit status."""
    kept = ["-o", "junit_family=xunit1", f"--junitxml={report}"]  # the newer family has no recorded values
    command = [sys.executable, "-m", "pytest", "-q", "tests/browser", "-k", "painted", *kept]
    return subprocess.run(command, cwd=ROOT, stdout=sys.stderr).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        failed = run_tests(report)
        found = measured(report)
    lines = [say(HEAD)]
    lines += [say(f"| {name} | {median:.0f} | {p95:.0f} |") for name, (median, p95) in sorted(found.items())]
    if missing := set(explorers()) - {name.partition(",")[0] for name in found}:
        lines.append(say(f"\nNot measured: {', '.join(sorted(missing))}."))
    if asked.out:
        write(asked.out, "\n".join(lines) + "\n")
    return int(bool(failed or missing))


if __name__ == "__main__":
    sys.exit(main())
