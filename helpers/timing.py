"""One clock for every measurement."""

import time

import torch


def now(device) -> float:
    """Seconds on a clock that starts anywhere, read after the work already queued on `device` is done.

    CUDA and MPS return from a call before its work is finished; without the wait, a time says nothing.
    """
    kind = torch.device(device).type
    if kind in ("cuda", "mps"):
        getattr(torch, kind).synchronize()
    return time.perf_counter()
