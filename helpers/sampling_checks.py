"""What a reader may ask of the sampler; anything else is answered with one sentence."""

import math
from numbers import Integral, Real

import torch
from torch import Tensor

from helpers.errors import ReaderError

_ALLOWED = {
    "temperature": (lambda v: 0 <= v < math.inf, "0 (greedy) or a positive number"),
    "top_k": (lambda v: isinstance(v, Integral) and v >= 0, "0 (off) or a positive whole number"),
    "top_p": (lambda v: 0 < v <= 1, "above 0 and at most 1 (off)"),
    "min_p": (lambda v: 0 <= v <= 1, "between 0 (off) and 1"),
    "repetition_penalty": (lambda v: 0 < v < math.inf, "a positive number (1 is off)"),
    "max_new_tokens": (lambda v: isinstance(v, Integral) and v >= 1, "a whole number, at least 1"),
    "seed": (lambda v: isinstance(v, Integral) and 0 <= v < 2**63, "a whole number, at least 0"),
}


def check_settings(**settings) -> None:
    """ReaderError that names the first setting which is unknown or outside its range."""
    for name, value in settings.items():
        if name not in _ALLOWED:
            raise ReaderError(f"There is no setting {name!r}; there are {', '.join(_ALLOWED)}.")
        is_allowed, wanted = _ALLOWED[name]
        if not (isinstance(value, Real) and is_allowed(value)):
            raise ReaderError(f"{name}={value!r} cannot be used: it must be {wanted}.")


def check_logits(logits: Tensor) -> Tensor:
    """`logits` (n_vocab,) in float32; ReaderError: another shape, a NaN or +inf, every token masked."""
    logits = torch.as_tensor(logits).detach().float()
    if logits.ndim != 1 or not len(logits):
        shape = tuple(logits.shape)
        raise ReaderError(f"One position's logits (n_vocab,) are needed, not {shape}: pass logits[-1].")
    check_largest(logits.max())
    return logits


def check_largest(largest: Tensor) -> None:
    """The largest logit is NaN if any is, +inf if any is, and -inf if every token is masked."""
    if not largest.isfinite():
        raise ReaderError(f"The largest logit is {float(largest)}: there is no distribution to choose from.")


def check_ids(name: str, ids, n_vocab: int) -> None:
    """ReaderError when one of the ids is not in the vocabulary."""
    if len(ids) and not 0 <= min(ids) <= max(ids) < n_vocab:
        raise ReaderError(f"{name}: ids go from 0 to {n_vocab - 1}, here from {min(ids)} to {max(ids)}.")
