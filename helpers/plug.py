"""Lets a model compute its attention with a function of yours, through transformers' attention interface."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface

from helpers.errors import ReaderError

NAME = "token_journey_own_attention"
_one_at_a_time = threading.Lock()  # the name stands for one function at a time
_owner: list[int] = []  # the thread that holds the lock


@contextmanager
def own_attention(lm, attend: Callable[..., Tensor]) -> Iterator[None]:
    """Inside the block, every attention of `lm` is `attend(q, k, v, window)`; afterwards all is as before.

    q is (n_new, n_heads, d_head), k and v (n_tokens, n_kv_heads, d_head), turned to their positions; the new tokens
    are the last ones. `window` is None, or how many tokens a row sees up to itself. It returns (n_new, n_heads,
    d_head), scores divided by the square root of d_head. No mask is made: `attend` is told nothing but the lengths.
    ReaderError: a batch of several texts, attention with sinks or capped scores, a result of another shape, a block
    inside such a block. Another thread waits until this one is done.
    """

    def attention(module, query, key, value, attention_mask, scaling=None, sliding_window=None, **more):
        if len(query) > 1 or more.get("softcap") is not None or more.get("s_aux") is not None:
            raise ReaderError("A function of your own takes one text at a time, without attention sinks or caps.")
        scale = 1.0 if scaling is None else scaling * query.shape[-1] ** 0.5  # 1 unless the model divides otherwise
        q, k, v = (heads[0].transpose(0, 1) for heads in (query * scale, key, value))
        mixed = attend(q, k, v, sliding_window)
        if not isinstance(mixed, Tensor) or mixed.shape != q.shape:
            got = tuple(mixed.shape) if isinstance(mixed, Tensor) else f"a {type(mixed).__name__}"
            raise ReaderError(f"Your attention must return a tensor {tuple(q.shape)}, as q; it returned {got}.")
        return mixed[None].to(query.dtype), None

    if _owner == [threading.get_ident()]:
        raise ReaderError("One attention of your own at a time: end the outer `with own_attention(…)` first.")
    with _one_at_a_time:
        _owner.append(threading.get_ident())
        before = lm.model.config._attn_implementation
        AttentionInterface.register(NAME, attention)
        AttentionMaskInterface.register(NAME, lambda *_, **__: None)
        lm.model.set_attn_implementation(NAME)
        try:
            yield
        finally:
            lm.model.set_attn_implementation(before)
            _owner.clear()
