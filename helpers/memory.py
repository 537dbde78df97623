"""How much memory is free, as far as this process may use it, and how much it has used."""

import sys
from pathlib import Path

import psutil
import torch

_CGROUP = Path("/sys/fs/cgroup")
_V1 = "memory/memory"
_LIMIT_AND_USE = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    (f"{_V1}.limit_in_bytes", f"{_V1}.usage_in_bytes", f"{_V1}.stat", "total_inactive_file"),
)


def available_bytes(device: torch.device) -> int:
    """Bytes still free on `device`: of the GPU, or of main memory within a container's limit."""
    if device.type == "cuda":
        unused_cache = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused_cache
    if device.type == "mps":
        return torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
    return min(psutil.virtual_memory().available, *cgroup_available_bytes(_CGROUP))


def cgroup_available_bytes(root: Path) -> list[int]:
    """What is left of each memory limit under `root` (cgroup version 2 or 1); empty where there is none.

    File pages that the kernel can drop at once (`inactive_file`) count as free.
    """
    left = []
    for limit, use, stat, droppable in _LIMIT_AND_USE:
        if (root / limit).is_file() and (maximum := _read(root / limit)) != "max":
            pages = dict(line.split() for line in _read(root / stat).splitlines())
            left.append(int(maximum) - int(_read(root / use)) + int(pages.get(droppable, 0)))
    return left


def reset_peak(device: torch.device) -> None:
    """Begin a new peak where the device can."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def peak_bytes(device: torch.device) -> int:
    """The most memory used: by tensors since the reset on a CUDA device, else by the process so far."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if sys.platform == "win32":
        return psutil.Process().memory_info().peak_wset
    import resource  # POSIX only

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()
