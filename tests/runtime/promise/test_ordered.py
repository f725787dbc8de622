"""Rows that break an order, counted to the row: against a loop over the full history, however it is cut.

Under TRUST nothing widens, so the violations of a constraint are those of the definition: a row of ORDERED BY a WITHIN
k ROWS lies below some a with at least k arrivals between the two, one WITHIN d below the largest a before it less d;
one of ARRIVES BY below any a before it, or NULL. The rows found late are looked at too: QUARANTINE must keep out
exactly those.
"""

from __future__ import annotations

from itertools import accumulate
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from penstock.runtime import Batch, Cell, Chunk
from tests.measure import size
from tests.runtime.driving import Driver, plan_of, rows_of
from tests.runtime.test_cells import share

CASES = [
    ("ORDERED BY v WITHIN {k} ROWS", lambda k, v, before: any(v < b for b in seen(before[: max(0, len(before) - k)]))),
    ("ORDERED BY v WITHIN {k}", lambda k, v, before: any(v < b - k for b in seen(before))),
    ("ARRIVES BY v", lambda _, v, before: any(v < b for b in seen(before))),
]


def seen(values: list[Any]) -> list[Any]:
    """A NULL counts as an arrival and has no height."""
    return [value for value in values if value is not None]


def broken_rows(case: Any, k: int, values: list[Any]) -> list[int]:
    """The places of the rows that break the constraint, by its definition."""
    text, breaks = case
    null_breaks = text.startswith("ARRIVES")
    return [
        place
        for place, value in enumerate(values)
        if (null_breaks if value is None else breaks(k, value, values[:place]))
    ]


def script(constraint: str, kind: str, policy: str) -> str:
    clock = "EVENT TIME v, " if kind == "BIGINT" else ""
    return (
        f"CREATE STREAM s (n BIGINT, v {kind}, k BIGINT, {clock}{constraint} ON VIOLATION {policy});"
        "CREATE STREAM t (k BIGINT, n BIGINT); SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
    )


def run(rng: Random, case: Any, kind: str, policy: str, cells: int) -> tuple[list[int], list[int], int]:
    """The rows that break it, by definition; those that the core kept out; the number that it counted."""
    k = rng.randint(0, 4)
    constraint = case[0].format(k=k)
    plan = plan_of(script(constraint, kind, policy))
    count = rng.randint(1, 24)
    heights = list(accumulate(rng.randint(-3, 4) for _ in range(count)))
    values: list[Any] = [None if rng.random() < 0.1 else h for h in heights]
    if kind == "STRING":
        values = [None if v is None else f"{v + 500:05d}" for v in values]
    expected = broken_rows(case, k, values)
    places = [(n,) for n in range(cells)]
    running = {place: Cell(plan) for place in places}
    kept_out: list[int] = []
    counted = 0
    start = batch = 0
    while start < count:
        chunks = []
        for number in range(rng.randint(1, 3)):
            stop = min(count, start + rng.randint(0, 6))
            columns = {
                "n": pa.array(range(start, stop), pa.int64()),
                "v": pa.array(values[start:stop], pa.string() if kind == "STRING" else pa.int64()),
                "k": pa.array([n % 5 for n in range(start, stop)], pa.int64()),
            }
            chunks.append(Chunk.of(plan, "s", number, pa.table(columns)))
            start = stop
        for place in places:
            given = [share(plan, chunk, place) for chunk in chunks] if cells > 1 else chunks
            result = running[place].step(Batch(batch, tuple(given)))
            counted += sum(result.metrics.violations.values())
            kept_out += [n for q in result.quarantined for n in q.rows.column("n").to_pylist()]
        batch += 1
    return expected, sorted(kept_out), counted


@pytest.mark.measure
@pytest.mark.parametrize(
    ("case", "kind"), [*((c, "BIGINT") for c in CASES), (CASES[0], "STRING"), (CASES[2], "STRING")]
)
def test_every_row_that_breaks_an_order_is_found_however_the_stream_is_cut(case: Any, kind: str) -> None:
    for seed in range(size(60, 1500)):
        expected, kept_out, counted = run(Random(seed), case, kind, "QUARANTINE", 1)
        assert (kept_out, counted) == (expected, len(expected)), seed
        expected, _, counted = run(Random(seed), case, kind, "TRUST", 2)
        assert counted == len(expected), seed


def test_adapt_widens_k_to_the_distance_within_one_batch() -> None:
    constraint = "ORDERED BY ts WITHIN 1 ROWS ON s"
    driver = Driver(
        "CREATE STREAM s (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 1 ROWS);"
        "CREATE STREAM t (k BIGINT, ts BIGINT, n BIGINT); SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
    )
    first = driver.step(s=[(1, 10, 1), (1, 12, 2), (1, 13, 3), (1, 11, 4)])
    assert first.metrics.violations == {constraint: 1}
    assert first.metrics.k == {constraint: 2}
    again = driver.step(s=[(1, 12, 5)]).metrics
    assert (again.violations, again.k) == ({constraint: 1}, {constraint: 2})
    assert driver.step(s=[(1, 13, 6)]).metrics.violations == {}


ARRIVES = (
    "CREATE STREAM s (k BIGINT, q BIGINT, n BIGINT{clock}, ARRIVES BY q{policy});"
    "CREATE STREAM t (k BIGINT, q BIGINT, n BIGINT); SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
)


def test_a_fall_of_the_arrival_column_and_a_null_are_violations_that_adapt_by_default() -> None:
    driver = Driver(ARRIVES.format(clock="", policy=""), "k q n")
    driver.step(s=[(1, 5, 1), (1, 4, 2), (1, None, 3), (1, 5, 4)])
    result = driver.step(s=[(1, 4, 5)], t=[(1, 0, 9)])
    assert result.metrics.violations == {"ARRIVES BY q ON s": 1}
    assert result.metrics.k == {}, "it has no k, and stays in force"
    assert len(rows_of(result)) == 5, "rows that break it are in the answer all the same"


def test_arrives_by_the_event_time_is_an_order_within_0_rows_that_adapts() -> None:
    driver = Driver(ARRIVES.format(clock=", EVENT TIME q", policy=""), "k q n")
    result = driver.step(s=[(1, 5, 1), (1, 6, 2), (1, 4, 3)])
    assert result.metrics.violations == {"ARRIVES BY q ON s": 1}
    assert result.metrics.k == {"ARRIVES BY q ON s": 2}


@pytest.mark.measure
def test_where_by_batch_a_row_is_late_by_the_batches_before_it_alone() -> None:
    for seed in range(size(60, 1500)):
        rng = Random(seed)
        k, cells = rng.randint(0, 4), rng.choice((1, 2))
        plan = plan_of(script(f"ORDERED BY v WITHIN {k}", "BIGINT", "TRUST")).over_batches
        places = [(n,) for n in range(cells)]
        running = {place: Cell(plan) for place in places}
        highest: int | None = None
        wanted = counted = start = 0
        for batch in range(rng.randint(1, 5)):
            values = [None if rng.random() < 0.1 else batch + rng.randint(-3, 4) for _ in range(rng.randint(0, 9))]
            known = seen(values)
            wanted += 0 if highest is None else sum(value < highest - k for value in known)
            highest = max([*known, *(() if highest is None else (highest,))], default=None)
            cut = rng.randint(0, len(values))
            chunks = []
            for number, piece in enumerate((values[:cut], values[cut:])):
                columns = {
                    "n": pa.array(range(start, start + len(piece)), pa.int64()),
                    "v": pa.array(piece, pa.int64()),
                    "k": pa.array([n % 5 for n in range(start, start + len(piece))], pa.int64()),
                }
                chunks.append(Chunk.of(plan, "s", number, pa.table(columns)))
                start += len(piece)
            for place in places:
                given = [share(plan, chunk, place) for chunk in chunks] if cells > 1 else chunks
                counted += sum(running[place].step(Batch(batch, tuple(given))).metrics.violations.values())
        assert counted == wanted, seed
