"""`penstock rescale`: a stopped query goes on in more cells and in fewer, with the answer it would have given."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock.cli import app
from tests.spark.conftest import Bench, Ran
from tests.spark.oracle import Bag, bag
from tests.spark.test_run import is_clean

KN = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("ts", pa.int64())])
STREAMS = """
CREATE STREAM a (k BIGINT, n BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts)
  USING parquet OPTIONS (path '{data}/a', maxFilesPerTrigger '1');
CREATE STREAM b (k BIGINT, n BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts)
  USING parquet OPTIONS (path '{data}/b', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
"""
LEFT = STREAMS + "INSERT INTO out SELECT a.n, b.n AS m FROM a LEFT JOIN b ON a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 8;"
INNER = STREAMS + "INSERT INTO out SELECT a.n, b.n AS m FROM a, b WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 8;"
CUBE = STREAMS + (
    "INSERT INTO out SELECT a.n, b.n AS m, c.n AS o FROM a, b, a AS c WHERE a.k = b.k AND b.n = c.n "
    "AND b.ts - a.ts BETWEEN 0 AND 8 AND c.ts - b.ts BETWEEN -8 AND 8;"
)
GROUPS = STREAMS + (
    "INSERT INTO out SELECT a.k, count(*) AS c FROM a, b WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 8 "
    "GROUP BY a.k, window(a.ts, 10);"
)
DISTINCT = STREAMS + "INSERT INTO out SELECT DISTINCT a.k FROM a, b WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 8;"
SEVERAL = STREAMS + (
    "INSERT INTO out SELECT a.n, b.n AS m, c.n AS o FROM a LEFT JOIN b ON a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 8 "
    "LEFT JOIN a AS c ON a.k = c.k AND c.ts - a.ts BETWEEN 1 AND 8;"
)
Rows = list[dict[str, Any]]


def several(a: Rows, b: Rows) -> Bag:
    def met(one: dict[str, Any], others: Rows, least: int) -> list[Any]:
        near = (o["n"] for o in others if o["k"] == one["k"] and least <= o["ts"] - one["ts"] <= 8)
        return list(near) or [None]

    return bag((one["n"], m, o) for one in a for m in met(one, b, 0) for o in met(one, a, 1))


def left(a: Rows, b: Rows) -> Bag:
    found = []
    for one in a:
        met = [other["n"] for other in b if other["k"] == one["k"] and 0 <= other["ts"] - one["ts"] <= 8]
        found += [(one["n"], n) for n in met or [None]]
    return bag(found)


def distinct(a: Rows, b: Rows) -> Bag:
    return bag({(one["k"],) for one in a for o in b if o["k"] == one["k"] and 0 <= o["ts"] - one["ts"] <= 8})


def inner(a: Rows, b: Rows) -> Bag:
    return bag((one["n"], o["n"]) for one in a for o in b if o["k"] == one["k"] and 0 <= o["ts"] - one["ts"] <= 8)


def cube(a: Rows, b: Rows) -> Bag:
    near = [(one, o) for one in a for o in b if o["k"] == one["k"] and 0 <= o["ts"] - one["ts"] <= 8]
    return bag((x["n"], y["n"], z["n"]) for x, y in near for z in a if y["n"] == z["n"] and abs(z["ts"] - y["ts"]) <= 8)


def with_elements(script: str, elements: str) -> str:
    return script.replace("ORDERED BY ts)", f"{elements})")


@pytest.fixture(autouse=True)
def _as_it_was(spark: SparkSession) -> Iterator[None]:
    yield
    spark.conf.unset("penstock.cells")


def rescale(place: Path, cells: int) -> Ran:
    done = CliRunner().invoke(app, ["rescale", str(place), "--cells", str(cells)])
    return Ran(done.exit_code, done.stdout, done.stderr)


def batch(draw: random.Random, number: int) -> Rows:
    times = sorted(draw.randint(5 * number, 5 * number + 4) for _ in range(8))
    return [{"k": draw.randrange(12), "n": 100 * number + n, "ts": ts} for n, ts in enumerate(times)]


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        pytest.param(LEFT, left, id="left join"),
        pytest.param(DISTINCT, distinct, id="distinct", marks=pytest.mark.thorough),
        pytest.param(CUBE, cube, id="copied rows", marks=pytest.mark.thorough),
        pytest.param(
            with_elements(INNER, "ORDERED BY ts WITHIN AUTO"), inner, id="k learned", marks=pytest.mark.thorough
        ),
        pytest.param(
            with_elements(LEFT, "ORDERED BY ts ON VIOLATION RECOVER"), left, id="recover", marks=pytest.mark.thorough
        ),
        pytest.param(
            with_elements(SEVERAL, "ORDERED BY ts ON VIOLATION RECOVER"),
            several,
            id="recover, several joins",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            with_elements(INNER, "ORDERED BY ts, CLUSTERED BY k WITHIN 100 ROWS"),
            inner,
            id="clusters",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            with_elements(INNER, "ORDERED BY ts, ARRIVES BY ts"), inner, id="arrival", marks=pytest.mark.thorough
        ),
        pytest.param(
            INNER.replace("SELECT a.n", "SELECT /*+ BUDGET(1000 ROWS) */ a.n"),
            inner,
            id="budget",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_a_query_goes_on_in_other_cells(bench: Bench, spark: SparkSession, script: str, answer: Any) -> None:
    draw = random.Random(3)
    a: Rows = []
    b: Rows = []
    place = bench.folder / "checkpoint"
    for number, cells in enumerate((3, 5, 1)):
        for stream, rows in (("a", a), ("b", b)):
            rows.extend(new := batch(draw, number))
            bench.write(stream, new, KN)
        if number:
            told = rescale(place, cells)
            assert told.code == 0, told.err
            assert "out: dealt to " in told.err
            again = rescale(place, 7)
            assert is_clean(again, 2), again.err
            assert "has had no batch since its state was last dealt anew" in again.err
        ran = bench.run(script, conf={"penstock.cells": "3"} if not number else {}, final=number == 2)
        spark.conf.unset("penstock.cells")
        assert ran.code == 0, ran.err
        shares = json.loads((place / "out" / "plan.json").read_text())["cells"]
        assert math.prod(shares) == cells or len(shares) > 1
        assert ran.err.rstrip().endswith("out: exact")
    assert bench.sink() == answer(a, b)


@pytest.mark.parametrize(
    ("script", "answer"),
    [pytest.param(LEFT, left, id="left"), pytest.param(INNER, inner, id="inner", marks=pytest.mark.thorough)],
)
def test_a_key_with_most_of_the_rows_is_split_and_the_query_goes_on(
    bench: Bench, spark: SparkSession, script: str, answer: Any
) -> None:
    hot = [{"k": 7 if n % 3 else n, "n": n, "ts": n // 100} for n in range(600)]
    few = [{"k": 7 if n % 200 == 0 else -n, "n": n, "ts": n // 100} for n in range(600)]
    place = bench.folder / "checkpoint"
    for number in range(3):
        part = slice(200 * number, 200 * number + 200)
        bench.write("a", hot[part], KN)
        bench.write("b", few[part], KN)
        if number == 1:
            told = rescale(place, 4)
            assert told.err == (
                "out: dealt to 4 cells, a key that has much of the state split over them; the next run takes it over\n"
            )
        ran = bench.run(script, conf={"penstock.cells": "4"} if number != 1 else {}, final=number == 2)
        spark.conf.unset("penstock.cells")
        assert ran.code == 0, ran.err
        assert ran.err.rstrip().endswith("out: exact")
        line = ran.batches[-1]
        held = line["fullest_cell"] * 4 / max(1, sum(line["state_rows"].values()))
        assert held > 2 if not number else held < 1.5
    (split,) = json.loads((place / "out" / "plan.json").read_text())["split keys"]
    assert (split["spread"], len(split["keys"])) == ([["a", 4]], 1)
    assert bench.sink() == answer(hot, few)


@pytest.mark.thorough
def test_groups_go_on_in_other_cells(bench: Bench, spark: SparkSession) -> None:
    """Beside a run that is never rescaled."""
    draw = random.Random(4)
    found = []
    for number in range(3):
        for stream in "ab":
            bench.write(stream, batch(draw, number), KN)
        for name in ("moved", "stays"):
            if name == "moved" and number:
                told = rescale(bench.folder / name, 4 - number)
                assert told.code == 0, told.err
            conf = {"penstock.cells": "4"} if not number else {}
            script = GROUPS.replace("{out}", f"{{out}}/{name}")
            ran = bench.run(script, conf=conf, checkpoint=name, final=number == 2)
            spark.conf.unset("penstock.cells")
            assert ran.code == 0, ran.err
            if number == 2:
                found.append(bench.sink(name))
    assert found[0] == found[1]
    assert found[0]


def test_what_cannot_be_dealt_is_told_and_nothing_is_touched(bench: Bench) -> None:
    bench.write("a", [{"k": 1, "n": 1, "ts": 1}], KN)
    bench.write("b", [{"k": 1, "n": 1, "ts": 1}], KN)
    archive = bench.folder / "archive"
    other = " CREATE SINK first USING noop; INSERT INTO first SELECT a.n FROM a, b WHERE a.k = b.k AND b.ts = a.ts;"
    ran = bench.run(INNER.replace("SELECT a.n", f"SELECT /*+ BUDGET(100 ROWS), ARCHIVE('{archive}') */ a.n") + other)
    assert ran.code == 0, ran.err
    plans = [bench.folder / "checkpoint" / query / "plan.json" for query in ("first", "out")]
    before = [plan.read_bytes() for plan in plans]
    told = rescale(bench.folder / "checkpoint", 2)
    assert is_clean(told, 2) or is_clean(told, 1), told.err
    assert "an ARCHIVE" in told.err
    assert [plan.read_bytes() for plan in plans] == before, "all queries or none"
    # As if the run had been killed: parts of the state of its last batch may lie there, in the cells that it had.
    last = bench.folder / "checkpoint" / "out" / "spark" / "commits" / "0"
    last.unlink()
    told = rescale(bench.folder / "checkpoint", 2)
    assert is_clean(told, 2), told.err
    assert "batch 0 of query out is under way" in told.err
