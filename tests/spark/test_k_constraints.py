"""k-constraints on Spark: clusters over a hypercube of cells, a k that is learned, rows recovered after a restart."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.spark.conftest import Bench
from tests.spark.oracle import joined, same

Rows = list[dict[str, Any]]
STAR = pa.schema([("a", pa.int64()), ("b", pa.int64())])
LEAF = pa.schema([("k", pa.int64()), ("n", pa.int64())])

SCRIPT = """
CREATE STREAM s1 (a BIGINT, b BIGINT, CLUSTERED BY a WITHIN %(a)s, CLUSTERED BY b WITHIN 6 ROWS)
  USING parquet OPTIONS (path '{data}/s1', maxFilesPerTrigger '1');
CREATE STREAM s2 (k BIGINT, n BIGINT, PRIMARY KEY (k)) USING parquet OPTIONS (path '{data}/s2', maxFilesPerTrigger '1');
CREATE STREAM s3 (k BIGINT, n BIGINT, PRIMARY KEY (k)) USING parquet OPTIONS (path '{data}/s3', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT %(hint)s s1.a, s1.b, s2.n, s3.n AS m FROM s1, s2, s3
WHERE s1.a = s2.k AND s1.b = s3.k AND s3.n < 5;
"""


def star(bench: Bench, files: int) -> tuple[Rows, Rows, Rows]:
    """Clusters of three rows of s1 for each row of s2, two for each of s3, and the leaves come before them."""
    found: tuple[Rows, Rows, Rows] = ([], [], [])
    for number in range(files):
        rows = range(number * 24, number * 24 + 24)
        parts = (
            [{"a": n // 3, "b": n // 2} for n in rows],
            [{"k": k, "n": k} for k in range(number * 8, number * 8 + 8)],
            [{"k": k, "n": k % 10} for k in range(number * 12, number * 12 + 12)],
        )
        for stream, part, schema, so_far in zip(("s1", "s2", "s3"), parts, (STAR, LEAF, LEAF), found, strict=True):
            bench.write(stream, part, schema)
            so_far.extend(part)
    return found


def answer(s1: Rows, s2: Rows, s3: Rows) -> Any:
    return joined(
        [s1, s2, s3],
        lambda x, y, z: same(x["a"], y["k"]) and same(x["b"], z["k"]) and z["n"] < 5,
        lambda x, y, z: (x["a"], x["b"], y["n"], z["n"]),
    )


@pytest.mark.thorough
def test_clusters_let_rows_go_in_every_cell_of_a_hypercube(bench: Bench) -> None:
    streams = star(bench, 4)
    ran = bench.run(SCRIPT % {"a": "6 ROWS", "hint": ""}, unbounded=True, conf={"penstock.cells": "4"})
    assert ran.code == 0, ran.err
    assert bench.sink() == answer(*streams)
    stored = [batch["state_tuples"] for batch in ran.batches]
    assert [state["s1"] for state in stored] == [0] * 4
    assert all(state["s2"] <= 4 and state["s3"] <= 5 for state in stored), stored
    # Open are 3 values of a and 4 of b, and up to 4 keys that the filter dropped may be named; two cells know of each.
    assert all(batch["promise_rows"] <= 2 * (3 + 4 + 4) for batch in ran.batches)


def test_a_k_that_is_learned_shows_in_the_metrics_and_lets_rows_go(bench: Bench) -> None:
    streams = star(bench, 4)
    script = SCRIPT % {"a": "AUTO", "hint": "/*+ MONITOR(1.2, 0.01, 20) */"}
    ran = bench.run(script, unbounded=True, conf={"penstock.cells": "1"})
    assert ran.code == 0, ran.err
    assert bench.sink() == answer(*streams)
    constraint = "CLUSTERED BY a WITHIN AUTO ON s1"
    assert [batch["k"].get(constraint) for batch in ran.batches] == [0] * 4
    assert all(batch["state_tuples"]["s2"] <= 1 for batch in ran.batches)
    assert all(batch["lost"] == 0 for batch in ran.batches)


FOLLOWS = """
CREATE STREAM orders (k BIGINT, n BIGINT) USING parquet OPTIONS (path '{data}/orders', maxFilesPerTrigger '1');
CREATE STREAM items (k BIGINT, n BIGINT, FOLLOWS orders (k) ON (k) WITHIN 0 ROWS ON VIOLATION RECOVER)
  USING parquet OPTIONS (path '{data}/items', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT o.n, i.n AS m FROM orders AS o, items AS i WHERE o.k = i.k;
"""


def late(bench: Bench, files: int) -> tuple[Rows, Rows, list[dict[str, Any]]]:
    """Every order comes two files after its items; the run stops after each file and goes on."""
    orders: Rows = []
    items: Rows = []
    batches: list[dict[str, Any]] = []
    for number in range(files):
        came = [{"k": 10 * number + n, "n": n} for n in range(10)]
        named = [{"k": row["k"], "n": row["n"] + 100} for row in items[-20:-10]]
        bench.write("items", came, LEAF)
        bench.write("orders", named or [{"k": -1, "n": 0}], LEAF)
        items += came
        orders += named
        ran = bench.run(FOLLOWS, unbounded=True, conf={"penstock.cells": "2"})
        assert ran.code == 0, ran.err
        batches += ran.batches
    return orders, items, batches


def test_recover_finds_late_partners_across_restarts_and_keeps_the_state_small(bench: Bench) -> None:
    orders, items, batches = late(bench, 3)
    expected = joined([orders, items], lambda o, i: same(o["k"], i["k"]), lambda o, i: (o["n"], i["n"]))
    assert expected
    assert bench.sink() == expected
    assert batches[1]["state_rows"]["i"] == 0, "what was let go is on disk"
    assert sum(sum(batch["violations"].values()) for batch in batches) > 0
    assert all(batch["lost"] == 0 for batch in batches)


OUTER = """
CREATE STREAM orders (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts ON VIOLATION RECOVER)
  USING parquet OPTIONS (path '{data}/orders', maxFilesPerTrigger '1');
CREATE STREAM items (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts ON VIOLATION RECOVER)
  USING parquet OPTIONS (path '{data}/items', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT o.n, i.n AS m FROM orders AS o LEFT JOIN items AS i
  ON o.k = i.k AND i.ts - o.ts BETWEEN 0 AND 5;
"""
TIMED = pa.schema([("k", pa.int64()), ("ts", pa.int64()), ("n", pa.int64())])


@pytest.mark.thorough
def test_a_match_that_comes_late_is_recovered_and_the_row_that_it_contradicts_counted(bench: Bench) -> None:
    """The order of key 1 is given without an item; its item comes two files later, after a restart."""
    given: list[dict[str, Any]] = []
    files = [
        ([{"k": 1, "ts": 10, "n": 1}, {"k": 2, "ts": 10, "n": 2}], [{"k": 2, "ts": 11, "n": 7}]),
        ([{"k": 8, "ts": 90, "n": 3}], [{"k": 9, "ts": 100, "n": 8}]),
        ([{"k": 8, "ts": 91, "n": 4}], [{"k": 1, "ts": 12, "n": 9}]),
    ]
    for orders, items in files:
        bench.write("orders", orders, TIMED)
        bench.write("items", items, TIMED)
        ran = bench.run(OUTER, conf={"penstock.cells": "2"})
        assert ran.code == 0, ran.err
        given = ran.batches
    found = bench.sink()
    assert found[(1, None)] == found[(1, 9)] == found[(2, 7)] == 1
    assert [batch["contradicted"] for batch in given] == [0, 0, 1]
    assert sum(given[-1]["violations"].values()) == 1


THREE = OUTER.replace(
    "CREATE SINK",
    "CREATE STREAM returns (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts ON VIOLATION RECOVER)\n"
    "  USING parquet OPTIONS (path '{data}/returns', maxFilesPerTrigger '1');\nCREATE SINK",
).replace(
    "SELECT o.n, i.n AS m FROM orders AS o LEFT JOIN items AS i\n  ON o.k = i.k AND i.ts - o.ts BETWEEN 0 AND 5;",
    "SELECT o.n, i.n AS m, r.n AS back FROM orders AS o\n"
    "  LEFT JOIN items AS i ON o.k = i.k AND i.ts - o.ts BETWEEN 0 AND 5\n"
    "  LEFT JOIN returns AS r ON r.k = o.k AND r.ts - o.ts BETWEEN 0 AND 5;",
)


@pytest.mark.thorough
def test_so_it_is_where_one_outer_join_stands_above_another(bench: Bench) -> None:
    """The item comes late, and changes what the join with the returns made of its order."""
    given: list[dict[str, Any]] = []
    files = [
        {
            "orders": [{"k": 1, "ts": 10, "n": 1}],
            "items": [{"k": 9, "ts": 10, "n": 0}],
            "returns": [{"k": 1, "ts": 11, "n": 5}, {"k": 1, "ts": 12, "n": 6}],
        },
        {name: [{"k": 8, "ts": 100, "n": 3}] for name in ("orders", "items", "returns")},
        {"items": [{"k": 1, "ts": 12, "n": 9}]},
    ]
    for brought in files:
        for name, rows in brought.items():
            bench.write(name, rows, TIMED)
        ran = bench.run(THREE, conf={"penstock.cells": "2"})
        assert ran.code == 0, ran.err
        given = ran.batches
    found = bench.sink()
    assert found[(1, None, 5)] == found[(1, None, 6)] == found[(1, 9, 5)] == found[(1, 9, 6)] == 1
    assert [batch["contradicted"] for batch in given] == [0, 0, 2]
    assert given[-1]["exact"] is False
