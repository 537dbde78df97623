"""How much memory a trace takes, and that it is refused in time where there is less."""

import sys

import psutil
import pytest
import torch

from helpers.errors import ReaderError
from helpers.memory import available_bytes, cgroup_available_bytes
from helpers.trace import trace, trace_bytes
from tests.tiny import ARCHS, tiny

PROMPT = "The capital of France is Hello world " * 3
VERSION_2 = {"memory.max": "5000", "memory.current": "3000", "memory.stat": "anon 9\ninactive_file 700\n"}
VERSION_1 = {"limit_in_bytes": "5000", "usage_in_bytes": "3000", "stat": "cache 1\ntotal_inactive_file 700\n"}


@pytest.mark.parametrize("arch", ARCHS)
def test_the_estimate_is_what_a_trace_holds_or_a_little_more(arch):
    seen = trace(tiny(arch), PROMPT)
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in seen.values()}
    assert 0.97 < trace_bytes(tiny(arch), len(seen.tokens)) / sum(storages.values()) < 1.25


def test_a_prompt_too_long_for_the_memory_is_refused_before_it_runs(monkeypatch):
    lm = tiny("llama")
    module = sys.modules["helpers.trace"]  # the name helpers.trace is the function
    monkeypatch.setattr(module, "available_bytes", lambda device: trace_bytes(lm, 20))
    with pytest.raises(ReaderError, match="21 tokens takes .* GB of memory are free.*about 20 tokens fit"):
        trace(lm, [5] * 21)
    assert len(trace(lm, [5] * 20).tokens) == 20


def test_memory_without_a_container_is_what_the_system_calls_available(tmp_path):
    assert cgroup_available_bytes(tmp_path) == []
    assert 0 < available_bytes(torch.device("cpu")) <= psutil.virtual_memory().total


def test_a_version_2_container_lends_its_limit_less_what_is_in_use(tmp_path):
    write(tmp_path, VERSION_2)
    assert cgroup_available_bytes(tmp_path) == [2700]
    write(tmp_path, {"memory.max": "max\n"})
    assert cgroup_available_bytes(tmp_path) == []


def test_a_version_1_container_lends_its_limit_less_what_is_in_use(tmp_path):
    write(tmp_path / "memory", {f"memory.{name}": value for name, value in VERSION_1.items()})
    assert cgroup_available_bytes(tmp_path) == [2700]


def write(folder, files):
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
