"""The tokenizer explorer in JupyterLab and on a page without a kernel, against Python's own ids."""

import statistics

import pytest

from helpers.widgets.static import static_html
from helpers.widgets.tokenize import TokenizeExplorer
from tests.tiny import tiny_tokenizer

SET_UP = """
from helpers import load_model
from helpers.bpe import merge_steps, read_bpe
from helpers.tokens import token_labels
from helpers.widgets import TokenizeExplorer
lm = load_model()
"""
PROMPT = "The capital of France is Paris. The capital of Italy is"
EXPLORER = f"explorer = TokenizeExplorer(lm.tokenizer, {PROMPT!r})\nexplorer"
DARK = "window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })"
PAGE = '<!doctype html><html lang="en"><meta charset="utf-8"><title>An explorer</title><body>{}</body></html>'


class Panel:
    """The explorer as a person has it before them."""

    def __init__(self, page):
        self.page, self.box = page, page.locator(".tj-tok")
        self.field = self.box.get_by_role("textbox", name="Text")
        self.slider = self.box.get_by_role("slider", name="Merges done")

    def ids(self):
        return [int(i) for i in self.box.locator(".tj-tok-piece").evaluate_all("all => all.map(one => one.dataset.id)")]

    def labels(self):
        return self.box.locator(".tj-tok-piece > span").all_text_contents()

    def sentence(self):
        return self.box.locator(".tj-tok-sentence").inner_text()

    def said(self):
        return self.box.get_by_role("status").inner_text()


@pytest.fixture(scope="module")
def notebook(open_notebook):
    notebook = open_notebook([SET_UP, EXPLORER])
    for cell in range(2):
        notebook.run_cell(cell)
    return notebook


@pytest.fixture
def panel(notebook):
    """The explorer on the prompt, all merges done."""
    panel = Panel(notebook.page)
    panel.field.fill(PROMPT)
    panel.box.get_by_role("button", name="Tokens").click(force=True)
    return panel


def test_first_state_is_python_s(notebook, panel):
    assert panel.ids() == notebook.python(f"lm.encode({PROMPT!r})")
    assert panel.labels() == notebook.python(f"token_labels(lm.tokenizer, lm.encode({PROMPT!r}))")
    assert "55 characters, 55 bytes, 12 pieces: 4.58 bytes a piece" in panel.box.inner_text()


@pytest.mark.parametrize("text", ["我想吃苹果", "a<b>&amp; <|im_end|>\n\t 1789", "👩‍👩‍👧 e\u0301", ""])
def test_typed_text_is_cut_at_once(notebook, panel, text):
    panel.field.fill(text)
    assert panel.ids() == notebook.python(f"lm.tokenizer.encode({text!r})")
    assert panel.labels() == notebook.python(f"token_labels(lm.tokenizer, lm.tokenizer.encode({text!r}))")
    panel.slider.focus()
    assert notebook.settles("explorer.text", text)


def test_steps_with_the_keyboard(notebook, panel):
    panel.slider.focus()
    for key in ("Home", "ArrowRight", "ArrowRight"):
        panel.page.keyboard.press(key)
    rank, ids = notebook.python(f"list(merge_steps(read_bpe(lm.tokenizer), {PROMPT!r}))[2]")
    assert panel.ids() == ids and f"number {rank + 1:,} of 48,900" in panel.sentence()
    assert panel.sentence() in panel.said()
    assert notebook.settles("explorer.step", 2) and notebook.python("explorer.ids") == ids
    new = panel.box.locator(".tj-tok-new > span").all_text_contents()
    assert new and len(set(new)) == 1 and f"→ {new[0]}," in panel.sentence()


def test_a_piece_shows_its_family(panel):
    panel.box.locator(".tj-tok-piece", has_text="␣capital").first.click()
    tree = panel.box.locator(".tj-tok-tree")
    assert tree.inner_text().startswith("␣capital")
    boxes = tree.locator(".tj-tok-box > span").all_text_contents()
    assert "".join(one for one in boxes if len(one) == 1) == "␣capital"
    assert "made by 7 merges" in panel.box.locator(".tj-tok-about").inner_text()
    panel.page.keyboard.press("ArrowRight")
    assert panel.box.locator(".tj-tok-about").inner_text().startswith("␣of: id 282")
    assert panel.said().startswith("␣of: id 282")


def test_half_typed_pinyin_waits(notebook, panel):
    """While an input method composes, the text stands still; afterwards it is cut once, without an input event."""
    panel.field.evaluate(
        """field => {
          field.dispatchEvent(new CompositionEvent("compositionstart"));
          field.value = "wo xiang";
          field.dispatchEvent(new InputEvent("input", { isComposing: true }));
        }"""
    )
    assert panel.ids() == notebook.python(f"lm.encode({PROMPT!r})")
    panel.field.evaluate(
        """field => {
          field.value = "我想";
          field.dispatchEvent(new CompositionEvent("compositionend", { data: "我想" }));
        }"""
    )
    assert panel.ids() == notebook.python("lm.encode('我想')")


def test_python_moves_the_explorer(notebook, panel):
    notebook.python("[explorer.set_trait('text', '苹果 apple'), explorer.set_trait('step', 0)]")
    panel.page.wait_for_function("() => document.querySelectorAll('.tj-tok-piece').length === 12")
    assert panel.field.input_value() == "苹果 apple"
    assert panel.ids() == notebook.python("explorer.ids")


def test_keys_stay_with_the_explorer(notebook, panel):
    before = notebook.count_cells()
    for place in (panel.field, panel.slider, panel.box.locator(".tj-tok-piece").first):
        place.focus()
        for key in ("d", "d", "a"):
            panel.page.keyboard.press(key)
    assert notebook.count_cells() == before


def test_every_move_is_painted_in_a_frame(panel, record_property):
    for name, place, keys in (("typing", panel.field, "abcdefghij" * 3), ("steps", panel.slider, ["ArrowLeft"] * 28)):
        panel.page.evaluate(MEASURE, panel.box.element_handle())
        place.focus()
        for step, key in enumerate(keys, 1):
            panel.page.keyboard.press(key)
            panel.page.wait_for_function("count => window.painted.length >= count", arg=step)
        painted = panel.page.evaluate("window.painted")
        times = sorted(ms for ms, _ in painted)
        median, p95 = statistics.median(times), times[int(0.95 * len(times))]
        print(f"{len(times)} {name}: median {median:.0f} ms, 95th percentile {p95:.0f} ms")
        record_property(f"painted_ms_median_{name}", median)
        record_property(f"painted_ms_p95_{name}", p95)
        assert all(changed for _, changed in painted)


MEASURE = """box => {
  const channel = new MessageChannel(), waiting = [];
  const part = (name) => box.querySelector(`.tj-tok-${name}`).textContent;
  const picture = () => part("summary") + part("pieces");
  window.painted = [];
  let before = picture();
  channel.port1.onmessage = () => {
    const { at, changed } = waiting.shift();
    window.painted.push([performance.now() - at, changed]);
  };
  const heard = (event) => requestAnimationFrame(() => {
    waiting.push({ at: event.timeStamp, changed: picture() !== before });
    before = picture();
    channel.port2.postMessage(0);
  });
  window.removeEventListener("input", window.heard, true);
  window.heard = heard;
  window.addEventListener("input", heard, true);
}"""


def test_screenshots(notebook, panel, screenshot):
    notebook.page.set_viewport_size({"width": 1300, "height": 1100})
    panel.box.locator(".tj-tok-piece", has_text="␣capital").first.click()
    screenshot(panel.box, "tokenize_light")
    panel.field.fill("我想吃苹果 👩‍👩‍👧 <|im_end|> 1789")
    screenshot(panel.box, "tokenize_chinese")
    notebook.page.evaluate(DARK)
    notebook.page.wait_for_selector("body[data-jp-theme-light='false']", state="attached")
    for _ in range(6):
        panel.box.get_by_role("button", name="One merge back").click()
    screenshot(panel.box, "tokenize_dark")


def test_a_page_without_a_kernel(browser, tmp_path, screenshot):
    path = tmp_path / "page.html"
    path.write_text(PAGE.format(static_html(TokenizeExplorer(tiny_tokenizer(), "Hello <eos>"))), encoding="utf-8")
    page = browser.new_page(viewport={"width": 400, "height": 800})
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: problems.extend([request.url] * request.url.startswith("http")))
    page.goto(path.as_uri())
    panel = Panel(page)
    panel.field.fill("<img src=x onerror=boom()> the capital " + "我" * 990)
    assert panel.box.locator("img").count() == 0 and len(panel.labels()) == 240
    assert "and" in panel.box.locator(".tj-tok-pieces").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= 400")
    screenshot(panel.box, "tokenize_static")
    assert not problems
    page.close()
