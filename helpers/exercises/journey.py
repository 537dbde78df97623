"""The checks of notebook 00: temperature, and what the likeliest tokens hold."""

import torch
from torch import Tensor

from helpers.exercises.engine import check_function


def check_with_temperature(fn, logits: Tensor) -> None:
    """Check `fn(logits, temperature)`, the probabilities (n_vocab,) at that temperature."""
    cases = [(logits.detach(), 0.5), (other_logits(50), 2.0), (other_logits(7), 0.1), (40.0 * other_logits(20), 3.0)]
    check_function("with_temperature(logits, temperature)", fn, with_temperature, TEMPERATURE_MISTAKES, cases)


def check_top_share(fn, logits: Tensor) -> None:
    """Check `fn(logits, k)`, the probability that the next token is one of the k likeliest."""
    cases = [
        (logits.detach(), 10),
        (other_logits(50), 3),
        (other_logits(7), 7),
        (torch.zeros(9), 4),
        (other_logits(20), 1),
    ]
    check_function("top_share(logits, k)", fn, top_share, TOP_SHARE_MISTAKES, cases)


def with_temperature(logits: Tensor, temperature: float) -> Tensor:
    return (logits / temperature).softmax(dim=-1)


def top_share(logits: Tensor, k: int) -> Tensor:
    return logits.softmax(dim=-1).topk(k).values.sum()


def other_logits(n: int) -> Tensor:
    return 3.0 * torch.randn(n, generator=torch.Generator().manual_seed(n))


TEMPERATURE_MISTAKES = [
    (
        "a high temperature must flatten: divide the logits, do not multiply.",
        lambda x, t: (x * t).softmax(-1),
    ),
    (
        "divide the logits before softmax; you divided the probabilities after it.",
        lambda x, t: x.softmax(-1) / t,
    ),
    (
        "your result does not change with the temperature: divide the logits by it, before softmax.",
        lambda x, t: x.softmax(-1),
    ),
    (
        "what is raised to 1 / temperature must add up to 1 again; easier: divide the logits, before softmax.",
        lambda x, t: x.softmax(-1) ** (1 / t),
    ),
    ("these are divided logits: softmax is missing.", lambda x, t: x / t),
]

TOP_SHARE_MISTAKES = [
    ("softmax has to see all tokens: cut afterwards, or the rest has no share.", lambda x, k: torch.ones(())),
    ("these are the k probabilities: add them up.", lambda x, k: x.softmax(-1).topk(k).values),
    (
        "that is the sum of the logits: turn them into probabilities first.",
        lambda x, k: x.topk(k).values.sum(),
    ),
    ("these are the k unlikeliest: sort in descending order.", lambda x, k: x.softmax(-1).sort().values[:k].sum()),
    (
        "that is the k-th probability alone: add up the first k.",
        lambda x, k: x.softmax(-1).topk(k).values[-1],
    ),
    (
        "these are the first k tokens of the vocabulary, not the k likeliest.",
        lambda x, k: x.softmax(-1)[:k].sum(),
    ),
]
