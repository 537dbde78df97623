"""What a reader may ask of the sampler; anything else is answered with one sentence."""

import operator
import sys
from collections.abc import Sequence
from reprlib import repr as short

import numpy as np
import torch
from torch import Tensor

from helpers.errors import ReaderError

_LARGEST = sys.float_info.max  # Python's whole numbers go further, and no tensor can be divided by those
_ALLOWED = {
    "temperature": (lambda v: 0 <= v <= _LARGEST, "0 (greedy) or a positive number"),
    "top_k": (lambda v: isinstance(v, int) and v >= 0, "0 (off) or a positive whole number"),
    "top_p": (lambda v: 0 < v <= 1, "above 0 and at most 1 (off)"),
    "min_p": (lambda v: 0 <= v <= 1, "between 0 (off) and 1"),
    "repetition_penalty": (lambda v: 0 < v <= _LARGEST, "a positive number (1 is off)"),
    "max_new_tokens": (lambda v: isinstance(v, int) and v >= 1, "a whole number, at least 1"),
    "seed": (lambda v: isinstance(v, int) and 0 <= v < 2**63, "a whole number from 0 to 2**63 - 1"),
}


def check_settings(**settings) -> None:
    """ReaderError that names the first setting which is unknown or outside its range."""
    for name, value in settings.items():
        if name not in _ALLOWED:
            raise ReaderError(f"There is no setting {name!r}; there are {', '.join(_ALLOWED)}.")
        is_allowed, wanted = _ALLOWED[name]
        number = value.item() if isinstance(value, np.generic) else value
        if type(number) not in (int, float) or not is_allowed(number):
            raise ReaderError(f"{name}={value!r} cannot be used: it must be {wanted}.")


def check_logits(logits: Tensor) -> Tensor:
    """`logits` (n_vocab,) in float32; ReaderError: another shape, a NaN or +inf, every token masked."""
    try:
        logits = torch.as_tensor(logits).detach()
    except (TypeError, ValueError, RuntimeError) as error:
        raise ReaderError(f"One position's logits (n_vocab,) are needed, not a {type(logits).__name__}.") from error
    if logits.is_complex():
        raise ReaderError("Logits are real numbers, these are complex.")
    logits = logits.float()
    if logits.ndim != 1 or not len(logits):
        shape = tuple(logits.shape)
        raise ReaderError(f"One position's logits (n_vocab,) are needed, not {shape}: pass logits[-1].")
    check_largest(logits.max())
    return logits


def check_largest(largest: Tensor) -> None:
    """The largest logit is NaN if any is, +inf if any is, and -inf if every token is masked."""
    if not largest.isfinite():
        raise ReaderError(f"The largest logit is {float(largest)}: there is no distribution to choose from.")


def check_ids(name: str, ids: Sequence[int] | Tensor, n_vocab: int) -> list[int]:
    """The token ids of a flat list, or of a tensor or array (n_tokens,), as plain whole numbers.

    ReaderError: anything else, numbers that are not whole, True and False, ids that the vocabulary lacks.
    """
    listed = ids.tolist() if hasattr(ids, "tolist") else ids
    if not isinstance(listed, list | tuple | range):
        raise ReaderError(f"{name}: a flat list of token ids (whole numbers) is needed, not {short(ids)}.")
    is_plain = set(map(type, listed)) <= {int}  # at every step of `generate`: a text of 300 tokens takes 15 µs so
    whole = list(listed) if is_plain else [_whole(name, i) for i in listed]
    if whole and not 0 <= min(whole) <= max(whole) < n_vocab:
        outside = next(i for i in whole if not 0 <= i < n_vocab)
        raise ReaderError(f"{name}: there is no token {outside}: ids go from 0 to {n_vocab - 1}.")
    return whole


def _whole(name: str, token_id) -> int:
    try:
        if isinstance(token_id, bool):
            raise TypeError
        return operator.index(token_id)
    except TypeError as error:
        said = f"{name}: token ids are whole numbers in a flat list, and {short(token_id)} is none."
        raise ReaderError(said) from error
