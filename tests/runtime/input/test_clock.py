"""The clock of a cell: counts by stream, and how many rows had come at the end of a batch, never more than had."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.runtime.input.clock import BatchEnds, Clock
from tests.runtime.driving import plan_of

FOLLOWED = """CREATE STREAM p (k BIGINT, PRIMARY KEY (k));
CREATE STREAM c (k BIGINT, FOREIGN KEY (k) REFERENCES p (k));
CREATE STREAM d (k BIGINT, FOLLOWS p (k) ON (k) WITHIN 3 ROWS);
SELECT p.k FROM p, d WHERE p.k = d.k;"""


@given(st.lists(st.integers(0, 6), max_size=60), st.integers(0, 12))
def test_ends_that_a_k_may_need_are_exact_and_older_ones_never_too_many(sizes: list[int], widest: int) -> None:
    ends, total, true = BatchEnds(), 0, []
    for batch, size in enumerate(sizes):
        total += size
        true.append(total)
        ends.end(batch, total, widest)
    asked = np.arange(len(sizes))
    found = ends.rows_at(asked).tolist()
    assert all(told <= known for told, known in zip(found, true, strict=True))
    for told, known in zip(found, true, strict=True):
        if known > total - widest:
            assert told == known
    assert ends.rows_at(np.array([-1])).tolist() == [0]


def test_ends_that_every_k_has_passed_are_thinned_out() -> None:
    ends = BatchEnds()
    for batch in range(20_000):
        ends.end(batch, batch + 1, 5)
    assert len(ends.passed) < 600
    assert len(ends.recent) == 5
    assert ends.rows_at(np.array([19_999, 19_997])).tolist() == [20_000, 19_998]


def test_the_last_batch_with_no_more_rows() -> None:
    ends = BatchEnds()
    for batch, total in ((0, 2), (1, 2), (4, 5)):
        ends.end(batch, total, 100)
    assert ends.last_upto(1, 7) == -1
    assert ends.last_upto(2, 7) == 3
    assert ends.last_upto(5, 7) == 6
    assert BatchEnds().last_upto(5, 7) == -1


def test_batches_rise_and_nothing_comes_after_the_last() -> None:
    clock = Clock(plan_of(FOLLOWED))
    clock.begin(3)
    with pytest.raises(ValueError, match="batch 3 comes after batch 3"):
        clock.begin(3)
    clock.begin(4, is_last=True)
    with pytest.raises(UsageError, match="ended"):
        clock.begin(5)


def test_counts_before_the_batch_stay_those_of_its_start() -> None:
    clock = Clock(plan_of(FOLLOWED))
    clock.count["d"] = 2
    clock.begin(0)
    clock.count["d"] += 3
    assert (clock.before["d"], clock.count["d"]) == (2, 5)
    clock.resume()
    assert clock.before["d"] == 5
