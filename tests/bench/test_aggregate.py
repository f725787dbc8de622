"""The aggregate of a join with a million-fold fan-out takes the time of its inputs (issue 9's measure), on the core.

Small, the answers and the rows kept are held; seconds are judged at full size, alone on the machine.
"""

from __future__ import annotations

import pytest
from benchmarks.aggregate.core import measure
from benchmarks.aggregate.data import QUERIES, Case
from benchmarks.aggregate.main import FANOUTS, MOST_TIMES, as_text, times

from tests.measure import FULL, size


@pytest.mark.measure
def test_a_thousand_rows_a_key_take_no_longer_than_one() -> None:
    rows, batches = size(20_000, 1_000_000), 10
    measure(Case("pairs", 1000, 1), 2)  # What is made once for all, such as Arrow's functions, is not measured.
    runs = [measure(Case(query, rows, fanout), batches) for query in QUERIES for fanout in FANOUTS]
    assert all(run.right for run in runs), as_text(runs, batches)
    assert max(run.results for run in runs) == rows * 1000**2
    assert not FULL or max(times(runs).values()) <= MOST_TIMES, as_text(runs, batches)
    merged = next(run for run in runs if (run.query, run.fanout) == ("pairs", 1000))
    assert merged.stored == 2 * rows // 1000, "one row a key and stream"
