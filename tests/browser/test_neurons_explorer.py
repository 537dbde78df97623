"""The neuron explorer in JupyterLab and on a page without a kernel, against Python's own numbers."""

import statistics

import pytest

from helpers import trace
from helpers.widgets.neurons import NeuronExplorer
from helpers.widgets.static import static_html
from tests.tiny import tiny

SET_UP = """
from helpers import load_model, trace
from helpers.widgets.neurons import NeuronExplorer
lm = load_model()
seen = trace(lm, "The capital of France is Paris. The capital of Italy is")
"""
EXPLORER = "explorer = NeuronExplorer(lm, seen)\nexplorer"


class Panel:
    """One explorer as a person has it before them."""

    def __init__(self, page):
        self.page = page
        self.box = page.locator(".tj-neu").first
        self.block = self.box.get_by_role("slider", name="Block")
        self.tokens = self.box.get_by_role("listbox", name="Token")
        self.neurons = self.box.get_by_role("listbox", name="Neurons")

    def press(self, place, *keys):
        place.focus()
        for key in keys:
            self.page.keyboard.press(key)

    def rows(self):
        """[[label, number], …] of the list, minus signs as Python writes them."""
        script = "rows => rows.map(row => [row.firstChild.textContent, row.lastChild.textContent])"
        rows = self.neurons.get_by_role("option").evaluate_all(script)
        return [[label, number.replace("−", "-")] for label, number in rows]

    def said(self):
        return self.box.get_by_role("status").inner_text().replace("−", "-")


def assert_agrees(notebook, panel):
    """The list on the page is Python's under the present traits, and the sentence names the chosen neuron."""
    listed = notebook.python("explorer.listed")
    if notebook.python("explorer.order") == "push":
        assert panel.rows() == [[f"neuron {j}", f"{push:+.2f}"] for j, _, push in listed]
    else:
        assert [label for label, _ in panel.rows()] == [f"neuron {j}" for j, _, _ in listed]
    neuron, act, push = listed[notebook.python("explorer.rank")]
    said = panel.box.locator(".tj-neu-said").inner_text().replace("−", "-")
    assert said.startswith(f"Neuron {neuron} has activation {act:.2f} here") and said.endswith(f"by {push:+.2f}.")


@pytest.fixture(scope="module")
def notebook(open_notebook):
    notebook = open_notebook([SET_UP, EXPLORER])
    for cell in range(2):
        notebook.run_cell(cell)
    return notebook


@pytest.fixture
def panel(notebook):
    """The explorer at block 24, last token, by push, first neuron."""
    for name, value in (("layer", 24), ("token", 11), ("order", "push"), ("rank", 0)):
        notebook.python(f"explorer.set_trait({name!r}, {value!r})")
    panel = Panel(notebook.page)
    panel.box.locator(".tj-neu-place", has_text="Block 24 at ␣is").wait_for()
    panel.box.get_by_role("option", name="neuron 1005", selected=True).wait_for()
    return panel


def test_first_state_is_python_s(notebook, panel):
    assert_agrees(notebook, panel)
    assert "where the model predicts ␣Rome" in panel.box.inner_text()
    assert "␣capitals" in panel.box.locator(".tj-neu-up").inner_text()
    everywhere = notebook.python("seen['block24.act'][:, 1005].tolist()")
    shown = panel.box.locator(".tj-neu-panes > div:last-child .tj-numbers").all_inner_texts()
    assert [text.replace("−", "-") for text in shown] == [f"{act:.2f}" for act in everywhere]


def test_keyboard_alone(notebook, panel):
    panel.press(panel.block, "ArrowLeft")
    assert notebook.settles("[explorer.layer, explorer.token, explorer.rank]", [23, 11, 0])
    assert "neuron 325" in panel.rows()[0][0]
    panel.press(panel.tokens.get_by_role("option", selected=True), "ArrowLeft", "Home", "ArrowRight")
    assert notebook.settles("explorer.token", 1)
    panel.press(panel.neurons.get_by_role("option", selected=True), "ArrowDown", "ArrowDown")
    assert notebook.settles("explorer.rank", 2)
    assert_agrees(notebook, panel)
    assert (
        panel.said().startswith("Block 23 at ␣capital")
        and f"Neuron {notebook.python('explorer.neuron')}" in panel.said()
    )


def test_order_and_clicks(notebook, panel):
    panel.box.get_by_role("button", name="length of what it writes").click()
    assert notebook.settles("explorer.order", "strength")
    panel.neurons.get_by_role("option").nth(3).click()
    panel.tokens.get_by_role("option", name="␣Italy").click()
    assert notebook.settles("[explorer.token, explorer.rank]", [10, 0])
    assert_agrees(notebook, panel)


def test_python_moves_the_view(notebook, panel):
    notebook.python(
        "[explorer.set_trait('layer', 11), explorer.set_trait('token', 0), explorer.set_trait('order', 'strength')]"
    )
    panel.box.locator(".tj-neu-place", has_text="Block 11 at The").wait_for()
    assert_agrees(notebook, panel)


def test_keys_stay_with_the_explorer(notebook, panel):
    before = notebook.count_cells()
    panel.press(panel.neurons.get_by_role("option", selected=True), *"ddab")
    assert notebook.count_cells() == before


def test_every_move_is_painted(panel, record_property):
    moves = panel.block.evaluate(MEASURE)
    panel.block.dispatch_event("change")
    times = sorted(ms for ms, _ in moves)
    median, p95 = statistics.median(times), times[28]
    print(f"30 moves: median {median:.1f} ms, 95th percentile {p95:.1f} ms")
    record_property("painted_ms_median", median)
    record_property("painted_ms_p95", p95)
    assert [changed for _, changed in moves] == [True] * 30


MEASURE = """async (slider) => {
  const box = slider.closest(".tj-neu"), channel = new MessageChannel(), moves = [];
  for (let i = 0; i < 30; i++) {
    const before = box.textContent, start = performance.now();
    slider.value = (7 * i) % 30;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    const changed = box.textContent !== before;
    await new Promise((done) => {
      channel.port1.onmessage = done;
      requestAnimationFrame(() => channel.port2.postMessage(0));  // arrives when the frame is painted
    });
    moves.push([performance.now() - start, changed]);
  }
  return moves;
}"""


def test_screenshots(notebook, panel, screenshot):
    screenshot(panel.box, "neurons_light")
    notebook.use_theme("dark")
    screenshot(panel.box, "neurons_dark")
    notebook.page.set_viewport_size({"width": 640, "height": 1100})
    screenshot(panel.box, "neurons_narrow")
    notebook.page.set_viewport_size({"width": 1000, "height": 900})


def test_alive_when_the_kernel_is_gone(notebook, panel):
    notebook.stop_kernel()
    panel.press(panel.block, "ArrowLeft")
    panel.box.locator(".tj-neu-place", has_text="Block 23 at ␣is").wait_for()
    assert "␣Italians" in panel.box.locator(".tj-neu-up").inner_text()


@pytest.mark.parametrize("prompt", ["a", "<img src=x onerror=boom()> مرحبا 我想", "word " * 20])
def test_a_page_without_a_kernel(browser, prompt):
    lm = tiny("llama")
    page, problems = browser.new_page(), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.set_content(static_html(NeuronExplorer(lm, trace(lm, prompt))))
    panel = Panel(page)
    panel.block.wait_for()
    panel.press(panel.block, "Home", "ArrowRight")
    panel.press(panel.tokens.get_by_role("option", selected=True), "Home")
    assert panel.box.locator(".tj-neu-place").inner_text().startswith("Block 1 at")
    assert panel.box.locator("img").count() == 0 and not problems
    page.close()
