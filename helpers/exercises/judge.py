"""Checks of functions that return one tensor or several: on plain inputs, and on edges such as a part with no keys."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from helpers.check import as_float64, difference, same_value, say_not_begun
from helpers.errors import CheckFailed
from helpers.exercises.engine import NOTHING, Stopped, call


@dataclass(frozen=True)
class Case:
    """What a function is given, and `tries`, that in words.

    `edge` is the hint where only cases like this one go wrong. An edge tells no slip: there, readers' answers to one
    slip differ, by what they do about infinities.
    """

    arguments: tuple
    tries: str
    edge: str = ""


class Parts(tuple):
    """An answer with as many parts as are asked for."""


@dataclass(frozen=True)
class Exercise:
    """A function to write: `right` and the mistakes (hint, function) return as many tensors as `parts` has names, in
    a tuple, or the tensor itself where it is one. `advice`: what to add to a sentence that has these words in it."""

    name: str
    parts: tuple[str, ...]
    right: Callable
    mistakes: Sequence[tuple[str, Callable]]
    advice: Mapping[str, str]

    def split(self, answer):
        """The answer as its Parts; what has not as many, as it is."""
        if answer is None or isinstance(answer, Stopped):
            return answer
        if len(self.parts) == 1:
            return Parts([answer])
        return Parts(answer) if isinstance(answer, tuple | list) and len(answer) == len(self.parts) else answer


def judge(fn, exercise: Exercise, cases: Sequence[Case]) -> None:
    """Run `fn` on every case, the model's own first; name the slip that explains all it returned, else describe the
    first fault. CheckFailed: a wrong answer."""
    given = [fn] if fn is ... else [call(fn, case.arguments) for case in cases]
    if given[0] is ...:
        return say_not_begun(exercise.name)
    given = [exercise.split(answer) for answer in given]
    expected = [exercise.split(exercise.right(*case.arguments)) for case in cases]
    wrong = [i for i, answer in enumerate(given) if not _same(answer, expected[i])]
    if wrong:
        first = min(wrong, key=lambda i: (bool(cases[i].edge), i))  # an edge is told of when all else is right
        fault = _fault(given[first], expected[first], exercise)
        hint = _slip(given, expected, cases, exercise) or _describe(fault, cases[first], first, wrong, exercise)
        raise CheckFailed(f"{exercise.name}, not yet: {hint}")
    print(f"Right: {exercise.name}, on the model's own values and on {len(cases) - 1} other inputs.")


def _same(answer, expected: Parts) -> bool:
    return isinstance(answer, Parts) and all(map(same_value, answer, expected))


def _slip(given, expected, cases: Sequence[Case], exercise: Exercise) -> str | None:
    """The hint of the first mistake that gives every number returned for a plain case; None when no mistake does."""
    plain = [i for i, case in enumerate(cases) if not case.edge and isinstance(given[i], Parts)]
    if all(_agree(given[i], expected[i]) for i in plain):  # no wrong number to explain
        return None

    def gives(mistake: Callable, i: int) -> bool:
        return _agree(given[i], exercise.split(mistake(*cases[i].arguments)))

    return next((hint for hint, mistake in exercise.mistakes if all(gives(mistake, i) for i in plain)), None)


def _agree(answer: Parts, other: Parts) -> bool:
    """Are both the same wherever both are numbers? Whether a slip ends in NaN or in 0 depends on how it is written."""
    return all(map(_agree_in_part, answer, other))


def _agree_in_part(answer, other: torch.Tensor) -> bool:
    if not isinstance(answer, torch.Tensor) or answer.shape != other.shape:
        return same_value(answer, other)
    answer, other = as_float64(answer), as_float64(other)
    numbers = ~(answer.isnan() | other.isnan())
    return same_value(answer[numbers], other[numbers])


def _describe(fault: str, case: Case, first: int, wrong: list[int], exercise: Exercise) -> str:
    if case.edge:
        return f"{case.edge} For {case.tries}: {fault}"
    fault += "".join(f" {more}" for words, more in exercise.advice.items() if words in fault)
    if first == 0:
        return fault
    return (
        f"for {case.tries}: {fault}"
        if 0 in wrong
        else f"right for this prompt and model, not for {case.tries}: {fault}"
    )


def _fault(answer, expected: Parts, exercise: Exercise) -> str:
    if answer is None:
        return NOTHING
    if isinstance(answer, Stopped):
        return f"your function stopped with {answer.reason}."
    if not isinstance(answer, Parts):
        return f"return {len(expected)} things, as a tuple: {', '.join(exercise.parts)}."
    each = zip(exercise.parts, answer, expected, strict=True)
    name, ours, right = next(one for one in each if not same_value(*one[1:]))
    return difference(ours, right) if len(expected) == 1 else f"{name}: {difference(ours, right)}"
