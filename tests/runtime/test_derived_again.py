"""A cell may take over what another object of it has derived, however old, and even of an attempt that failed.

Spark hands a cell to another worker and back, and does a batch again that failed. Whatever a worker still has of the
cell from before, with what it derives from that the answers are those of a cell that was never handed on; and so they
are if it holds its rows where they were written.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.plan.plan import Plan
from penstock.runtime import Batch, Cell, Chunk
from tests.runtime.driving import plan_of
from tests.runtime.test_core_against_reference import EXAMPLES

STREAMS = """CREATE STREAM a (k STRING, n BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 2 SECONDS);
CREATE STREAM b (k STRING, n BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 2 SECONDS);
"""
NEAR = "a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 6 SECONDS"
QUERIES = (
    f"SELECT a.n AS m, b.n FROM a JOIN b ON {NEAR}",
    f"SELECT a.n AS m, b.n FROM a LEFT JOIN b ON {NEAR}",
    f"SELECT a.n AS m FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE {NEAR})",
    f"SELECT a.k, count(*) AS c, sum(b.n) AS t FROM a JOIN b ON {NEAR} GROUP BY a.k, window(b.ts, '4 seconds')",
)


def table(random: Random, batch: int) -> Any:
    size = random.randint(0, 12)
    seconds = [batch + random.choice((0, 0, 1)) for _ in range(size)]
    return pa.table(
        {
            "k": pa.array([random.choice(("x", "y", "z", "long key " * 5, None)) for _ in range(size)], pa.string()),
            "n": pa.array([batch * 100 + number for number in range(size)], pa.int64()),
            "ts": pa.array([second * 1_000_000 for second in seconds], pa.timestamp("us", "UTC")),
        }
    )


def bag(rows: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in rows.to_pylist())


def chunks(plan: Plan, tables: dict[str, Any]) -> tuple[Chunk, ...]:
    return tuple(Chunk.of(plan, name, 0, rows) for name, rows in tables.items())


@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**32), query=st.sampled_from(QUERIES))
def test_answers_are_those_of_a_cell_that_was_never_handed_on(seed: int, query: str) -> None:
    random = Random(seed)
    plan = plan_of(f"{STREAMS}{query};")
    always, handed = Cell(plan), Cell(plan)
    entries: dict[str, Any] = {}
    known: list[Cell] = []
    for batch in range(random.randint(2, 14)):
        tables = {name: table(random, batch) for name in "ab"}
        if random.random() < 0.3:
            # An attempt that fails after its step: what it killed and indexed is not so.
            failed = Cell.restore(plan, dict(entries))
            failed.step(Batch(batch, chunks(plan, {name: table(random, batch + 5) for name in "ab"})))
            failed.save()
            known.append(failed)
        if random.random() < 0.6:
            known.append(handed)
            handed = Cell.restore(plan, dict(entries))
            handed.derive_as(random.choice(known))
        one, other = (cell.step(Batch(batch, chunks(plan, tables))) for cell in (always, handed))
        assert bag(one.rows) == bag(other.rows)
        assert one.metrics.state_rows == other.metrics.state_rows
        always.save()
        changes = handed.save()
        for name in changes.delete:
            entries.pop(name, None)
        entries.update(changes.put)
        if random.random() < 0.5:
            handed.rest_on(changes.put)


@pytest.mark.parametrize("values", [["p", "q", "r"], ["p", "q", "s"]])
def test_nothing_is_taken_over_of_other_values(values: list[str]) -> None:
    plan = plan_of(f"{STREAMS}{QUERIES[0]};")
    cells = []
    for keys in (["p", "q", "r"], values):
        times = pa.array([1_000_000] * 3, pa.timestamp("us", "UTC"))
        rows = pa.table({"k": keys, "n": pa.array([1, 2, 3], pa.int64()), "ts": times})
        cell = Cell(plan)
        cell.step(Batch(0, chunks(plan, {"a": rows, "b": rows.slice(0, 0)})))
        entries = dict(cell.save().put)
        cells.append((cell, entries))
    first, entries = cells[0][0], cells[1][1]
    (segment,) = first.synopses["a"].segments
    hashes = segment.hashes("k")
    again = Cell.restore(plan, entries)
    again.derive_as(first)
    (taken,) = again.synopses["a"].segments
    assert (taken.hashes("k") is hashes) == (values == ["p", "q", "r"])


def test_nothing_is_taken_over_where_a_row_that_lives_had_died() -> None:
    plan = plan_of(f"{STREAMS}{QUERIES[0]};")
    times = pa.array([1_000_000] * 3, pa.timestamp("us", "UTC"))
    rows = pa.table({"k": ["p", "q", "r"], "n": pa.array([1, 2, 3], pa.int64()), "ts": times})
    cell = Cell(plan)
    cell.step(Batch(0, chunks(plan, {"a": rows, "b": rows.slice(0, 0)})))
    entries = dict(cell.save().put)
    (segment,) = cell.synopses["a"].segments
    again = Cell.restore(plan, entries)
    segment.kill(pa.array([1]).to_numpy())
    index = segment.index(("k",))
    again.derive_as(cell)
    (taken,) = again.synopses["a"].segments
    assert taken.index(("k",)) is not index
    assert len(taken.index(("k",)).order) == 3
