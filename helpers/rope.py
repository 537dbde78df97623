"""A model's rotary position embedding: its frequencies, and how to run the model with others for a while."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from helpers.layouts import head_size


def rope_theta(lm, layer: int = 0) -> float | None:
    """The one number from which the frequencies of a block follow as theta ** (-2 * pair / d_head).

    None where they do not: GPT-2 rotates nothing, and Llama 3 and others scale the frequencies afterwards.
    """
    settings = getattr(lm.config, "rope_parameters", None) or {}
    settings = settings.get(_kind(lm, layer), settings)  # Gemma 3 has one set for each kind of block
    plain = settings.get("rope_type") == "default" and settings.get("partial_rotary_factor", 1.0) == 1.0
    return float(settings["rope_theta"]) if plain else None


def rope_frequencies(lm, layer: int = 0) -> Tensor:
    """The angle in radians by which the model turns each pair for one step of position, (d_head / 2,) on the CPU.

    Zeros where the model rotates nothing, or leaves the last pairs as they are.
    """
    padded = torch.zeros(head_size(lm.config) // 2)
    if rotary := _rotary(lm):
        own = getattr(rotary, _name(rotary, _kind(lm, layer))).float().cpu()
        padded[: len(own)] = own
    return padded


@contextmanager
def turning(lm, change: Callable[[Tensor], Tensor], attention_factor: float = 1.0) -> Iterator[None]:
    """Within the `with`, every block turns by `change(frequencies)`, cosine and sine times `attention_factor`.

    Afterwards the model is as it was. A model that rotates nothing stays as it is.
    """
    rotary = _rotary(lm)
    names = [name for name, _ in rotary.named_buffers() if name.endswith("inv_freq")] if rotary else []
    names = [name for name in names if "original" not in name]
    factors = [name.replace("inv_freq", "attention_scaling") for name in names]
    before = {name: getattr(rotary, name) for name in [*names, *factors]}
    try:
        for name, factor in zip(names, factors, strict=True):
            setattr(rotary, name, change(before[name].cpu()).to(before[name]))
            setattr(rotary, factor, attention_factor * before[factor])
        yield
    finally:
        for name, value in before.items():
            setattr(rotary, name, value)


def _rotary(lm) -> nn.Module | None:
    return getattr(lm.model.base_model, "rotary_emb", None)


def _kind(lm, layer: int) -> str:
    return (getattr(lm.config, "layer_types", None) or [""] * (layer + 1))[layer]


def _name(rotary: nn.Module, kind: str) -> str:
    return f"{kind}_inv_freq" if hasattr(rotary, f"{kind}_inv_freq") else "inv_freq"
