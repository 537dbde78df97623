"""The attention benchmark at tiny lengths: every way is compared and measured, or its absence explained."""

import importlib.util
from pathlib import Path

import pytest
import torch

PATH = Path(__file__).parents[1] / "benchmarks" / "attention.py"
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def bench(monkeypatch):
    """The script as a module of its own; what the machine reaches is not measured."""
    spec = importlib.util.spec_from_file_location("attention_benchmark", PATH)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "limits", lambda shape, device: (1e12, 1e11))
    threads = torch.get_num_threads()
    yield script
    torch.set_num_threads(threads)


def run(bench, tmp_path, *lengths):
    """(exit status, the table)"""
    out = tmp_path / "attention.md"
    arguments = ["--device", DEVICE, "--rounds", "1", "--out", str(out), "--lengths"]
    return bench.main(arguments + [str(n) for n in lengths]), out.read_text(encoding="utf-8")


def test_every_way_is_compared_and_has_a_line_for_every_length(bench, tmp_path):
    status, table = run(bench, tmp_path, 16, 24)
    assert status == 0
    n_shapes = len(list(bench.shapes(DEVICE)))
    for way in ("naive", "tiles in torch", "SDPA math"):
        assert table.count(f"| {way} |") == 3 * n_shapes
    assert table.count("| fine |") >= 4 * n_shapes


def test_what_is_not_measured_is_said(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "available_bytes", lambda device: 40_000)
    monkeypatch.setattr(bench, "LONGEST_INTERPRETED", 16)
    _, table = run(bench, tmp_path, 16, 32)
    assert "| 16 | naive | – |" not in table  # 27,648 bytes
    assert "| 32 | naive | – | – | – | – | – | – | – | left out: " in table
    if DEVICE == "cpu" and bench.flash_triton:
        assert "interpreter: for correctness, its time says nothing |" in table
        assert "| 32 | tiles in Triton | – | – | – | – | – | – | – | left out: no GPU" in table


def test_a_way_that_differs_fails_the_run(bench, tmp_path, monkeypatch):
    monkeypatch.setitem(bench.WAYS, "naive", lambda q, k, v: bench.naive(q, k, v) + 0.1)
    status, table = run(bench, tmp_path, 16)
    assert status == 1
    assert "| naive | 0.1 | " in table and "| DIFFERENT |" in table


def test_pairs_are_counted_and_the_roofline_is_the_nearer_limit(bench):
    shape = bench.Shape(2, 1, 4, torch.float32)
    assert bench.work(shape, 3) == 2 * 6 * 2 * 2 * 4  # heads, pairs, products, a multiplication and an addition, d_head
    read_and_written = (3 * 2 * 4 + 3 * 4 + 3 * 4 + 3 * 2 * 4) * 4
    assert bench.roofline([2.0], [(192.0, 1e9)], shape, 3) == pytest.approx(0.5)  # products take 1 s
    assert bench.roofline([2.0], [(1e9, float(read_and_written))], shape, 3) == pytest.approx(0.5)  # memory does
