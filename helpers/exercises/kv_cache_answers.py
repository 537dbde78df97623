"""Right answers of the KV cache exercises, and the slips readers make, each with the hint that helps."""

from functools import partial
from types import SimpleNamespace

import torch
from torch import Tensor

from helpers.exercises.attention_answers import GROUPS, spread

OTHER_MODELS = [
    SimpleNamespace(n_layers=18, n_heads=4, n_kv_heads=1, d_head=256, d_model=640),
    SimpleNamespace(n_layers=32, n_heads=32, n_kv_heads=8, d_head=128, d_model=4096),
]


def attend_cached(
    q: Tensor, k: Tensor, v: Tensor, keys: Tensor, values: Tensor, first=1, offset=None, tile=False, join=True
) -> Tensor:
    """The new tokens' mixed values (n_new, n_heads, d_head); the keywords plant a slip.

    q is (n_new, n_heads, d_head), k and v (n_new, n_kv_heads, d_head), keys and values (n_old, n_kv_heads, d_head).
    Column j is hidden from row i where j >= i + offset + first; `offset` is n_old where none is given.
    """
    n_old = len(keys)
    keys, values = (torch.cat([keys, k]), torch.cat([values, v])) if join else (keys, values)
    keys, values = spread(keys, q.shape[1], tile), spread(values, q.shape[1], tile)
    scores = torch.einsum("ihd,jhd->hij", q, keys) / q.shape[-1] ** 0.5
    hidden = torch.ones_like(scores, dtype=torch.bool).triu((n_old if offset is None else offset) + first)
    return torch.einsum("hij,jhd->ihd", scores.masked_fill(hidden, -torch.inf).softmax(-1), values)


def in_front(q: Tensor, k: Tensor, v: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """The new rows above the old ones, under the mask for rows below."""
    nothing = keys[:0]
    keys, values = torch.cat([k, keys]), torch.cat([v, values])
    n_old = len(keys) - len(k)
    return attend_cached(q, keys, values, nothing, nothing, offset=n_old)


slip = partial(partial, attend_cached)
ATTEND_MISTAKES = [
    (
        "later tokens are not hidden: when several new tokens come at once, each sees the cache, itself and the new "
        "ones before it.",
        slip(first=10**6),
    ),
    (
        "your mask is off by one: a new token does not see itself.",
        slip(first=0),
    ),
    (
        "your mask is off by one: each new token still sees the next one.",
        slip(first=2),
    ),
    (
        "your mask counts from the first cached row, as if nothing were cached: row 0 is the token behind all "
        "cached ones, so its first hidden column is n_old + 1.",
        slip(offset=0),
    ),
    (GROUPS.format("key and value"), slip(tile=True)),
    (
        "the new tokens look before their own keys and values have joined the cache.",
        slip(join=False, first=10**6),
    ),
    (
        "the new rows stand above the old ones: they belong below, in the order of the text.",
        in_front,
    ),
]
WRONG_AXIS = (
    "the new {0} were joined on the wrong axis: the cache grows along the tokens, the first axis, from {1} to {2}."
)


def positions(n_cached: int, n_new: int) -> list[int]:
    """Positions of `n_new` tokens behind `n_cached` ones."""
    return list(range(n_cached, n_cached + n_new))


POSITION_MISTAKES = [
    (
        "your positions start at 0 in each step: a new token stands behind everything in the cache.",
        lambda n_cached, n_new: list(range(n_new)),
    ),
    (
        "one too far: with n_cached tokens at positions 0 to n_cached - 1, the next one stands at n_cached.",
        lambda n_cached, n_new: list(range(n_cached + 1, n_cached + n_new + 1)),
    ),
    (
        "one too early: that place is taken by the last cached token.",
        lambda n_cached, n_new: list(range(n_cached - 1, n_cached + n_new - 1)),
    ),
    (
        "these are the positions of the whole text: only those of the new tokens are asked for.",
        lambda n_cached, n_new: list(range(n_cached + n_new)),
    ),
]


def tokens_that_fit(size, n_bytes: int, batch: int, number: int, tensors=2, heads="n_kv_heads", layers=None) -> int:
    """Tokens of each of `batch` conversations whose caches fill `n_bytes`; the keywords plant a slip."""
    a_token = tensors * (layers or size.n_layers) * getattr(size, heads) * size.d_head * number
    return n_bytes // (a_token * batch)


FIT_MISTAKES = [
    (
        "only the KV heads are cached, not one key and value for every query head.",
        partial(tokens_that_fit, heads="n_heads"),
    ),
    ("twice too many: a token leaves a key and a value behind.", partial(tokens_that_fit, tensors=1)),
    ("every layer keeps a cache of its own.", partial(tokens_that_fit, layers=1)),
    (
        "this is for one conversation: `batch` of them share the memory.",
        lambda size, n_bytes, batch, number: tokens_that_fit(size, n_bytes, 1, number),
    ),
    (
        "the bytes of a number are given as `number`; you took 4 for each.",
        lambda size, n_bytes, batch, number: tokens_that_fit(size, n_bytes, batch, 4),
    ),
    (
        "a part of a token does not fit: round down, to a whole number.",
        lambda size, n_bytes, batch, number: (
            n_bytes / (2 * size.n_layers * size.n_kv_heads * size.d_head * number * batch)
        ),
    ),
]
