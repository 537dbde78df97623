"""Explorer over the attention pattern of every layer and head of one forward pass."""

from math import isqrt

import torch
from traitlets import Bytes, Int, List, Unicode, validate

from helpers.errors import ReaderError
from helpers.language import text
from helpers.widgets.base import FOLDER, Explorer, html_table

MOST_TOKENS = 48  # more rows than this leave no room for their labels
MOST_BYTES = 4_000_000


class AttentionExplorer(Explorer):
    """Every layer × head of `seen` at a glance, one map large, one of its rows as bars.

    `seen` is a trace: `block{i}.pattern` (n_heads, n_tokens, n_tokens), `block0.k`
    (n_tokens, n_kv_heads, d_head), `.tokens` (labels) and `.name`. Of a prompt longer than 48 tokens (fewer
    in a model with very many heads) the first token and the last ones are shown. `layer`, `head` and `row`
    (a position in the prompt) follow the view and move it. Raises ReaderError for a place that is not shown,
    a pattern that is not finite, or one that looks at later tokens.
    """

    _esm = FOLDER / "attention.js"
    _css = Explorer._css + (FOLDER / "attention.css").read_text(encoding="utf-8")
    words_of = "attention"

    layer = Int(0).tag(sync=True)
    head = Int(0).tag(sync=True)
    row = Int(0).tag(sync=True)
    packed = Bytes().tag(sync=True)
    labels = List(Unicode()).tag(sync=True)
    positions = List(Int()).tag(sync=True)
    n_tokens = Int().tag(sync=True)
    n_layers = Int().tag(sync=True)
    n_heads = Int().tag(sync=True)
    n_kv_heads = Int().tag(sync=True)
    caption = Unicode().tag(sync=True)

    def __init__(self, seen, layer=0, head=0, row=None):
        self._patterns, self._tokens = causal_patterns(seen), list(seen.tokens)
        n_layers, (n_heads, n_tokens, _) = len(self._patterns), self._patterns[0].shape
        positions = shown_positions(n_tokens, n_layers * n_heads)
        super().__init__(
            packed=packed_triangles(self._patterns, positions),
            labels=[seen.tokens[i] for i in positions],
            positions=positions,
            n_tokens=n_tokens,
            n_layers=n_layers,
            n_heads=n_heads,
            n_kv_heads=seen["block0.k"].shape[1],
            caption=caption_text(seen, positions),
            layer=layer,
            head=head,
            row=n_tokens - 1 if row is None else row,
        )

    @validate("layer", "head", "row")
    def _place(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        places = {"layer": range(self.n_layers), "head": range(self.n_heads), "row": self.positions}[name]
        if value not in places:
            gap = len(places) <= places[-1]
            choice = f"0, or one of {places[1]}" if gap else "one of 0"
            raise ReaderError(f"{name} {value} is not shown here: choose {choice} to {places[-1]}.")
        return value

    @property
    def pattern(self):
        """The selected map (n_tokens, n_tokens): rows look, columns are looked at."""
        return _plain(self._patterns[self.layer][self.head])

    def table(self):
        """The selected row's largest weights, in the order of the text, as HTML."""
        weight = self.pattern[self.row, : self.row + 1]
        top = sorted(weight.topk(min(12, len(weight))).indices.tolist())
        rows = [(self._tokens[i], f"{weight[i]:.3f}") for i in top]
        caption = text("attention.table", layer=self.layer, head=self.head, label=self._tokens[self.row])
        return html_table(caption, [text("attention.to"), text("attention.weight")], rows)


def causal_patterns(seen):
    """The trace's own patterns, block by block (n_heads, n_tokens, n_tokens): a copy of all would double them."""
    patterns = [seen[key] for key in seen if key.endswith(".pattern")]
    if not all(pattern.isfinite().all() for pattern in patterns):
        raise ReaderError("The attention pattern is not finite (NaN or infinite), so there is nothing to show.")
    if any(pattern.triu(diagonal=1).any() for pattern in patterns):
        raise ReaderError("The attention pattern looks at later tokens; this explorer shows only causal attention.")
    return patterns


def shown_positions(n_tokens, n_maps):
    """Positions of the tokens shown: all, or the first and the last ones that fit."""
    fits = (isqrt(1 + 2 * MOST_BYTES // n_maps) - 1) // 2  # n (n + 1) / 2 weights of 4 bytes a map
    shown = min(n_tokens, MOST_TOKENS, max(fits, 3))
    return [0, *range(n_tokens - shown + 1, n_tokens)]


def packed_triangles(patterns, positions):
    """Lower triangles of the shown rows and columns, map after map, row by row: little-endian float32."""
    rows, columns = torch.tensor(positions)[torch.tril_indices(len(positions), len(positions))]
    return b"".join(_plain(pattern[:, rows, columns]).numpy().astype("<f4").tobytes() for pattern in patterns)


def _plain(values):
    return values.detach().float().cpu()


def caption_text(seen, positions):
    """Where the numbers come from, and which tokens are shown when not all are."""
    n_tokens, dtype = len(seen.tokens), str(seen["block0.pattern"].dtype).removeprefix("torch.")
    caption = text("attention.caption", name=seen.name, n_tokens=n_tokens, dtype=dtype)
    if len(positions) == n_tokens:
        return caption
    return caption + " " + text("attention.capped", last=len(positions) - 1, hidden=n_tokens - len(positions))
