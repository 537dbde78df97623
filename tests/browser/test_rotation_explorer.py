"""The rotation explorer in JupyterLab and on a page without a kernel, against Python's own numbers."""

import time

import pytest
import torch

from helpers.widgets.rotation import RotationExplorer
from helpers.widgets.static import static_html
from tests.browser.painted import report_painted

SET_UP = """
from helpers import load_model, trace
from helpers.rope import rope_frequencies
from helpers.widgets.rotation import RotationExplorer
lm = load_model()
seen = trace(lm, "The capital of France is Paris. The capital of Italy is")
q, k, f = seen["block16.q"], seen["block16.k"], rope_frequencies(lm)
def says(e):
    signed = lambda x: ("−" if x < 0 else "") + f"{abs(x):.3f}"
    distance = str(e.m - e.n).replace("-", "−")
    return f"Score {signed(e.score)} at distance {distance}. Pair {e.pair} adds {signed(e.parts[e.pair].item())}."
"""
EXPLORER = "explorer = RotationExplorer(q, k, f, seen.tokens, head=0, pair=0, key=10)\nexplorer"
SECOND = "second = RotationExplorer(q, k, f, seen.tokens, head=3)\nsecond"
START = dict(query=11, key=10, m=11, n=10, shift=0, head=0, pair=0)


class Panel:
    """One explorer as a person has it before them."""

    def __init__(self, page, index=0):
        self.page = page
        self.box = page.locator(".tj-rot").nth(index)

    def slider(self, name):
        return self.box.locator(f"[data-name={name}] input")

    def press(self, name, *keys):
        self.slider(name).focus()
        for key in keys:
            self.page.keyboard.press(key)

    def summary(self):
        return self.box.locator(".tj-summary").inner_text()

    def hands(self):
        return self.box.locator(".tj-rot-clocks line").evaluate_all(
            "lines => lines.map(line => [line.getAttribute('x2'), line.getAttribute('y2')].join())"
        )


@pytest.fixture(scope="module")
def notebook(open_notebook):
    notebook = open_notebook([SET_UP, EXPLORER, SECOND])
    for cell in range(3):
        notebook.run_cell(cell)
    return notebook


@pytest.fixture
def panel(notebook):
    """The first explorer at its first state."""
    notebook.python(f"[setattr(explorer, name, value) for name, value in {START}.items()]")
    panel = Panel(notebook.page)
    panel.box.locator(".tj-summary", has_text="Score 4.099 at distance 1. Pair 0 adds").wait_for()
    return panel


def assert_state(notebook, **expected):
    assert notebook.settles(f"{{name: getattr(explorer, name) for name in {list(expected)}}}", expected)


def test_first_state_is_pythons(notebook, panel):
    assert panel.summary() == notebook.python("says(explorer)")
    assert notebook.python("abs(explorer.score - seen['block16.scores'][0, 11, 10].item()) < 1e-4")


def test_keyboard_alone(notebook, panel):
    panel.press("m", *["ArrowRight"] * 4)
    panel.press("n", *["ArrowLeft"] * 2)
    panel.press("pair", *["ArrowRight"] * 3)
    panel.press("head", "ArrowRight")
    assert_state(notebook, m=15, n=8, pair=3, head=1)
    assert panel.summary() == notebook.python("says(explorer)")
    assert panel.box.get_by_role("status").inner_text() == panel.summary()


def test_moving_both_turns_every_hand_and_keeps_the_score(notebook, panel):
    before, hands = panel.summary(), panel.hands()
    panel.press("shift", *["PageUp"] * 3)
    assert notebook.python("explorer.shift") > 100
    assert panel.summary() == before == notebook.python("says(explorer)")
    changed = [old != new for old, new in zip(hands, panel.hands(), strict=True)]
    assert sum(changed) > 50  # the slowest turn less than a pixel


def test_choosing_tokens_puts_them_at_their_positions(notebook, panel):
    panel.press("m", *["ArrowRight"] * 5)
    panel.box.get_by_role("combobox", name="Query of").select_option("4")
    panel.box.get_by_role("combobox", name="Key of").select_option("2")
    assert_state(notebook, query=4, m=4, key=2, n=2)
    assert panel.summary() == notebook.python("says(explorer)")
    assert notebook.python("abs(explorer.score - seen['block16.scores'][0, 4, 2].item()) < 1e-4")


def test_buttons_and_clocks(notebook, panel):
    panel.box.get_by_role("button", name="Strongest pair").click()
    assert_state(notebook, pair=notebook.python("int(explorer.parts.abs().argmax())"))
    panel.box.locator(".tj-rot-clocks g").nth(7).click()
    assert_state(notebook, pair=7)
    assert "Pair 7:" in panel.box.locator(".tj-rot-dial").inner_text()
    panel.press("m", "End")
    panel.box.get_by_role("button", name="Back to the prompt").click()
    assert_state(notebook, m=11, n=10, shift=0, pair=7)


def test_keys_stay_with_the_explorer(notebook, panel):
    before = notebook.count_cells()
    for name in ("m", "pair"):
        panel.press(name, "d", "d", "a")
        assert panel.slider(name).evaluate("slider => slider === document.activeElement")
    panel.box.get_by_role("combobox", name="Key of").focus()
    for key in "dda":
        panel.page.keyboard.press(key)
    assert notebook.count_cells() == before


def test_explorers_are_independent(notebook, panel):
    second = Panel(notebook.page, 1)
    second.press("m", "ArrowRight")
    assert second.summary() == notebook.python("says(second)")
    assert_state(notebook, **START)
    assert panel.summary() == notebook.python("says(explorer)")


def test_every_move_is_painted(panel, record_property):
    panel.page.evaluate(MEASURE, panel.box.element_handle())
    panel.slider("m").focus()
    for step in range(30):
        panel.page.keyboard.press("ArrowRight")
        panel.page.wait_for_function("count => window.painted.length === count", arg=step + 1)
    report_painted(panel.page, 30, record_property)


MEASURE = """box => {
  const channel = new MessageChannel(), waiting = [];
  const [said, dot] = [box.querySelector(".tj-summary"), box.querySelector(".tj-rot-dot")];
  const picture = () => said.textContent + dot.getAttribute("cx");
  window.painted = [];
  let before = picture();
  channel.port1.onmessage = () => {
    const { at, changed } = waiting.shift();
    window.painted.push([performance.now() - at, changed]);
  };
  box.addEventListener("input", (event) => {
    const after = picture();
    waiting.push({ at: event.timeStamp, changed: after !== before });
    before = after;
    requestAnimationFrame(() => channel.port2.postMessage(0));
  });
}"""


def test_screenshots(notebook, panel, screenshot):
    notebook.page.set_viewport_size({"width": 1200, "height": 1100})
    screenshot(panel.box, "rotation_light")
    notebook.page.set_viewport_size({"width": 540, "height": 1100})
    time.sleep(0.3)
    wide = panel.box.evaluate("box => box.scrollWidth <= box.clientWidth + 1")
    screenshot(panel.box, "rotation_narrow")
    notebook.page.set_viewport_size({"width": 1000, "height": 1100})
    notebook.use_theme("dark")
    screenshot(panel.box, "rotation_dark")
    assert wide


def test_alive_when_the_kernel_is_gone(notebook, panel):
    notebook.python("explorer.set_trait('m', 14)")
    panel.box.locator(".tj-summary", has_text="at distance 4").wait_for()
    expected = notebook.python("says(explorer)")
    panel.press("m", *["ArrowLeft"] * 3)
    notebook.stop_kernel()
    panel.press("m", *["ArrowRight"] * 3)
    assert panel.summary() == expected


@pytest.mark.parametrize(
    "tokens, pairs", [(["<b>"], 1), (["שלום", "<img src=x onerror=boom()>", "我"], 32), (["a"] * 60, 128)]
)
def test_a_page_without_a_kernel(browser, tmp_path, tokens, pairs):
    dice = torch.Generator().manual_seed(0)
    q, k = (torch.randn(len(tokens), heads, 2 * pairs, generator=dice) for heads in (4, 2))
    explorer = RotationExplorer(q, k, 10_000.0 ** (-torch.arange(pairs) / pairs), tokens)
    path = tmp_path / "page.html"
    path.write_text(f'<!doctype html><meta charset="utf-8"><body>{static_html(explorer)}', encoding="utf-8")
    page = browser.new_page(viewport={"width": 800, "height": 900})
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(path.as_uri())
    panel = Panel(page)
    panel.press("m", "End")
    explorer.m = 128
    sign = "−" if explorer.score < 0 else ""
    assert panel.summary().startswith(f"Score {sign}{abs(explorer.score):.3f} at distance")
    assert page.locator("main b, .tj-rot img").count() == 0
    assert problems == []
    page.close()
