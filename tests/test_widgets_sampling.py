"""The sampling explorer's Python side: its traits, its numbers, and the table where it cannot run."""

import re
import subprocess
import sys

import pytest
import torch

from helpers import ReaderError, next_token_probs
from helpers.language import STRINGS, language, text
from helpers.widgets.base import FOLDER, bundle
from helpers.widgets.sampling import SamplingExplorer
from helpers.widgets.static import static_html, static_state
from tests.tiny import tiny

WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def tokenizer():
    return tiny("llama").tokenizer


@pytest.fixture
def logits():
    return 3 * torch.randn(250, generator=torch.Generator().manual_seed(0))


def test_the_next_cell_gets_what_next_token_probs_says(logits, tokenizer):
    explorer = SamplingExplorer(logits, tokenizer, [5, 6], temperature=0.7, top_k=9)
    explorer.repetition_penalty = 1.5  # as the browser does when a slider is let go
    expected = next_token_probs(logits, temperature=0.7, top_k=9, repetition_penalty=1.5, context_ids=[5, 6])
    assert torch.equal(explorer.probs, expected)
    assert torch.equal(next_token_probs(logits, **explorer.settings), expected)
    assert explorer.kept_ids == expected.argsort(descending=True)[:9].tolist()


def test_kept_tokens_are_those_not_cut_even_where_their_probability_is_zero(tokenizer):
    explorer = SamplingExplorer(torch.tensor([0.0, 300.0, 100.0]), tokenizer, top_k=2)
    assert explorer.kept_ids == [1, 2]
    assert explorer.probs[2] == 0


def test_every_token_that_can_be_shown_has_its_label(tokenizer):
    logits = torch.arange(250).float()
    explorer = SamplingExplorer(logits, tokenizer, context_ids=[0, 1, 1])
    assert len(explorer.labels) == len(explorer.label_bytes) / 4 == 250
    assert explorer._label_of.keys() >= {0, 1, 249}


@pytest.mark.parametrize(
    "name, value",
    [("temperature", -1), ("top_k", -3), ("top_p", 0), ("min_p", 1.5), ("repetition_penalty", 0)],
)
def test_a_setting_out_of_range_is_refused_and_nothing_changes(logits, tokenizer, name, value):
    with pytest.raises(ReaderError, match=name):
        SamplingExplorer(logits, tokenizer, **{name: value})
    explorer = SamplingExplorer(logits, tokenizer)
    before = explorer.settings
    with pytest.raises(ReaderError, match=name):
        setattr(explorer, name, value)
    assert explorer.settings == before


def test_logits_that_are_no_distribution_are_refused(logits, tokenizer):
    with pytest.raises(ReaderError, match="n_vocab"):
        SamplingExplorer(logits.view(10, 25), tokenizer)
    with pytest.raises(ReaderError):
        SamplingExplorer(logits.index_fill(0, torch.tensor([3]), torch.nan), tokenizer)


def test_bundle_has_a_small_escaped_table_and_no_address(logits, tokenizer):
    explorer = SamplingExplorer(logits, tokenizer, top_k=2)
    explorer._label_of = {i: "<b>&" for i in range(250)}
    data, _ = explorer._repr_mimebundle_()
    assert WIDGET in data
    assert len(data["text/html"]) < 3000
    assert "&lt;b&gt;&amp;" in data["text/html"] and "<b>" not in data["text/html"]
    assert data["text/html"].count(">cut<") == 8
    settings = "temperature=1, top_k=2, top_p=1, min_p=0, repetition_penalty=1"
    assert data["text/plain"] == f"SamplingExplorer({settings})"


def test_without_anywidget_the_table_and_a_sentence():
    script = """
import sys
sys.modules["anywidget"] = None
import torch
from helpers.widgets.sampling import SamplingExplorer
from tests.tiny import tiny
explorer = SamplingExplorer(torch.arange(250.0), tiny("llama").tokenizer, top_k=3)
data, _ = explorer._repr_mimebundle_()
print(sorted(data), "Install it with" in data["text/html"], "<table>" in data["text/html"], explorer.kept_ids)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        encoding="utf-8",
        cwd=FOLDER.parents[1],
        timeout=120,
    )
    assert done.stdout.strip() == "['text/html', 'text/plain'] True True [249, 248, 247]", done.stderr


def test_one_module_one_copy_of_each_part():
    source = bundle(FOLDER / "sampling.js")
    assert 'from "./' not in source
    assert source.count("export function element(") == 1
    assert "http" not in source + SamplingExplorer._css


def test_static_page_cannot_be_closed_by_a_token(logits, tokenizer):
    explorer = SamplingExplorer(logits, tokenizer)
    explorer.labels = ["</script><script>alert(1)</script>"] * len(explorer.labels)
    assert static_html(explorer).count("</script>") == 1
    assert "layout" not in static_state(explorer)


def test_words_follow_the_reader(monkeypatch, tmp_path):
    monkeypatch.delenv("TOKEN_JOURNEY_LANG", raising=False)
    monkeypatch.chdir(tmp_path)
    assert language() == "en"
    (tmp_path / "zh").mkdir()
    monkeypatch.chdir(tmp_path / "zh")
    assert (language(), text("sampling.temperature")) == ("zh", "温度")
    monkeypatch.setenv("TOKEN_JOURNEY_LANG", "en")
    assert text("sampling.kept", kept=1, all=2, held="3%").startswith("Kept 1 of 2 tokens")
    monkeypatch.setenv("TOKEN_JOURNEY_LANG", "fr")
    with pytest.raises(ReaderError, match="'fr'"):
        language()


def test_both_languages_fill_in_the_same_values():
    for key, (english, chinese) in STRINGS.items():
        assert set(re.findall(r"{\w+}", english)) == set(re.findall(r"{\w+}", chinese)), key


def test_ids_of_the_context_are_whole_numbers():
    logits, tokenizer = torch.zeros(10), tiny("llama").tokenizer
    assert SamplingExplorer(logits, tokenizer, context_ids=torch.tensor([3, 4])).context_ids == [3, 4]
    with pytest.raises(ReaderError, match="context_ids"):
        SamplingExplorer(logits, tokenizer, context_ids=[1.5])
