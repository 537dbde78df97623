"""The generation explorer in JupyterLab and on a page without a kernel."""

import statistics

import pytest

from helpers.widgets.generation import GenerationExplorer
from helpers.widgets.static import static_html
from tests.tiny import tiny

SET_UP = """
from helpers import load_model
from helpers.widgets.generation import GenerationExplorer
lm = load_model()
"""
EXPLORER = """
tree = GenerationExplorer(lm, "The capital of France is Paris. The capital of Italy is", temperature=0.7, top_p=0.9)
tree
"""
PAGE = '<!doctype html><html lang="en"><meta charset="utf-8"><title>An explorer</title><body>{}</body></html>'


class Panel:
    def __init__(self, page):
        self.page, self.box = page, page.locator(".tj-gen").first

    def press(self, name):
        self.box.get_by_role("button", name=name, exact=True).click()

    def sentence(self):
        return self.box.locator(".tj-gen-says").inner_text()

    def options(self):
        return self.box.get_by_role("option")

    def text(self):
        return self.box.locator(".tj-gen-chip").all_inner_texts()

    def branches(self):
        lines = self.box.locator(".tj-gen-branch").all()
        return [line.locator(".tj-gen-cell").count() for line in lines]


@pytest.fixture(scope="module")
def notebook(open_notebook):
    notebook = open_notebook([SET_UP, EXPLORER])
    for cell in range(2):
        notebook.run_cell(cell)
    return notebook


@pytest.fixture
def panel(notebook):
    panel = Panel(notebook.page)
    if panel.box.get_by_role("button", name="To the prompt").is_enabled():
        panel.press("To the prompt")
    notebook.settles("tree.path", [])
    return panel


def test_walks_along_what_is_computed(notebook, panel):
    assert panel.sentence().startswith("Nothing is written yet. Likeliest now: ␣Rome, ")
    for _ in range(3):
        panel.press("Take the likeliest")
    first = notebook.python("tree.branches[0]")
    assert notebook.settles("tree.path", first[:3])
    assert panel.text() == ["␣Rome", ".", "␣The"]
    shares = notebook.python("[f'{100 * p:.1f}%' for _, p, _ in tree.alternatives[:1]]")
    assert panel.options().first.locator(".tj-numbers").first.inner_text() == shares[0]


def test_a_forced_token_is_computed_by_the_kernel_and_opens_a_branch(notebook, panel):
    before = len(panel.branches())
    panel.options().nth(3).click()
    label = panel.text()[0]
    notebook.page.wait_for_function(
        "box => box.querySelectorAll('[role=option]').length", arg=panel.box.element_handle()
    )
    assert panel.sentence().startswith(f"Token 1 is {label}: ")
    assert "No draw could have taken it" in panel.sentence()
    assert len(panel.branches()) == before + 1
    for _ in range(3):
        panel.press("Take the likeliest")
        panel.page.wait_for_function(
            "box => box.querySelectorAll('[role=option]').length", arg=panel.box.element_handle()
        )
    assert notebook.settles("len(tree.path)", 4)
    assert notebook.settles("tree.branches[-1] == tree.path", True)
    total = notebook.python("tree.log_prob()")
    assert f"ln p −{-total:.2f}" in panel.box.locator(".tj-gen-branch").last.inner_text()


def test_keyboard_alone(notebook, panel):
    panel.options().first.focus()
    panel.page.keyboard.press("ArrowDown")
    panel.page.keyboard.press("Enter")
    assert notebook.settles("len(tree.path)", 1)
    panel.page.wait_for_function("box => box.querySelectorAll('[role=option]').length", arg=panel.box.element_handle())
    assert panel.box.get_by_role("status").inner_text() == panel.sentence()
    before = notebook.count_cells()
    cell = panel.box.locator(".tj-gen-cell").first
    cell.focus()
    for key in ("ArrowRight", "ArrowDown", "d", "d", "Enter"):
        panel.page.keyboard.press(key)
    assert notebook.settles("tree.path == tree.branches[1][:2]", True)
    assert notebook.count_cells() == before


def test_python_moves_the_view_and_a_branch_can_be_removed(notebook, panel):
    notebook.python("[tree.set_trait('path', lm.encode(' Berlin!'))]")
    panel.page.wait_for_function(
        "box => box.querySelectorAll('.tj-gen-chip').length === 2 && box.querySelectorAll('[role=option]').length",
        arg=panel.box.element_handle(),
    )
    assert panel.text() == ["␣Berlin", "!"]
    count = len(panel.branches())
    panel.press(f"Remove branch {count}")
    assert len(panel.branches()) == count - 1 and panel.text() == []
    assert notebook.settles("tree.path", [])


def test_a_draw_is_one_of_those_that_can_be_drawn(notebook, panel):
    panel.press("Draw one")
    assert notebook.settles("len(tree.path)", 1)
    drawn = notebook.python("dict((row[0], row[3]) for row in tree.nodes[0]['alternatives'])[tree.path[0]]")
    assert drawn > 0


def test_a_step_that_is_known_is_painted_within_a_frame(panel, record_property):
    times = panel.page.evaluate(MEASURE, panel.box.element_handle())
    median, p95 = statistics.median(times), sorted(times)[int(0.95 * len(times))]
    print(f"{len(times)} moves: median {median:.0f} ms, 95th percentile {p95:.0f} ms")
    record_property("painted_ms_median", median)
    record_property("painted_ms_p95", p95)
    assert median < 100


MEASURE = """async (box) => {
  const button = (name) => [...box.querySelectorAll("button")].find((one) => one.textContent === name);
  const times = [];
  for (let i = 0; i < 30; i++) {
    const start = performance.now();
    button(i % 10 === 9 ? "To the prompt" : "Take the likeliest").click();
    await new Promise((done) => requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = done;
      channel.port2.postMessage(0);
    }));
    times.push(performance.now() - start);
  }
  return times;
}"""


def test_screenshots(notebook, panel, screenshot):
    for _ in range(4):
        panel.press("Take the likeliest")
    screenshot(panel.box, "generation_light")
    notebook.page.set_viewport_size({"width": 520, "height": 900})
    screenshot(panel.box, "generation_narrow")
    notebook.page.set_viewport_size({"width": 1000, "height": 900})
    notebook.use_theme("dark")
    screenshot(panel.box, "generation_dark")
    notebook.use_theme("light")


def test_without_a_kernel_what_is_computed_lives_and_the_rest_says_so(browser, tmp_path):
    explorer = GenerationExplorer(tiny("llama"), "Hello world", top_k=5)
    path = tmp_path / "page.html"
    path.write_text(PAGE.format(static_html(explorer)), encoding="utf-8")
    page = browser.new_page(viewport={"width": 400, "height": 900})
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(path.as_uri())
    panel = Panel(page)
    panel.press("Take the likeliest")
    assert panel.options().count() > 0 and len(panel.text()) == 1
    panel.press("Take the likeliest")
    explorer.path = explorer.branches[0][:2]
    assert "".join(panel.text()) != explorer.text, "the chips show bytes by number, the line below them the text"
    assert panel.box.locator(".tj-gen-whole").text_content() == f"= {explorer.text}"
    panel.press("Back")
    for i in range(panel.options().count()):
        panel.options().nth(i).click()
        if "no kernel on this page" in panel.sentence():
            break
        panel.press("Back")
    assert "has not been computed, and there is no kernel on this page" in panel.sentence()
    assert panel.box.get_by_role("button", name="Draw one").is_disabled()
    panel.press("To the prompt")
    assert panel.options().count() > 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 400, "it must fit a narrow page"
    assert problems == []
    page.close()
