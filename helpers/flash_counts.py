"""What attention moves through memory, counted from its shape: with the whole score matrix, and tile by tile."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from helpers.flash import Tile
from helpers.paths import DATA


@dataclass(frozen=True)
class Traffic:
    """Bytes read from and written to main memory."""

    read: int
    written: int

    @property
    def total(self) -> int:
        return self.read + self.written


def naive_traffic(n_q: int, n_k: int, n_heads: int, n_kv_heads: int, d_head: int, number: int = 4) -> Traffic:
    """The least that three separate operations move: scores, softmax, mix, each reading what the one before wrote.

    Scaling and mask are counted as part of the scores' operation; `number` is the bytes of one number.
    """
    pairs, queries, keys = n_heads * n_q * n_k, n_heads * n_q * d_head, n_kv_heads * n_k * d_head
    read = (queries + keys) + pairs + (pairs + keys)  # q and k; scores; pattern and v
    return Traffic(read * number, (pairs + pairs + queries) * number)  # scores, pattern, mixed


def tiled_traffic(
    tiles: Iterable[Tile], n_heads: int, n_kv_heads: int, d_head: int, number: int = 4, shared: bool = False
) -> Traffic:
    """Queries and results pass once; keys and values once for every tile that is not skipped.

    `shared`: heads with the same keys work on a loaded tile together; else each loads it for itself, as a GPU's
    thread blocks do. The logarithms kept for the way back are 4 bytes a row and head.
    """
    tiles = list(tiles)
    n_q = max(tile.rows.stop for tile in tiles)
    loads = sum(tile.columns.stop - tile.columns.start for tile in tiles if tile.kind != "skipped")
    keys_and_values = 2 * (n_kv_heads if shared else n_heads) * loads * d_head
    queries = n_heads * n_q * d_head
    return Traffic((queries + keys_and_values) * number, queries * number + n_heads * n_q * 4)


def accelerators() -> list[dict]:
    """GPUs with `name`, `flops` (16-bit operations a second) and `bytes_per_s`, as data/README.md says."""
    return json.loads((DATA / "accelerators.json").read_text(encoding="utf-8"))
