"""The lens explorer in JupyterLab and on a page without a kernel, against Python's own numbers."""

import time

import pytest

from helpers import trace
from helpers.widgets.lens import LensExplorer
from helpers.widgets.static import static_html
from tests.browser.grid_panel import GridPanel
from tests.browser.painted import report_painted
from tests.tiny import tiny

SET_UP = """
import torch
from helpers import load_model, trace
from helpers.tokens import token_labels
from helpers.weights import final_norm
from helpers.widgets.lens import LensExplorer
lm = load_model()
seen = trace(lm, "The capital of France is Paris. The capital of Italy is")
keys = ["embed"] + [f"block{i}" for i in range(30)]
def likeliest(depth, position):
    probs = (final_norm(lm)(seen[keys[depth]][position]) @ lm.model.lm_head.weight.T).softmax(-1)
    top = probs.topk(10)
    share = lambda p: "<0.1%" if p < 0.0005 else f"{100 * p:.1f}%"
    return [[name, share(p)] for name, p in zip(token_labels(lm.tokenizer, top.indices), top.values)]
def rank(depth, position):
    logits = final_norm(lm)(seen[keys[depth]][position]) @ lm.model.lm_head.weight.T
    return int((logits > logits[seen["logits"][position].argmax()]).sum()) + 1
"""
EXPLORER = "explorer = LensExplorer(lm, seen)\nexplorer"
SECOND = "second = LensExplorer(lm, seen, depth=0, mode='answer')\nsecond"


class Panel(GridPanel):
    kind, grid_name = "lens", "Logit lens"

    def cell(self, depth, column):
        return self.box.locator(f"[data-depth='{depth}'][data-column='{column}']")

    def listed(self):
        """[label, share] of the rows shown."""
        rows = self.box.locator(".tj-lens-row:visible").all()
        return [[r.locator(".tj-lens-label").inner_text(), r.locator(".tj-lens-share").inner_text()] for r in rows]


@pytest.fixture(scope="module")
def notebook(open_notebook):
    notebook = open_notebook([SET_UP, EXPLORER, SECOND])
    for cell in range(3):
        notebook.run_cell(cell)
    return notebook


@pytest.fixture
def panel(notebook):
    """The first explorer after 25 blocks, at the last position, showing guesses."""
    start = [("depth", 25), ("position", 11), ("mode", "guess")]
    notebook.python(f"[explorer.set_trait(*one) for one in {start}]")
    panel = Panel(notebook.page)
    notebook.page.wait_for_function(
        "box => box.querySelector('.tj-lens-says').textContent.startsWith(\"After 25 of 30 blocks, at ' is'\")"
        " && box.querySelector('[value=guess]').checked",
        arg=panel.box.element_handle(),
    )
    return panel


def assert_place(notebook, depth, position, mode="guess"):
    notebook.settles("[explorer.depth, explorer.position, explorer.mode]", [depth, position, mode])


def test_first_state_is_python_s(notebook, panel):
    shown = panel.listed()
    assert shown[:10] == notebook.python("likeliest(25, 11)")
    assert shown[10][0] == "␣Rome"
    assert f"The final answer ' Rome' has rank {notebook.python('rank(25, 11)')}, " in panel.sentence()


def test_keyboard_alone(notebook, panel):
    panel.press("ArrowDown", "ArrowDown", "ArrowLeft", "ArrowLeft")
    assert_place(notebook, 27, 9)
    assert panel.listed()[:10] == notebook.python("likeliest(27, 9)")
    assert panel.box.get_by_role("status").inner_text() == panel.sentence()
    panel.press("Control+End")
    assert_place(notebook, 30, 11)
    assert "It is the final answer." in panel.sentence() and len(panel.listed()) == 10


def test_clicks_and_every_cell(notebook, panel):
    panel.cell(28, 4).click()
    assert_place(notebook, 28, 4)
    guesses = notebook.python("[[likeliest(d, i)[0][0] for i in (0, 5, 11)] for d in (0, 7, 19, 29)]")
    for depth, row in zip((0, 7, 19, 29), guesses, strict=True):
        for column, label in zip((0, 5, 11), row, strict=True):
            assert panel.cell(depth, column).text_content() == label


def test_ranks_instead_of_guesses(notebook, panel):
    panel.box.get_by_label("the rank of the final answer").check()
    assert_place(notebook, 25, 11, "answer")
    for depth in (0, 13, 24, 30):
        assert panel.cell(depth, 11).text_content() == f"{notebook.python(f'rank({depth}, 11)'):,}"


def test_final_guesses_stand_out(notebook, panel):
    bold = panel.box.locator(".tj-lens-final").evaluate_all(
        "cells => cells.map(cell => [Number(cell.dataset.depth), Number(cell.dataset.column)])"
    )
    right = notebook.python("[[d, i] for d in range(31) for i in range(12) if rank(d, i) == 1]")
    assert bold == right


def test_keys_stay_with_the_explorer(notebook, panel):
    before = notebook.count_cells()
    panel.press("d", "d", "a", "ArrowDown")
    assert panel.grid.evaluate("place => place === document.activeElement")
    assert notebook.count_cells() == before


def test_explorers_are_independent(notebook, panel):
    second = Panel(notebook.page, 1)
    second.press("ArrowDown")
    assert notebook.settles("[second.depth, second.mode]", [1, "answer"])
    second.box.get_by_label("the likeliest token there").check()
    assert notebook.settles("second.mode", "guess")
    assert_place(notebook, 25, 11)
    assert panel.box.get_by_label("the likeliest token there").is_checked()


def test_alive_while_the_kernel_is_busy(notebook, panel):
    expected = notebook.python("likeliest(24, 10)")
    notebook.start_python("import time; time.sleep(3); was = explorer.depth")
    panel.press("ArrowUp", "ArrowLeft")
    assert panel.listed()[:10] == expected
    assert notebook.python("was") == 25  # Python had heard nothing while it slept
    assert_place(notebook, 24, 10)


def test_every_move_is_painted(panel, record_property):
    panel.page.evaluate(MEASURE, panel.box.element_handle())
    panel.grid.focus()
    for step in range(30):
        panel.page.keyboard.press(["ArrowUp", "ArrowLeft", "ArrowUp", "ArrowRight"][step % 4])
        panel.page.wait_for_function("count => window.painted.length === count", arg=step + 1)
    report_painted(panel.page, 30, record_property)


MEASURE = """box => {
  const channel = new MessageChannel(), waiting = [];
  const picture = () => box.querySelector(".tj-lens-says").textContent;
  window.painted = [];
  let before = picture();
  channel.port1.onmessage = () => {
    const { at, changed } = waiting.shift();
    window.painted.push([performance.now() - at, changed]);
  };
  box.querySelector(".tj-lens-grid").addEventListener("keydown", (event) => {
    const after = picture();
    waiting.push({ at: event.timeStamp, changed: after !== before });
    before = after;
    requestAnimationFrame(() => channel.port2.postMessage(0));
  });
}"""


def test_screenshots(notebook, panel, screenshot):
    screenshot(panel.box, "lens_light")
    notebook.page.set_viewport_size({"width": 520, "height": 900})
    time.sleep(0.3)
    screenshot(panel.box, "lens_narrow")
    notebook.page.set_viewport_size({"width": 1000, "height": 900})
    notebook.use_theme("dark")
    panel.box.get_by_label("the rank of the final answer").check()
    screenshot(panel.box, "lens_dark")
    white = panel.cell(0, 0).evaluate("cell => getComputedStyle(cell).color")
    notebook.use_theme("light")
    panel.page.wait_for_function(
        "([cell, was]) => getComputedStyle(cell).color !== was", arg=[panel.cell(0, 0).element_handle(), white]
    )


@pytest.mark.parametrize("prompt", ["a", "word " * 20, "<b> שלום 我想 &lt;"])
def test_shortest_long_and_odd_prompts_without_a_kernel(browser, tmp_path, prompt):
    lm = tiny("llama")
    explorer = LensExplorer(lm, trace(lm, prompt))
    path = tmp_path / "page.html"
    page_text = f'<!doctype html><meta charset="utf-8"><body>{static_html(explorer)}</body>'
    path.write_text(page_text, encoding="utf-8")
    page = browser.new_page(viewport={"width": 900, "height": 900})
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(path.as_uri())
    panel = Panel(page)
    panel.press("ArrowUp", "ArrowLeft", "Home", "End", "PageUp")
    assert panel.sentence().startswith("After 0 of 2 blocks")
    assert panel.cell(0, len(explorer.positions) - 1).text_content().strip("\u2068\u2069") == explorer._label(0, -1)
    assert page.locator(".tj-lens b").count() == 0 and not problems
    assert page.evaluate("document.documentElement.scrollWidth") <= 900, "a wide grid scrolls in its own place"
    page.close()
