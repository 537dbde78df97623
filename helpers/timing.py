"""One clock for every measurement."""

import statistics
import time
from collections.abc import Callable

import torch


def now(device) -> float:
    """Seconds on a clock that starts anywhere, read after the work already queued on `device` is done.

    CUDA and MPS return from a call before its work is finished; without the wait, a time says nothing.
    """
    kind = torch.device(device).type
    if kind in ("cuda", "mps"):
        getattr(torch, kind).synchronize()
    return time.perf_counter()


def median_seconds(compute: Callable[[], object], device, rounds: int = 5) -> float:
    """The median time of `rounds` runs after a warm-up, each waited for."""
    taken = []
    for _ in range(rounds + 1):
        start = now(device)
        compute()
        taken.append(now(device) - start)
    return statistics.median(taken[1:])
