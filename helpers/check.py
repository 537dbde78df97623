"""Checks a reader runs: a tensor derived on the page against the model's, an answer against the right one."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from helpers.errors import CheckFailed

SLICE = 2**20  # numbers that are compared at a time


def check_close(name: str, ours, theirs, rtol: float = 1e-4, atol: float = 1e-4, *, against="the model") -> None:
    """Print that `ours` is the model's tensor, with the largest difference; raise CheckFailed when it is not.

    Allowed is |ours - theirs| <= atol + rtol * |theirs|, in float64; whole numbers (ids, counts) must be equal.
    Equal infinities count as equal, so that masked scores can be compared; NaN never does. The tensors may live on
    different devices. `against` completes "same as …" where `theirs` is not the model's.
    """
    rtol, atol = _within(theirs, rtol, atol)
    given, ours, theirs = ours, _plain_or_none(ours), _plain(theirs)
    if ours is None:
        raise CheckFailed(f"{name}: ours is a {type(given).__name__}, not {_kind(theirs)} of real numbers.")
    if ours.shape != theirs.shape:
        raise CheckFailed(f"{name}: the shapes differ: ours {shape(ours)}, {against} {shape(theirs)}.")
    largest = 0.0
    for a, b in _slices(ours, theirs):
        if not _close(a, b, rtol, atol) or b.isnan().any():
            raise CheckFailed(f"{name}: {_fault(ours.double(), theirs.double(), rtol, atol, against)}.")
        largest = max(largest, _largest(a, b))
    print(f"{name} {shape(ours)}: same as {against}, largest difference {_rounded(largest)}")


def _slices(ours: Tensor, theirs: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Both in float64, some rows of the first axis at a time: of a whole trace's scores that would be too much."""
    if not ours.ndim:
        return iter([(ours.double(), theirs.double())])
    rows = max(1, SLICE * len(ours) // max(1, ours.numel()))
    return ((a.double(), b.double()) for a, b in zip(ours.split(rows), theirs.split(rows), strict=True))


def _fault(ours: Tensor, theirs: Tensor, rtol: float, atol: float, against: str) -> str:
    """What is wrong with numbers that are not the same."""
    for whose, values in (("ours", ours), (against, theirs)):
        if values.isnan().any():
            return f"not a number (NaN): {whose}, at {_first(values.isnan())}"
    allowed = f"allowed is {atol:g} + {rtol:g} of the value" if rtol or atol else "they must be equal"
    return f"{_worst(ours, theirs, rtol, ('ours', against))}; {allowed}"


def check_answer(name: str, answer, right, mistakes=None, rtol: float = 1e-4, atol: float = 1e-4) -> None:
    """Tell a reader about one answer: not begun or right (printed), wrong (CheckFailed with a hint).

    `mistakes` maps a hint to the value a typical slip gives; an answer equal to it is refused with that hint.
    """
    if answer is ...:
        say_not_begun(name)
    elif same_value(answer, right, rtol, atol):
        print(f"Right: {name}.")
    else:
        hints = [hint for hint, wrong in (mistakes or {}).items() if same_value(answer, wrong, rtol, atol)]
        raise CheckFailed(f"{name}, not yet: {hints[0] if hints else difference(answer, right, rtol)}")


def say_not_begun(name: str) -> None:
    """What a check prints for an answer that is still the `...` it was given as."""
    print(f"Not done yet: {name}. Put your own code in place of the ... and run the cell again.")


def same_value(answer, value, rtol: float = 1e-4, atol: float = 1e-4) -> bool:
    """Is the answer this value: same shape, close numbers (equal ones where the value is whole numbers)?

    NaN is the same where the value is NaN; text never is the same.
    """
    numbers = _numbers(answer)
    return numbers is not None and _close(numbers, as_float64(value), *_within(value, rtol, atol))


def difference(answer, right, rtol: float = 1e-4) -> str:
    """One sentence: how an answer differs from the right one, in kind, in shape, or by how much and where."""
    numbers, right = _numbers(answer), as_float64(right)
    if answer is None:
        return "your answer is None: is `return` missing, or was the value printed and not kept?"
    if numbers is None:
        return f"your answer is a {type(answer).__name__}, expected {_kind(right)}."
    if numbers.shape != right.shape:
        return f"your answer is {_kind(numbers)}, expected {_kind(right)}."
    if (numbers.isnan() & ~right.isnan()).any():
        return f"your answer is not a number (NaN) at {_first(numbers.isnan())}."
    return f"{_worst(numbers, right, rtol, ('yours', 'expected'))}."


def as_float64(values) -> Tensor:
    """Any tensor, array, list or number as a float64 tensor on the CPU (MPS has no float64); TypeError if complex."""
    return _plain(values).double()


def shape(values: Tensor) -> tuple[int, ...]:
    return tuple(values.shape)


def _plain(values) -> Tensor:
    """A tensor on the CPU, of the type it came in; TypeError if complex."""
    values = values.copy() if isinstance(values, np.ndarray) else values  # torch takes no reversed, no read-only ones
    values = torch.as_tensor(values)
    if values.is_complex():
        raise TypeError("complex numbers: .double() would drop their imaginary part")
    return values.detach().cpu()


def _plain_or_none(answer) -> Tensor | None:
    try:
        return _plain(answer)
    except (TypeError, ValueError, RuntimeError):  # what torch raises for text, ragged lists, other objects
        return None


def _numbers(answer) -> Tensor | None:
    answer = _plain_or_none(answer)
    return None if answer is None else answer.double()


def _within(values, rtol: float, atol: float) -> tuple[float, float]:
    """rtol and atol; none for whole numbers, where 1e-4 of token id 49,000 would let four other tokens pass."""
    kind = torch.as_tensor(values).dtype
    return (rtol, atol) if kind.is_floating_point or kind.is_complex else (0.0, 0.0)


def _close(ours: Tensor, theirs: Tensor, rtol: float, atol: float) -> bool:
    return ours.shape == theirs.shape and torch.allclose(ours, theirs, rtol, atol, equal_nan=True)


def _distance(ours: Tensor, theirs: Tensor) -> Tensor:
    return torch.where(ours == theirs, 0.0, (ours - theirs).abs())  # two equal infinities are no distance apart


def _largest(ours: Tensor, theirs: Tensor) -> float:
    return _distance(ours, theirs).max().item() if ours.numel() else 0.0


def _rounded(largest: float) -> str:
    return f"{largest:.1g}" if largest else "0.0"


def _worst(ours: Tensor, theirs: Tensor, rtol: float, names: tuple[str, str]) -> str:
    """The largest difference, and both values at the place that exceeds the tolerance most."""
    allowed = rtol * theirs.abs().nan_to_num(posinf=0.0)
    flat = int((_distance(ours, theirs).nan_to_num(posinf=torch.inf) - allowed).argmax())
    at = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), ours.shape)) if ours.ndim else ()
    values = ", ".join(f"{name} {_number(x[at].item())}" for name, x in zip(names, (ours, theirs), strict=True))
    return f"largest difference {_rounded(_largest(ours, theirs))} ({values}" + (f", at {list(at)})" if at else ")")


def _number(value: float) -> str:
    """A whole number with all its digits, since ids are compared; others with four."""
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.4g}"


def _first(mask: Tensor) -> list[int]:
    return mask.nonzero()[0].tolist()


def _kind(values: Tensor) -> str:
    return f"a tensor of shape {shape(values)}" if values.ndim else "a single number"
