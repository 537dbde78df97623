"""The KV cache against the full pass, its bytes against the formula, and branches of it."""

import warnings

import pytest
import torch

from helpers.errors import ReaderError
from helpers.kv_cache import cache_bytes, copy_cache, forward_with_cache, keys_values, n_cached, new_cache
from helpers.trace import trace
from tests.tiny import ARCHS, WINDOW, tiny

IDS = [5, 9, 2, 7, 7, 30, 41, 3]
FULL_ATTENTION = [arch for arch in ARCHS if arch not in ("gemma3", "mistral")]


@pytest.fixture(autouse=True)
def future_warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        yield


def filled(lm, ids=IDS):
    cache = new_cache(lm)
    forward_with_cache(lm, ids, cache)
    return cache


@pytest.mark.parametrize("arch", ARCHS)
def test_prefill_and_single_steps_give_the_logits_of_the_full_pass(arch):
    lm, cache = tiny(arch), new_cache(tiny(arch))
    full = lm.model(input_ids=torch.tensor([IDS])).logits[0]
    torch.testing.assert_close(forward_with_cache(lm, IDS, None), full)
    parts = [forward_with_cache(lm, ids, cache) for ids in (IDS[:3], IDS[3:4], IDS[4:5], IDS[5:])]
    torch.testing.assert_close(torch.cat(parts), full, rtol=5e-4, atol=5e-4)
    assert n_cached(cache) == len(IDS)


@pytest.mark.parametrize("arch", ARCHS)
def test_last_only_is_the_last_row(arch):
    lm = tiny(arch)
    last = forward_with_cache(lm, IDS, new_cache(lm), last_only=True)
    assert last.shape == (1, lm.config.vocab_size)
    torch.testing.assert_close(last, forward_with_cache(lm, IDS, None)[-1:])


@pytest.mark.parametrize("arch", FULL_ATTENTION)
def test_bytes_follow_the_formula_with_key_value_heads(arch):
    lm, config = tiny(arch), tiny(arch).config
    n_heads = config.num_attention_heads
    n_kv_heads = getattr(config, "num_key_value_heads", n_heads)
    d_head = getattr(config, "head_dim", None) or config.hidden_size // n_heads
    expected = 2 * config.num_hidden_layers * n_kv_heads * d_head * 4 * len(IDS)
    assert cache_bytes(filled(lm)) == expected
    if arch != "gpt2":
        assert n_kv_heads < n_heads  # else the formula with n_heads would pass as well


def test_a_sliding_layer_keeps_the_window_less_one():
    lm = tiny("gemma3")
    cache = filled(lm)
    n_kept = {"sliding_attention": WINDOW - 1, "full_attention": len(IDS)}
    for layer, kind in enumerate(lm.config.layer_types):
        assert len(keys_values(cache, layer)[0]) == n_kept[kind]
    assert set(lm.config.layer_types) == set(n_kept)
    a_token = 2 * lm.config.num_key_value_heads * lm.config.head_dim * 4
    assert cache_bytes(cache) == a_token * sum(n_kept[kind] for kind in lm.config.layer_types)


@pytest.mark.parametrize("arch", FULL_ATTENTION)
def test_cached_keys_and_values_are_the_trace_s(arch):
    lm, seen = tiny(arch), trace(tiny(arch), IDS)
    cache = filled(lm)
    for layer in range(lm.config.num_hidden_layers):
        keys, values = keys_values(cache, layer)
        torch.testing.assert_close(keys, seen.get(f"block{layer}.k_rot", seen[f"block{layer}.k"]))
        torch.testing.assert_close(values, seen[f"block{layer}.v"])


@pytest.mark.parametrize("arch", ARCHS)
def test_a_branch_and_its_origin_go_their_own_ways(arch):
    lm = tiny(arch)
    origin = filled(lm)
    branch, before = copy_cache(origin), cache_bytes(origin)
    with_11 = forward_with_cache(lm, [11], branch)
    assert (n_cached(branch), n_cached(origin), cache_bytes(origin)) == (len(IDS) + 1, len(IDS), before)
    forward_with_cache(lm, [12], origin)
    torch.testing.assert_close(with_11, forward_with_cache(lm, [*IDS, 11], None)[-1:], rtol=5e-4, atol=5e-4)
    both = [forward_with_cache(lm, [1], cache) for cache in (branch, origin)]
    expected = [forward_with_cache(lm, [*IDS, last, 1], None)[-1:] for last in (11, 12)]
    torch.testing.assert_close(both, expected, rtol=5e-4, atol=5e-4)


def test_a_new_cache_is_empty():
    cache = new_cache(tiny("llama"))
    assert (n_cached(cache), cache_bytes(cache)) == (0, 0)
    with pytest.raises(ReaderError, match="0 layers"):
        keys_values(cache, 0)


@pytest.mark.parametrize("layer", (-1, 2))
def test_a_layer_that_is_not_there_is_answered_with_a_sentence(layer):
    with pytest.raises(ReaderError, match=f"Layer {layer} is not in the cache, which now holds 2 layers"):
        keys_values(filled(tiny("llama")), layer)


def test_logits_and_cache_can_be_used_outside_like_any_tensor():
    lm = tiny("llama")
    cache = new_cache(lm)
    logits = forward_with_cache(lm, IDS, cache)
    logits[0, 0] = 0  # an inference tensor would refuse
    assert not logits.requires_grad and not keys_values(cache, 0)[0].is_inference()


def test_smollm2_takes_46080_bytes_a_token(lm):
    assert cache_bytes(filled(lm)) == 46_080 * len(IDS)


@pytest.mark.parametrize("split", (1, 7, 15))
def test_smollm2_cached_logits_are_within_5e_4_of_the_full_pass(lm, split):
    ids = lm.encode("The capital of France is Paris. Water boils at 100 degrees Celsius.")
    cache = new_cache(lm)
    parts = (ids[:split], ids[split : split + 1], ids[split + 1 :])
    cached = torch.cat([forward_with_cache(lm, part, cache) for part in parts])
    torch.testing.assert_close(cached, forward_with_cache(lm, ids, None), rtol=5e-4, atol=5e-4)
