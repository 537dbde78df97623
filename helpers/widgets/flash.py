"""Explorer of attention tile by tile: each tile of one head's scores, and what is remembered after it."""

from traitlets import Bool, Bytes, Float, Int, List, Unicode, observe, validate

from helpers import language
from helpers.errors import ReaderError
from helpers.flash import finish
from helpers.language import text
from helpers.widgets.base import FOLDER, Explorer, html_table
from helpers.widgets.flash_walk import counts, read_block, score_scale, walk
from helpers.widgets.flash_words import STRINGS

language.STRINGS.update(STRINGS)

MOST_TOKENS = 40  # rows and columns: with more, their labels no longer fit
COUNTS = ("loaded", "skipped", "scores", "state", "moved", "to_move")


class FlashExplorer(Explorer):
    """The tiles of one block's attention, one after another; `seen` is a trace, `layer` the block, which stays.

    Of a longer text the first 40 tokens take part: no later token changes what the model computes for them.
    `step` (the tile at hand), `head`, `block_q` and `block_k` (rows and columns of a tile), `window` (0: none) and
    `decode` (the last token alone is a query) follow the view and move it. A block or window larger than the text
    holds all of it. ReaderError for a place that is not there, and for tensors that are not finite.
    """

    _esm = FOLDER / "flash.js"
    _css = Explorer._css + (FOLDER / "flash.css").read_text(encoding="utf-8")
    words_of = "flash"

    layer = Int(0, read_only=True)
    step = Int(0).tag(sync=True)
    head = Int(0).tag(sync=True)
    block_q = Int(4).tag(sync=True)
    block_k = Int(4).tag(sync=True)
    window = Int(0).tag(sync=True)
    decode = Bool(False).tag(sync=True)
    packed = Bytes().tag(sync=True)  # float32: q and mixed (n_heads, n, d_head), k and v (n_kv_heads, n, d_head)
    labels = List(Unicode()).tag(sync=True)
    n_heads = Int().tag(sync=True)
    n_kv_heads = Int().tag(sync=True)
    d_head = Int().tag(sync=True)
    scale = Float().tag(sync=True)
    own_window = Int().tag(sync=True)  # of the model in this block; 0 where it hides no earlier token shown
    number_bytes = Int().tag(sync=True)
    caption = Unicode().tag(sync=True)

    def __init__(self, seen, layer=0, head=0, block_q=4, block_k=4, step=0, window=0, decode=False):
        n = min(len(seen.tokens), MOST_TOKENS)
        self._q, self._k, self._v, self._mixed = q, k, v, mixed = read_block(seen, layer, n)
        scores = seen[f"block{layer}.scores"][:, :n, :n].cpu()
        visible = int(scores[0, -1].isfinite().sum())
        super().__init__(
            packed=b"".join(t.transpose(0, 1).float().numpy().astype("<f4").tobytes() for t in (q, mixed, k, v)),
            labels=list(seen.tokens[:n]),
            n_heads=q.shape[1],
            n_kv_heads=k.shape[1],
            d_head=q.shape[2],
            scale=score_scale(q, k, scores),
            own_window=visible if visible < n else 0,
            number_bytes=v.dtype.itemsize,
        )
        settings = dict(block_q=block_q, block_k=block_k, window=window, decode=decode, head=head, step=step)
        for name, value in {"layer": layer, **settings}.items():  # one by one: the sizes say which steps there are
            self.set_trait(name, value)
        self.caption = caption_text(seen, self)

    @property
    def n_tiles(self):
        """How many tiles the present settings make, those that are skipped among them."""
        rows = 1 if self.decode else len(self.labels)
        return -(-rows // self.block_q) * -(-len(self.labels) // self.block_k)

    @validate("block_q", "block_k", "window")
    def _size(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        least = 0 if name == "window" else 1
        if value < least:
            raise ReaderError(f"{name} {value} holds no token: choose {least} or more.")
        return min(value, len(self.labels))

    @validate("step", "head")
    def _place(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        last = (self.n_tiles if name == "step" else self.n_heads) - 1
        if not 0 <= value <= last:
            raise ReaderError(f"{name} {value} is not shown here: choose one of 0 to {last}.")
        return value

    @observe("block_q", "block_k", "decode")
    def _stay_inside(self, change):
        self.step = min(self.step, self.n_tiles - 1)

    def steps(self):
        """Every tile of the selected head with the state after it, in float64: `helpers.widgets.flash_walk.Step`."""
        shared = self.head // (self.n_heads // self.n_kv_heads)
        # tiled attention divides by the square root of d_head; this model's own scale goes into q
        q = self._q[-1 if self.decode else 0 :, self.head, None].double() * (self.scale * self.d_head**0.5)
        k, v = (x[:, shared, None].double() for x in (self._k, self._v))
        return walk(q, k, v, self.block_q, self.block_k, self.window or None)

    def counts(self):
        """Tiles, numbers held and bytes moved up to the tile at hand: `helpers.widgets.flash_walk.counts`."""
        return counts(self.steps(), self.step, self.number_bytes)

    def difference(self):
        """Largest difference of the rows that this tile completes to the model's `mixed`; None if it completes none."""
        now = self.steps()[self.step]
        if not now.complete:
            return None
        mixed = self._mixed[-1:] if self.decode else self._mixed
        return (finish(now.running)[0][:, 0] - mixed[now.tile.rows, self.head]).abs().max().item()

    def table(self):
        """The rows of the tile at hand and what was moved so far, as two HTML tables."""
        now, labels = self.steps()[self.step], self.labels[-1:] if self.decode else self.labels
        factors = [text("flash.first") if first else f"{x:.2g}" for x, first in zip(now.factor, now.first, strict=True)]
        state = zip(labels[now.tile.rows], now.running.maximum[0], factors, now.running.total[0], strict=True)
        rows = [(label, f"{maximum:.2f}", factor, f"{total:.2f}") for label, maximum, factor, total in state]
        header = [text(f"flash.{name}") for name in ("token", "maximum", "factor", "total")]
        caption = text("flash.table", tile=self.step + 1, tiles=self.n_tiles, layer=self.layer, head=self.head)
        return html_table(caption, header, rows) + self._counts_table()

    def _counts_table(self):
        found = self.counts()
        whole = {"scores": found["all_scores"], "state": 0, "to_move": found["naive"]}
        cells = [(name, f"{found[name]:,}", f"{whole[name]:,}" if name in whole else "–") for name in COUNTS]
        rows = [(text(f"flash.n_{name}"), *numbers) for name, *numbers in cells]
        return html_table("", ["", text("flash.tiled"), text("flash.whole")], rows)

    def __repr__(self):
        shown = ("layer", "head", "block_q", "block_k", "step", "window", "decode")
        return f"FlashExplorer({', '.join(f'{name}={getattr(self, name)}' for name in shown)})"


def caption_text(seen, explorer):
    """Where the numbers come from, and which tokens take part when not all do."""
    dtype = str(seen[f"block{explorer.layer}.v"].dtype).removeprefix("torch.")
    values = {"name": seen.name, "layer": explorer.layer, "dtype": dtype, "d_head": explorer.d_head}
    caption = text("flash.caption", **values, scale=f"{explorer.scale:.4g}")
    if len(seen.tokens) == len(explorer.labels):
        return caption
    return caption + " " + text("flash.capped", shown=len(explorer.labels), n_tokens=len(seen.tokens))
