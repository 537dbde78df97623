"""Attention tile by tile: one small block of scores at a time, the result of the whole matrix.

FlashAttention (Dao et al., 2022, arXiv:2205.14135; Dao, 2023, arXiv:2307.08691) with the online softmax of Milakov
and Gimelshein (2018, arXiv:1805.02867), and FlashDecoding's split-and-merge (Dao et al., 2023). No batch axis: q is
(n_q, n_heads, d_head), k and v are (n_k, n_kv_heads, d_head); neighbouring heads share a key and value head.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

from helpers.errors import ReaderError


@dataclass(frozen=True)
class Tile:
    """A block of the score matrix: its rows (queries), its columns (keys), and how much of it the mask leaves.

    `kind` is "whole" (every pair may look), "partly" (the mask runs through it) or "skipped" (no pair may).
    """

    rows: slice
    columns: slice
    kind: str


class Running(NamedTuple):
    """What is remembered of the tiles so far, for each head and row of a block of queries, in float32 or wider.

    maximum and total (n_heads, rows): the largest score, and the sum of exp(score - maximum); mixed (n_heads, rows,
    d_head): the values, each times its exp(score - maximum).
    """

    maximum: Tensor
    total: Tensor
    mixed: Tensor


def attend_tiled(
    q: Tensor, k: Tensor, v: Tensor, block_q: int = 64, block_k: int = 64, causal: bool = True,
    window: int | None = None, offset: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Mixed values (n_q, n_heads, d_head) and the logarithm of each softmax's sum, (n_heads, n_q).

    Row i stands at position `offset` + i among the keys; unless given, the queries are the last ones. `causal`: a
    row sees no later key; `window`: only the last `window` keys up to itself. A row that sees nothing gets 0 and -inf.
    """
    mixed, log_total = torch.zeros_like(q), q.new_full((q.shape[1], q.shape[0]), -torch.inf, dtype=_wide(q))
    mask = {"causal": causal, "window": window, "offset": len(k) - len(q) if offset is None else offset}
    for rows, its_tiles in groupby(tiles(len(q), len(k), block_q, block_k, **mask), lambda tile: tile.rows):
        running = nothing_yet(q[rows])
        for tile in its_tiles:
            if tile.kind != "skipped":
                running = add_tile(running, tile_scores(q, k, tile, **mask), v[tile.columns])
        block, log_total[:, rows] = finish(running)
        mixed[rows] = block.to(q.dtype)
    return mixed, log_total


def tiles(
    n_q: int, n_k: int, block_q: int = 64, block_k: int = 64, causal: bool = True, window: int | None = None,
    offset: int | None = None,
) -> Iterator[Tile]:  # fmt: skip
    """The tiles in the order they are worked on: for each block of rows, columns from left to right.

    ReaderError: a block or a window of no size.
    """
    if min(block_q, block_k, 1 if window is None else window) < 1:
        raise ReaderError(f"Blocks and windows hold at least 1 token; these are {block_q}, {block_k} and {window}.")
    offset = n_k - n_q if offset is None else offset
    for top in range(0, n_q, block_q):
        rows = slice(top, min(top + block_q, n_q))
        for left in range(0, n_k, block_k):
            columns = slice(left, min(left + block_k, n_k))
            yield Tile(rows, columns, _kind(rows, columns, causal, window, offset))


def _kind(rows: slice, columns: slice, causal: bool, window: int | None, offset: int) -> str:
    first, last = rows.start + offset, rows.stop - 1 + offset  # positions of the outer rows
    oldest = window or columns.stop + abs(last) + 1  # without a window nothing is too old
    if (causal and columns.start > last) or columns.stop - 1 <= first - oldest:
        return "skipped"
    cut = (causal and columns.stop - 1 > first) or columns.start <= last - oldest
    return "partly" if cut else "whole"


def visible(tile: Tile, causal: bool, window: int | None, offset: int, device=None) -> Tensor:
    """True where a row of the tile may look at a column: (rows, columns)."""
    position = torch.arange(tile.rows.start, tile.rows.stop, device=device)[:, None] + offset
    column = torch.arange(tile.columns.start, tile.columns.stop, device=device)
    seen = column <= position if causal else torch.ones_like(column <= position)
    return seen if window is None else seen & (column > position - window)


def tile_scores(q: Tensor, k: Tensor, tile: Tile, causal: bool, window: int | None, offset: int) -> Tensor:
    """Scaled scores of one tile, (n_heads, rows, columns); only a tile that the mask cuts is masked, by element."""
    queries, keys = q[tile.rows].to(_wide(q)), spread(k[tile.columns], q.shape[1]).to(_wide(q))
    scores = torch.einsum("ihd,jhd->hij", queries, keys) * q.shape[-1] ** -0.5
    if tile.kind == "whole":
        return scores
    return scores.masked_fill(~visible(tile, causal, window, offset, q.device), -torch.inf)


def nothing_yet(q: Tensor) -> Running:
    """The state before the first tile, for a block of queries (rows, n_heads, d_head)."""
    zeros = q.new_zeros(q.shape[1], q.shape[0], q.shape[2], dtype=_wide(q))
    return Running(zeros[..., 0] - torch.inf, zeros[..., 0], zeros)


def add_tile(running: Running, scores: Tensor, values: Tensor) -> Running:
    """The state after one more tile; scores (n_heads, rows, columns), values (columns, n_kv_heads, d_head)."""
    maximum = torch.maximum(running.maximum, scores.amax(dim=-1))
    base = maximum.masked_fill(maximum == -torch.inf, 0.0)  # a row that has seen nothing: -inf - -inf is no number
    shares = (scores - base[..., None]).exp()
    shrink = (running.maximum - base).exp()  # what was summed before was measured from the older maximum
    values = spread(values, len(scores)).to(shares.dtype)
    mixed = shrink[..., None] * running.mixed + torch.einsum("hij,jhd->hid", shares, values)
    return Running(maximum, shrink * running.total + shares.sum(dim=-1), mixed)


def finish(running: Running) -> tuple[Tensor, Tensor]:
    """The state divided by its total at last: mixed (rows, n_heads, d_head), log of the total (n_heads, rows)."""
    seen = running.total > 0
    mixed = running.mixed / running.total.where(seen, 1.0)[..., None]
    return mixed.transpose(0, 1), running.maximum + running.total.log()


def merge(parts: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """One result from those over disjoint sets of keys, each (mixed, log_total) as `attend_tiled` returns them."""
    logs = torch.stack([log_total for _, log_total in parts])  # (parts, n_heads, n_q)
    weight = logs.softmax(dim=0).nan_to_num(0.0)  # no number where a row sees nothing in any part
    mixed = sum(w.T[..., None] * mixed for w, (mixed, _) in zip(weight, parts, strict=True))
    return mixed.to(parts[0][0].dtype), logs.logsumexp(dim=0)


def attend_split(q: Tensor, k: Tensor, v: Tensor, n_splits: int, **options) -> tuple[Tensor, Tensor]:
    """As `attend_tiled`, the keys in `n_splits` parts that could be worked on at the same time (FlashDecoding).

    ReaderError: less than one part.
    """
    if n_splits < 1:
        raise ReaderError(f"The keys are cut into 1 part or more, not into {n_splits}.")
    offset = options.pop("offset", None)
    offset = len(k) - len(q) if offset is None else offset
    size = max(1, -(-len(k) // n_splits))
    starts = range(0, max(1, len(k)), size)
    parts = (slice(start, start + size) for start in starts)
    return merge([attend_tiled(q, k[p], v[p], offset=offset - p.start, **options) for p in parts])


def spread(k: Tensor, n_heads: int) -> Tensor:
    """Keys or values (n_tokens, n_kv_heads, d_head), each repeated for the heads that share it."""
    return k.repeat_interleave(n_heads // k.shape[1], dim=1)


def _wide(q: Tensor) -> torch.dtype:
    """Sums are kept in at least float32, whatever the inputs."""
    return torch.promote_types(q.dtype, torch.float32)
