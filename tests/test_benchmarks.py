"""The one command of the benchmarks: sections are joined, replaced one by one, and a failure changes nothing."""

import runpy
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[1] / "benchmarks" / "run.py"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command with scripts that print what `prints` says, in a folder of its own."""

    def run(prints, *parts):
        for name, code in prints.items():
            (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        space = runpy.run_path(str(RUN))
        monkeypatch.setitem(space["measure"].__globals__, "FOLDER", tmp_path)
        monkeypatch.setitem(space["kept"].__globals__, "RESULTS", tmp_path / "results.md")
        monkeypatch.setattr(sys, "argv", ["run.py", *parts])
        space["main"]()
        return (tmp_path / "results.md").read_text(encoding="utf-8")

    return run


ALL = {name: f"print('| {name} |')" for name in ("load", "trace", "decode", "attention", "widgets")}


def test_every_part_has_its_section_in_order(run):
    text = run(ALL)
    places = [text.index(f"| {name} |") for name in ALL]
    assert places == sorted(places) and text.count("\n## ") == len(ALL)


def test_one_part_is_replaced_and_the_others_are_kept(run):
    run(ALL)
    text = run({"decode": "print('| newer |')"}, "decode")
    assert "| newer |" in text and "| decode |" not in text
    assert all(f"| {name} |" in text for name in ALL if name != "decode") and text.count("\n## ") == len(ALL)


def test_a_script_that_fails_changes_nothing(run, tmp_path):
    before = run(ALL)
    with pytest.raises(SystemExit, match="trace.py stopped with code 1; results.md is as it was"):
        run({"trace": "print('| half |'); raise SystemExit(1)"}, "trace")
    assert (tmp_path / "results.md").read_text(encoding="utf-8") == before


def test_an_unknown_part_is_refused(run, capsys):
    with pytest.raises(SystemExit):
        run(ALL, "tset")
    assert "invalid choice: 'tset'" in capsys.readouterr().err
