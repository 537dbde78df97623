"""The tile explorer in JupyterLab and on a page without a kernel, against Python's own numbers."""

import pytest

from helpers import trace
from helpers.widgets import FlashExplorer
from helpers.widgets.static import static_html
from tests.browser.grid_panel import GridPanel
from tests.browser.painted import report_painted
from tests.browser.test_attention_explorer import MEASURE
from tests.tiny import tiny

SET_UP = """
from helpers import load_model, trace
from helpers.widgets import FlashExplorer
lm = load_model()
seen = trace(lm, "The capital of France is Paris. The capital of Italy is")
def rows(explorer):  # what stands beside the rows of the tile at hand: maximum, total
    running = explorer.steps()[explorer.step].running
    return [[f"{a:.2f}", f"{b:.2f}"] for a, b in zip(running.maximum[0].tolist(), running.total[0].tolist())]
"""
EXPLORER = "explorer = FlashExplorer(seen, layer=3)\nexplorer"
SECOND = "second = FlashExplorer(seen, layer=10, head=4, decode=True)\nsecond"
START = {"block_q": 4, "block_k": 4, "window": 0, "decode": False, "head": 0, "step": 3}
CELL = "[style*='fill: rgb']"


class Panel(GridPanel):
    kind, grid_name = "flash", "The head's scores"

    def slide(self, name, *keys):
        self.box.get_by_role("slider", name=name, exact=True).focus()
        for key in keys:
            self.page.keyboard.press(key)

    def result(self):
        return self.box.locator(".tj-flash-result").inner_text()

    def rows(self):
        """[maximum, total] beside the rows of the tile at hand."""
        rows = self.box.locator(".tj-flash-at").all()
        return [[row.locator("td").nth(i).inner_text() for i in (0, 2)] for row in rows]

    def painted(self, kind):
        """How many scores are coloured: those "now" in the tile at hand, or the faded ones of earlier tiles."""
        return self.grid.locator(f"rect[style*='{dict(now='rgb(', past=', 0.3)')[kind]}']").count()


@pytest.fixture(scope="module")
def notebook(open_notebook):
    notebook = open_notebook([SET_UP, EXPLORER, SECOND])
    for cell in range(3):
        notebook.run_cell(cell)
    return notebook


@pytest.fixture
def panel(notebook):
    """The first explorer at tile 4 of 9: rows 4 to 7 begin."""
    panel = Panel(notebook.page)
    shown = panel.box.locator(".tj-flash-slider b").first.inner_text()  # "4 / 9"
    notebook.settles("explorer.step", int(shown.split(" / ")[0]) - 1)  # no setting of the last test is on its way
    notebook.python(f"[explorer.set_trait(*one) for one in {list(START.items())}]")
    notebook.page.wait_for_function(
        "box => box.querySelector('.tj-flash-says').textContent.startsWith('Tile 4 of 9')"
        " && box.querySelector('.tj-flash-axes').textContent.includes('head 0')"
        " && box.querySelectorAll('.tj-flash-slider b')[4].textContent === 'none'",
        arg=panel.box.element_handle(),
    )
    return panel


def assert_settings(notebook, **changed):
    names = list(START)
    notebook.settles(f"[getattr(explorer, name) for name in {names}]", list({**START, **changed}.values()))


def test_first_state_is_python_s(notebook, panel):
    assert panel.sentence() == (
        "Tile 4 of 9: rows ' is' to ' The', columns 'The' to ' France': loaded. 4 of 4 rows meet their first scores."
    )
    assert panel.rows() == notebook.python("rows(explorer)")
    assert (panel.painted("now"), panel.painted("past")) == (16, 10)  # 6 of the first 16 scores are hidden
    counts = notebook.python("explorer.counts()")
    assert panel.cells("bytes moved so far") == [f"{counts['moved']:,}", "–"]
    assert panel.cells("scores held now") == ["16", "144"]
    assert panel.cells("tiles skipped so far") == ["2 of 3", "–"]
    assert "2 more to come" in panel.result()


def test_keyboard_alone(notebook, panel):
    panel.press("ArrowRight")
    assert "the mask hides 6 of its 16 scores" in panel.sentence()
    assert_settings(notebook, step=4)
    assert panel.rows() == notebook.python("rows(explorer)")
    found = notebook.python("[f for f in explorer.steps()[4].factor.tolist() if f < 1]")
    assert (f"{len(found)} of 4 rows found a larger score" in panel.sentence()) == bool(found)
    panel.press("ArrowRight")
    assert "skipped" in panel.sentence() and panel.painted("now") == 0
    difference = f"{notebook.python('explorer.difference()'):.1e}".replace("e-0", "e-")
    assert panel.result().endswith(f"Largest difference to the model's own result: {difference}.")
    assert [total for _, total in panel.rows()] == [f"÷ {total}" for _, total in notebook.python("rows(explorer)")]
    assert panel.box.locator(".tj-flash-complete").count() == 8
    panel.press("ArrowDown", "ArrowUp", "Home")
    assert_settings(notebook, step=0)
    panel.press("End")
    assert_settings(notebook, step=8)


def test_every_control(notebook, panel):
    panel.slide("Head", "ArrowRight")
    assert_settings(notebook, head=1)
    assert panel.rows() == notebook.python("rows(explorer)")
    panel.slide("Window", "ArrowRight", "ArrowRight")
    assert_settings(notebook, head=1, window=2)
    assert "its rows see all earlier tokens" not in panel.result()
    panel.press("End")
    assert "its rows see all earlier tokens" in panel.result()
    panel.slide("Columns a tile", "End")
    assert_settings(notebook, head=1, window=2, block_k=12, step=2)
    panel.slide("Rows a tile", "Home")
    assert_settings(notebook, head=1, window=2, block_k=12, block_q=1, step=2)
    assert panel.sentence().startswith("Tile 3 of 12: row ' of', columns 'The' to ' is'")
    panel.slide("Tile", "ArrowRight")
    assert_settings(notebook, head=1, window=2, block_k=12, block_q=1, step=3)
    panel.box.get_by_label("one query against the cache").check()
    assert_settings(notebook, head=1, window=2, block_k=12, block_q=1, step=0, decode=True)
    assert panel.sentence().startswith("Tile 1 of 1: row ' is'") and panel.painted("now") == 2
    assert panel.box.get_by_role("slider", name="Rows a tile").is_disabled()


def test_buttons_and_clicks(notebook, panel):
    panel.box.get_by_role("button", name="One tile on").click()
    assert_settings(notebook, step=4)
    panel.box.get_by_role("button", name="One tile back").click()
    assert_settings(notebook, step=3)
    panel.grid.locator("rect.tj-flash-cell").last.click()
    assert_settings(notebook, step=8)
    panel.grid.locator("rect.tj-flash-cell").first.click()
    assert_settings(notebook, step=0)
    assert panel.box.get_by_role("button", name="One tile back").is_disabled()


def test_python_sets_the_sizes_and_a_step_that_only_they_have(notebook, panel):
    """In one message: whichever of them the page reads first, the other is there."""
    notebook.python("[explorer.set_trait(*one) for one in [('block_q', 12), ('block_k', 1)]]")
    notebook.start_python("with explorer.hold_sync(): explorer.block_q = 1; explorer.step = 143")
    panel.page.wait_for_function(
        "box => box.querySelector('.tj-flash-says').textContent.startsWith('Tile 144 of 144')",
        arg=panel.box.element_handle(),
    )


def test_what_is_said_aloud_is_what_is_written(panel):
    panel.press("ArrowRight")
    spoken = panel.box.get_by_role("status")
    assert spoken.text_content() == f"{panel.sentence()} {panel.result()}"


def test_a_second_explorer_has_its_own_settings(notebook, panel):
    second = Panel(notebook.page, 1)
    assert second.sentence().startswith("Tile 1 of 3: row ' is'")
    assert second.rows() == notebook.python("rows(second)")


def test_keys_stay_with_the_explorer(notebook, panel):
    before = notebook.count_cells()
    panel.press("d", "d", "a")
    panel.slide("Tile", "d", "d")
    assert notebook.count_cells() == before


def test_every_move_is_painted(panel, record_property):
    measure = MEASURE.replace('box.querySelector(".tj-att-row")', "box.querySelector('.tj-flash-says')")
    assert measure != MEASURE
    panel.page.evaluate(measure, panel.box.element_handle())
    panel.grid.focus()
    for step in range(30):
        panel.page.keyboard.press(["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"][step % 4])
        panel.page.wait_for_function("count => window.painted.length === count", arg=step + 1)
    report_painted(panel.page, 30, record_property)


def test_screenshots_and_a_stopped_kernel(notebook, panel, screenshot):
    notebook.page.set_viewport_size({"width": 1300, "height": 1100})
    panel.press("ArrowRight")
    screenshot(panel.box, "flash_light")
    light = panel.grid.locator(CELL).first.get_attribute("style")
    notebook.use_theme("dark")
    notebook.page.wait_for_function(
        "([cell, light]) => cell.getAttribute('style') !== light",
        arg=[panel.grid.locator(CELL).first.element_handle(), light],
    )
    screenshot(panel.box, "flash_dark")
    notebook.use_theme("light")
    notebook.python("explorer.set_trait('step', 7)")
    expected = notebook.python("rows(explorer)")
    notebook.python("explorer.set_trait('step', 4)")
    notebook.stop_kernel()
    panel.press("ArrowDown")
    assert panel.rows() == expected


def test_the_legend_has_the_colours_of_the_cells_from_the_start(open_notebook):
    """On a dark page the scale runs the other way, also when the page is dark before the explorer is there."""
    scales = []
    for theme in ("light", "dark"):
        notebook = open_notebook([SET_UP, EXPLORER], theme=theme)
        notebook.run_all()
        legend = notebook.page.locator(".tj-flash-legend").first
        legend.wait_for()
        scales.append(legend.evaluate("place => place.style.getPropertyValue('--tj-scale')"))
    assert "rgb" in scales[0] and scales[0] != scales[1]


TOP = "box => box.querySelector('.tj-flash-grid').getBoundingClientRect().top - box.getBoundingClientRect().top"


@pytest.mark.parametrize("width", (400, 720, 1000))
@pytest.mark.parametrize("text", ("a", "<b>&lt;</b> \u05e9\u05dc\u05d5\u05dd \u6211" + "x" * 40))
def test_a_page_without_a_kernel_on_which_nothing_jumps(browser, width, text):
    explorer = FlashExplorer(trace(tiny("llama"), text), block_q=7, block_k=8, window=9)
    page = browser.new_page(viewport={"width": width, "height": 900})
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.set_content(static_html(explorer))
    panel = Panel(page)
    panel.grid.locator("svg").wait_for()
    heights = set()
    for step in range(explorer.n_tiles):
        assert panel.sentence().startswith(f"Tile {step + 1} of {explorer.n_tiles}")
        heights.add((panel.box.evaluate(TOP), panel.box.bounding_box()["height"]))
        panel.press("ArrowRight")
    assert len(heights) == 1, heights
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "it must fit a narrow page"
    assert panel.box.locator("b", has_text="<").count() == 0
    assert page.locator("table caption").count() == 0, "the explorer takes the table's place"
    assert not problems
    page.close()
