"""What the tile explorer shows: the state of one head after every tile, and what it took so far."""

from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from helpers.errors import ReaderError
from helpers.flash import Running, Tile, add_tile, nothing_yet, spread, tile_scores, tiles
from helpers.flash_counts import naive_traffic, tiled_traffic


@dataclass(frozen=True)
class Step:
    """After one tile of one head; the fields of `running` keep their axis of heads, of length 1.

    scores (rows, columns): -inf where the mask hides, None where the tile is skipped. factor (rows,): what the total
    and the mix of the rows were multiplied by, 1 where no larger score came, 0 where there was nothing yet, which
    `first` (rows,) marks.
    """

    tile: Tile
    scores: Tensor | None
    running: Running
    factor: Tensor
    first: Tensor
    complete: bool  # it is the last tile of its rows


def walk(q: Tensor, k: Tensor, v: Tensor, block_q: int, block_k: int, window: int | None = None) -> list[Step]:
    """`helpers.flash.attend_tiled` for one head, every step kept: q (n_q, 1, d_head), k and v (n_k, 1, d_head).

    The queries are the last ones of the text, and see no later key.
    """
    mask, steps = {"causal": True, "window": window, "offset": len(k) - len(q)}, []
    for rows, its_tiles in groupby(tiles(len(q), len(k), block_q, block_k, **mask), lambda tile: tile.rows):
        running = nothing_yet(q[rows])
        for tile in its_tiles:
            before, scores = running, None
            if tile.kind != "skipped":
                scores = tile_scores(q, k, tile, **mask)
                running = add_tile(before, scores, v[tile.columns])
            change = (before.maximum - running.maximum)[0].nan_to_num(nan=0.0)  # nothing before, nothing now
            first = ((before.maximum == -torch.inf) & (running.maximum > -torch.inf))[0]
            complete = tile.columns.stop == len(k)
            steps.append(Step(tile, None if scores is None else scores[0], running, change.exp(), first, complete))
    return steps


def counts(steps: list[Step], step: int, number: int) -> dict[str, int]:
    """Tiles, numbers held and bytes moved after `step`, for one head; `number` is the bytes of one number.

    Bytes as `helpers.flash_counts` counts them: queries when their rows begin, keys and values with every tile that
    is loaded, the result when its rows are complete.
    """
    all_tiles, now = [one.tile for one in steps], steps[step]
    loaded = [tile.kind != "skipped" for tile in all_tiles]
    n_rows, n_columns = (s.stop - s.start for s in (now.tile.rows, now.tile.columns))
    n_q, n_k, d_head = all_tiles[-1].rows.stop, all_tiles[-1].columns.stop, now.running.mixed.shape[-1]
    moved = tiled_traffic(all_tiles[: step + 1], 1, 1, d_head, number).total
    unwritten = 0 if now.complete else n_rows * (d_head * number + 4)
    return {
        "loaded": sum(loaded[: step + 1]),
        "to_load": sum(loaded),
        "skipped": step + 1 - sum(loaded[: step + 1]),
        "to_skip": len(loaded) - sum(loaded),
        "scores": n_rows * n_columns * loaded[step],
        "all_scores": n_q * n_k,
        "state": n_rows * (d_head + 2),
        "moved": moved - unwritten,
        "to_move": tiled_traffic(all_tiles, 1, 1, d_head, number).total,
        "naive": naive_traffic(n_q, n_k, 1, 1, d_head, number).total,
    }


def score_scale(q: Tensor, k: Tensor, scores: Tensor) -> float:
    """What the model multiplies q · k by, read off its scores (n_heads, n_q, n_k): the least squares of both.

    Most models divide by the square root of d_head; Gemma has a number of its own.
    """
    dots = torch.einsum("ihd,jhd->hij", q.double(), spread(k, q.shape[1]).double())
    seen = scores.isfinite()
    return (dots[seen] @ scores[seen].double() / (dots[seen] @ dots[seen])).item()


def read_block(seen, layer: int, n: int) -> list[Tensor]:
    """q, k, v and mixed of the first `n` tokens, (n, heads, d_head), as they enter the scores; on the CPU."""
    if f"block{layer}.v" not in seen:
        n_layers = sum(key.endswith(".v") for key in seen)
        raise ReaderError(f"layer {layer} is not there: this trace has blocks 0 to {n_layers - 1}.")
    turned = "_rot" if f"block{layer}.q_rot" in seen else ""
    names = (f"q{turned}", f"k{turned}", "v", "mixed")
    tensors = [seen[f"block{layer}.{name}"][:n].detach().cpu() for name in names]
    if not all(t.isfinite().all() for t in tensors):
        raise ReaderError(f"q, k, v or mixed of block {layer} is not finite (NaN or infinite): nothing can be shown.")
    return tensors
