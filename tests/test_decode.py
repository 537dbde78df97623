"""The decode step against transformers: logits, tokens, and which models it takes."""

import pytest
import torch

from helpers.decode import FAMILIES, Decoder, can_decode
from helpers.generate import generate
from helpers.intervene import intervene
from helpers.kv_cache import cache_bytes, forward_with_cache, new_cache
from tests.test_generate import theirs
from tests.tiny import ARCHS, tiny

IDS = [5, 9, 2, 7, 7, 30, 41, 3]
FAST = ("llama", "qwen2", "qwen3", "gpt2")


@pytest.mark.parametrize("arch", FAST)
@pytest.mark.parametrize("n_prompt", (1, 5))
def test_logits_of_every_step_are_those_of_the_full_pass(arch, n_prompt):
    lm, cache = tiny(arch), new_cache(tiny(arch))
    forward_with_cache(lm, IDS[:n_prompt], cache)
    decoder = Decoder(lm, cache, len(IDS))
    steps = torch.stack([decoder(token_id) for token_id in IDS[n_prompt:]])
    torch.testing.assert_close(steps, forward_with_cache(lm, IDS, None)[n_prompt:], rtol=5e-4, atol=5e-4)


def test_it_takes_the_models_whose_step_it_is():
    assert {arch for arch in ARCHS if can_decode(tiny(arch))} == set(FAST)  # tiny Mistral has a sliding window
    assert set(FAST) < set(FAMILIES)


def test_it_leaves_a_changed_model_to_transformers():
    lm = tiny("llama")
    with intervene(lm, {"block0.mlp": torch.zeros_like}):
        assert not can_decode(lm)
        changed = generate(lm, IDS, 12)
        assert changed.token_ids == generate(lm, IDS, 12, cache=False).token_ids
    assert can_decode(lm)
    assert changed.token_ids != generate(lm, IDS, 12).token_ids


def test_it_leaves_other_precisions_and_moving_rotations_to_transformers(monkeypatch):
    lm = tiny.__wrapped__("llama")  # one of its own: rounded weights do not come back
    monkeypatch.setitem(lm.config.rope_parameters, "rope_type", "dynamic")
    assert not can_decode(lm)
    monkeypatch.undo()
    assert can_decode(lm)
    lm.model.to(torch.bfloat16)
    assert not can_decode(lm)


@pytest.mark.parametrize("arch", ARCHS)
def test_greedy_is_transformers_to_the_end_of_the_context_window(arch):
    lm = tiny(arch)
    ours = generate(lm, IDS, 100)
    assert len(ours.token_ids) > 1
    assert ours.token_ids == theirs(lm, IDS, 100, do_sample=False)


def test_gemma_s_windows_bound_what_most_blocks_keep(gemma):
    """What notebook 07 computes for 8,192 tokens, at a length a test can afford."""
    n_tokens, cache = 540, new_cache(gemma)
    forward_with_cache(gemma, [2, *range(1000, 1000 + n_tokens - 1)], cache, last_only=True)
    a_row = 2 * 1 * 256 * 4  # one KV head of 256 numbers, float32
    assert gemma.config.layer_types.count("sliding_attention") == 15
    assert cache_bytes(cache) == a_row * (15 * (512 - 1) + 3 * n_tokens)  # the new token itself fills the window
