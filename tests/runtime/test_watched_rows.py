"""The oldest row of each stream and what let rows go: as a look at the whole cell tells it, over all cells."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import penstock.testing
from penstock.runtime.counts import combined, counts_of, metrics_of, vocabulary
from penstock.runtime.kept import kept_in
from penstock.runtime.watched_rows import NOTHING, closings_told, within_64_bits
from tests.runtime.driving import Driver

BAND = """CREATE STREAM s (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 2);
CREATE STREAM t (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts, PRIMARY KEY (k));
SELECT s.n FROM s, t WHERE s.k = t.k AND t.ts BETWEEN s.ts AND s.ts + 9;"""
MOMENTS = """CREATE STREAM s (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);
CREATE STREAM t (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);
SELECT s.k FROM s, t WHERE s.k = t.k AND t.ts BETWEEN s.ts AND s.ts + INTERVAL 10 SECONDS;"""


def test_the_oldest_row_is_the_one_that_a_look_at_the_cell_finds() -> None:
    chance = random.Random(7)
    driver = Driver(BAND)
    seen = 0
    for step in range(60):
        rows: dict[str, list[tuple[int | None, ...]]] = {
            name: [(chance.randrange(20), step + chance.randrange(2), 0)] for name in ("s", "t")
        }
        result = driver.step(**(rows if chance.random() < 0.8 else {"s": rows["s"]}))
        fields = metrics_of(driver.plan, combined(vocabulary(driver.plan), [counts_of(driver.plan, result.metrics)]))
        for stream in kept_in(driver.cell, 1):
            told = fields["oldest"].get(stream.alias)
            assert (told is None) == (stream.rows == 0)
            if told is not None:
                (row,) = stream.oldest
                assert (told["batch"], told["waits_for"]) == (row.batch, list(row.waits_for))
                assert str(told["time"]) == row.values["ts"]
                seen += 1
    assert seen > 40


def test_what_let_rows_go_is_counted_by_promise() -> None:
    driver = Driver(BAND)
    driver.step(s=[(1, 0, 0), (2, 0, 0)])
    result = driver.step(t=[(1, 3, 0), (9, 50, 0)], s=[(7, 50, 0)])
    told = closings_told(driver.plan)
    gone = {told[int(number)]: count for number, count in result.metrics.let_go.items() if count}
    # Both rows of s lie below the clock of t, and the key of one of them has come.
    assert gone["s", "ORDERED BY ts ON t"] == 2
    assert gone["s", "PRIMARY KEY (k) ON t"] == 1
    assert sum(result.metrics.purged.values()) >= 2


def test_many_rows_are_counted_in_proportion() -> None:
    driver = Driver(BAND)
    driver.step(s=[(n, 0, 0) for n in range(10_000)])
    result = driver.step(t=[(20_000, 50, 0)], s=[(7, 50, 0)])
    told = closings_told(driver.plan)
    assert result.metrics.let_go[str(told.index(("s", "ORDERED BY ts ON t")))] == 10_000


@pytest.mark.parametrize("cells", [1, 3])
def test_times_are_moments_and_all_cells_are_one(cells: int) -> None:
    run = penstock.testing.Run(MOMENTS, cells=cells)

    def rows(*pairs: tuple[int, int]) -> pa.Table:
        times = pa.array([second * 1_000_000 for _, second in pairs], pa.timestamp("us", tz="UTC"))
        return pa.table({"k": pa.array([key for key, _ in pairs], pa.int64()), "ts": times})

    run.step({"s": rows((1, 3), (2, 5), (3, 8)), "t": rows((9, 1))})
    line = run.step({"t": rows((9, 4))}).metrics
    assert line["oldest"]["s"] == {"batch": 0, "time": "1970-01-01T00:00:03Z", "waits_for": ["t"]}
    assert line["clock"] == {"s": "1970-01-01T00:00:08Z", "t": "1970-01-01T00:00:04Z"}
    line = run.step({"t": rows((9, 14))}).metrics
    assert line["oldest"]["s"]["time"] == "1970-01-01T00:00:05Z"
    assert line["let_go"] == {"s": {"ORDERED BY ts ON t": 1}}


def test_numbers_stay_within_64_bits() -> None:
    assert within_64_bits(2**63) == 2**63 - 1
    assert within_64_bits(NOTHING) == NOTHING + 1
    assert within_64_bits(5) == 5
