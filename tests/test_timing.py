"""The median of several runs, waited for, without the first."""

from helpers import timing


def test_the_median_leaves_out_the_warm_up(monkeypatch):
    clock, calls = iter([0, 100, 0, 1, 0, 9, 0, 3]), []
    monkeypatch.setattr(timing, "now", lambda device: next(clock))
    assert timing.median_seconds(lambda: calls.append(1), "cpu", rounds=3) == 3
    assert len(calls) == 4
