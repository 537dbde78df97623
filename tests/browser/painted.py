"""What a test says of the moves whose painting its page script has timed."""

import statistics


def report_painted(page, moves, record_property):
    """Record median and 95th percentile of the milliseconds in `window.painted`; each of `moves` must show a change."""
    painted = page.evaluate("window.painted")
    times = sorted(ms for ms, _ in painted)
    median, p95 = statistics.median(times), times[int(0.95 * len(times))]
    print(f"{moves} moves: {len(times)} painted, median {median:.0f} ms, 95th percentile {p95:.0f} ms")
    record_property("painted_ms_median", median)
    record_property("painted_ms_p95", p95)
    assert [changed for _, changed in painted] == [True] * moves
