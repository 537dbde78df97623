"""The sampling explorer in JupyterLab: mouse, keyboard, Python on the other side, and no kernel at all."""

import json

import nbformat
import pytest

from tests.browser.lab import ARTIFACTS
from tests.browser.painted import report_painted

SET_UP = """
from helpers import load_model, trace
from helpers.widgets.sampling import SamplingExplorer
lm = load_model()
seen = trace(lm, "The capital of France is")
"""
EXPLORER = 'explorer = SamplingExplorer(seen["logits"][-1], lm.tokenizer, seen.token_ids)\nexplorer'
SECOND = 'second = SamplingExplorer(seen["logits"][-1], lm.tokenizer, seen.token_ids, top_k=40)\nsecond'
NAMES = {
    "temperature": "Temperature", "top_k": "Top-k", "top_p": "Top-p", "min_p": "Min-p",
    "repetition_penalty": "Repetition penalty",
}  # fmt: skip


class Panel:
    """One explorer as a person has it before them."""

    def __init__(self, notebook, index=0):
        self.page = notebook.page
        self.box = self.page.locator(".tj-sampling").nth(index)

    def slider(self, name):
        return self.box.get_by_role("slider", name=NAMES[name], exact=True)

    def drag(self, name, start, end, steps=1):
        """Press the slider at the fraction `start` of its track, move to `end`, let go; one frame a step."""
        self.slider(name).scroll_into_view_if_needed()
        area = self.slider(name).bounding_box()
        x = lambda part: area["x"] + 8 + part * (area["width"] - 16)  # noqa: E731 (8: half the thumb)
        y = area["y"] + area["height"] / 2
        self.page.mouse.move(x(start), y)
        self.page.mouse.down()
        for step in range(1, steps + 1):
            self.page.mouse.move(x(start + (end - start) * step / steps), y)
            self.page.evaluate("() => new Promise(requestAnimationFrame)")
        self.page.mouse.up()

    def shown(self):
        """{token: its written probability after all steps} of the rows that are not cut."""
        rows = self.box.locator(".tj-bars .tj-row:not(.tj-is-cut):not(.tj-gap):visible")
        texts = rows.evaluate_all("rows => rows.map(row => [...row.children].map(cell => cell.textContent))")
        return {token: after for token, _, _, after in texts}

    def wait_for(self, name, value):
        """Wait until the setting is written so."""
        self.box.locator(f"[data-step={name}] .tj-value", has_text=value).wait_for()

    def summary(self):
        return self.box.locator(".tj-summary").inner_text()


def expected(notebook, name="explorer"):
    """What the page must show, from Python's own numbers under the explorer's present traits."""
    ids = notebook.python(f"{name}.kept_ids")
    n, ids = len(ids), ids[:8]
    probs = notebook.python(f"{name}.probs[{ids}].tolist()")
    labels = notebook.python(f"[{name}._label_of[i] for i in {ids}]")
    return dict(zip(labels, probs, strict=True)), n


def assert_agrees(notebook, panel, name="explorer"):
    probs, n = expected(notebook, name)
    assert panel.summary().startswith(f"Kept {n:,} of 49,152 tokens")
    shown = panel.shown()
    for label, p in probs.items():
        written = shown[label].strip("<>%")
        assert abs(float(written) / 100 - p) < 0.0006, (label, shown[label], p)


@pytest.fixture(scope="module")
def notebook(open_notebook):
    notebook = open_notebook([SET_UP, EXPLORER, SECOND])
    notebook.run_cell(0)
    notebook.run_cell(1)
    notebook.run_cell(2)
    return notebook


@pytest.fixture
def panel(notebook):
    """The first explorer, all steps off."""
    panel = Panel(notebook)
    panel.box.get_by_role("button", name="Reset").click()
    return panel


def test_mouse_drag_reaches_python_when_let_go(notebook, panel):
    panel.drag("top_k", 1, 0.3, steps=5)
    panel.drag("temperature", 0.5, 0.8, steps=5)
    panel.drag("top_p", 1, 0.9, steps=5)
    assert notebook.settles("[explorer.temperature, explorer.top_p]", [1.6, 0.9])
    assert panel.slider("top_k").get_attribute("aria-valuetext") == f"{notebook.python('explorer.top_k'):,}"
    assert_agrees(notebook, panel)


def test_keyboard_alone(notebook, panel):
    pressed = {
        "temperature": (6, "ArrowLeft"),
        "min_p": (9, "ArrowRight"),
        "repetition_penalty": (4, "ArrowRight"),
    }
    for name, (times, key) in pressed.items():
        panel.slider(name).focus()
        for _ in range(times):
            panel.page.keyboard.press(key)
    assert notebook.settles(f"[getattr(explorer, name) for name in {list(pressed)}]", [0.7, 0.03, 1.2])
    assert_agrees(notebook, panel)
    spoken = panel.box.get_by_role("status").inner_text()
    assert spoken.startswith(panel.summary()) and "Most likely: ␣Paris" in spoken


def test_keys_stay_with_the_slider(notebook, panel):
    before = notebook.count_cells()
    panel.slider("temperature").focus()
    for key in "ddab":
        panel.page.keyboard.press(key)
    assert notebook.count_cells() == before
    assert panel.slider("temperature").evaluate("slider => slider === document.activeElement")


def test_arrows_walk_through_the_tokens(panel):
    panel.box.get_by_role("option", selected=True).focus()
    panel.page.keyboard.press("ArrowDown")
    chosen = panel.box.get_by_role("option", selected=True)
    assert chosen.locator(".tj-label").inner_text() == "␣the"
    assert panel.box.locator(".tj-follows .tj-mono").inner_text() == "␣the"


def test_python_moves_the_slider(notebook, panel):
    notebook.python("[setattr(explorer, 'temperature', 0.0), setattr(explorer, 'top_k', 37)]")
    panel.wait_for("top_k", "37")
    assert panel.slider("temperature").input_value() == "0"
    assert panel.shown() == {"␣Paris": "100%"}


def test_explorers_are_independent(notebook, panel):
    second = Panel(notebook, 1)
    assert second.slider("top_k").get_attribute("aria-valuetext") == "40"
    panel.drag("top_p", 1, 0.495)
    assert notebook.settles("[explorer.top_p, second.top_p]", [0.5, 1.0])
    assert_agrees(notebook, second, "second")
    ids = notebook.page.evaluate("[...document.querySelectorAll('.tj [id]')].map(element => element.id)")
    assert len(ids) == len(set(ids))


def test_every_step_of_a_drag_is_painted(panel, record_property):
    panel.page.evaluate(MEASURE, panel.slider("top_p").element_handle())
    panel.drag("top_p", 1, 0.02, steps=60)
    report_painted(panel.page, 60, record_property)


MEASURE = """slider => {
  const box = slider.closest(".tj"), channel = new MessageChannel(), waiting = [];
  const picture = () => box.innerText + [...box.querySelectorAll(".tj-bar i")].map(bar => bar.style.width);
  window.painted = [];
  let before = picture();
  channel.port1.onmessage = () => {
    const { at, changed } = waiting.shift();
    window.painted.push([performance.now() - at, changed]);
  };
  slider.addEventListener("input", (event) => {
    const after = picture();
    waiting.push({ at: event.timeStamp, changed: after !== before });
    before = after;
    requestAnimationFrame(() => channel.port2.postMessage(0));
  });
}"""


def test_first_picture(notebook, record_property):
    notebook.page.evaluate("""() => {
      const panel = window.jupyterapp.shell.currentWidget;
      window.firstPicture = null;
      new MutationObserver((_, watch) => {
        const cell = document.querySelectorAll(".jp-Cell")[1];
        if (!cell.querySelector(".tj-bars .tj-label")?.textContent) return;
        window.firstPicture = performance.now() - window.asked;
        watch.disconnect();
      }).observe(document.body, { childList: true, subtree: true, characterData: true });
      panel.content.widgets[1].model.clearExecution();
      window.asked = performance.now();
    }""")
    notebook.run_cell(1)
    notebook.page.wait_for_function("window.firstPicture !== null")
    first = notebook.page.evaluate("window.firstPicture")
    print(f"first picture {first:.0f} ms after the cell was run")
    record_property("first_picture_ms", first)


def test_alive_while_the_kernel_is_busy(notebook, panel):
    notebook.start_python("import time; time.sleep(3); was = explorer.top_k")
    panel.drag("top_k", 1, 0.2, steps=5)
    shown = panel.summary()
    assert shown.startswith("Kept 6 of") and notebook.page.evaluate(BUSY) == "busy"
    assert notebook.python("was") == 0  # Python had heard nothing while it slept
    assert notebook.settles("explorer.top_k", 6)
    assert panel.summary() == shown


BUSY = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status"


def test_screenshots(notebook, panel, screenshot):
    settings = {"temperature": 1.4, "top_k": 60, "top_p": 0.9}
    notebook.python(f"[setattr(explorer, name, value) for name, value in {settings}.items()]")
    panel.wait_for("top_p", "0.90")
    screenshot(panel.box, "sampling_light")
    notebook.page.set_viewport_size({"width": 520, "height": 900})
    screenshot(panel.box, "sampling_narrow")
    notebook.page.set_viewport_size({"width": 1000, "height": 900})
    notebook.use_theme("dark")
    screenshot(panel.box, "sampling_dark")
    assert len(list(ARTIFACTS.glob("sampling_*.png"))) >= 3


def test_committed_notebook_shows_the_table(notebook, open_notebook, tmp_path):
    notebook.save()
    saved = nbformat.read(notebook.file, as_version=4)
    saved.metadata.pop("widgets", None)
    for cell in saved.cells:
        for output in cell.outputs:
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    path = tmp_path / "committed.ipynb"
    nbformat.write(saved, path)
    opened = open_notebook(path)
    table = opened.page.locator(".jp-OutputArea table").first
    assert "␣Paris" in table.inner_text() and "49,152" in table.inner_text()
    assert len(json.dumps(saved)) < 8000


def test_alive_when_the_kernel_is_gone(notebook, panel):
    panel.drag("top_k", 1, 0.2)
    assert notebook.settles("explorer.top_k", 6)
    probs, n = expected(notebook)
    panel.box.get_by_role("button", name="Reset").click()
    notebook.stop_kernel()
    panel.drag("top_k", 1, 0.2, steps=5)
    assert panel.summary().startswith(f"Kept {n} of")
    assert panel.shown() == {label: f"{100 * p:.{1 if p >= 0.01 else 2}f}%" for label, p in probs.items()}
