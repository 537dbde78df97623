"""Explorer over a generation: which rows of keys and values each step computes, and which it reads."""

from dataclasses import dataclass

import torch
from traitlets import Bool, Bytes, Int, List, Unicode, validate

from helpers import language
from helpers.errors import ReaderError
from helpers.language import text
from helpers.weights import block_weights, sizes
from helpers.widgets.base import FOLDER, Explorer, html_table
from helpers.widgets.cache_words import STRINGS

language.STRINGS.update(STRINGS)

MOST_TOKENS = 40  # columns: with more, their labels no longer fit
MATRICES = ("w_q", "w_k", "w_v", "w_o", "w_gate", "w_up", "w_down")


@dataclass(frozen=True)
class Work:
    """What one step does: rows of keys and values computed and read in each block, multiplications in all."""

    computed: int
    read: int
    multiplications: int


def step_work(n_prompt: int, step: int, cached: bool, a_token: int, a_pair: int) -> Work:
    """The work of a step; step 0 is the prefill of `n_prompt` tokens, every further one adds a token.

    `a_token`: multiplications by weights for a token; `a_pair`: those of attention for two tokens, one of which looks
    at the other (a token also looks at itself).
    """
    n_tokens = n_prompt + step
    computed = 1 if cached and step else n_tokens
    pairs = (n_tokens * (n_tokens + 1) - (n_tokens - computed) * (n_tokens - computed + 1)) // 2
    return Work(computed, n_tokens - computed, computed * a_token + pairs * a_pair)


class CacheExplorer(Explorer):
    """A generation step by step: `seen` is the trace of the whole text, whose first `n_prompt` tokens are the prompt.

    Of a text longer than 40 tokens the first token and the last ones are shown. `step` (0: prefill), `block` and
    `cached` follow the view and move it; `shares` (n_steps, n_layers, n_tokens) is what each generated token
    reads. ReaderError for a place that is not there, or a prompt that is longer than the text.
    """

    _esm = FOLDER / "cache.js"
    _css = Explorer._css + (FOLDER / "cache.css").read_text(encoding="utf-8")
    words_of = "cache"

    step = Int(0).tag(sync=True)
    block = Int(0).tag(sync=True)
    cached = Bool(True).tag(sync=True)
    packed = Bytes().tag(sync=True)  # float32: steps 1, 2, …, then blocks, then the shown tokens
    labels = List(Unicode()).tag(sync=True)
    positions = List(Int()).tag(sync=True)
    n_prompt = Int().tag(sync=True)
    n_steps = Int().tag(sync=True)
    n_layers = Int().tag(sync=True)
    row_bytes = Int().tag(sync=True)  # of one token in all blocks
    a_token = Int().tag(sync=True)
    a_pair = Int().tag(sync=True)
    caption = Unicode().tag(sync=True)

    def __init__(self, lm, seen, n_prompt, step=None, block=0, cached=True):
        n_tokens, size = len(seen.tokens), sizes(lm)
        if not 1 <= n_prompt <= n_tokens:
            raise ReaderError(f"n_prompt is {n_prompt}, but the text has {n_tokens} tokens: give 1 to {n_tokens}.")
        self._tokens, self.shares = list(seen.tokens), read_shares(seen, n_prompt)
        last = min(n_tokens, MOST_TOKENS) - 1
        positions = [0, *range(n_tokens - last, n_tokens)]
        super().__init__(
            packed=self.shares[:, :, positions].numpy().astype("<f4").tobytes(),
            labels=[seen.tokens[i] for i in positions],
            positions=positions,
            n_prompt=n_prompt,
            n_steps=n_tokens - n_prompt,
            n_layers=size.n_layers,
            row_bytes=2 * size.n_layers * size.n_kv_heads * size.d_head * lm.model.dtype.itemsize,
            a_token=sum(_weights(lm, i) for i in range(size.n_layers)),
            a_pair=2 * size.n_layers * size.n_heads * size.d_head,
            caption=caption_text(seen, n_prompt, positions),
            step=min(1, n_tokens - n_prompt) if step is None else step,
            block=block,
            cached=cached,
        )

    @validate("step", "block")
    def _place(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        last = {"step": self.n_steps, "block": self.n_layers - 1}[name]
        if not 0 <= value <= last:
            raise ReaderError(f"{name} {value} is not shown here: choose one of 0 to {last}.")
        return value

    def work(self, step, cached):
        """The work of one step; the sum over 0 … step is what the explorer calls "so far"."""
        return step_work(self.n_prompt, step, cached, self.a_token, self.a_pair)

    def table(self):
        """The selected step with the cache and without, as HTML."""
        with_cache, without = (self.work(self.step, cached) for cached in (True, False))
        total = [sum(self.work(i, cached).multiplications for i in range(self.step + 1)) for cached in (True, False)]
        rows = [
            ("row_computed", with_cache.computed, without.computed),
            ("row_read", with_cache.read, without.read),
            ("row_now", with_cache.multiplications, without.multiplications),
            ("row_total", *total),
            ("row_bytes", self.row_bytes * (self.n_prompt + self.step), 0),
        ]
        caption = text("cache.table", step=self.step, token=self._tokens[self.n_prompt + self.step - 1])
        header = [text(f"cache.{name}") for name in ("what", "with", "without")]
        return html_table(caption, header, [(text(f"cache.{name}"), f"{a:,}", f"{b:,}") for name, a, b in rows])

    def __repr__(self):
        return f"CacheExplorer(step={self.step}, block={self.block}, cached={self.cached})"


def read_shares(seen, n_prompt):
    """Mean over the heads of each generated token's attention, (n_steps, n_layers, n_tokens), float32 on the CPU."""
    keys = [key for key in seen if key.endswith(".pattern")]
    rows = torch.stack([seen[key][:, n_prompt:].detach().float().mean(dim=0).cpu() for key in keys])
    return rows.transpose(0, 1).contiguous()


def _weights(lm, layer):
    """How many weights of a block a token is multiplied by; the experts of a mixture are not counted."""
    w = vars(block_weights(lm, layer))
    return sum(w[name].numel() for name in MATRICES if w.get(name) is not None)


def caption_text(seen, n_prompt, positions):
    """Where the numbers come from, and which tokens are shown when not all are."""
    n_tokens, dtype = len(seen.tokens), str(seen["logits"].dtype).removeprefix("torch.")
    caption = text("cache.caption", name=seen.name, n_tokens=n_tokens, n_prompt=n_prompt, dtype=dtype)
    if len(positions) == n_tokens:
        return caption
    return caption + " " + text("cache.capped", last=len(positions) - 1, hidden=n_tokens - len(positions))
