"""Threads: never more than the machine lends, whoever says how many."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from helpers import runtime

ROOT = Path(runtime.__file__).parent.parent


@pytest.fixture
def cgroup(tmp_path):
    """Write one of the kernel's quota files."""

    def write(name, content):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
        return tmp_path

    return write


def test_quota_of_cgroup_version_2(cgroup):
    assert runtime.cgroup_cpus(cgroup("cpu.max", "150000 100000\n")) == 1.5
    assert runtime.cgroup_cpus(cgroup("cpu.max", "max 100000\n")) is None


def test_quota_of_cgroup_version_1(cgroup):
    cgroup("cpu/cpu.cfs_period_us", "100000\n")
    assert runtime.cgroup_cpus(cgroup("cpu/cpu.cfs_quota_us", "200000\n")) == 2
    assert runtime.cgroup_cpus(cgroup("cpu/cpu.cfs_quota_us", "-1\n")) is None


def test_no_quota(tmp_path):
    assert runtime.cgroup_cpus(tmp_path) is None


@pytest.mark.parametrize(
    ("limit", "quota", "affinity", "cpus"),
    [
        ("", None, 8, 8),
        ("abc", 3, 8, 3),
        ("nan", None, 8, 8),
        ("-1", None, 8, 8),
        ("2", None, 8, 2),
        ("4", 1.5, 8, 1),
        ("0.5", 3, 8, 1),
    ],
)
def test_the_smallest_limit_holds(monkeypatch, limit, quota, affinity, cpus):
    monkeypatch.setenv("CPU_LIMIT", limit)
    monkeypatch.setattr(runtime, "cgroup_cpus", lambda: quota)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(affinity)), raising=False)
    assert runtime.usable_cpus() == cpus


@pytest.mark.parametrize(("threads", "lent", "left"), [(3, 8, 3), (3, 3, 3), (3, 2, 2), (2, 1, 1)])
def test_threads_are_lowered_and_never_raised(monkeypatch, threads, lent, left):
    before = torch.get_num_threads()
    monkeypatch.setattr(runtime, "usable_cpus", lambda: lent)
    try:
        torch.set_num_threads(threads)  # more than one also where OMP_NUM_THREADS=1
        assert runtime.cap_threads() == left == torch.get_num_threads()
    finally:
        torch.set_num_threads(before)


def test_what_the_reader_set_stays():
    program = "import os, runpy; runpy.run_path('helpers/runtime.py'); print(os.environ['OMP_WAIT_POLICY'])"
    for value, kept in (("ACTIVE", "ACTIVE"), (None, "PASSIVE")):
        environment = {name: text for name, text in os.environ.items() if name != "OMP_WAIT_POLICY"}
        environment |= {"OMP_WAIT_POLICY": value} if value else {}
        ran = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, encoding="utf-8"
        )
        assert ran.stdout.strip() == kept, ran.stderr


@pytest.mark.parametrize(
    ("address", "left"), [("", "None"), ("  ", "None"), ("https://hub.example", "https://hub.example")]
)
def test_an_empty_address_of_the_hub_counts_as_none(address, left):
    program = "import os, runpy; runpy.run_path('helpers/runtime.py'); print(os.environ.get('HF_ENDPOINT'))"
    environment = os.environ | {"HF_ENDPOINT": address}
    ran = subprocess.check_output([sys.executable, "-c", program], env=environment, cwd=ROOT, encoding="utf-8")
    assert ran.strip() == left


def test_a_missing_package_is_named_and_the_doctor_can_still_start():
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "import helpers.errors\n"
        "try:\n    from helpers import load_model\n"
        "except helpers.errors.ReaderError as error:\n    print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", cwd=ROOT)
    assert ran.stdout.strip() == "The package torch is missing: run `python -m pip install torch`.", ran.stderr
