"""`python -m helpers bench` on a tiny model: the table is complete, and a wrong trace turns it red."""

import pytest
import torch

from helpers import bench
from helpers.errors import ReaderError
from tests.tiny import tiny


@pytest.fixture
def tiny_bench(monkeypatch, tmp_path):
    """Run the check with a tiny model; returns (exit status, the file it wrote)."""
    monkeypatch.setattr(bench, "load_model", lambda name, device, dtype=None: tiny("llama", device))
    monkeypatch.setattr(bench, "LENGTHS", {"cpu": (8, 16), "cuda": (8, 16)})
    monkeypatch.setattr(bench, "BUDGET_S", 0.0)

    def run(device="cpu"):
        out = tmp_path / "new folder" / "table.md"
        return bench.main(["--device", device, "--out", str(out)]), out.read_text(encoding="utf-8")

    return run


def test_the_table_has_equality_and_a_line_for_every_length(tiny_bench, device):
    status, table = tiny_bench(device)
    assert status == 0
    assert "| trace and transformers' own outputs | 0 | 0 | fine |" in table
    assert table.count("| float32 | 8 |") == table.count("| float32 | 16 |") == (2 if device == "cuda" else 1)


def test_a_trace_that_differs_fails_the_check(tiny_bench, monkeypatch):
    true_reference = bench.reference
    off = {"logits": 1e-6}
    monkeypatch.setattr(
        bench, "reference", lambda *args: {k: v + off.get(k, 0.0) for k, v in true_reference(*args).items()}
    )
    status, table = tiny_bench()
    assert status == 1
    assert "| 0 | DIFFERENT |" in table


def test_a_value_that_is_no_number_is_not_fine():
    assert bench.compare("x", float("nan"), 1.0).endswith("DIFFERENT |")


def test_a_device_that_is_not_there_is_one_sentence(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ReaderError, match="no device 'cuda'"):
        bench.main(["--device", "cuda"])


def test_a_table_that_cannot_be_written_is_one_sentence(tmp_path):
    with pytest.raises(ReaderError, match="cannot be written.*--out"):
        bench.write(tmp_path, "a folder stands there")


def test_time_is_the_median_after_a_warm_up(monkeypatch):
    clock = iter([0.0, 1.0, 10.0, 12.0, 20.0, 29.0])
    monkeypatch.setattr(bench, "now", lambda device: next(clock))
    monkeypatch.setattr(bench, "BUDGET_S", 0.0)
    runs = []
    assert bench.median_ms(tiny("llama"), lambda: runs.append(torch.ones(1))) == 2000.0
    assert len(runs) == 4
