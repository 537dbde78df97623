"""The KV cache explorer in JupyterLab and on a page without a kernel, against Python's own numbers."""

import pytest

from helpers import trace
from helpers.widgets.cache import CacheExplorer
from helpers.widgets.static import static_html
from tests.browser.grid_panel import GridPanel
from tests.browser.painted import report_painted
from tests.browser.test_attention_explorer import MEASURE
from tests.tiny import tiny

SET_UP = """
from helpers import generate, load_model, trace
from helpers.widgets.cache import CacheExplorer
lm = load_model()
made = generate(lm, "The capital of France is Paris. The capital of Italy is", 12)
seen = trace(lm, [*made.prompt_ids, *made.token_ids[:-1]])
def reads(step, block):
    row = seen[f"block{block}.pattern"].mean(dim=0)[11 + step]
    name = lambda i: seen.tokens[i].replace("␣", " ")
    return f"Block {block}: '{name(11 + step)}' reads most from '{name(int(row.argmax()))}' ({row.max():.3f})."
"""
EXPLORER = "explorer = CacheExplorer(lm, seen, n_prompt=12)\nexplorer"
SECOND = "second = CacheExplorer(lm, seen, n_prompt=12, step=0)\nsecond"


class Panel(GridPanel):
    kind, grid_name = "cache", "Rows of keys and values"

    def count(self, kind):
        return self.grid.locator(f"rect.tj-cache-{kind}").count()

    def reads(self):
        return self.box.locator(".tj-cache-reads").inner_text()


@pytest.fixture(scope="module")
def notebook(open_notebook):
    notebook = open_notebook([SET_UP, EXPLORER, SECOND])
    for cell in range(3):
        notebook.run_cell(cell)
    return notebook


@pytest.fixture
def panel(notebook):
    """The first explorer at step 3, block 12, with the cache."""
    start = [("step", 3), ("block", 12), ("cached", True)]
    notebook.python(f"[explorer.set_trait(*one) for one in {start}]")
    panel = Panel(notebook.page)
    notebook.page.wait_for_function(
        "box => box.querySelector('.tj-cache-says').textContent.startsWith('Step 3')"
        " && box.querySelector('.tj-cache-reads').textContent.startsWith('Block 12')"
        " && box.querySelector('[type=checkbox]').checked",
        arg=panel.box.element_handle(),
    )
    return panel


def assert_place(notebook, step, block, cached=True):
    notebook.settles("[explorer.step, explorer.block, explorer.cached]", [step, block, cached])


def test_first_state_is_python_s(notebook, panel):
    assert panel.reads() == notebook.python("reads(3, 12)")
    assert "1 row computed, 14 read from the cache" in panel.sentence()
    assert [panel.count(kind) for kind in ("now", "read", "later")] == [30, 14 * 30, 8 * 30]
    assert panel.cells("bytes in the cache") == [f"{46_080 * 15:,}", "0"]
    work = notebook.python("[explorer.work(3, cached).multiplications for cached in (True, False)]")
    assert panel.cells("multiplications in this step") == [f"{round(n / 1e6):,} million" for n in work]


def test_keyboard_alone(notebook, panel):
    panel.press("ArrowRight", "ArrowRight", "ArrowDown")
    assert_place(notebook, 5, 13)
    assert panel.reads() == notebook.python("reads(5, 13)")
    assert panel.box.get_by_role("status").inner_text() == f"{panel.sentence()} {panel.reads()}"
    panel.press("Home")
    assert_place(notebook, 0, 13)
    assert panel.count("now") == 12 * 30 and panel.count("read") == 0


def test_without_the_cache_every_row_is_computed(notebook, panel):
    panel.box.get_by_role("checkbox", name="use the cache").uncheck()
    assert_place(notebook, 3, 12, False)
    assert [panel.count(kind) for kind in ("now", "read")] == [15 * 30, 0]
    assert "all 15 rows computed, 14 of them again" in panel.sentence()


def test_buttons_and_clicks(notebook, panel):
    panel.box.get_by_role("button", name="One step on").click()
    assert_place(notebook, 4, 12)
    panel.box.get_by_role("button", name="One step back").click()
    assert_place(notebook, 3, 12)
    panel.grid.locator("rect.tj-cache-later").last.scroll_into_view_if_needed()
    panel.grid.locator("rect.tj-cache-later").last.click()
    assert_place(notebook, 11, 29)


def test_keys_stay_with_the_explorer(notebook, panel):
    before = notebook.count_cells()
    panel.press("d", "d", "a")
    panel.box.get_by_role("slider", name="Step").focus()
    panel.page.keyboard.press("d")
    panel.page.keyboard.press("d")
    assert notebook.count_cells() == before


def test_every_move_is_painted(panel, record_property):
    picture = "box.querySelector('.tj-cache-says').textContent + box.querySelector('.tj-cache-reads').textContent"
    measure = MEASURE.replace('box.querySelector(".tj-att-row").textContent', picture)
    panel.page.evaluate(measure, panel.box.element_handle())
    panel.grid.focus()
    for step in range(30):
        panel.page.keyboard.press(["ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft"][step // 3 % 4])
        panel.page.wait_for_function("count => window.painted.length === count", arg=step + 1)
    report_painted(panel.page, 30, record_property)


def test_screenshots_and_a_stopped_kernel(notebook, panel, screenshot):
    screenshot(panel.box, "cache_light")
    notebook.use_theme("dark")
    screenshot(panel.box, "cache_dark")
    notebook.use_theme("light")
    expected = notebook.python("reads(4, 12)")
    notebook.stop_kernel()
    panel.press("ArrowRight")
    assert panel.reads() == expected


def test_a_page_without_a_kernel(browser):
    lm = tiny("llama")
    seen = trace(lm, "<b>&lt;</b> \u05e9\u05dc\u05d5\u05dd \u6211" + "x" * 40)
    for n_prompt in (1, len(seen.tokens) - 3, len(seen.tokens)):
        page = browser.new_page(viewport={"width": 700, "height": 900})
        problems = []
        page.on("pageerror", lambda error, problems=problems: problems.append(str(error)))
        page.set_content(static_html(CacheExplorer(lm, seen, n_prompt)))
        panel = Panel(page)
        panel.press("ArrowDown", "End")
        assert f"Step {len(seen.tokens) - n_prompt}" in panel.sentence()
        assert panel.grid.locator("b").count() == 0
        assert not problems
        page.close()
