"""GROUPING SETS, ROLLUP and CUBE on the core, below other blocks too. The oracle is DuckDB over all rows at once."""

from __future__ import annotations

import random
from collections import Counter

import duckdb
import pyarrow as pa
import pytest

from penstock.testing import Run
from tests.measure import size
from tests.whole_queries.grammar import DECLARED, STREAMS
from tests.whole_queries.test_whole_queries import SCHEMA, as_row, batches, read_by

SETS = (
    "ROLLUP (x.k, x.v)",
    "CUBE (x.k, x.v)",
    "GROUPING SETS ((x.k, x.v), (x.v), ())",
    "ROLLUP (x.k), ROLLUP (x.v)",
    "GROUPING SETS ((x.k), (x.k), (x.k, x.v))",
    "ROLLUP ((x.k, x.v), x.id)",
    "GROUPING SETS (ROLLUP (x.k, x.v), (x.id))",
)
FROMS = (
    "a x",
    "a x JOIN b y ON x.k = y.k AND y.ts - x.ts BETWEEN 0 AND 2",
    "a x LEFT JOIN b y ON x.k = y.k AND y.ts = x.ts",
    "(SELECT DISTINCT k, v, id, ts FROM a) x",
)
AGGREGATES = ("count(*)", "sum(x.v)", "max(x.k)", "count(DISTINCT x.id)", "count(DISTINCT x.k)", "min(x.id)")
ABOVE = "SELECT z.e, z.k0, z.n, c.id FROM ({}) z JOIN c ON z.k0 = c.k AND c.ts = z.e"


@pytest.mark.parametrize("sets", SETS)
def test_groups_of_all_sets_are_what_duckdb_says(sets: str) -> None:
    for seed in range(size(5, 300)):
        draw = random.Random(f"{seed} {sets}")
        keys = [column for column in ("x.k", "x.v", "x.id") if column in sets]
        shown = [*(f"{key} AS k{n}" for n, key in enumerate(keys)), f"coalesce({keys[0]}, -1) AS c"]
        shown += [f"grouping({keys[0]}) AS g", f"1 + 2 * grouping({keys[1]}) AS h"]
        items = f"{', '.join(shown)}, {draw.choice(AGGREGATES)} AS n"
        having = draw.choice(("", " HAVING count(*) > 1"))
        source, is_below = draw.choice(FROMS), draw.random() < 0.3
        given = batches(draw)
        ours = f"SELECT window(x.ts, 3).end AS e, {items} FROM {source} GROUP BY window(x.ts, 3), {sets}{having}"
        plain = "x.ts - ((x.ts % 3 + 3) % 3)"
        theirs = f"SELECT {plain} + 3 AS e, {items} FROM {source} GROUP BY {plain}, {sets}{having}"
        if is_below:
            ours, theirs = ABOVE.format(ours), ABOVE.format(theirs)
        run = Run(f"{DECLARED} {ours};", cells=draw.choice((1, 2, 3)))
        found: Counter[tuple[object, ...]] = Counter()
        for step in [*given, None]:
            read = read_by(run.query)
            made = run.end() if step is None else run.step({name: step[name] for name in read if name in step})
            found.update(as_row(row.values()) for row in made.rows.to_pylist())
            if draw.random() < 0.2:
                run.restart()
        with duckdb.connect() as base:
            for stream in STREAMS:
                tables = [tables[stream] for tables in given if stream in tables]
                base.register(stream, pa.concat_tables([SCHEMA.empty_table(), *tables]))
            assert found == Counter(base.execute(theirs).fetchall()), f"seed {seed}: {ours}"


def test_all_of_them_change_where_nothing_closes_them() -> None:
    run = Run(f"{DECLARED} SELECT a.k, a.v, sum(a.id) AS n FROM a GROUP BY a.k, a.v WITH CUBE;")
    rows = [{"id": 1, "k": 1, "v": None, "ts": 0}, {"id": 2, "k": 2, "v": 5, "ts": 0}]
    first = run.step({"a": pa.Table.from_pylist(rows, schema=SCHEMA)}).rows.to_pylist()
    wanted = {(1, None, 1), (2, 5, 2), (2, None, 2), (None, 5, 2), (None, None, 1), (None, None, 3)}
    assert {tuple(row.values()) for row in first} == wanted
    assert len(first) == 7  # (1, NULL) is a group of both keys, and one of k alone
    later = run.step({"a": pa.Table.from_pylist([{"id": 4, "k": 2, "v": 6, "ts": 0}], schema=SCHEMA)}).rows.to_pylist()
    assert {tuple(row.values()) for row in later} == {(2, 6, 4), (2, None, 6), (None, 6, 4), (None, None, 7)}


def test_a_window_that_a_set_leaves_out_is_null() -> None:
    run = Run(f"{DECLARED} SELECT window(a.ts, 2) AS w, count(*) AS n FROM a GROUP BY ROLLUP (window(a.ts, 2));")
    rows = [{"id": 1, "k": 1, "v": None, "ts": 0}]
    found = run.step({"a": pa.Table.from_pylist(rows, schema=SCHEMA)}).rows.to_pylist()
    assert sorted((row["w"] is None, row["n"]) for row in found) == [(False, 1), (True, 1)]
