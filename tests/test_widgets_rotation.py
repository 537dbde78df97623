"""The rotation explorer: what it sends, what it refuses, and its JavaScript against PyTorch."""

import json
import string

import numpy as np
import pytest
import torch

from helpers import ReaderError, trace
from helpers.rope import rope_frequencies
from helpers.weights import block_weights
from helpers.widgets.rotation import MOST_TOKENS, RotationExplorer
from helpers.widgets.rotation_words import STRINGS
from helpers.widgets.static import static_state
from tests.js.test_js import run_node
from tests.tiny import ARCHS, tiny

PROMPT = "Hello world: the capital of France is"


def explorer_of(lm, prompt=PROMPT, layer=0, **state):
    seen, w = trace(lm, prompt), block_weights(lm, layer)
    q, k = w.q_norm(seen[f"block{layer}.q"]), w.k_norm(seen[f"block{layer}.k"])
    return RotationExplorer(q, k, rope_frequencies(lm, layer), seen.tokens, **state), seen


def settings_of(explorer):
    """Positions near and far, several heads, both orders, with what Python computes for each."""
    n = len(explorer.labels)
    for query, key, m, far, shift, head in [
        (n - 1, 0, n - 1, 0, 0, 0),
        (n // 2, n - 1, 100, 3, 0, 1),
        (0, 0, 5, 90, 8000, 1),
    ]:
        places = dict(query=explorer.positions[query], key=explorer.positions[key], m=m, n=far, shift=shift)
        explorer.set_state(dict(places, head=min(head, explorer.n_heads - 1)))
        yield dict(places, head=explorer.head, parts=explorer.parts.tolist(), score=explorer.score)


def case(name, explorer):
    return dict(name=name, state=static_state(explorer), settings=list(settings_of(explorer)))


def test_javascript_computes_what_pytorch_does(tmp_path, lm):
    cases = [
        case("SmolLM2", explorer_of(lm, "The capital of France is Paris. The capital of Italy is", layer=16)[0]),
        *(case(arch, explorer_of(tiny(arch))[0]) for arch in ("llama", "gpt2", "qwen3")),
        case("long prompt", explorer_of(tiny("llama"), "the capital " * 40)[0]),
    ]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases), encoding="utf-8")
    run_node("rotation.test.mjs", {"ROTATION_CASES": str(path)})


@pytest.mark.parametrize("arch", ARCHS)
def test_at_their_own_positions_the_score_is_the_models(arch):
    lm = tiny(arch)
    explorer, seen = explorer_of(lm, layer=1)
    n, d_head = len(seen.tokens), seen["block1.q"].shape[-1]
    scale = (d_head / getattr(lm.config, "query_pre_attn_scalar", d_head)) ** 0.5  # Gemma divides by a root of its own
    for head in range(explorer.n_heads):
        for query, key in [(n - 1, n - 1), (n - 1, n - 2), (2, 0)]:
            explorer.set_state(dict(head=head, query=query, m=query, key=key, n=key))
            assert scale * explorer.score == pytest.approx(seen["block1.scores"][head, query, key].item(), abs=1e-4)


def test_the_first_state_is_the_last_token_and_its_strongest_pair(lm):
    explorer, seen = explorer_of(lm, layer=16)
    last = len(seen.tokens) - 1
    assert (explorer.query, explorer.m, explorer.key, explorer.n, explorer.shift) == (last, last, 0, 0, 0)
    assert explorer.pair == int(explorer.parts.abs().argmax())
    sent = np.frombuffer(explorer.query_bytes, "<f4").reshape(seen["block16.q"].shape)
    assert (sent == seen["block16.q"].numpy()).all()


def test_moving_both_leaves_the_score():
    explorer, _ = explorer_of(tiny("llama"))
    before = explorer.score
    explorer.shift = 8000
    assert explorer.score == pytest.approx(before, abs=1e-9)
    explorer.m += 1
    assert explorer.score != pytest.approx(before, abs=1e-3)


def test_wrong_places_are_refused():
    explorer, seen = explorer_of(tiny("llama"))
    for name, value in [("query", len(seen.tokens)), ("m", 129), ("n", -1), ("head", 4), ("pair", 4), ("shift", 8001)]:
        before = getattr(explorer, name)
        with pytest.raises(ReaderError, match=f"{name} {value} is not shown here: choose one of 0 to"):
            setattr(explorer, name, value)
        assert getattr(explorer, name) == before


def test_a_long_prompt_shows_its_last_tokens():
    explorer, seen = explorer_of(tiny("llama"), "the capital " * 40)
    n = len(seen.tokens)
    assert n > MOST_TOKENS and explorer.positions == list(range(n - MOST_TOKENS, n))
    assert explorer.key == explorer.positions[0] and explorer.labels == seen.tokens[-MOST_TOKENS:]


def test_shapes_that_do_not_fit_are_refused():
    q, k = torch.zeros(3, 4, 8), torch.zeros(3, 2, 8)
    with pytest.raises(ReaderError, match=r"they must be \(3, heads, 6\)"):
        RotationExplorer(q, k, torch.ones(3), ["a", "b", "c"])
    with pytest.raises(ReaderError, match=r"with 2 tokens"):
        RotationExplorer(q, k, torch.ones(4), ["a", "b"])


def test_the_table_is_small_escaped_and_pythons():
    q, k = torch.randn(2, 2, 64), torch.randn(2, 1, 64)
    explorer = RotationExplorer(q, k, 0.5 ** torch.arange(32), ["<b>", "&lt;"], pair=0)
    data, _ = explorer._repr_mimebundle_()
    table = data["text/html"]
    assert len(table.encode()) < 3000
    assert "<b>" not in table and "&lt;b&gt;" in table and "&amp;lt;" in table
    strongest = explorer.parts[explorer.parts.abs().argmax()]
    assert f"<td>{strongest:+.3f}</td>" in table and f"score {explorer.score:.3f}" in table
    assert "0x" not in data["text/plain"]


def test_both_languages_fill_in_the_same_values():
    def fields(text):
        return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)

    for key, (english, chinese) in STRINGS.items():
        assert fields(english) == fields(chinese), key
