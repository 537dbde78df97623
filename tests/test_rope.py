"""Frequencies read from a model are those it turns by; changed ones last as long as the `with` does."""

import math

import pytest
import torch
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from helpers.rope import rope_frequencies, rope_theta, turning
from helpers.trace import trace
from tests.tiny import ARCHS, tiny

TEXT = "Hello the capital of France is"


def rotate(x, positions, frequencies):
    angle = positions[:, None, None] * frequencies
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), dim=-1)


@pytest.mark.parametrize("arch", [arch for arch in ARCHS if arch not in ("gpt2", "gemma3", "qwen3")])  # no q/k norm
def test_the_frequencies_turn_q_and_k_as_the_model_does(arch):
    lm = tiny(arch)
    seen = trace(lm, TEXT)
    positions = torch.arange(len(seen.tokens))
    for layer in range(2):
        for name in "qk":
            ours = rotate(seen[f"block{layer}.{name}"], positions, rope_frequencies(lm, layer))
            torch.testing.assert_close(ours, seen[f"block{layer}.{name}_rot"], rtol=1e-5, atol=1e-5)


def test_theta_gives_the_frequencies(lm):
    pair = torch.arange(32)
    assert rope_theta(lm) == 100_000.0
    torch.testing.assert_close(rope_theta(lm) ** (-2 * pair / 64), rope_frequencies(lm))


def test_gemma_has_two_kinds_of_blocks():
    lm = tiny("gemma3")  # block 0 looks at a window, block 1 at everything
    assert rope_theta(lm, 0) == 10_000.0 and rope_theta(lm, 1) == 1_000_000.0
    assert rope_frequencies(lm, 0)[-1] > rope_frequencies(lm, 1)[-1]


def test_gpt2_turns_nothing():
    assert rope_theta(tiny("gpt2")) is None
    assert not rope_frequencies(tiny("gpt2")).any()


def test_scaled_frequencies_have_no_theta():
    lm = tiny("llama")
    before = lm.config.rope_parameters
    lm.config.rope_parameters = {**before, "rope_type": "linear", "factor": 4.0}
    try:
        assert rope_theta(lm) is None
    finally:
        lm.config.rope_parameters = before


@pytest.mark.parametrize("arch", ARCHS)
def test_turning_changes_the_scores_and_leaves_no_trace(arch):
    lm = tiny(arch)
    before = trace(lm, TEXT)
    with turning(lm, lambda f: f / 2):
        inside = trace(lm, TEXT)
    after = trace(lm, TEXT)
    for key in before:
        assert torch.equal(before[key], after[key]), key
    moved = not torch.equal(before["block1.scores"], inside["block1.scores"])
    assert moved == (arch != "gpt2")


def test_turning_is_undone_after_an_error(lm):
    before = rope_frequencies(lm)
    with pytest.raises(ZeroDivisionError), turning(lm, lambda f: 2 * f):
        raise ZeroDivisionError
    assert torch.equal(rope_frequencies(lm), before)


def test_the_attention_factor_enters_queries_and_keys():
    lm = tiny("llama")
    plain = trace(lm, TEXT)["block0.scores"].tril()
    with turning(lm, lambda f: f, attention_factor=2.0):
        larger = trace(lm, TEXT)["block0.scores"].tril()
    torch.testing.assert_close(larger, 4 * plain)


def test_the_repairs_of_the_page_are_transformers_own(lm):
    """Linear exactly; YaRN at both ends (transformers ramps over the index of a pair, the paper over its turns)."""
    f, config = rope_frequencies(lm), lm.config
    pair, before = torch.arange(32), config.rope_parameters
    settings = {**before, "factor": 4.0, "original_max_position_embeddings": 8192}
    try:
        config.rope_parameters = {**settings, "rope_type": "linear"}
        linear, _ = ROPE_INIT_FUNCTIONS["linear"](config, torch.device("cpu"))
        config.rope_parameters = {**settings, "rope_type": "yarn"}
        yarn, factor = ROPE_INIT_FUNCTIONS["yarn"](config, torch.device("cpu"))
    finally:
        config.rope_parameters = before
    torch.testing.assert_close(linear, f / 4)
    turns = 8192 * f / (2 * torch.pi)
    keep = ((turns - 1) / 31).clamp(0, 1)
    ours = keep * f + (1 - keep) * f / 4
    ends = (turns > 40) | (turns < 0.8)
    torch.testing.assert_close(ours[ends], yarn[ends])
    assert factor == pytest.approx(0.1 * math.log(4) + 1) == pytest.approx(1.139, abs=4e-4)
    ntk = f / 4 ** (pair / 31)
    torch.testing.assert_close(ntk, (100_000 * 4 ** (64 / 62)) ** (-2 * pair / 64))  # another theta
    assert ntk[-1] == pytest.approx(f[-1].item() / 4) and ntk[0] == f[0]


def test_a_jump_in_positions_starts_no_new_text(lm):
    """What the page relies on: with a mask given, tokens behind a gap still see those before it."""
    ids = torch.tensor([lm.encode("The capital of France is Paris. The capital of France is")])
    places = torch.arange(ids.shape[1])[None] + 300 * (torch.arange(ids.shape[1])[None] >= 7)
    with torch.no_grad():
        whole = lm.model(ids, position_ids=places, attention_mask=torch.ones_like(ids)).logits[0, -1].softmax(-1)
        moved = lm.model(ids, position_ids=places + 5000, attention_mask=torch.ones_like(ids)).logits[0, -1].softmax(-1)
        alone = lm.model(ids[:, 7:]).logits[0, -1].softmax(-1)
    paris = lm.encode(" Paris")[0]
    assert whole.argmax() == paris and whole[paris] > alone[paris]
    torch.testing.assert_close(whole, moved, rtol=1e-2, atol=1e-3)
