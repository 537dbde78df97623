"""The checks of notebook 03: the pattern, the output, the size of the cache."""

from collections.abc import Mapping

import torch
from torch import Tensor

from helpers.check import check_answer
from helpers.exercises import attention_answers as answers
from helpers.exercises.engine import check_function

OTHER_SIZES = (  # n_tokens, n_heads, n_kv_heads, d_head
    (7, 6, 2, 16),
    (11, 4, 4, 8),
    (20, 3, 1, 12),  # all heads share one KV head
    (1, 4, 2, 5),
)


def check_attention_pattern(fn, seen: Mapping[str, Tensor], layer: int = 0) -> None:
    """Check `fn(q, k)`, the causal attention weights (n_heads, n_tokens, n_tokens).

    q is (n_tokens, n_heads, d_head), k is (n_tokens, n_kv_heads, d_head), both after position rotation.
    """
    q, k = (_tensor(seen, layer, f"{name}_rot", name) for name in "qk")
    fresh = [(_random(q, n, heads, d), _random(q, n, kv, d)) for n, heads, kv, d in OTHER_SIZES]
    cases, name = [(q, k), *fresh, _far_apart(q)], "attention_pattern(q, k)"
    notes = {len(cases) - 1: answers.FAR_APART}
    check_function(name, fn, answers.attention_pattern, answers.PATTERN_MISTAKES, cases, notes)


def check_attention_output(fn, seen: Mapping[str, Tensor], w_o: Tensor, layer: int = 0) -> None:
    """Check `fn(pattern, v, w_o)`, what attention adds to the stream before any bias: (n_tokens, d_model).

    pattern is (n_heads, n_tokens, n_tokens), v (n_tokens, n_kv_heads, d_head), w_o (d_model, all heads).
    """
    pattern, v = _tensor(seen, layer, "pattern"), _tensor(seen, layer, "v")
    fresh = [
        (_random(v, heads, n, n).softmax(-1), _random(v, n, kv, d), _random(v, 10, heads * d))
        for n, heads, kv, d in OTHER_SIZES
    ]
    cases = [(pattern, v, w_o.detach().float()), *fresh]
    name = "attention_output(pattern, v, w_o)"
    check_function(name, fn, answers.attention_output, answers.OUTPUT_MISTAKES, cases)


def check_kv_bytes(answer, size) -> None:
    """Check the bytes one token adds to the KV cache in float32: a number, or a function of `sizes(lm)`."""
    name, mistakes = "bytes of KV cache a token", answers.KV_BYTES_MISTAKES
    if callable(answer):
        check_function(name, answer, answers.kv_bytes, mistakes, [(size,), *answers.OTHER_MODELS], rtol=0, atol=0)
    else:
        hints = {hint: wrong(size) for hint, wrong in mistakes}
        check_answer(name, answer, answers.kv_bytes(size), hints, rtol=0, atol=0)


def _tensor(seen: Mapping[str, Tensor], layer: int, *names: str) -> Tensor:
    """The first of the names that this model's trace has, in float32."""
    return next(seen[f"block{layer}.{name}"] for name in names if f"block{layer}.{name}" in seen).float()


def _far_apart(like: Tensor) -> tuple[Tensor, Tensor]:
    """q and k whose scores are -7200, -3600, 0, 3600 or 7200, exactly, so that every order of adding agrees.

    Token 0 fits itself at -7200 and the next one, which it must not see, at 7200.
    """
    q, k = (60.0 * _random(like, 20, heads, 4).sign() for heads in (4, 1))
    k[1] = q[0] = -k[0]
    return q, k


def _random(like: Tensor, *sizes: int) -> Tensor:
    """Reproducible numbers on the device of `like`; spread so that every slip shows."""
    generator = torch.Generator().manual_seed(sum(sizes))
    return 1.5 * torch.randn(sizes, generator=generator).to(like.device)
