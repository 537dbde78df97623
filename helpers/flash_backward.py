"""The way back through tiled attention: scores are computed again, tile by tile, instead of being kept.

The backward pass of FlashAttention (Dao et al., 2022, algorithm 4): from one number a row, the logarithm of its
softmax's sum, every weight of the pattern follows again.
"""

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from helpers.flash import attend_tiled, spread, tile_scores, tiles


class TiledAttention(torch.autograd.Function):
    """`TiledAttention.apply(q, k, v, block_q, block_k, causal, window)` is mixed (n_q, n_heads, d_head).

    For the way back it keeps q, k, v, mixed and n_heads numbers a token: nothing of size n_q · n_k.
    """

    @staticmethod
    def forward(ctx, q, k, v, block_q, block_k, causal, window):
        mixed, log_total = attend_tiled(q, k, v, block_q, block_k, causal, window)
        ctx.save_for_backward(q, k, v, mixed, log_total)
        ctx.how = block_q, block_k, causal, window
        return mixed

    @staticmethod
    @once_differentiable  # a second derivative would need the first one's own graph
    def backward(ctx, d_mixed):
        return *tiled_gradients(*ctx.saved_tensors, d_mixed, *ctx.how), None, None, None, None


def tiled_gradients(
    q: Tensor, k: Tensor, v: Tensor, mixed: Tensor, log_total: Tensor, d_mixed: Tensor,
    block_q: int = 64, block_k: int = 64, causal: bool = True, window: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradients of q, k and v, from what the forward pass returned and the gradient of `mixed`."""
    given, wide = (q, k, v), log_total.dtype  # sums are kept in at least float32
    q, k, v, mixed, d_mixed = (x.to(wide) for x in (q, k, v, mixed, d_mixed))
    d_q, d_k, d_v = (torch.zeros_like(x) for x in (q, k, v))
    # what the softmax takes off every gradient of its row: sum over j of pattern · d_pattern, without the pattern
    taken = (mixed * d_mixed).sum(dim=-1).T  # (n_heads, n_q)
    mask = {"causal": causal, "window": window, "offset": len(k) - len(q)}
    for tile in tiles(len(q), len(k), block_q, block_k, **mask):
        if tile.kind == "skipped":
            continue
        rows, columns = tile.rows, tile.columns
        base = log_total[:, rows, None]
        base = base.masked_fill(base == -torch.inf, 0.0)  # a row that sees nothing
        pattern = (tile_scores(q, k, tile, **mask) - base).exp()  # computed again
        values = spread(v[columns], q.shape[1])
        d_scores = pattern * (torch.einsum("ihd,jhd->hij", d_mixed[rows], values) - taken[:, rows, None])
        d_scores = d_scores * q.shape[-1] ** -0.5
        d_q[rows] += torch.einsum("hij,jhd->ihd", d_scores, spread(k[columns], q.shape[1]))
        d_k[columns] += _gather(torch.einsum("hij,ihd->jhd", d_scores, q[rows]), k.shape[1])
        d_v[columns] += _gather(torch.einsum("hij,ihd->jhd", pattern, d_mixed[rows]), v.shape[1])
    return tuple(gradient.to(x.dtype) for gradient, x in zip((d_q, d_k, d_v), given, strict=True))


def _gather(gradients: Tensor, n_kv_heads: int) -> Tensor:
    """A shared key or value collects the gradients of all heads that use it: (columns, n_kv_heads, d_head)."""
    return gradients.unflatten(1, (n_kv_heads, -1)).sum(dim=2)
