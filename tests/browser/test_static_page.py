"""The explorer's module in a plain HTML file: no notebook, no kernel, no server."""

import pytest
import torch

from helpers.widgets.sampling import SamplingExplorer
from helpers.widgets.static import static_html
from tests.tiny import tiny

PAGE = '<!doctype html><html lang="en"><meta charset="utf-8"><title>An explorer</title><body>{}</body></html>'


@pytest.fixture(scope="module")
def explorers():
    logits = 3 * torch.randn(300, generator=torch.Generator().manual_seed(0))
    lm = tiny("llama")
    logits = logits[: lm.config.vocab_size]
    return [SamplingExplorer(logits, lm.tokenizer, [1, 2, 2], top_k=top_k) for top_k in (0, 5)]


def open_page(browser, path, **options):
    page = browser.new_page(**options)
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("request", lambda request: page.problems.extend([request.url] * request.url.startswith("http")))
    page.goto(path.as_uri())
    return page


def test_works_without_a_kernel(browser, explorers, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(PAGE.format("".join(map(static_html, explorers))), encoding="utf-8")
    page = open_page(browser, path, viewport={"width": 400, "height": 800})
    page.get_by_role("slider", name="Top-k").nth(1).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    first, second = (box.inner_text() for box in page.locator(".tj-summary").all())
    n_vocab = len(explorers[0].probs)
    assert first.startswith(f"Kept {n_vocab} of {n_vocab} tokens")
    explorers[1].top_k = 3
    held = explorers[1]._logits.softmax(-1)[explorers[1].kept_ids].sum().item()
    assert second.startswith(f"Kept 3 of {n_vocab} tokens, holding {held:.1%}")
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 400, "it must fit a narrow page"
    assert page.problems == []
    page.close()


def test_draws_tokens_and_forgets_them_when_a_slider_moves(browser, explorers, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(PAGE.format(static_html(explorers[0])), encoding="utf-8")
    page = open_page(browser, path)
    for _ in range(3):
        page.get_by_role("button", name="Draw a token").click()
    assert page.locator(".tj-chip").count() == 3
    page.get_by_role("slider", name="Temperature").focus()
    page.keyboard.press("Home")
    assert page.locator(".tj-chip").count() == 0
    page.get_by_role("button", name="Draw a token").click()
    best = explorers[0]._label_of[int(explorers[0]._logits.argmax())]
    assert page.locator(".tj-chip").inner_text() == best
    page.close()


def test_shows_the_table_where_scripts_are_off(browser, explorers, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(PAGE.format(static_html(explorers[1])), encoding="utf-8")
    page = open_page(browser, path, java_script_enabled=False)
    assert page.locator("table tbody tr").count() == 10
    page.close()
