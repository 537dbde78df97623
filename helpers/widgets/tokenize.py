"""Explorer over a byte-level BPE tokenizer: type a text, see pieces, ids, bytes and the merges between."""

import numpy as np
from traitlets import Bool, Bytes, Dict, Int, List, Unicode

from helpers.bpe import merge_steps, read_bpe
from helpers.language import text as words_for
from helpers.tokens import token_bytes, token_labels
from helpers.widgets.base import FOLDER, Explorer, html_table

_N_ROWS = 24


class TokenizeExplorer(Explorer):
    """The tokens of `text` as `tokenizer` cuts it, every merge on the way, and the family tree of a token.

    `text` and `step` (merges done; -1 for all of them) follow the view and move it. ReaderError when the
    tokenizer is no byte-level BPE of GPT-2's kind.
    """

    _esm = FOLDER / "tokenize.js"
    _css = Explorer._css + (FOLDER / "tokenize.css").read_text(encoding="utf-8")
    words_of = "tokenize"

    text = Unicode().tag(sync=True)
    step = Int(-1).tag(sync=True)
    size = Int().tag(sync=True)
    triple_bytes = Bytes().tag(sync=True)  # (left, right, made) of every merge by rank, little-endian
    bytes_each = Int().tag(sync=True)
    byte_ids = List(Int()).tag(sync=True)  # id of each of the 256 bytes, -1 where it has none
    special = Dict().tag(sync=True)
    digits_alone = Bool().tag(sync=True)

    def __init__(self, tokenizer, text="", step=-1):
        self._tokenizer, self._bpe = tokenizer, read_bpe(tokenizer)
        size = len(tokenizer)
        kind = "<u2" if size <= 2**16 else "<u4"
        super().__init__(
            text=text,
            step=step,
            size=size,
            triple_bytes=packed_merges(self._bpe).astype(kind).tobytes(),
            bytes_each=np.dtype(kind).itemsize,
            byte_ids=[self._bpe.byte_ids.get(byte, -1) for byte in range(256)],
            special=self._bpe.special,
            digits_alone=self._bpe.digits_alone,
        )

    @property
    def ids(self):
        """The ids after `step` merges."""
        steps = [ids for _, ids in merge_steps(self._bpe, self.text)]
        return steps[-1 if self.step < 0 else min(self.step, len(steps) - 1)]

    @property
    def pieces(self):
        """The labels of `ids`."""
        return token_labels(self._tokenizer, self.ids)

    def table(self):
        """The first tokens with their ids and bytes, as HTML."""
        ids = self.ids
        rows = [
            [label, str(i), token_bytes(self._tokenizer, i).hex(" ")]
            for label, i in zip(self.pieces[:_N_ROWS], ids[:_N_ROWS], strict=True)
        ]
        header = [words_for(f"tokenize.{name}") for name in ("piece", "id", "bytes")]
        return html_table(words_for("tokenize.table", n=len(ids)), header, rows)


def packed_merges(bpe):
    """(left, right, made) of every merge, in the order of the ranks: int64 (n_merges, 3)."""
    by_rank = sorted((rank, *pair, made) for pair, (rank, made) in bpe.merges.items())
    return np.array(by_rank, dtype=np.int64).reshape(-1, 4)[:, 1:]
