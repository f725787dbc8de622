"""The first rows, or the latest time, of an hour or a day, joined with another stream."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from penstock.analysis.check import check_query
from penstock.testing import Run
from tests.measure import each, seeds

_SCHEMA = pa.schema([("k", pa.int64()), ("x", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
_DECLARED = "".join(
    f"CREATE STREAM {name} (k BIGINT, x BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 30 MINUTES, "
    "CHECK (ts IS NOT NULL));\n"
    for name in "ab"
)
_CUTS = ("date_trunc('HOUR', ts)", "to_date(ts)")
_PICKED = (
    "SELECT k, x, ts FROM (SELECT k, x, ts, ROW_NUMBER() OVER (PARTITION BY k, {cut} ORDER BY {order}) AS rn FROM a) "
    "WHERE rn = 1",
    "SELECT k, max(x) AS x, {end}(ts) AS ts FROM a GROUP BY k, {cut}",
)
_ABOVE = (
    "SELECT p.k, p.x, b.x AS y FROM ({picked}) p JOIN b ON b.k = p.k AND b.ts BETWEEN p.ts AND p.ts + INTERVAL 2 HOURS",
    "SELECT p.k, p.x, b.x AS y FROM ({picked}) p LEFT JOIN b "
    "ON b.k = p.k AND b.ts BETWEEN p.ts - INTERVAL 1 HOUR AND p.ts",
    "SELECT b.k, b.x FROM b WHERE NOT EXISTS (SELECT 1 FROM ({picked}) p WHERE p.k = b.k "
    "AND p.ts BETWEEN b.ts AND b.ts + INTERVAL 90 MINUTES)",
)


def _batches(draw: random.Random) -> list[dict[str, pa.Table]]:
    found = []
    for number in range(draw.randint(2, 6)):
        start = datetime(2026, 1, 1, 20, tzinfo=UTC) + timedelta(minutes=40 * number)
        tables = {}
        for name in "ab":
            rows = [
                {
                    "k": draw.choice((None, 1, 2)),
                    "x": draw.choice((None, 1, 2, 3)),
                    "ts": start + timedelta(seconds=draw.randint(0, 4200)),
                }
                for _ in range(draw.randint(0, 5))
            ]
            tables[name] = pa.Table.from_pylist(rows, schema=_SCHEMA)
        found.append(tables)
    return found


def _answer(query: str, given: list[dict[str, pa.Table]]) -> Counter[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name in "ab":
            connection.register(name, pa.concat_tables([_SCHEMA.empty_table(), *(batch[name] for batch in given)]))
        return Counter(connection.execute(query.replace("to_date(ts)", "date_trunc('DAY', ts)")).fetchall())


@pytest.mark.parametrize("above", range(len(_ABOVE)))
def test_times_picked_of_hours_and_days_join_as_duckdb_says(above: int) -> None:
    for seed in each(seeds(500, 30, 400)):
        draw = random.Random(seed)
        order = draw.choice(("ts NULLS FIRST, x NULLS FIRST", "x DESC NULLS LAST, ts DESC NULLS LAST"))
        picked = draw.choice(_PICKED).format(cut=draw.choice(_CUTS), order=order, end=draw.choice(("min", "max")))
        query, given = _ABOVE[above].format(picked=picked), _batches(draw)
        run = Run(f"{_DECLARED}{query};", cells=draw.choice((1, 2)))
        assert check_query(run.query).verdict == "bounded"
        found: Counter[tuple[Any, ...]] = Counter()
        for step in [*given, None]:
            made = run.end() if step is None else run.step(step)
            found.update(tuple(row.values()) for row in made.rows.to_pylist())
        wanted = _answer(query, given)
        assert found == wanted, f"seed {seed}\n{query}"
