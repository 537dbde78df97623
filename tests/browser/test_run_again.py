"""A cell that is run again: the new explorer is alive, the old one's view and model are gone, without an error."""

SET_UP = """
from ipywidgets.widgets.widget import _instances
from helpers.widgets import AttentionExplorer
from helpers.widgets.base import Explorer
from tests.test_widgets_attention import random_patterns

seen = random_patterns([f"t{i}" for i in range(6)], n_layers=4)

def alive():
    return [key for key, one in _instances.items() if isinstance(one, Explorer)]
"""
SHOW = "explorer = AttentionExplorer(seen)\nexplorer"
COUNT = "document.querySelectorAll('.tj-att').length"


def run_again(notebook, cell):
    """Run a cell once more and wait until the view it had is off the page and another one on it."""
    views = notebook.page.evaluate(COUNT)
    before = notebook.page.locator(".jp-CodeCell").nth(cell).locator(".tj-att").element_handle()
    notebook.run_cell(cell)
    notebook.page.wait_for_function("(old) => !old.isConnected", arg=before)
    notebook.page.wait_for_function(f"(views) => {COUNT} === views", arg=views)
    return before


def test_the_fresh_explorer_lives_and_the_old_one_is_gone(open_notebook):
    notebook = open_notebook([SET_UP, SHOW, "explorer"])
    said = []
    notebook.page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    notebook.run_all()
    first = notebook.python("alive()")
    assert len(first) == 1
    for _ in range(3):
        run_again(notebook, 1)
    assert len(notebook.python("alive()")) == 2  # the third cell still shows the first one
    shown_later = notebook.page.locator(".tj-att").nth(1)
    shown_later.get_by_role("slider", name="Block").focus()
    notebook.page.keyboard.press("ArrowRight")
    assert shown_later.locator(".tj-att-row").inner_text().startswith("Block 1, head 0")
    run_again(notebook, 2)
    assert notebook.page.evaluate(COUNT) == 2
    notebook.settles("len(alive())", 1)
    assert notebook.python("alive()") != first
    fresh = notebook.page.locator(".tj-att").first
    fresh.get_by_role("slider", name="Block").focus()
    notebook.page.keyboard.press("ArrowRight")
    notebook.settles("explorer.layer", 1)
    assert said == []
