"""The attention explorer in JupyterLab and on a page without a kernel, against Python's own numbers."""

import json
import time
from base64 import b64encode

import pytest

from helpers.widgets.attention import AttentionExplorer
from helpers.widgets.base import FOLDER
from tests.browser.painted import report_painted
from tests.test_widgets_attention import random_patterns, state_of

SET_UP = """
from helpers import load_model, trace
from helpers.widgets.attention import AttentionExplorer
lm = load_model()
seen = trace(lm, "The capital of France is Paris, and the capital of Italy is")
def says(layer, head, row):
    weight, label = seen[f"block{layer}.pattern"][head, row], lambda i: seen.tokens[i].replace("␣", " ")
    most = f"looks most at '{label(int(weight.argmax()))}' ({weight.max():.3f})."
    return f"Block {layer}, head {head}: '{label(row)}' {most}"
means = lambda pattern: (pattern[1:, 0].mean(), pattern.diagonal(-1).mean(), pattern.diagonal()[1:].mean())
"""
EXPLORER = "explorer = AttentionExplorer(seen, layer=12, head=4)\nexplorer"
SECOND = "second = AttentionExplorer(seen)\nsecond"


class Panel:
    """One explorer as a person has it before them."""

    def __init__(self, page, index=0):
        self.page = page
        self.box = page.locator(".tj-att").nth(index)
        self.overview = self.box.get_by_role("application", name="All heads")
        self.map = self.box.get_by_role("application", name="Attention map")

    def press(self, place, *keys):
        place.focus()
        for key in keys:
            self.page.keyboard.press(key)

    def sentence(self):
        return self.box.locator(".tj-att-row").inner_text()

    def said(self):
        return self.box.get_by_role("status").inner_text()

    def place(self, row, column, n=13):
        """A cell's middle in the map's own pixels, found through the labels of its row and column."""
        labels = self.map.locator(".tj-att-token")
        x, y = labels.nth(n + column).get_attribute("x"), labels.nth(row).get_attribute("y")
        return float(x) - 4, float(y) - 4

    def cell(self, row, column):
        """A cell's middle on the page, scrolled into view."""
        self.map.scroll_into_view_if_needed()
        box, (x, y) = self.map.bounding_box(), self.place(row, column)
        return box["x"] + x, box["y"] + y

    def hover(self, row, column):
        """What the note beside the pointer says over a cell."""
        self.page.mouse.move(*self.cell(row, column))
        return self.map.locator(".tj-att-tip").inner_text()


def looks_most(notebook, layer, head, row):
    """The sentence that Python's numbers make."""
    return notebook.python(f"says({layer}, {head}, {row})")


def weight(notebook, layer, head, row, column):
    """One of Python's weights, with three decimals."""
    return notebook.python(f"f\"{{seen['block{layer}.pattern'][{head}, {row}, {column}]:.3f}}\"")


def assert_place(notebook, layer, head, row):
    """Python hears of [layer, head, row], at the latest when the messages before are answered."""
    end = time.monotonic() + 10
    while (place := notebook.python("[explorer.layer, explorer.head, explorer.row]")) != [layer, head, row]:
        assert time.monotonic() < end, place


@pytest.fixture(scope="module")
def notebook(open_notebook):
    notebook = open_notebook([SET_UP, EXPLORER, SECOND])
    for cell in range(3):
        notebook.run_cell(cell)
    return notebook


@pytest.fixture
def panel(notebook):
    """The first explorer at block 12, head 4, last row."""
    notebook.python("[explorer.set_trait(*one) for one in (('layer', 12), ('head', 4), ('row', 12))]")
    panel = Panel(notebook.page)
    notebook.page.wait_for_function(
        "box => box.querySelector('.tj-att-row').textContent.startsWith(\"Block 12, head 4: ' is'\")",
        arg=panel.box.element_handle(),
    )
    return panel


def test_first_state_is_python_s(notebook, panel):
    assert panel.sentence() == looks_most(notebook, 12, 4, 12)
    assert "Query heads 3 to 5 share KV head 1." in panel.box.inner_text()
    numbers = [text for text in panel.map.locator(".tj-att-number").all_text_contents() if text]
    row = notebook.python("seen['block12.pattern'][4, 12].tolist()")
    assert numbers == [f"{weight:.3f}" for weight in row if weight >= 0.0005]


def test_keyboard_alone(notebook, panel):
    panel.press(panel.overview, "ArrowDown", "ArrowDown", "ArrowLeft")
    assert_place(notebook, 14, 3, 12)
    assert panel.said() == panel.sentence() == looks_most(notebook, 14, 3, 12)
    panel.press(panel.map, "ArrowUp", "ArrowUp", "ArrowUp", "ArrowLeft", "ArrowLeft")
    assert_place(notebook, 14, 3, 9)
    cell = f"' capital' → ' and': {weight(notebook, 14, 3, 9, 7)}. "
    assert panel.said() == cell + looks_most(notebook, 14, 3, 9)
    panel.press(panel.overview, "Control+End", "Home")
    assert_place(notebook, 29, 0, 9)


def test_sliders_and_clicks(notebook, panel):
    panel.box.get_by_role("slider", name="Block").focus()
    panel.page.keyboard.press("ArrowRight")
    assert_place(notebook, 13, 4, 12)
    panel.page.mouse.click(*panel.cell(5, 3))
    assert_place(notebook, 13, 4, 5)
    panel.overview.locator(".tj-att-ring").scroll_into_view_if_needed()
    ring = panel.overview.locator(".tj-att-ring").bounding_box()
    panel.page.mouse.click(ring["x"] + ring["width"] + 8, ring["y"] + ring["height"] + 8)
    assert_place(notebook, 14, 5, 5)
    assert panel.sentence() == looks_most(notebook, 14, 5, 5)


def test_hover_gives_python_s_numbers(notebook, panel):
    for row, column in [(12, 0), (12, 11), (7, 7), (1, 0)]:
        assert panel.hover(row, column).endswith(f": {weight(notebook, 12, 4, row, column)}")
    assert panel.hover(12, 11).startswith("' is' → ' Italy': ")


def test_finds_lead_to_the_heads_that_python_finds(notebook, panel):
    every = notebook.python("[[[m.item() for m in means(h)] for h in seen[f'block{i}.pattern']] for i in range(30)]")
    for kind, name in enumerate(["first token", "previous token", "token itself"]):
        mean, layer, head = max((every[i][j][kind], i, j) for i in range(30) for j in range(9))
        panel.box.get_by_role("button", name=f"{name} {mean:.3f}: block {layer}, head {head}").click()
        assert_place(notebook, layer, head, 12)
        assert f"{name} {mean:.3f}" in panel.box.locator(".tj-att-head").inner_text()


def test_colours_follow_the_weights(notebook, panel):
    """The red part of a cell's colour falls evenly with its weight, on a light page."""
    pattern = notebook.python("seen['block12.pattern'][4].tolist()")
    cells = [(row, column) for row in range(13) for column in range(row + 1)]
    red = panel.map.locator("canvas").evaluate(
        "(canvas, at) => at.map(([x, y]) => canvas.getContext('2d').getImageData(x, y, 1, 1).data[0])",
        [panel.place(*cell) for cell in cells],
    )
    for (row, column), level in zip(cells, red, strict=True):
        assert abs(pattern[row][column] - (242 - level) / (242 - 7)) < 0.08, (row, column, level)


def test_keys_stay_with_the_explorer(notebook, panel):
    before = notebook.count_cells()
    for place in (panel.overview, panel.map):
        panel.press(place, "d", "d", "a", "ArrowDown")
        assert place.evaluate("place => place === document.activeElement")
    assert notebook.count_cells() == before


def test_explorers_are_independent(notebook, panel):
    second = Panel(notebook.page, 1)
    second.press(second.overview, "ArrowRight")
    assert second.sentence() == looks_most(notebook, 0, 1, 12)
    assert_place(notebook, 12, 4, 12)
    assert panel.sentence() == looks_most(notebook, 12, 4, 12)


def test_every_move_is_painted(panel, record_property):
    panel.page.evaluate(MEASURE, panel.box.element_handle())
    panel.overview.focus()
    for step in range(60):
        panel.page.keyboard.press(["ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft"][step // 4 % 4])
        panel.page.wait_for_function("count => window.painted.length === count", arg=step + 1)
    report_painted(panel.page, 60, record_property)


MEASURE = """box => {
  const channel = new MessageChannel(), waiting = [];
  const picture = () => box.querySelector(".tj-att-row").textContent;
  window.painted = [];
  let before = picture();
  channel.port1.onmessage = () => {
    const { at, changed } = waiting.shift();
    window.painted.push([performance.now() - at, changed]);
  };
  document.addEventListener("keydown", (event) => requestAnimationFrame(() => {
    waiting.push({ at: event.timeStamp, changed: picture() !== before });
    before = picture();
    channel.port2.postMessage(0);
  }), true);
}"""


def test_screenshots(notebook, panel, screenshot):
    notebook.page.set_viewport_size({"width": 1300, "height": 1100})
    screenshot(panel.box, "attention_light")
    light = panel.map.locator("canvas").evaluate("canvas => canvas.toDataURL()")
    notebook.page.evaluate(DARK)
    notebook.page.wait_for_function(
        "([canvas, light]) => canvas.toDataURL() !== light",
        arg=[panel.map.locator("canvas").element_handle(), light],
    )
    screenshot(panel.box, "attention_dark")
    notebook.page.set_viewport_size({"width": 1000, "height": 1100})
    screenshot(panel.box, "attention_narrow")


DARK = "window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })"


def test_alive_when_the_kernel_is_gone(notebook, panel):
    expected = looks_most(notebook, 11, 5, 11)
    notebook.stop_kernel()
    panel.press(panel.overview, "ArrowUp", "ArrowRight")
    panel.press(panel.map, "ArrowUp")
    assert panel.sentence() == expected


def static_page(explorer):
    """The explorer on a page of its own: its module, the stand-in for a model, and its state."""
    modules = [explorer._esm, (FOLDER / "static_model.js").read_text(encoding="utf-8")]
    widget, model = (b64encode(source.encode()).decode("ascii") for source in modules)
    state = json.dumps(state_of(explorer)).replace("<", "\\u003c")
    return f"""<!doctype html><meta charset="utf-8"><style>{explorer._css}</style><main></main>
<script type="module">
const [widget, {{ StaticModel }}] = await Promise.all([
  import("data:text/javascript;base64,{widget}"), import("data:text/javascript;base64,{model}")]);
widget.default.render({{ model: new StaticModel({state}), el: document.querySelector("main") }});
</script>"""


def test_a_page_without_a_kernel(browser, screenshot):
    tokens = [
        "<b>",
        "<img src=x onerror=boom()>",
        "&lt;",
        "שלום",
        "مرحبا",
        "我",
        "e5 a4",
        "␣internationalization",
        "↵",
    ]
    seen = random_patterns(tokens, n_layers=18, n_heads=4, n_kv_heads=1)
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.set_content(static_page(AttentionExplorer(seen)))
    panel = Panel(page)
    panel.press(panel.overview, "ArrowDown")
    panel.press(panel.map, *["ArrowUp"] * 4, "Home")
    expected = f"\u2068'مرحبا'\u2069 → '<b>': {seen['block1.pattern'][0, 4, 0]:.3f}. Block 1, head 0"
    assert panel.said().startswith(expected)
    assert panel.map.locator("b, img").count() == 0 and panel.map.get_by_text("<b>").count() > 0
    screenshot(panel.box, "attention_static")
    assert not problems
    page.close()


@pytest.mark.parametrize("tokens", [["one"], [f"␣{i}" for i in range(100)]])
def test_shortest_and_long_prompts(browser, tokens):
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.set_content(static_page(AttentionExplorer(random_patterns(tokens))))
    panel = Panel(page)
    panel.press(panel.overview, "ArrowDown", "ArrowRight")
    panel.press(panel.map, "ArrowUp", "ArrowLeft", "End")
    assert "Block 1, head 1" in panel.sentence()
    assert ("on tokens not shown" in panel.sentence()) == (len(tokens) > 48)
    assert not problems
    page.close()
