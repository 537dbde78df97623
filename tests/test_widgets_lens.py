"""The lens explorer: what it sends, what it refuses, and its JavaScript against PyTorch."""

import json
import os
import string
import subprocess
from pathlib import Path

import pytest
import torch

from helpers import ReaderError, trace
from helpers.tokens import token_labels
from helpers.widgets.lens import MOST_TOKENS, LensExplorer
from helpers.widgets.lens_words import STRINGS
from helpers.widgets.static import static_state
from tests.needs import needs
from tests.tiny import ARCHS, N_LAYERS, tiny

PROMPT = "Hello world: the capital of France is"


def case(name, lm, prompt):
    """The explorer's state, and what every cell must be read as, worked out with PyTorch from the trace."""
    seen = trace(lm, prompt)
    explorer = LensExplorer(lm, seen)
    read = explorer.reading
    labels = [[token_labels(lm.tokenizer, row) for row in rows] for rows in read.ids.tolist()]
    return {
        "name": name,
        "state": static_state(explorer),
        "labels": labels,
        "probs": read.probs.tolist(),
        "bits": read.bits.tolist(),
        "answers": token_labels(lm.tokenizer, read.answers),
        "answer_probs": read.answer_probs.tolist(),
        "ranks": read.ranks.tolist(),
        "heights": (1 - read.ranks.double().log() / torch.tensor(seen["logits"].shape[-1]).double().log()).tolist(),
    }


def test_javascript_reads_what_pytorch_computed(tmp_path, lm):
    cases = [
        case("tiny llama", tiny("llama"), PROMPT),
        case("tiny gpt2, one token", tiny("gpt2"), "a"),
        case("SmolLM2", lm, "The capital of France is Paris. The capital of Italy is"),
    ]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases), encoding="utf-8")
    done = subprocess.run(
        [needs("node"), "--test", str(Path(__file__).parent / "js" / "lens.test.mjs")],
        env=os.environ | {"LENS_CASES": str(path)},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr


@pytest.mark.parametrize("arch", ARCHS)
def test_every_architecture_can_be_explored(arch):
    lm = tiny(arch)
    seen = trace(lm, PROMPT)
    explorer = LensExplorer(lm, seen)
    assert (explorer.depth, explorer.position) == (N_LAYERS, len(seen.tokens) - 1)
    answer = token_labels(lm.tokenizer, [seen["logits"][-1].argmax()])[0]
    assert explorer._label(N_LAYERS, len(seen.tokens) - 1) == answer


def test_places_are_seen_by_python_and_wrong_ones_are_refused():
    lm = tiny("llama")
    explorer = LensExplorer(lm, trace(lm, PROMPT))
    explorer.set_state({"depth": 1, "position": 3, "mode": "answer"})  # as the browser does
    assert repr(explorer) == "LensExplorer(depth=1, position=3, mode='answer')"
    for name, value, message in [
        ("depth", 3, "depth 3 is not shown here: choose one of 0 to 2"),
        ("position", 99, "position 99 is not shown here"),
        ("mode", "both", "mode both is not shown here: choose one of guess, answer"),
    ]:
        with pytest.raises(ReaderError, match=message):
            setattr(explorer, name, value)
    assert explorer.depth == 1


def test_a_long_prompt_shows_its_last_tokens_and_says_so():
    lm = tiny("llama")
    seen = trace(lm, [5 + i for i in range(100)])
    explorer = LensExplorer(lm, seen)
    assert explorer.positions == list(range(100 - MOST_TOKENS, 100)) and explorer.tokens == seen.tokens[-48:]
    assert "the 52 before them are left out" in explorer.caption
    with pytest.raises(ReaderError, match="position 51 is not shown here: choose one of 52 to 99"):
        explorer.position = 51


def test_the_table_is_small_escaped_and_python_s():
    lm = tiny("llama")
    seen = trace(lm, "a<b")
    table = LensExplorer(lm, seen, position=1).table()
    assert len(table.encode()) < 3000 and "<b>" not in table and "At &lt;," in table
    best = seen["logits"][1].softmax(-1).max().item()
    assert f"<td>{best:.3f}</td><td>1</td>" in table


def test_the_real_prompt_is_small_to_send(lm):
    explorer = LensExplorer(lm, trace(lm, "The capital of France is Paris. The capital of Italy is"))
    assert len(explorer.numbers) + len(explorer.places) + sum(map(len, explorer.labels)) < 60_000
    assert len(explorer.table().encode()) < 3000


def test_both_languages_fill_in_the_same_values():
    def fields(text):
        return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)

    for key, (english, chinese) in STRINGS.items():
        assert fields(english) == fields(chinese), key
