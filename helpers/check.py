"""Checks a reader runs: a tensor derived on the page against the model's, an answer against the right one."""

import torch
from torch import Tensor

from helpers.errors import CheckFailed


def check_close(name: str, ours, model, rtol: float = 1e-4, atol: float = 1e-4) -> None:
    """Print that `ours` is the model's tensor, with the largest difference; raise CheckFailed when it is not.

    Allowed is |ours - model| <= atol + rtol * |model|, in float64. Equal infinities count as equal, so that
    masked scores can be compared; NaN never does. The tensors may live on different devices.
    """
    given, ours, model = ours, _numbers(ours), as_float64(model)
    if ours is None:
        raise CheckFailed(f"{name}: ours is a {type(given).__name__}, not {_kind(model)} of real numbers.")
    if ours.shape != model.shape:
        raise CheckFailed(f"{name}: ours has shape {shape(ours)}, the model's has shape {shape(model)}.")
    for whose, values in (("ours", ours), ("the model's", model)):
        if values.isnan().any():
            raise CheckFailed(f"{name}: {whose} is not a number (NaN) at {_first(values.isnan())}.")
    if not _close(ours, model, rtol, atol):
        allowed = f"allowed is {atol:g} + {rtol:g} of the value"
        raise CheckFailed(f"{name}: {_worst(ours, model, rtol, ('ours', 'the model has'))}; {allowed}.")
    print(f"{name} {shape(ours)}: same as the model, largest difference {_largest(ours, model)}")


def check_answer(name: str, answer, right, mistakes=None, rtol: float = 1e-4, atol: float = 1e-4) -> None:
    """Tell a reader about one answer: not begun or right (printed), wrong (CheckFailed with a hint).

    `mistakes` maps a hint to the value a typical slip gives; an answer equal to it is refused with that hint.
    """
    if not_begun(answer):
        print(f"Not done yet: {name}. Put your own code in place of the ... and run the cell again.")
    elif same_value(answer, right, rtol, atol):
        print(f"Right: {name}.")
    else:
        hints = [hint for hint, wrong in (mistakes or {}).items() if same_value(answer, wrong, rtol, atol)]
        raise CheckFailed(f"{name}, not yet: {hints[0] if hints else difference(answer, right, rtol)}")


def not_begun(answer) -> bool:
    """Is the answer still the `...` it was given as, or nothing at all?"""
    return answer is None or answer is ...


def same_value(answer, value, rtol: float = 1e-4, atol: float = 1e-4) -> bool:
    """Is the answer this value: same shape, close numbers, NaN where the value is NaN? Text never is."""
    numbers = _numbers(answer)
    return numbers is not None and _close(numbers, as_float64(value), rtol, atol)


def difference(answer, right, rtol: float = 1e-4) -> str:
    """One sentence: how an answer differs from the right one, in kind, in shape, or by how much and where."""
    numbers, right = _numbers(answer), as_float64(right)
    if numbers is None:
        return f"your answer is a {type(answer).__name__}, expected {_kind(right)}."
    if numbers.shape != right.shape:
        return f"your answer is {_kind(numbers)}, expected {_kind(right)}."
    if (numbers.isnan() & ~right.isnan()).any():
        return f"your answer is not a number (NaN) at {_first(numbers.isnan())}."
    return f"{_worst(numbers, right, rtol, ('yours', 'expected'))}."


def as_float64(values) -> Tensor:
    """Any tensor, array, list or number as a float64 tensor on the CPU (MPS has no float64); TypeError if complex."""
    values = torch.as_tensor(values)
    if values.is_complex():
        raise TypeError("complex numbers: .double() would drop their imaginary part")
    return values.detach().cpu().double()


def shape(values: Tensor) -> tuple[int, ...]:
    return tuple(values.shape)


def _numbers(answer) -> Tensor | None:
    try:
        return as_float64(answer)
    except (TypeError, ValueError, RuntimeError):  # what torch raises for text, ragged lists, other objects
        return None


def _close(ours: Tensor, model: Tensor, rtol: float, atol: float) -> bool:
    return ours.shape == model.shape and torch.allclose(ours, model, rtol, atol, equal_nan=True)


def _distance(ours: Tensor, model: Tensor) -> Tensor:
    return torch.where(ours == model, 0.0, (ours - model).abs())  # two equal infinities are no distance apart


def _largest(ours: Tensor, model: Tensor) -> str:
    largest = _distance(ours, model).max().item() if ours.numel() else 0.0
    return f"{largest:.1g}" if largest else "0.0"


def _worst(ours: Tensor, model: Tensor, rtol: float, names: tuple[str, str]) -> str:
    """The largest difference, and both values at the place that exceeds the tolerance most."""
    allowed = rtol * model.abs().nan_to_num(posinf=0.0)
    flat = int((_distance(ours, model).nan_to_num(posinf=torch.inf) - allowed).argmax())
    at = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), ours.shape)) if ours.ndim else ()
    values = f"{names[0]} {ours[at].item():.4g}, {names[1]} {model[at].item():.4g}"
    return f"largest difference {_largest(ours, model)} ({values}" + (f", at {list(at)})" if at else ")")


def _first(mask: Tensor) -> list[int]:
    return mask.nonzero()[0].tolist()


def _kind(values: Tensor) -> str:
    return f"a tensor of shape {shape(values)}" if values.ndim else "a single number"
