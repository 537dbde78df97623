"""The embedding table of a bundled model, read from its file alone: the model is not loaded."""

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from helpers.bundles import BUNDLES
from helpers.fetch import cache_dir
from helpers.gguf_blocks import block_type
from helpers.gguf_file import GgufFile

TABLE, PIECES = "token_embd.weight", "tokenizer.ggml.tokens"
ROWS = 8_192  # unpacked at a time: 21 MB of Gemma 3's 671


class StoredTable:
    """The rows of one table, read from the file when asked for and never all at once.

    `pieces`: the vocabulary as its file writes it, one text a row.
    """

    def __init__(self, file: GgufFile):
        self.pieces: list[str] = file.metadata[PIECES]
        self._path, self._info = file.path, file.tensors[TABLE]
        self._block = block_type(self._info.kind)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {piece: i for i, piece in enumerate(self.pieces)}

    def row(self, piece: str) -> Tensor | None:
        """The vector (d_model,) of a piece; None where the text is no single piece of the vocabulary."""
        i = self._ids.get(piece)
        return None if i is None else self._rows(i, i + 1)[0]

    def nearest(self, vectors: Tensor, k: int) -> list[list[str]]:
        """For each of vectors (n, d_model) the k pieces that point most in its direction, nearest first."""
        unit = vectors / vectors.norm(dim=-1, keepdim=True)
        starts = range(0, len(self.pieces), ROWS)
        cosines = torch.cat([_unit(self._rows(start, start + ROWS)) @ unit.T for start in starts])  # (pieces, n)
        return [[self.pieces[i] for i in ids] for ids in cosines.topk(k, dim=0).indices.T.tolist()]

    def _rows(self, start: int, end: int) -> Tensor:
        n_rows, d_model = self._info.shape
        n_rows = min(end, n_rows) - start
        row_bytes = d_model // self._block.n_values * self._block.n_bytes
        place = self._info.start + start * row_bytes
        stored = np.fromfile(self._path, np.uint8, n_rows * row_bytes, offset=place)
        return torch.from_numpy(self._block.dequantize(stored.reshape(n_rows, row_bytes)).reshape(n_rows, d_model))


def _unit(rows: Tensor) -> Tensor:
    return rows.div_(rows.norm(dim=-1, keepdim=True))


def stored_table(name: str) -> StoredTable | None:
    """The table of a bundled model; None where its file has not been fetched (`python -m helpers fetch NAME`)."""
    path = cache_dir() / BUNDLES[name].file_name
    return StoredTable(GgufFile(path)) if path.is_file() else None
