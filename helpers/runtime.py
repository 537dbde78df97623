"""What must be set before torch computes: passive waiting, no more threads than are lent, quiet libraries.

`helpers/__init__.py` imports this module before anything that imports torch.
"""

import math
import os
from pathlib import Path

BEFORE_TORCH = {
    "OMP_WAIT_POLICY": "PASSIVE",  # spinning threads collapse on a busy machine: 0.26 s became 8.4 s
    "TOKENIZERS_PARALLELISM": "false",  # otherwise it warns at every fork
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_VERBOSITY": "error",
    "DISABLE_SAFETENSORS_CONVERSION": "1",  # else transformers asks the hub to convert weights
    "TRANSFORMERS_VERBOSITY": "error",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
}

for variable, value in BEFORE_TORCH.items():
    os.environ.setdefault(variable, value)
if not os.environ.get("HF_ENDPOINT", "").strip():
    os.environ.pop("HF_ENDPOINT", None)  # the hub's client would take the empty text for an address


def cgroup_cpus(root: Path = Path("/sys/fs/cgroup")) -> float | None:
    """CPUs that the container's quota allows (cgroup version 2, then 1), or None where there is no quota."""
    version_2 = root / "cpu.max"
    version_1 = root / "cpu" / "cpu.cfs_quota_us", root / "cpu" / "cpu.cfs_period_us"
    if version_2.is_file():
        quota, period = version_2.read_text(encoding="utf-8").split()
    elif all(path.is_file() for path in version_1):
        quota, period = (path.read_text(encoding="utf-8").strip() for path in version_1)
    else:
        return None
    return None if quota in ("max", "-1") else int(quota) / int(period)


def usable_cpus() -> int:
    """CPUs this process may use: the least of `CPU_LIMIT` (Binder), cgroup quota and affinity."""
    affinity = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return max(1, int(min(lent_cpus(), cgroup_cpus() or math.inf, len(affinity))))


def lent_cpus() -> float:
    """What `CPU_LIMIT` says; infinite where it is no positive number, and so says nothing about CPUs."""
    try:
        cpus = float(os.environ.get("CPU_LIMIT", "inf"))
    except ValueError:
        return math.inf
    return cpus if cpus > 0 else math.inf


def cap_threads() -> int:
    """Lower torch's thread count to `usable_cpus()`, never raise it; return the count."""
    import torch

    threads = min(torch.get_num_threads(), usable_cpus())
    if threads < torch.get_num_threads():
        torch.set_num_threads(threads)
    return threads
