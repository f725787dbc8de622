"""Streams with parts, each in order, none in order with another: exact, no false violation, nothing that stays.

Random rows in random batches, parts that fall behind or say nothing for a while, restarts and other numbers of cells
in between. The oracle is DuckDB over all rows at once.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import penstock
from tests.measure import each, seeds

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
SCHEMA = pa.schema([("k", pa.int64()), ("p", pa.int64()), ("v", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
NEAR = "a.k = b.k AND b.ts - a.ts BETWEEN INTERVAL '{low}' SECOND AND INTERVAL '{high}' SECOND"
BY_TEN = "time_bucket(INTERVAL '10 seconds', a.ts)"
SESSIONS = """
SELECT k, count(*) FROM (
  SELECT k, sum(new) OVER (PARTITION BY k ORDER BY ts) AS session FROM (
    SELECT k, ts, CASE WHEN ts - lag(ts) OVER (PARTITION BY k ORDER BY ts) <= INTERVAL 5 SECOND THEN 0 ELSE 1 END AS new
    FROM a))
GROUP BY k, session
"""
QUERIES = {
    "inner": (f"SELECT a.v AS x, b.v AS y FROM a JOIN b ON {NEAR}", None),
    "left": (f"SELECT a.v AS x, b.v AS y FROM a LEFT JOIN b ON {NEAR}", None),
    "full": (f"SELECT a.v AS x, b.v AS y FROM a FULL JOIN b ON {NEAR}", None),
    "not exists": (f"SELECT a.v AS x FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE {NEAR})", None),
    "distinct": (f"SELECT DISTINCT a.k AS x, a.ts AS y FROM a JOIN b ON {NEAR}", None),
    "windows": (
        "SELECT a.k AS x, count(*) AS y FROM a GROUP BY a.k, window(a.ts, '10 seconds')",
        f"SELECT a.k, count(*) FROM a GROUP BY a.k, {BY_TEN}",
    ),
    "sessions": ("SELECT a.k AS x, count(*) AS y FROM a GROUP BY a.k, session_window(a.ts, '5 seconds')", SESSIONS),
    "a block": (
        "SELECT a.n AS x, b.v AS y FROM (SELECT a.k AS k, window(a.ts, '10 seconds').end AS ts, count(*) AS n FROM a "
        f"GROUP BY a.k, window(a.ts, '10 seconds')) a JOIN b ON {NEAR}",
        f"SELECT a.n, b.v FROM (SELECT a.k AS k, {BY_TEN} + INTERVAL '10 seconds' AS ts, count(*) AS n FROM a "
        f"GROUP BY a.k, {BY_TEN}) a JOIN b ON {NEAR}",
    ),
}


class Drawn:
    """Two streams, and what they have brought so far."""

    def __init__(self, draw: random.Random, streams: Sequence[str]) -> None:
        self.draw, self.streams = draw, streams
        self.parts = draw.choice(([1], [1, 2], [1, 2, 3]))
        self.late = draw.choice((0, 0, 1, 3))
        self.clock = {(stream, part): 0 for stream in streams for part in self.parts}
        self.history: dict[str, list[dict[str, Any]]] = {"a": [], "b": []}

    def declared(self) -> str:
        order = f"ORDERED BY ts WITHIN {self.late} SECONDS"
        if not self.late and self.draw.random() < 0.5:
            order = "ARRIVES BY ts"
        columns = "k BIGINT, p BIGINT, v BIGINT, ts TIMESTAMP, EVENT TIME ts"
        return "".join(f"CREATE STREAM {stream} ({columns}, {order}, PARTS BY p);\n" for stream in "ab")

    def batch(self) -> dict[str, pa.Table]:
        found = {}
        for stream in self.streams:
            speaking = [part for part in self.parts if self.draw.random() < 0.8]
            rows = [self._row(stream, self.draw.choice(speaking)) for _ in range(self.draw.randint(0, 8)) if speaking]
            if rows:
                found[stream] = self._taken(stream, rows)
        return found

    def far_ahead(self) -> dict[str, pa.Table]:
        later = START + dt.timedelta(hours=3)
        rows = [{"k": None, "p": part, "v": -1, "ts": later} for part in self.parts]
        return {stream: self._taken(stream, rows) for stream in self.streams}

    def _row(self, stream: str, part: int) -> dict[str, Any]:
        self.clock[stream, part] += self.draw.choice((0, 0, 1, 2, 7))
        time = self.clock[stream, part] - self.draw.randint(0, 10 * self.late) / 10
        value = len(self.history["a"]) + len(self.history["b"])
        return {
            "k": self.draw.choice((1, 2, 2, None)),
            "p": part,
            "v": value,
            "ts": START + dt.timedelta(seconds=max(time, 0)),
        }

    def _taken(self, stream: str, rows: list[dict[str, Any]]) -> pa.Table:
        self.history[stream] += rows
        return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.mark.parametrize("kind", QUERIES)
def test_streams_with_parts_give_what_their_history_gives(kind: str) -> None:
    for seed in each(seeds(0, 5, 500)):
        _compared(kind, seed)


def _compared(kind: str, seed: int) -> None:
    draw = random.Random(f"{kind} {seed}")
    ours, theirs = QUERIES[kind]
    band = {"low": draw.randint(-5, 0), "high": draw.randint(0, 6)}
    query, question = ours.format(**band), (theirs or ours).format(**band)
    drawn = Drawn(draw, "ab" if " b " in query else "a")
    script = f"{drawn.declared()}{query};"
    run = penstock.testing.Run(script, cells=draw.choice((1, 1, 2, 4)))
    steps = [run.step(drawn.batch(), parts=dict.fromkeys(drawn.streams, drawn.parts))]
    for _ in range(draw.randint(1, 8)):
        steps.append(run.step(drawn.batch()))
        if draw.random() < 0.2:
            run.restart()
        if draw.random() < 0.15:
            run.rescale(draw.choice((1, 2, 3)))
    steps += [run.step(drawn.far_ahead()), run.step({})]
    kept = sum(steps[-1].metrics["state_rows"].values())
    assert kept <= 2 * len(drawn.parts), f"{seed}: {kept} rows stay\n{script}"
    steps.append(run.end())
    assert not any(sum(step.metrics["violations"].values()) for step in steps), f"{seed}\n{script}"
    found = Counter(tuple(row.values()) for step in steps for row in step.rows.to_pylist())
    assert found == _by_duckdb(question, drawn), f"{seed}\n{script}"


def _by_duckdb(question: str, drawn: Drawn) -> Counter[tuple[Any, ...]]:
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for stream, rows in drawn.history.items():
            database.register(stream, pa.Table.from_pylist(rows, schema=SCHEMA))
        return Counter(database.execute(question).fetchall())
