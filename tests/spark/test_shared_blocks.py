"""A view that several blocks read is run once on Spark, and each of them is given what it would be given alone.

The oracle is DuckDB over all rows at once. How often something is run shows in the folders of the state: one for each
stage of each block.
"""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import penstock
from penstock.analysis.check import check_query
from penstock.compile import runnable_plan
from penstock.model.stream import Column, Stream
from penstock.model.types import DataType, Kind
from penstock.plan.plan import Plan
from penstock.spark.cells import KeyedGrid
from penstock.spark.operator import ANSWER, FRONTIER, PASSED_ON
from penstock.spark.pack import PASSED, TIMES, Packer, unpack_chunks
from penstock.spark.shared_blocks import Reader, RowPacker, blocks_in_a_row, readers_of
from penstock.spark.unpack import TOLD
from tests.spark.conftest import Bench
from tests.spark.test_whole_queries import compared
from tests.whole_queries.grammar import Drawn

PER = ("per", "SELECT k, [[ts|5|end]] AS w, count(*) AS n FROM a GROUP BY k, [[ts|5|]]")
MOST = "SELECT w, max(n) AS most FROM per GROUP BY w"
JOINED = Drawn((PER,), f"SELECT p.k, p.w, p.n, m.most FROM per p JOIN ({MOST}) m ON m.w = p.w AND p.n = m.most")
UNITED = Drawn(
    (PER, ("busy", "SELECT DISTINCT k, w FROM per WHERE n > 1")),
    "SELECT k, w, n AS v FROM per WHERE n <= 2 UNION ALL SELECT b.k, b.w, t.v FROM busy b JOIN t ON t.k = b.k "
    "UNION ALL SELECT k, w, 7 FROM (SELECT k, w FROM per EXCEPT SELECT k, w FROM busy) x",
)


def _plans(drawn: Drawn) -> dict[str, Plan]:
    (query,) = penstock.parse("CREATE TABLE t (k BIGINT, v BIGINT) USING parquet;\n" + drawn.for_penstock).queries
    plan = runnable_plan(query, check_query(query), allow_unbounded=True)
    return {block.query: block for block in plan.all_blocks}


def test_blocks_above_a_shared_one_stand_in_a_row_after_what_they_read() -> None:
    plans = _plans(JOINED)
    assert blocks_in_a_row(plans) == ("per", "m", "query_1")
    assert readers_of("per", plans) == [("m", "per"), ("query_1", "per")]


def test_where_nothing_is_shared_there_is_no_row() -> None:
    alone = Drawn((PER,), f"SELECT m.w, b.v FROM ({MOST}) m JOIN b ON b.ts = m.w")
    assert blocks_in_a_row(_plans(alone)) == ()


def test_a_view_that_two_blocks_read_is_run_once(bench: Bench) -> None:
    assert compared(bench, 11, random.Random(11), JOINED, has_tables=False)
    stages = sorted(
        folder.name for folder in bench.folder.glob("checkpoint/s11/spark/state/*") if folder.name.isdigit()
    )
    # per and m have two stages each, the query above one.
    assert stages == ["0", "1", "2", "3", "4"]
    kept = [line["state_tuples"] for line in bench.metrics()]
    assert {alias for line in kept for alias in line} == {"p", "m", "per.a", "per.(groups)", "m.per", "m.(groups)"}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [3, 5, 8])
def test_readers_with_tables_filters_and_unions_get_what_is_theirs(bench: Bench, seed: int) -> None:
    assert compared(bench, seed, random.Random(seed), UNITED, has_tables=True)


def test_what_is_for_another_block_comes_through_as_it_was_packed() -> None:
    plans = _plans(JOINED)
    readers = [
        Reader(name, _NO_STREAM, Packer(plans[name], "per", _cells(plans[name]), False), 2) for name in ("m", "query_1")
    ]
    rows = pa.array([{"k": 1, "w": 5, "n": 2}, {"k": 2, "w": 5, "n": 1}, None])
    told = {TOLD[0]: [ANSWER, ANSWER, FRONTIER], TOLD[1]: [None, None, b'{"w": 4}']}
    given = pa.table({**told, "__ps_reader_0": rows, "__ps_reader_1": rows})
    packed = pa.Table.from_batches(RowPacker("per", tuple(readers), "m", readers[0].packer)(given.to_batches()))
    is_passed = pc.equal(packed.column("part"), PASSED)
    # The cells of m hand on what is for query_1; its own rows are there as they are.
    kept, passed = packed.filter(pc.invert(is_passed)), packed.filter(is_passed)
    assert set(kept.column("cell").to_pylist()) <= set(readers[0].packer.grid.keys)
    unpacked = unpack_chunks(passed.to_pylist())
    assert [name for name, _ in unpacked.passed] == ["query_1"] * len(unpacked.passed)
    after = pa.table(
        {
            TOLD[0]: [f"{PASSED_ON}{name}" for name, _ in unpacked.passed],
            TOLD[1]: [payload for _, payload in unpacked.passed],
            "__ps_reader_0": pa.nulls(len(unpacked.passed), pa.struct([("w", pa.int64()), ("most", pa.int64())])),
        }
    )
    last = Reader("query_1", _NO_STREAM, Packer(plans["query_1"], "m", _cells(plans["query_1"]), False), 2)
    got = pa.Table.from_batches(RowPacker("m", (last,), "query_1", last.packer)(after.to_batches()))
    alone = pa.Table.from_batches(
        RowPacker("per", (readers[1],), "query_1", readers[1].packer)(_alone(given).to_batches())
    )
    assert _without_times(got) == _without_times(alone)


_NO_STREAM = Stream("per", (Column("k", DataType.of(Kind.BIGINT)),))


def _cells(plan: Plan) -> KeyedGrid:
    return KeyedGrid.over(plan, 2)


def _alone(given: pa.Table) -> pa.Table:
    return given.drop_columns(["__ps_reader_0"]).rename_columns([*TOLD, "__ps_reader_0"])


def _without_times(packed: pa.Table) -> list[dict[str, object]]:
    rows = packed.filter(pc.not_equal(packed.column("part"), TIMES)).to_pylist()
    return sorted(rows, key=str)
