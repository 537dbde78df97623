"""Explorer over the logit lens: what every depth would say next at every position."""

import numpy as np
import torch
from traitlets import Bytes, Int, List, Unicode, validate

from helpers import language
from helpers.errors import ReaderError
from helpers.language import text
from helpers.lens import read_depths
from helpers.tokens import token_labels
from helpers.widgets.base import FOLDER, Explorer, html_table
from helpers.widgets.lens_words import STRINGS

language.STRINGS.update(STRINGS)

MOST_TOKENS = 48  # columns: with more, the explorer would take longer to compute than to read
MODES = ("guess", "answer")


class LensExplorer(Explorer):
    """The likeliest next tokens after every number of blocks, at every token of `seen`, a trace of the model `lm`.

    Of a prompt longer than 48 tokens the last ones are shown. `depth` (blocks done, 0: the embeddings) and
    `position` (in the prompt) follow the view and move it; `mode` is what a cell shows, "guess" (the likeliest
    token) or "answer" (the rank of the token that the whole model finds likeliest). `reading` holds the
    numbers. ReaderError for a place or a mode that is not there.
    """

    _esm = FOLDER / "lens.js"
    _css = Explorer._css + (FOLDER / "lens.css").read_text(encoding="utf-8")
    words_of = "lens"

    depth = Int(0).tag(sync=True)
    position = Int(0).tag(sync=True)
    mode = Unicode("guess").tag(sync=True)
    numbers = Bytes().tag(sync=True)  # float32, a cell: k probabilities, the answer's probability, bits
    places = Bytes().tag(sync=True)  # int32, a cell: k places in `labels`, the answer's rank
    labels = List(Unicode()).tag(sync=True)
    tokens = List(Unicode()).tag(sync=True)
    positions = List(Int()).tag(sync=True)
    n_layers = Int().tag(sync=True)
    n_vocab = Int().tag(sync=True)
    caption = Unicode().tag(sync=True)

    def __init__(self, lm, seen, depth=None, position=None, mode="guess"):
        n_tokens = len(seen.tokens)
        positions = list(range(max(0, n_tokens - MOST_TOKENS), n_tokens))
        self.reading = read = read_depths(lm, seen, positions)
        ids, places = read.ids.unique(return_inverse=True)
        n_layers = len(read.ids) - 1
        super().__init__(
            numbers=_packed("<f4", read.probs, read.answer_probs[..., None], read.bits[..., None]),
            places=_packed("<i4", places, read.ranks[..., None]),
            labels=token_labels(lm.tokenizer, ids),
            tokens=[seen.tokens[i] for i in positions],
            positions=positions,
            n_layers=n_layers,
            n_vocab=seen["logits"].shape[-1],
            caption=caption_text(seen, positions),
            depth=n_layers if depth is None else depth,
            position=n_tokens - 1 if position is None else position,
            mode=mode,
        )

    @validate("depth", "position", "mode")
    def _place(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        known = {"depth": range(self.n_layers + 1), "position": self.positions, "mode": MODES}[name]
        if value not in known:
            between = ", ".join(known) if name == "mode" else f"{known[0]} to {known[-1]}"
            raise ReaderError(f"{name} {value} is not shown here: choose one of {between}.")
        return value

    def _label(self, depth, column, place=0):
        """The label of one of a cell's likeliest tokens."""
        places = np.frombuffer(self.places, "<i4").reshape(self.n_layers + 1, len(self.positions), -1)
        return self.labels[places[depth, column, place]]

    def table(self):
        """The likeliest token at the selected position for some depths, as HTML."""
        column, last = self.positions.index(self.position), self.n_layers
        depths = sorted({round(last * i / 9) for i in range(10)} | {self.depth})
        read = self.reading
        rows = [
            (str(d), self._label(d, column), f"{read.probs[d, column, 0]:.3f}", f"{read.ranks[d, column]:,}")
            for d in depths
        ]
        caption = text("lens.table", token=self.tokens[column], layers=last, answer=self._label(last, column))
        return html_table(caption, [text(f"lens.{key}") for key in ("depth", "next", "share", "rank")], rows)

    def __repr__(self):
        return f"LensExplorer(depth={self.depth}, position={self.position}, mode={self.mode!r})"


def _packed(kind, *parts):
    """Parts (n_depths, n_positions, any) side by side, cell after cell, as little-endian bytes."""
    return torch.cat(parts, dim=-1).numpy().astype(kind).tobytes()


def caption_text(seen, positions):
    """Where the numbers come from, and which tokens are shown when not all are."""
    n_tokens, dtype = len(seen.tokens), str(seen["logits"].dtype).removeprefix("torch.")
    caption = text("lens.caption", name=seen.name, n_tokens=n_tokens, dtype=dtype)
    if len(positions) == n_tokens:
        return caption
    return caption + " " + text("lens.capped", shown=len(positions), hidden=n_tokens - len(positions))
