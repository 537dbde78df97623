"""The checks of notebook 02: nearest neighbours, rotation, sinusoidal vectors moved on, ALiBi's biases."""

from collections.abc import Mapping

import torch
from torch import Tensor

from helpers.exercises import embed_answers as answers
from helpers.exercises.engine import check_function

ROWS = 4000  # of the real table: enough to be real, few enough to be copied for each check


def check_nearest(fn, table: Tensor, token: int) -> None:
    """Check `fn(table, i, k)`, the k rows nearest to row i by cosine, nearest first, without i itself."""
    start = max(0, token + 1 - ROWS)
    part = table[start : start + ROWS].detach().float()
    cases = [(part, token - start, 5), (_random(60, 8), 11, 4), (_random(9, 3), 0, 8), (_random(20, 5), 7, 1)]
    # lengths that differ: otherwise the dot product ranks as the cosine does
    cases = [(rows * torch.linspace(0.3, 3.0, len(rows), device=rows.device)[:, None], i, k) for rows, i, k in cases]
    twins = [_with_twin(_random(30, 6), 12, place) for place in (5, 20)]
    notes = {len(cases) + i: answers.TWIN for i in range(len(twins))}
    check_function("nearest(table, i, k)", fn, answers.nearest, answers.NEAREST_MISTAKES, [*cases, *twins], notes)


def check_turn(fn, seen: Mapping[str, Tensor], theta: float | None, layer: int = 0) -> None:
    """Check `fn(x, positions, theta)`: every pair (2 i, 2 i + 1) of x (n, n_heads, d_head) turned by its position."""
    q = seen[f"block{layer}.q"].float()
    places = torch.arange(len(q), device=q.device)
    fresh = [
        (_random(3, 2, 8), torch.tensor([5, 3, 900]), 500.0),
        (_random(1, 1, 4), torch.tensor([7]), 10_000.0),
        (_random(20, 3, 6), torch.arange(40, 20, -1), 50_000.0),
    ]
    cases = [(q, places, theta or 10_000.0), *((x.to(q.device), at.to(q.device), t) for x, at, t in fresh)]
    check_function("turn(x, positions, theta)", fn, answers.turn, answers.TURN_MISTAKES, cases)


def check_moved(fn, vectors: Tensor) -> None:
    """Check `fn(vectors, k)`: sinusoidal vectors (n, d_model) as they would be k positions later."""
    cases = [
        (vectors.float()[:16], 5),
        (answers.sinusoidal(6, 8), 1),
        (answers.sinusoidal(3, 4), 40),
        (answers.sinusoidal(20, 6), 0),
    ]
    check_function("moved(vectors, k)", fn, answers.moved, answers.MOVED_MISTAKES, cases)


def check_alibi(fn) -> None:
    """Check `fn(n_heads, n_tokens)`, what ALiBi adds to the scores: (n_heads, n_tokens, n_tokens)."""
    cases = [(8, 6), (4, 3), (16, 5), (3, 20), (1, 1)]
    check_function("alibi(n_heads, n_tokens)", fn, answers.alibi, answers.ALIBI_MISTAKES, cases)


def _with_twin(table: Tensor, i: int, twin: int) -> tuple[Tensor, int, int]:
    """A table in which row `twin` is twice row i, so that both have the same cosine to it, exactly."""
    table[twin] = 2 * table[i]
    return table, i, 3


def _random(*sizes: int) -> Tensor:
    return 1.5 * torch.randn(sizes, generator=torch.Generator().manual_seed(sum(sizes)))
