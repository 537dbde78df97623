"""Right answers of the attention exercises, and the slips readers make, each with the hint that helps."""

from functools import partial
from types import SimpleNamespace

import torch
from torch import Tensor

OTHER_MODELS = [
    (SimpleNamespace(n_layers=18, n_heads=4, n_kv_heads=1, d_head=256, d_model=640),),
    (SimpleNamespace(n_layers=12, n_heads=12, n_kv_heads=12, d_head=64, d_model=768),),
]


def attention_pattern(
    q: Tensor, k: Tensor, divide_by=None, tile=False, swap=False, hide=None, fill=-torch.inf, axis=-1
) -> Tensor:
    """Causal attention weights (n_heads, n_tokens, n_tokens); the keywords plant a slip.

    q is (n_tokens, n_heads, d_head), k is (n_tokens, n_kv_heads, d_head).
    """
    scores = torch.einsum("ihd,jhd->hij", q, spread(k, q.shape[1], tile))
    scores = (scores.mT if swap else scores) / (q.shape[-1] ** 0.5 if divide_by is None else divide_by(q))
    hidden = future(scores) if hide is None else hide(scores)
    return scores.masked_fill(hidden, fill).softmax(axis)


def attention_output(pattern: Tensor, v: Tensor, w_o: Tensor, tile=False, concat=None) -> Tensor:
    """Values mixed per head, heads side by side, projected: (n_tokens, d_model); the keywords plant a slip.

    pattern is (n_heads, n_tokens, n_tokens), v (n_tokens, n_kv_heads, d_head), w_o (d_model, all heads).
    """
    mixed = torch.einsum("hij,jhd->ihd", pattern, spread(v, len(pattern), tile))
    return (mixed.flatten(1) if concat is None else concat(mixed)) @ w_o.T


def kv_bytes(size, tensors=2, n_layers=None, n_heads=None, d_head=None, number=4) -> int:
    """Bytes that one token adds to a float32 cache: K and V, in every layer, for every KV head."""
    return tensors * (n_layers or size.n_layers) * (n_heads or size.n_kv_heads) * (d_head or size.d_head) * number


def spread(k: Tensor, n_heads: int, tile: bool = False) -> Tensor:
    """KV heads (n_tokens, n_kv_heads, d_head) as (n_tokens, n_heads, d_head): one for each head."""
    group = n_heads // k.shape[1]
    return k.repeat(1, group, 1) if tile else k.repeat_interleave(group, dim=1)


def future(scores: Tensor, first: int = 1) -> Tensor:
    """True where column >= row + first."""
    return torch.ones_like(scores, dtype=torch.bool).triu(first)


def past(scores: Tensor) -> Tensor:
    return future(scores).mT


def nothing(scores: Tensor) -> Tensor:
    return torch.zeros_like(scores, dtype=torch.bool)


def masked_after(q: Tensor, k: Tensor) -> Tensor:
    return attention_pattern(q, k, hide=nothing).tril()


def scores_only(q: Tensor, k: Tensor) -> Tensor:
    scores = torch.einsum("ihd,jhd->hij", q, spread(k, q.shape[1])) / q.shape[-1] ** 0.5
    return scores.masked_fill(future(scores), -torch.inf)


FAR_APART = (
    "scores far apart: hide with minus infinity, since below any other number there are scores; and use softmax, or "
    "subtract each row's largest score first, since e to a large number overflows"
)
SCALE = "the scores have the wrong size before the softmax: "
SELF = "your mask hides each token from itself, and the first token sees nothing: only later tokens are hidden."
GROUPS = (
    "neighbouring heads share a {0}: with 9 heads over 3, heads 0, 1, 2 use {0} 0. "
    "You repeated the whole row of {0}s; repeat each one in its place (repeat_interleave)."
)
slip, output_slip, bytes_slip = (partial(partial, f) for f in (attention_pattern, attention_output, kv_bytes))

PATTERN_MISTAKES = [
    (SCALE + "divide q·k by the square root of d_head.", slip(divide_by=lambda q: 1.0)),
    (
        SCALE + "you divided by d_head, it takes the square root of d_head.",
        slip(divide_by=lambda q: q.shape[-1]),
    ),
    (
        SCALE + "you used the width of all heads together, it takes the width of one: d_head.",
        slip(divide_by=lambda q: (q.shape[1] * q.shape[2]) ** 0.5),
    ),
    ("tokens look at later tokens: hide them with a causal mask before the softmax.", slip(hide=nothing)),
    (SELF, slip(hide=partial(future, first=0))),
    (SELF, slip(hide=partial(future, first=0), fill=-1e9)),
    ("your mask is off by one: each token still sees the next one.", slip(hide=partial(future, first=2))),
    ("your mask is the wrong way round: it hides the past and leaves the future.", slip(hide=past)),
    (
        "the rows do not add up to 1: mask the scores before the softmax, not the weights after it.",
        masked_after,
    ),
    ("a masked score of 0 still gets weight, since exp(0) is 1: it must be minus infinity.", slip(fill=0.0)),
    ("the columns add up to 1, not the rows: the softmax runs over the keys, the last axis.", slip(axis=-2)),
    ("your softmax runs over the heads: it runs over the keys, the last axis.", slip(axis=0)),
    (GROUPS.format("key"), slip(tile=True)),
    ("rows and columns are exchanged: row i belongs to the query of token i.", slip(swap=True)),
    ("these are the masked scores: the softmax over the keys is missing.", scores_only),
]

OUTPUT_MISTAKES = [
    (
        "the heads stand side by side, but the output projection w_o is missing.",
        lambda pattern, v, w_o: attention_output(pattern, v, torch.eye(w_o.shape[1], device=w_o.device)),
    ),
    (
        "w_o is (d_model, n_heads * d_head), as in nn.Linear: multiply by its transpose.",
        lambda pattern, v, w_o: attention_output(pattern, v, w_o.T),
    ),
    (
        "the order in a row is wrong: all numbers of head 0 come first, then those of head 1.",
        output_slip(concat=lambda mixed: mixed.mT.flatten(1)),
    ),
    (
        "heads and tokens are mixed up: make it (n_tokens, n_heads, d_head) first, then join the last two.",
        output_slip(concat=lambda mixed: mixed.transpose(0, 1).reshape(len(mixed), -1)),
    ),
    (GROUPS.format("value"), output_slip(tile=True)),
    (
        "rows and columns of the pattern are exchanged: row i holds the weights token i gives to the values.",
        lambda pattern, v, w_o: attention_output(pattern.mT, v, w_o),
    ),
]

KV_BYTES_MISTAKES = [
    (
        "only the KV heads are cached, not one key and value for every query head.",
        lambda size: kv_bytes(size, n_heads=size.n_heads),
    ),
    (
        "this is half of it: a token leaves a key and a value behind, and a float32 number takes 4 bytes.",
        bytes_slip(tensors=1),
    ),
    ("every layer keeps a cache of its own: multiply by the number of layers.", bytes_slip(n_layers=1)),
    ("these are numbers, not bytes: a float32 number takes 4 bytes.", bytes_slip(number=1)),
    (
        "the size of a head is d_head: not every model has d_model / n_heads.",
        lambda size: kv_bytes(size, d_head=size.d_model // size.n_heads),
    ),
]
