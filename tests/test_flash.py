"""Attention tile by tile equals attention with the whole matrix: any tile, mask, sharing of heads, split."""

import math

import pytest
import torch
import torch.nn.functional as F

from helpers.errors import ReaderError
from helpers.flash import add_tile, attend_split, attend_tiled, finish, merge, nothing_yet, tiles, visible
from helpers.flash_backward import TiledAttention
from helpers.trace import trace
from tests.tiny import WINDOW, tiny

EXACT = {"rtol": 1e-10, "atol": 1e-12}  # float64


def inputs(n_q, n_k, n_heads=6, n_kv_heads=2, d_head=8, scale=3.0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(n_q * 1000 + n_k)
    sizes = (n_q, n_heads, d_head), (n_k, n_kv_heads, d_head), (n_k, n_kv_heads, d_head)
    return [scale * torch.randn(*size, generator=generator, dtype=dtype) for size in sizes]


def may_look(n_q, n_k, causal=True, window=None, offset=None):
    """(n_q, n_k), pair by pair, as the definition says."""
    offset = n_k - n_q if offset is None else offset
    return torch.tensor([[
        (not causal or j <= i + offset) and (window is None or j > i + offset - window) for j in range(n_k)
    ] for i in range(n_q)])  # fmt: skip


def whole(q, k, v, **mask):
    """Naive attention over the whole matrix, by torch's own function; rows that see nothing give 0."""
    seen = may_look(len(q), len(k), **mask)
    heads = [x.transpose(0, 1) for x in (q, k, v)]
    mixed = F.scaled_dot_product_attention(*heads, attn_mask=seen, enable_gqa=True).transpose(0, 1)
    return torch.where(seen.any(dim=1)[:, None, None], mixed, 0.0)


@pytest.mark.parametrize("block_q, block_k", [(1, 1), (2, 3), (7, 5), (16, 16), (64, 64), (5, 100), (100, 1)])
@pytest.mark.parametrize("mask", [{}, {"causal": False}, {"window": 1}, {"window": 6}, {"window": 6, "causal": False}])
@pytest.mark.parametrize("n_q, n_k", [(1, 1), (23, 23), (16, 16), (1, 40), (5, 33)])
def test_tiles_of_any_size_give_the_whole_result(n_q, n_k, mask, block_q, block_k):
    q, k, v = inputs(n_q, n_k)
    mixed, _ = attend_tiled(q, k, v, block_q, block_k, **mask)
    torch.testing.assert_close(mixed, whole(q, k, v, **mask), **EXACT)


@pytest.mark.parametrize("n_kv_heads", [6, 3, 1])
def test_heads_share_keys_and_values(n_kv_heads):
    q, k, v = inputs(19, 19, n_kv_heads=n_kv_heads)
    torch.testing.assert_close(attend_tiled(q, k, v, 4, 4)[0], whole(q, k, v), **EXACT)


def test_the_logarithms_are_those_of_the_softmax():
    q, k, v = inputs(12, 12, n_kv_heads=6)
    scores = torch.einsum("ihd,jhd->hij", q, k) / math.sqrt(8)
    expected = scores.masked_fill(~may_look(12, 12), -torch.inf).logsumexp(dim=-1)
    torch.testing.assert_close(attend_tiled(q, k, v, 5, 3)[1], expected, **EXACT)


def test_scores_too_large_for_exp_do_no_harm():
    q, k, v = inputs(20, 20, scale=200.0, dtype=torch.float32)  # scores beyond 100,000; exp ends at 88
    mixed, log_total = attend_tiled(q, k, v, 4, 4)
    torch.testing.assert_close(mixed, whole(q, k, v), rtol=1e-4, atol=1e-4)
    assert log_total.isfinite().all()


def test_half_precision_is_summed_in_float32():
    q, k, v = (x.to(torch.bfloat16) for x in inputs(64, 64, dtype=torch.float32, scale=1.0))
    mixed, log_total = attend_tiled(q, k, v, 8, 8)
    assert mixed.dtype == torch.bfloat16 and log_total.dtype == torch.float32
    exact = whole(*(x.double() for x in (q, k, v)))
    torch.testing.assert_close(mixed.double(), exact, rtol=2**-8, atol=1e-4)  # the rounding of the result alone


@pytest.mark.parametrize("n_splits", [1, 2, 3, 7, 40, 100])
@pytest.mark.parametrize("window", [None, 9])
def test_parts_of_a_long_cache_merge_into_the_whole(n_splits, window):
    q, k, v = inputs(3, 40)
    mixed, log_total = attend_split(q, k, v, n_splits, window=window, block_k=4)
    torch.testing.assert_close(mixed, whole(q, k, v, window=window), **EXACT)
    torch.testing.assert_close(log_total, attend_tiled(q, k, v, window=window)[1], **EXACT)


def test_a_row_that_sees_nothing_gives_nothing():
    q, k, v = inputs(4, 3)  # more rows than keys: the first stands before them all
    mixed, log_total = attend_tiled(q, k, v, 2, 2)
    assert mixed[0].eq(0).all() and log_total[:, 0].eq(-torch.inf).all()
    torch.testing.assert_close(mixed, whole(q, k, v), **EXACT)
    merged, _ = merge([(mixed, log_total), (mixed, log_total)])
    torch.testing.assert_close(merged, mixed, **EXACT)


@pytest.mark.parametrize("mask", [{}, {"causal": False}, {"window": 5}, {"offset": -3}, {"offset": 9, "window": 4}])
def test_kinds_of_tiles_are_what_the_mask_says(mask):
    n_q, n_k, full = 17, 21, {"causal": True, "window": None, "offset": 4} | mask
    seen, covered = may_look(n_q, n_k, **full), torch.zeros(n_q, n_k, dtype=torch.long)
    for tile in tiles(n_q, n_k, 4, 5, **mask):
        part = seen[tile.rows, tile.columns]
        kind = "whole" if part.all() else "partly" if part.any() else "skipped"
        assert tile.kind == kind, tile
        assert torch.equal(visible(tile, **full), part)
        covered[tile.rows, tile.columns] += 1
    assert (covered == 1).all()


def test_a_causal_mask_skips_nearly_half_of_the_tiles():
    kinds = [tile.kind for tile in tiles(1024, 1024, 64, 64)]
    assert (kinds.count("whole"), kinds.count("partly"), kinds.count("skipped")) == (120, 16, 120)


@pytest.mark.parametrize("sizes", [{"block_q": 0}, {"block_k": -1}, {"window": 0}])
def test_blocks_of_no_size_are_answered_with_a_sentence(sizes):
    with pytest.raises(ReaderError, match="hold at least 1 token"):
        attend_tiled(*inputs(4, 4), **sizes)


def test_a_running_state_may_be_finished_at_any_tile():
    q, k, v = inputs(3, 10, n_heads=1, n_kv_heads=1)
    running = nothing_yet(q)
    for end in range(1, 11):
        scores = (q[:, 0] @ k[end - 1, 0]) * 8**-0.5
        running = add_tile(running, scores[None, :, None], v[end - 1 : end])
        torch.testing.assert_close(finish(running)[0], whole(q, k[:end], v[:end], causal=False), **EXACT)


def test_no_keys_and_no_parts():
    q, k, v = inputs(2, 3)
    for mixed, log_total in (attend_tiled(q, k[:0], v[:0]), attend_split(q, k[:0], v[:0], 2)):
        assert mixed.eq(0).all() and log_total.eq(-torch.inf).all()
    with pytest.raises(ReaderError, match="1 part or more, not into 0"):
        attend_split(q, k, v, 0)


def test_no_second_derivative_is_promised():
    q, k, v = (x.requires_grad_() for x in inputs(5, 5))
    mixed = TiledAttention.apply(q, k, v, 2, 2, True, None)
    (first,) = torch.autograd.grad(mixed.square().sum(), q, create_graph=True)
    with pytest.raises(RuntimeError):  # by an error, whichever torch gives: a number would be wrong
        torch.autograd.grad(first.sum(), q)


def test_gradients_of_half_precision_are_summed_in_float32():
    half = [x.half().requires_grad_() for x in inputs(20, 20, scale=1.0)]
    exact = [x.detach().double().requires_grad_() for x in half]
    ours = torch.autograd.grad(TiledAttention.apply(*half, 8, 8, True, None).float().square().sum(), half)
    theirs = torch.autograd.grad(whole(*exact).square().sum(), exact)
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == torch.float16
        torch.testing.assert_close(one.double(), other, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("mask", [(True, None), (False, None), (True, 4)])
@pytest.mark.parametrize("n_q, n_k", [(9, 9), (2, 9), (4, 3)])
def test_gradients_without_the_kept_matrix(n_q, n_k, mask):
    given = [x.requires_grad_() for x in inputs(n_q, n_k, n_heads=4, d_head=3, scale=1.0)]
    assert torch.autograd.gradcheck(lambda q, k, v: TiledAttention.apply(q, k, v, 2, 4, *mask), given)


def test_gradients_equal_those_through_the_whole_matrix():
    given = [x.requires_grad_() for x in inputs(20, 20)]
    weights = torch.randn(20, 6, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ours = torch.autograd.grad((TiledAttention.apply(*given, 8, 8, True, None) * weights).sum(), given)
    theirs = torch.autograd.grad((whole(*given) * weights).sum(), given)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, **EXACT)


@pytest.mark.parametrize("arch", ["llama", "gemma3", "mistral"])
def test_q_k_and_v_of_a_model_give_its_own_mix(arch):
    lm = tiny(arch)
    seen, n_windows = trace(lm, "one two three four five six"), 0
    assert len(seen.tokens) > WINDOW
    kinds = getattr(lm.config, "layer_types", None) or ["sliding_attention"] * lm.config.num_hidden_layers
    for i, kind in enumerate(kinds):
        window = getattr(lm.config, "sliding_window", None) if kind == "sliding_attention" else None
        n_windows += window is not None
        q, k, v = (seen[f"block{i}.{name}"] for name in ("q_rot", "k_rot", "v"))
        if scalar := getattr(lm.config, "query_pre_attn_scalar", None):
            q = q * (q.shape[-1] / scalar) ** 0.5
        torch.testing.assert_close(attend_tiled(q, k, v, 3, 2, window=window)[0], seen[f"block{i}.mixed"])
    assert n_windows == {"llama": 0, "gemma3": 1, "mistral": 2}[arch]
