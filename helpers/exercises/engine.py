"""What every exercise check does: the reader's function meets the model's tensors, and sizes it has not seen.

A check prints one line when the answer is right or not begun, and raises CheckFailed with a hint when wrong.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from helpers.check import check_answer, difference, not_begun, same_value, shape
from helpers.errors import CheckFailed


@dataclass(frozen=True)
class Stopped:
    """What the reader's function did instead of returning."""

    reason: str


def check_function(name: str, fn, right: Callable, mistakes: Sequence[tuple[str, Callable]], cases, **within) -> None:
    """Run `fn` on every case; name the slip that explains all it returned, else describe the first fault.

    `within` are rtol and atol where others than 1e-4 shall hold.
    """
    given = [fn] if not_begun(fn) else [_call(fn, case) for case in cases]
    if not_begun(given[0]):
        return check_answer(name, ..., right=None)
    wrong = [i for i, answer in enumerate(given) if not same_value(answer, right(*cases[i]), **within)]
    if wrong:
        hint = _slip(given, cases, mistakes, wrong) or _describe(given, cases, right, wrong[0])
        raise CheckFailed(f"{name}, not yet: {hint}")
    print(f"Right: {name}, on the model's own values and on {len(cases) - 1} other sizes.")


def _call(fn, case: tuple):
    """What `fn` returns for a copy of the case, so that it may write into its arguments."""
    try:
        return fn(*copy.deepcopy(case))
    except Exception as error:  # whatever the reader's code raises becomes one sentence
        last_line = (str(error).strip().splitlines() or [""])[-1]
        return ... if "ellipsis" in last_line else Stopped(f"{type(error).__name__}: {last_line}")


def _slip(given, cases, mistakes, wrong: list[int]) -> str | None:
    """The hint of the first mistake that gives every returned value; None when no mistake does."""
    returned = [i for i, answer in enumerate(given) if not isinstance(answer, Stopped)]
    if not set(returned) & set(wrong):
        return None
    explained = (hint for hint, slip in mistakes if all(_gives(slip, cases[i], given[i]) for i in returned))
    return next(explained, None)


def _gives(slip: Callable, case: tuple, answer) -> bool:
    try:
        return same_value(answer, slip(*case))
    except RuntimeError:  # a slip such as a transposed weight only fits some sizes
        return False


def _describe(given, cases, right: Callable, i: int) -> str:
    answer, sizes = given[i], " and ".join(str(shape(v)) for v in cases[i] if isinstance(v, Tensor))
    stopped = isinstance(answer, Stopped)
    fault = f"your function stopped with {answer.reason}" if stopped else difference(answer, right(*cases[i]))
    if i == 0:
        return fault
    other = f"sizes {sizes}" if sizes else "another model"
    return f"right for this prompt and model, not for {other}; take every size from the arguments: {fault}"
