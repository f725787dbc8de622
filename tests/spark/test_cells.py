"""Cells and their hypercube: the same answer and the same state with any number of them; keys reach their partners.

Two key classes tie three streams, S.a = T.a and S.b = U.b, so T and U are copied along the axis that they lack. T and U
have primary keys, so a row of S leaves when both its partners came. That a row of T was dropped by the filter counts
too: it was the only one with that key. If a key promise missed a cell, rows of S would stay there, and state_tuples
would differ from that of a single cell.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.compile import plan
from penstock.runtime.input.grid import best_shares
from penstock.spark.cells import KeyedGrid, key_of
from tests.spark.conftest import Bench
from tests.spark.oracle import joined, same

SCRIPT = """
CREATE STREAM s (a BIGINT, b STRING, n BIGINT) USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE STREAM t (a BIGINT, n BIGINT, PRIMARY KEY (a))
  USING parquet OPTIONS (path '{data}/t', maxFilesPerTrigger '1');
CREATE STREAM u (b STRING, n BIGINT, PRIMARY KEY (b))
  USING parquet OPTIONS (path '{data}/u', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT s.n, t.n AS tn, u.n AS un FROM s, t, u WHERE s.a = t.a AND s.b = u.b AND t.n % 3 <> 0;
"""
S = pa.schema([("a", pa.int64()), ("b", pa.string()), ("n", pa.int64())])
T = pa.schema([("a", pa.int64()), ("n", pa.int64())])
U = pa.schema([("b", pa.string()), ("n", pa.int64())])

Rows = list[dict[str, Any]]


def write_streams(bench: Bench) -> tuple[Rows, Rows, Rows]:
    rng = random.Random(7)
    s: Rows = [{"a": rng.randrange(20), "b": f"b{rng.randrange(20)}", "n": n} for n in range(60)]
    t: Rows = [{"a": a, "n": n} for n, a in enumerate(rng.sample(range(20), 18))]
    u: Rows = [{"b": f"b{b}", "n": n} for n, b in enumerate(rng.sample(range(20), 18))]
    for part in range(3):
        bench.write("s", s[part * 20 : part * 20 + 20], S)
        bench.write("t", t[part * 6 : part * 6 + 6], T)
        bench.write("u", u[part * 6 : part * 6 + 6], U)
    return s, t, u


@pytest.mark.thorough
def test_state_and_answer_are_the_same_in_one_cell_and_in_a_hypercube(bench: Bench) -> None:
    streams = write_streams(bench)
    expected = joined(
        streams,
        lambda s, t, u: same(s["a"], t["a"]) and same(s["b"], u["b"]) and t["n"] % 3 != 0,
        lambda s, t, u: (s["n"], t["n"], u["n"]),
    )
    assert expected
    states = {}
    for cells in ("1", "6"):
        place = f"{{out}}/{cells}"
        ran = bench.run(SCRIPT.replace("{out}", place), conf={"penstock.cells": cells}, checkpoint=f"checkpoint{cells}")
        assert ran.code == 0, ran.err
        assert bench.sink(cells) == expected
        states[cells] = [(line["state_tuples"], line["rows_in"], line["rows_out"]) for line in ran.batches]
    assert states["1"] == states["6"]
    assert states["1"][-1][0]["s"] < 60, "rows of s leave by the keys of t and u"


def cube() -> Any:
    text = SCRIPT.replace("{data}", "data").replace("{out}", "out")
    return plan(penstock.parse(text))


@pytest.mark.parametrize(("cells", "shares"), [(1, (1, 1)), (4, (2, 2)), (6, (3, 2)), (9, (3, 3))])
def test_shares_make_the_fewest_copies(cells: int, shares: tuple[int, int]) -> None:
    assert sorted(best_shares(cube(), cells, {})) == sorted(shares)
    assert set(best_shares(cube(), cells, {}, may_copy=False)) == {1}, "no axis has all streams"


def test_shares_follow_the_rates() -> None:
    """Where T has a hundred times the rows of U, T is not copied: the axis that it lacks has share 1."""
    made = cube()
    (with_t,) = (n for n, axis in enumerate(made.axes) if axis.column("t") is not None)
    assert best_shares(made, 6, {"s": 1.0, "t": 100.0, "u": 1.0})[with_t] == 6


def test_cells_go_to_partitions_in_turn_however_many_these_are(spark: SparkSession) -> None:
    cells = [*range(70), 2**31 - 1]
    keys = spark.createDataFrame([(key_of(cell),) for cell in cells], "cell INT")
    assert [row[0] for row in keys.selectExpr("hash(cell)").collect()] == cells


def test_a_query_starts_with_more_cells_than_cores_where_no_row_is_copied() -> None:
    one_key = plan(
        penstock.parse("CREATE STREAM a (k BIGINT); CREATE STREAM b (k BIGINT); SELECT a.k FROM a, b WHERE a.k = b.k;")
    )
    assert [KeyedGrid.first(one_key, cores).cells for cores in (1, 2, 3, 8)] == [4, 4, 6, 16]
    assert [KeyedGrid.first(cube(), cores).cells for cores in (1, 2, 4)] == [2, 2, 4], "copies cost room"


@pytest.mark.thorough
@pytest.mark.parametrize("then", ["local[1]", "local[4]"])
def test_a_checkpoint_goes_on_with_other_cores_and_stays_exact(outside: Bench, then: str) -> None:
    rng = random.Random(then)
    s: Rows = [{"a": rng.randrange(30), "b": "b", "n": n} for n in range(400)]
    t: Rows = [{"a": a, "n": n} for n, a in enumerate(rng.sample(range(30), 30))]
    two = SCRIPT.replace("s.b = u.b AND", "").replace(", u WHERE", " WHERE").replace(", u.n AS un", "")
    for number, master in enumerate(("local[2]", then, "local[2]")):
        outside.write("s", s[number * 100 : number * 100 + 100], S)
        outside.write("t", t[number * 10 : number * 10 + 10], T)
        conf = {"spark.master": master}
        ran = outside.finish(outside.start(two, conf=conf))
        assert ran.code == 0, ran.err
    expected = joined(
        [s[:300], t], lambda s, t: same(s["a"], t["a"]) and t["n"] % 3 != 0, lambda s, t: (s["n"], t["n"])
    )
    assert outside.sink() == expected
    known = json.loads((outside.folder / "checkpoint" / "out" / "plan.json").read_text())
    assert known["cells"] == [4]


def test_every_result_meets_in_exactly_one_cell() -> None:
    """A row of S, T and U that agree share one cell and no more."""
    made = cube()
    grid = KeyedGrid.over(made, 6)
    for a in range(12):
        for b in range(12):
            key = f"b{b}"
            homes = []
            for alias, row in (("s", {"a": a, "b": key}), ("t", {"a": a}), ("u", {"b": key})):
                table = pa.Table.from_pylist([row])
                line = grid.line(made, alias, None, table)
                homes.append({int(line.base[0]) + offset for offset in line.offsets})
            assert len(set.intersection(*homes)) == 1
