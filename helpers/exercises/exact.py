"""Checks of functions that return text, pieces or counts: the answer is exactly right, or a slip explains it."""

import math
from collections.abc import Callable, Sequence

from helpers.check import say_not_begun
from helpers.errors import CheckFailed
from helpers.exercises.engine import NOTHING, Stopped, call

LONGEST = 60  # characters of a value that a message quotes


def check_exact(name: str, fn, right: Callable, mistakes: Sequence[tuple[str, Callable]], cases) -> None:
    """Run `fn` on every case; name the slip that explains all it returned, else quote the first difference."""
    given = [fn] if fn is ... else [call(fn, case) for case in cases]
    if given[0] is ...:
        return say_not_begun(name)
    wrong = [i for i, answer in enumerate(given) if not same(answer, right(*cases[i]))]
    if wrong:
        hint = _slip(given, cases, mistakes, wrong) or _describe(given[wrong[0]], cases[wrong[0]], right)
        raise CheckFailed(f"{name}, not yet: {hint}")
    print(f"Right: {name}, on {len(cases)} inputs.")


def same(answer, value) -> bool:
    """Equal, where a tuple or a range is as good as a list; numbers to 9 digits."""
    if isinstance(value, float):
        return (
            isinstance(answer, int | float)
            and not isinstance(answer, bool)
            and math.isclose(answer, value, rel_tol=1e-9)
        )
    if isinstance(value, list):
        return isinstance(answer, list | tuple | range) and list(answer) == value
    return type(answer) is type(value) and answer == value


def _slip(given, cases, mistakes, wrong: list[int]) -> str | None:
    """The hint of the first mistake that gives every returned value; None when no mistake does."""
    returned = [i for i, answer in enumerate(given) if not isinstance(answer, Stopped)]
    if not set(returned) & set(wrong):
        return None
    explained = (hint for hint, slip in mistakes if all(same(given[i], slip(*cases[i])) for i in returned))
    return next(explained, None)


def _describe(answer, case: tuple, right: Callable) -> str:
    asked = ", ".join(_short(value) for value in case if not callable(value))
    if isinstance(answer, Stopped):
        return f"for {asked} your function stopped with {answer.reason}."
    if answer is None:
        return NOTHING
    return f"for {asked} it returns {_short(answer)}, expected {_short(right(*case))}."


def _short(value) -> str:
    written = repr(value)
    return written if len(written) <= LONGEST else f"{written[:LONGEST]}…"
