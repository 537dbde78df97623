"""Explorer over the rotation of queries and keys: position times frequency, pair by pair."""

import numpy as np
import torch
from torch import Tensor
from traitlets import Bytes, Int, List, Unicode, validate

from helpers import language
from helpers.errors import ReaderError
from helpers.language import text
from helpers.widgets.base import FOLDER, Explorer, html_table
from helpers.widgets.rotation_words import STRINGS

language.STRINGS.update(STRINGS)

MOST_TOKENS = 48
FAR, SHIFT = 128, 8000  # the sliders' last position, and how far both can be moved together
_N_ROWS = 8


class RotationExplorer(Explorer):
    """Turn one query and one key by their positions and see what each pair of numbers adds to the score.

    q (n_tokens, n_heads, d_head) and k (n_tokens, n_kv_heads, d_head) before rotation, after a query/key norm where
    the model has one; frequencies (d_head / 2,) in radians a position; tokens: their labels. Pair i is numbers i and
    i + d_head / 2. `query` and `key` are places in the prompt, `m` and `n` the positions they are put at, `shift` is
    added to both. Of a prompt longer than 48 tokens the last ones are shown. ReaderError: a place that is not shown.
    """

    _esm = FOLDER / "rotation.js"
    _css = Explorer._css + (FOLDER / "rotation.css").read_text(encoding="utf-8")
    words_of = "rotation"

    query = Int(0).tag(sync=True)
    key = Int(0).tag(sync=True)
    m = Int(0).tag(sync=True)
    n = Int(0).tag(sync=True)
    shift = Int(0).tag(sync=True)
    head = Int(0).tag(sync=True)
    pair = Int(0).tag(sync=True)
    query_bytes = Bytes().tag(sync=True)
    key_bytes = Bytes().tag(sync=True)
    frequency_bytes = Bytes().tag(sync=True)
    labels = List(Unicode()).tag(sync=True)
    positions = List(Int()).tag(sync=True)
    n_heads = Int().tag(sync=True)
    n_kv_heads = Int().tag(sync=True)
    far = Int().tag(sync=True)
    far_shift = Int().tag(sync=True)
    caption = Unicode().tag(sync=True)

    def __init__(self, q, k, frequencies, tokens, caption="", query=None, key=0, head=0, pair=None):
        first = max(0, len(tokens) - MOST_TOKENS)
        self._q, self._k, self._tokens = (_plain(q), _plain(k), list(tokens))
        self._frequencies = frequencies.detach().cpu().double()
        query = len(tokens) - 1 if query is None else query
        self._check_shapes()
        far = max(FAR, len(tokens) - 1)
        super().__init__(
            query_bytes=_packed("<f4", self._q[first:]), key_bytes=_packed("<f4", self._k[first:]),
            frequency_bytes=_packed("<f8", self._frequencies), labels=self._tokens[first:],
            positions=list(range(first, len(tokens))), n_heads=q.shape[1], n_kv_heads=k.shape[1], far=far,
            far_shift=SHIFT, caption=caption, query=query, key=max(first, key), m=query, n=max(first, key), head=head,
        )  # fmt: skip
        self.pair = int(self.parts.abs().argmax()) if pair is None else pair

    @validate("query", "key", "m", "n", "shift", "head", "pair")
    def _place(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        places = {"query": self.positions, "key": self.positions, "shift": range(self.far_shift + 1)}
        places |= {"head": range(self.n_heads), "pair": range(len(self._frequencies))}
        allowed = places.get(name, range(self.far + 1))
        if value not in allowed:
            raise ReaderError(f"{name} {value} is not shown here: choose one of {allowed[0]} to {allowed[-1]}.")
        return value

    @property
    def angles(self):
        """(query's, key's) angles in radians, each (d_head / 2,): position times frequency."""
        return (self.m + self.shift) * self._frequencies, (self.n + self.shift) * self._frequencies

    @property
    def parts(self):
        """What each pair adds to the score, (d_head / 2,) in float64."""
        q = _as_complex(self._q[self.query, self.head])
        k = _as_complex(self._k[self.key, self._kv_head])
        by_q, by_k = (torch.polar(torch.ones_like(angle), angle) for angle in self.angles)
        return (q * by_q * (k * by_k).conj()).real / self._q.shape[-1] ** 0.5

    @property
    def score(self):
        """The scaled dot product of query and key, both turned."""
        return self.parts.sum().item()

    def table(self):
        """The pairs that add or take away most, as HTML."""
        parts, (by_q, by_k) = self.parts, self.angles
        top = sorted(parts.abs().topk(min(_N_ROWS, len(parts))).indices.tolist())
        between = _angle_between(self._q[self.query, self.head], self._k[self.key, self._kv_head], by_q, by_k)
        rows = [(str(i), _period(self._frequencies[i]), f"{between[i]:.0f}°", f"{parts[i]:+.3f}") for i in top]
        where = dict(
            asks=self._tokens[self.query], offers=self._tokens[self.key], m=self.m + self.shift, n=self.n + self.shift
        )
        header = [text(f"rotation.{name}") for name in ("pair", "period", "angle", "part")]
        return html_table(text("rotation.table", score=f"{self.score:.3f}", **where), header, rows)

    @property
    def _kv_head(self):
        return self.head // (self.n_heads // self.n_kv_heads)

    def _check_shapes(self):
        d_head = 2 * len(self._frequencies)
        if self._q.shape[-1] != d_head or self._k.shape[-1] != d_head or len(self._q) != len(self._tokens):
            raise ReaderError(
                f"q has shape {tuple(self._q.shape)} and k {tuple(self._k.shape)}: with {len(self._tokens)} tokens "
                f"and {len(self._frequencies)} frequencies they must be ({len(self._tokens)}, heads, {d_head})."
            )


def _plain(vectors: Tensor) -> Tensor:
    return vectors.detach().float().cpu()


def _packed(kind: str, values: Tensor) -> bytes:
    return np.ascontiguousarray(values.numpy()).astype(kind).tobytes()


def _as_complex(vector: Tensor) -> Tensor:
    """Numbers i and i + d_head / 2 as real and imaginary part."""
    x, y = vector.double().chunk(2)
    return torch.complex(x, y)


def _angle_between(q: Tensor, k: Tensor, by_q: Tensor, by_k: Tensor) -> list[float]:
    """Degrees from 0 to 180."""
    angle = _as_complex(q).angle() + by_q - _as_complex(k).angle() - by_k
    return torch.rad2deg(torch.atan2(angle.sin(), angle.cos()).abs()).tolist()


def _period(frequency: Tensor) -> str:
    return f"{2 * torch.pi / frequency:,.0f}" if frequency else "∞"
