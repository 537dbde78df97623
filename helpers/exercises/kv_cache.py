"""The checks of notebook 07: the cached step, the positions of new tokens, how long a text fits."""

from collections.abc import Mapping

import torch
from torch import Tensor

from helpers.check import shape
from helpers.errors import CheckFailed
from helpers.exercises import kv_cache_answers as answers
from helpers.exercises.attention_answers import FAR_APART
from helpers.exercises.engine import check_function
from helpers.exercises.exact import check_exact

OTHER_SIZES = (  # n_new, n_old, n_heads, n_kv_heads, d_head
    (4, 4, 6, 2, 16),
    (1, 6, 4, 1, 8),
    (3, 0, 4, 4, 8),
    (20, 1, 3, 1, 12),
    (1, 20, 4, 2, 5),
)


def check_attend_cached(fn, seen: Mapping[str, Tensor], layer: int = 0) -> None:
    """Check `fn(q, k, v, keys, values)`: (mixed (n_new, n_heads, d_head), keys, values), the new rows joined.

    q is (n_new, n_heads, d_head), k and v (n_new, n_kv_heads, d_head), keys and values (n_old, n_kv_heads, d_head).
    Tried on the last token behind the others, on the second half of the prompt behind the first, on other sizes.
    """
    q, k, v = (_tensor(seen, layer, names) for names in (("q_rot", "q"), ("k_rot", "k"), ("v",)))
    cut = [len(q) - 1, len(q) // 2]
    cases = [(q[i:], k[i:], v[i:], k[:i], v[:i]) for i in cut]
    cases += [*(_case(q, *sizes) for sizes in OTHER_SIZES), _far_apart(q)]
    name = "attend_cached(q, k, v, keys, values)"
    if fn is not ...:
        for case in cases:
            _check_cache(fn, name, case)
    notes = {len(cases) - 1: FAR_APART}
    first = fn if fn is ... else lambda *case: _first(fn(*case))
    check_function(name, first, answers.attend_cached, answers.ATTEND_MISTAKES, cases, notes)


def check_positions(fn) -> None:
    """Check `fn(n_cached, n_new)`, the list of the new tokens' positions."""
    cases = [(12, 1), (0, 5), (7, 3), (1, 1), (5, 20), (0, 1)]
    check_exact("positions(n_cached, n_new)", fn, answers.positions, answers.POSITION_MISTAKES, cases)


def check_tokens_that_fit(fn, size) -> None:
    """Check `fn(size, n_bytes, batch, number)`, the tokens of each conversation, on this model and on others."""
    cases = [
        (size, 10**9, 4, 2),
        *((other, 3 * 10**10 + 7, 3, number) for other in answers.OTHER_MODELS for number in (1, 4)),
        (size, 10, 1, 4),  # less than a token
    ]
    name = "tokens_that_fit(size, n_bytes, batch, number)"
    check_exact(name, fn, answers.tokens_that_fit, answers.FIT_MISTAKES, cases)


def _first(returned):
    return returned if returned is None or returned is ... else returned[0]


def _check_cache(fn, name: str, case: tuple[Tensor, ...]) -> None:
    """The cache that `fn` returns holds the old rows, then the new ones; what else is wrong is left to the engine."""
    q, k, v, keys, values = case
    try:
        returned = fn(*(tensor.clone() for tensor in case))
    except RuntimeError as error:
        if "must match except in dimension" in str(error):  # torch.cat, when rows do not fit side by side
            _stop(name, answers.WRONG_AXIS.format("keys and values", len(keys), len(keys) + len(k)))
        return
    except Exception:  # whatever the reader's code raises, the engine tells
        return
    if returned is None or returned is ...:
        return
    if not isinstance(returned, tuple | list) or len(returned) != 3:
        _stop(name, "return three things: mixed, keys, values.")
    for what, old, new, joined in (("keys", keys, k, returned[1]), ("values", values, v, returned[2])):
        _check_joined(name, what, torch.cat([old, new]), len(old), joined)


def _check_joined(name: str, what: str, expected: Tensor, n_old: int, joined) -> None:
    if not isinstance(joined, Tensor):
        _stop(name, f"the {what} you return are a {type(joined).__name__}, expected a tensor {shape(expected)}.")
    if len(joined) == n_old and joined.shape == expected[:n_old].shape:
        _stop(name, f"the {what} you return have not grown: join the new rows and return the result.")
    if joined.shape != expected.shape:
        _stop(name, f"{answers.WRONG_AXIS.format(what, n_old, len(expected))} Yours are {shape(joined)}.")
    if not torch.equal(joined, expected):
        _stop(name, f"the {what} you return must be the old rows, then the new ones, as they are.")


def _stop(name: str, hint: str):
    raise CheckFailed(f"{name}, not yet: {hint}")


def _tensor(seen: Mapping[str, Tensor], layer: int, names: tuple[str, ...]) -> Tensor:
    """The first of the names that this model's trace has, in float32."""
    return next(seen[f"block{layer}.{name}"] for name in names if f"block{layer}.{name}" in seen).float()


def _far_apart(like: Tensor) -> tuple[Tensor, ...]:
    """The first new token fits all it may see at -7200 and the one behind it, which it may not, at 7200."""
    q, k, v, keys, values = _case(like, 6, 2, 4, 1, 4)
    q, k, keys = (60.0 * x.sign() for x in (q, k, keys))
    keys[:] = k[0]
    k[1] = q[0] = -k[0]
    return q, k, v, keys, values


def _case(like: Tensor, n_new: int, n_old: int, n_heads: int, n_kv_heads: int, d_head: int) -> tuple[Tensor, ...]:
    """Reproducible random q, k, v, keys, values on the device of `like`."""
    generator = torch.Generator().manual_seed(n_new + n_old + n_heads)
    sizes = [(n_new, n_heads), *[(n_new, n_kv_heads)] * 2, *[(n_old, n_kv_heads)] * 2]
    return tuple(1.5 * torch.randn(*pair, d_head, generator=generator).to(like.device) for pair in sizes)
