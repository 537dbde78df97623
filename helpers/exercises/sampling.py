"""The checks of notebook 06: temperature with top-p, a penalty with a window, the loop with its stop."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from helpers.exercises import sampling_answers as answers
from helpers.exercises.engine import check_function

MOST_CALLS = 500  # of the stand-in for the model, before a loop is said not to end


def check_nucleus(fn, logits: Tensor) -> None:
    """Check `fn(logits, temperature, p)`, the probabilities (n_vocab,) after temperature and top-p."""
    logits = logits.detach().float()
    settings = ((1.7, 0.6), (0.5, 0.9), (1.3, 0.2), (2.0, 0.97), (0.8, 1.0), (1.2, 0.01))
    cases = [(logits, 1.5, 0.8), *((2.0 * _random(9 + 8 * i), *one) for i, one in enumerate(settings))]
    cases += [(2.0 * _random(20) - 9000.0, 2.0, 0.7)]  # halved exactly: no two ways round differently
    notes = {len(cases) - 1: answers.FAR_BELOW}
    check_function("nucleus(logits, temperature, p)", fn, answers.nucleus, answers.NUCLEUS_MISTAKES, cases, notes)


def check_penalize_recent(fn, logits: Tensor, ids: Sequence[int]) -> None:
    """Check `fn(logits, ids, penalty, window)`, the repetition penalty for the last tokens of a list of ids."""
    ids = [int(i) for i in ids]
    cases = [(logits.detach().float(), ids + ids[-2:], 1.3, max(2, len(ids) // 2))]
    cases += [(3.0 * _random(20), [3, 7, 3, 11, 4, 4, 7, 9], 1.5, 5), (_random(12) - 4.0, [1, 1, 2, 3], 2.0, 2)]
    cases += [(100.0 * _random(7), [5, 0], 1.1, 20), (_random(9), [8], 0.5, 1)]
    name = "penalize_recent(logits, ids, penalty, window)"
    notes = {3: "a window longer than the text", 4: "a penalty below 1, which makes tokens likelier"}
    check_function(name, _on_lists(fn, 1), answers.penalize_recent, answers.RECENT_MISTAKES, cases, notes)


def check_write(fn, next_logits: Callable, ids: Sequence[int]) -> None:
    """Check `fn(next_logits, ids, stop_ids, n_new)`, the greedy loop: on the model, where the third token stops it,
    and on small stand-ins: one stops at once, one has a stop token in its prompt, which stops nothing."""
    ids = [int(i) for i in ids]
    stop = answers.never_stops(next_logits, ids, set(), 3)[-1]
    cases = [(next_logits, ids, {stop}, 5)]
    cases += [
        (_counting(n), [2, 5], stops, 6) for n, stops in ((40, {19, 99}), (17, {1, 15, 99}), (50, set()), (11, {8}))
    ]
    cases += [(_counting(40), [2, 5], {5, 2}, 4), (_counting(30), [1], set(), 1)]
    name = "write_until(next_logits, ids, stop_ids, n_new)"
    notes = {2: "a text with several stop tokens", 4: "a text that ends at once: its result is an empty list"}
    check_function(name, _patient(_on_lists(fn, 1)), answers.write_until, answers.WRITE_MISTAKES, cases, notes)


def _counting(n_vocab: int) -> Callable:
    """A stand-in for a model: the likeliest next token is the sum of all so far, plus one, modulo `n_vocab`."""

    def next_logits(ids):
        return torch.nn.functional.one_hot(torch.tensor((sum(ids) + 1) % n_vocab), n_vocab).float()

    return next_logits


def _on_lists(fn, place: int):
    """`fn` given a copy of the list at this place among its arguments, which it may change."""
    if not callable(fn):
        return fn
    return lambda *case: fn(*case[:place], list(case[place]), *case[place + 1 :])


def _patient(fn):
    """`fn` with a model that answers only so often, or a loop without an end would hang the page."""
    if not callable(fn):
        return fn

    def limited(next_logits, *rest):
        calls = iter(range(MOST_CALLS))

        def counted(ids):
            if next(calls, None) is None:
                raise RuntimeError("the loop does not end")
            return next_logits(ids)

        return fn(counted, *rest)

    return limited


def _random(n: int) -> Tensor:
    return torch.randn(n, generator=torch.Generator().manual_seed(n))
