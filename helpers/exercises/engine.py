"""What every exercise check does: the reader's function meets the model's tensors, and sizes it has not seen.

A check prints one line when the answer is right or not begun, and raises CheckFailed with a hint when wrong.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from helpers.check import difference, same_value, say_not_begun, shape
from helpers.errors import CheckFailed

NOTHING = "your function returns nothing: is `return` missing?"


@dataclass(frozen=True)
class Stopped:
    """What the reader's function did instead of returning."""

    reason: str


def check_function(
    name: str, fn, right: Callable, mistakes: Sequence[tuple[str, Callable]], cases, notes=None, **within
) -> None:
    """Run `fn` on every case; name the slip that explains all it returned, else describe the first fault.

    `notes` say what a case tries beyond other sizes, by its place; `within` are rtol and atol other than 1e-4.
    """
    given = [fn] if fn is ... else [call(fn, case) for case in cases]
    if given[0] is ...:
        return say_not_begun(name)
    wrong = [i for i, answer in enumerate(given) if not same_value(answer, right(*cases[i]), **within)]
    if wrong:
        hint = _slip(given, cases, mistakes, wrong) or _describe(given, cases, right, wrong[0], notes or {})
        raise CheckFailed(f"{name}, not yet: {hint}")
    print(f"Right: {name}, on the model's own values and on {len(cases) - 1} other sizes.")


def call(fn, case: tuple):
    """What `fn` returns for a copy of the case, so that it may write into its arguments; `...` for a stub."""
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


def _describe(given, cases, right: Callable, i: int, notes: dict[int, str]) -> str:
    fault = _fault(given[i], right, cases[i])
    if i == 0:
        return fault
    if i in notes:
        return f"right for this prompt and model, not for {notes[i]}: {fault}"
    return (
        f"right for this prompt and model, not for {_named(cases[i])}; "
        f"take every size and every number from the arguments: {fault}"
    )


def _fault(answer, right: Callable, case: tuple) -> str:
    if isinstance(answer, Stopped):
        return f"your function stopped with {answer.reason}"
    return NOTHING if answer is None else difference(answer, right(*case))


def _named(case: tuple) -> str:
    """A case in words: the shapes of its tensors, else its numbers."""
    if sizes := " and ".join(str(shape(value)) for value in case if isinstance(value, Tensor)):
        return f"sizes {sizes}"
    return ", ".join(map(str, case)) if all(isinstance(value, int) for value in case) else "another model"
