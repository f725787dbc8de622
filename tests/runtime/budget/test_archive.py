"""The archive of a cell: what it notes from the first eviction on, and what it gives back."""

from __future__ import annotations

from collections import Counter

from penstock.runtime.budget.archive import ARRIVAL, BATCH, LEFT, Archived, missing_results
from tests.runtime.driving import Driver

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT);"
SCRIPT = (
    STREAM.format("r") + STREAM.format("s") + "SELECT /*+ BUDGET({} ROWS), EVICT(prob), ARCHIVE('x') */ r.n, s.n AS m "
    "FROM r, s WHERE r.k = s.k;"
)


def archived(driver: Driver, **rows: list[tuple[int | None, ...]]) -> Archived:
    found = driver.step(**rows).archived
    assert found is not None
    return found


def test_until_something_is_evicted_nothing_is_noted() -> None:
    driver = Driver(SCRIPT.format(10))
    found = archived(driver, r=[(1, 0, 1)], s=[(1, 0, 2)])
    assert (found.rows, found.left) == ({}, {})


def test_the_first_eviction_notes_all_that_is_stored_and_later_ones_what_came() -> None:
    driver = Driver(SCRIPT.format(2))
    archived(driver, r=[(1, 0, 1)])
    first = archived(driver, s=[(5, 0, 1), (6, 0, 2)])
    assert {alias: table.num_rows for alias, table in first.rows.items()} == {"r": 1, "s": 2}
    assert sum(table.num_rows for table in first.left.values()) == 1
    assert {BATCH, ARRIVAL} <= set(first.rows["s"].column_names)
    driver.restart()
    later = archived(driver, r=[(7, 0, 3)])
    assert {alias: table.num_rows for alias, table in later.rows.items()} == {"r": 1}
    assert [table.column(LEFT).to_pylist() for table in later.left.values()] == [[2]]
    assert later.counts["r"] == (1, 2)


def test_what_was_emitted_and_what_is_missing_is_the_whole_answer_once() -> None:
    driver = Driver(SCRIPT.format(1))
    steps, emitted = [], Counter[tuple[int, int]]()
    for number in range(6):
        rows: list[tuple[int | None, ...]] = [(number % 3, 0, number), (None, 0, 50 + number)]
        result = driver.step(r=rows, s=rows[::-1])
        emitted += Counter(zip(*(column.to_pylist() for column in result.rows.columns), strict=True))
        assert result.archived is not None
        steps.append(result.archived)
    missing = Counter[tuple[int, int]]()
    for _, table in missing_results(driver.plan, steps, -1):
        if table is not None:
            missing += Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))
    assert emitted + missing == Counter((a, b) for a in range(6) for b in range(6) if a % 3 == b % 3)
    assert missing


def test_an_archive_without_rows_of_a_stream_misses_nothing() -> None:
    driver = Driver(SCRIPT.format(1))
    steps = [archived(driver, r=[(1, 0, 1), (2, 0, 2)])]
    assert list(missing_results(driver.plan, steps, -1)) == []
