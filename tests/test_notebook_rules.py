"""The rules for notebooks find what they are there for: each fault, planted in a good notebook, is named."""

import json
from itertools import count

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from helpers.notebooks_source import METADATA
from tests import notebook_output_rules, notebook_rules
from tests.notebook_rules import ANATOMY, STEPS
from tests.solved import not_right, solution, solved

SOLUTION = "<details><summary>Solution</summary>\n\n```python\nanswer = 4\n```\n</details>"
FIGURE = {"data": [{"type": "bar", "y": [1.0]}], "layout": {}}


def picture_output():
    data = {"application/vnd.plotly.v1+json": FIGURE, "image/png": "iVBORw0KGgo=", "text/html": "<b>0.77</b>"}
    return new_output("display_data", nbformat.from_dict(data), metadata={"image/png": {"alt": "One bar."}})


def good_notebook():
    """A stage's notebook that follows every rule: 0 Colab, 1 title, 2 prompt, from 3 on the sections."""
    sections = [f"## {title}\n\nText." for title in ANATOMY if title != STEPS]
    sections[4:4] = ["## 1 · First?\n\n### Part\n\n![A bar](#here)", "## 2 · Second?"]
    fill = [new_code_cell(f"print({i})") for i in range(14)]
    cells = [new_code_cell("colab"), new_markdown_cell("# 3 · Why?"), new_code_cell('prompt = "The capital"')]
    cells += [*map(new_markdown_cell, sections), *fill]
    cells += [new_code_cell("answer = ...", metadata={"tags": ["exercise"]})]
    said = new_output("stream", name="stdout", text="Not done yet: answer.\n")
    cells += [
        new_code_cell("check(answer)", metadata={"tags": ["check"]}, outputs=[said]),
        new_markdown_cell(SOLUTION),
    ]
    notebook, numbers = new_notebook(cells=cells, metadata=nbformat.from_dict(METADATA)), count(1)
    for cell in notebook_rules.codes(notebook):
        cell.execution_count = next(numbers)
    fill[0].outputs = [picture_output()]
    return notebook


def faults(notebook, folder):
    path = folder / "03_good.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    found = notebook_output_rules.metadata(notebook, path) + notebook_output_rules.outputs(notebook)
    found += notebook_output_rules.figures(notebook) + notebook_output_rules.links(notebook, folder)
    found += notebook_rules.anatomy(notebook, 3) + notebook_rules.code(notebook) + notebook_rules.text(notebook)
    return found + notebook_rules.practice(notebook)


def test_a_good_notebook_has_no_fault(tmp_path):
    assert faults(good_notebook(), tmp_path) == []


def set_source(i, source):
    return lambda nb: setattr(nb.cells[i], "source", source)


def set_outputs(*outputs):
    return lambda nb: setattr(nb.cells[2], "outputs", list(outputs))


def figure(**changes):
    """A fault in the one plotly figure: data of its bundle, or metadata, replaced."""

    def plant(nb):
        (output,) = [out for cell in notebook_rules.codes(nb) for out in cell.outputs if "data" in out]
        for key, value in changes.items():
            output[key] = nbformat.from_dict(value)

    return plant


def printed(text, name="stdout"):
    return set_outputs(new_output("stream", name=name, text=text))


PLOTLY = "application/vnd.plotly.v1+json"
PLANTED = {
    "widget state as Colab writes it": (lambda nb: nb.metadata.update(widgets={"mime": {}}), "widgets"),
    "python version": (lambda nb: nb.metadata.language_info.update(version="3.11.7"), "3.11.7"),
    "not run": (lambda nb: nb.cells[2].update(execution_count=None), "top to bottom"),
    "same id": (lambda nb: nb.cells[2].update(id=nb.cells[0].id), "one id"),
    "no number in the title": (set_source(1, "# Why?"), "title"),
    "no question": (set_source(1, "# 3 · Attention"), "title"),
    "another stage's number": (set_source(1, "# 4 · Why?"), "title"),
    "second title": (set_source(-1, "# 3 · Why?\n\n" + SOLUTION), "title"),
    "section left out": (lambda nb: nb.cells.pop(3), "headings"),
    "steps not counted": (set_source(8, "## 3 · Second?"), "headings"),
    "level skipped": (set_source(8, "## 2 · Second?\n\n#### Deep"), "level"),
    "too few cells": (lambda nb: nb.cells.__delitem__(slice(20, 23)), "14 code cells"),
    "too many cells": (lambda nb: nb.cells.extend(new_code_cell("1") for _ in range(14)), "code cells"),
    "long cell": (set_source(2, 'prompt = "a"' + "\n1" * 15), "long cell"),
    "no prompt": (set_source(2, "text = 1"), "prompt"),
    "prompt over two lines": (set_source(2, 'prompt = (\n"a")'), "prompt"),
    "timing by hand": (set_source(0, "time.time()"), "time.time("),
    "warnings hidden": (set_source(0, "warnings.filterwarnings('ignore')"), "filterwarnings"),
    "nbval comment": (set_source(0, "1  # NBVAL_SKIP"), "NBVAL"),
    "banned word": (set_source(-1, "Simply look.\n" + SOLUTION), "says Simply"),
    "empty prose": (set_source(-1, " "), "empty"),
    "image without words": (set_source(8, "## 2 · Second?\n\n![](#here)"), "alternative"),
    "img without words": (set_source(8, '## 2 · Second?\n\n<img src="#a">'), "alternative"),
    "mark left": (set_source(8, "## 2 · Second?\n\n{{nb:5}}"), "{{nb:5}}"),
    "dead link": (set_source(8, "## 2 · Second?\n\n[next](04_ffn.ipynb)"), "04_ffn.ipynb"),
    "warning": (printed("careful", "stderr"), "stderr"),
    "address": (printed("<Explorer at 0x7f12ab34cd56>"), "0x7f12ab34cd56"),
    "package path": (printed("x/site-packages/torch/nn.py"), "site-packages"),
    "home path": (printed("/home/ada/model.gguf"), "/home/"),
    "Windows path": (printed(r"C:\Users\ada\model.gguf"), r"C:\Users"),
    "error": (set_outputs(new_output("error", ename="E", evalue="", traceback=[])), "error"),
    "widget view": (figure(data={"application/vnd.jupyter.widget-view+json": {}}), "widget view"),
    "no picture": (figure(data={PLOTLY: FIGURE}), "no picture"),
    "no words for the picture": (figure(metadata={}), "alternative"),
    "new trace type": (figure(data={PLOTLY: {"data": [{"type": "icicle"}]}, "image/png": ""}), "icicle"),
    "binary array": (figure(data={PLOTLY: {"data": [{"y": {"bdata": "AAA"}}]}, "image/png": ""}), "binary"),
    "dead link in a table": (figure(data={"text/html": "<a href='9.ipynb'>9</a>"}), "9.ipynb"),
    "no solution": (set_source(-1, "Think."), "no solution"),
    "already solved": (lambda nb: nb.cells[-2].outputs[0].update(text="Right: answer.\n"), "passed"),
    "no check": (lambda nb: nb.cells.pop(-2), "check"),
}


@pytest.mark.parametrize("what", PLANTED)
def test_planted_fault_is_named(what, tmp_path):
    plant, named = PLANTED[what]
    notebook = good_notebook()
    plant(notebook)
    assert named in "; ".join(faults(notebook, tmp_path))


def test_size_is_limited(tmp_path):
    notebook = good_notebook()
    printed("word " * 200_001)(notebook)
    assert "bytes" in "; ".join(faults(notebook, tmp_path))


@pytest.mark.parametrize("text", ["'A:\\nParis\\n'", "https://example.org/home/", "0x1f", "a/b and 3 / 4", "w:1"])
def test_harmless_output_passes(text, tmp_path):
    notebook = good_notebook()
    printed(text)(notebook)
    assert faults(notebook, tmp_path) == []


def test_a_changed_word_is_out_of_step():
    notebook, source = good_notebook(), good_notebook()
    for ours, theirs in zip(notebook.cells, source.cells, strict=True):
        ours.id = theirs.id
    assert notebook_output_rules.in_step(notebook, source) == []
    source.cells[3].source += " More."
    assert "after 3 cells" in notebook_output_rules.in_step(notebook, source)[0]
    assert "after 2 cells" in notebook_output_rules.in_step(new_notebook(cells=source.cells[:2]), source)[0]


def test_solution_is_the_last_block_before_the_next_exercise():
    notebook = good_notebook()
    hint = "<details>\n```python\nanswer = 5\n```\n</details>\n```python\nanswer = 6\n```\n"
    notebook.cells[-1].source = hint + SOLUTION + "\n```python\nanswer = 7\n```"
    position = len(notebook.cells) - 3
    assert solution(notebook, position) == "answer = 4"
    assert [cell.source for cell in solved(notebook).cells[position:]] == ["answer = 4", "check(answer)"]
    assert notebook.cells[position].source == "answer = ..."


def test_only_a_check_that_says_right_counts():
    notebook = good_notebook()
    assert not_right(notebook) == ["Not done yet: answer."]
    notebook.cells[-2].outputs[0].text = "Right: answer.\nRight: other.\n"
    assert not_right(notebook) == []
    notebook.cells[-2].outputs = []
    assert not_right(notebook) == ["check(answer)"]
