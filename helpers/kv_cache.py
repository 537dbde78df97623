"""The KV cache: the keys and values of past tokens, kept so that a new token computes only its own.

The only module that touches transformers' cache objects, whose keyword is `past_key_values` in 5.15 and
`cache` in 5.24. Every forward pass changes the cache it is given; `copy_cache` makes a branch of its own.
"""

import copy
import functools
import inspect
from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import Cache, DynamicCache

from helpers.errors import ReaderError


def new_cache(lm) -> Cache:
    """An empty cache for `lm`; layers with a sliding window keep only the last `window - 1` tokens."""
    return DynamicCache(config=lm.config)


@torch.no_grad()
def forward_with_cache(lm, ids: Sequence[int], cache: Cache | None, last_only: bool = False) -> Tensor:
    """Logits (n_new, n_vocab) of the new tokens `ids`, which join `cache`; with `last_only` the last row.

    `ids` holds only the tokens that the cache has not seen: their positions follow on from it.
    With `cache=None` nothing is remembered, and `ids` is the whole text.
    """
    names = _forward_names(type(lm.model))
    options = {names["cache"]: cache, "use_cache": cache is not None}
    if last_only and names["keep"]:
        options[names["keep"]] = 1
    logits = lm.model(input_ids=torch.tensor([list(ids)], device=lm.device), **options).logits[0]
    return logits[-1:] if last_only else logits


def n_cached(cache: Cache) -> int:
    """How many tokens the cache has seen: the position of the next one."""
    return cache.get_seq_length()


def keys_values(cache: Cache, layer: int) -> tuple[Tensor, Tensor]:
    """Keys and values of one layer, each (n_tokens, n_kv_heads, d_head): the trace's `k_rot` and `v`.

    A sliding layer holds only its last tokens. ReaderError: no such layer, or a cache that is still empty.
    """
    filled = _filled_layers(cache)
    if not 0 <= layer < len(filled):
        raise ReaderError(f"Layer {layer} is not in the cache, which now holds {len(filled)} layers.")
    return filled[layer].keys[0].transpose(0, 1), filled[layer].values[0].transpose(0, 1)


def cache_bytes(cache: Cache) -> int:
    """Bytes of all keys and values: 2 · n_layers · n_kv_heads · d_head · bytes per number · n_tokens."""
    return sum(layer.keys.nbytes + layer.values.nbytes for layer in _filled_layers(cache))


@torch.no_grad()
def copy_cache(cache: Cache) -> Cache:
    """A branch: going on with the copy leaves `cache` as it is, and the other way round."""
    return copy.deepcopy(cache)


def _filled_layers(cache: Cache) -> list:
    return [layer for layer in cache.layers if layer.is_initialized]


@functools.cache
def _forward_names(model_class: type) -> dict[str, str | None]:
    """What this model's `forward` calls the cache, and the number of last positions to compute logits for."""
    parameters = inspect.signature(model_class.forward).parameters
    return {
        "cache": "cache" if "cache" in parameters else "past_key_values",
        "keep": "logits_to_keep" if "logits_to_keep" in parameters else None,
    }
