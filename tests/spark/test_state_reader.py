"""`penstock state` shows what a checkpoint keeps: as the metrics count it, for joins, blocks and groups."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock.cli import app
from tests.spark.conftest import Bench, Ran
from tests.spark.test_run import is_clean

KT = pa.schema([("k", pa.int64()), ("ts", pa.int64())])
SCRIPT = """
CREATE STREAM a (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts)
  USING parquet OPTIONS (path '{data}/a', maxFilesPerTrigger '1');
CREATE STREAM b (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts)
  USING parquet OPTIONS (path '{data}/b', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT DISTINCT a.k, b.ts FROM a, b WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 10;
"""


def shown(*arguments: str) -> Ran:
    done = CliRunner().invoke(app, ["state", *arguments])
    return Ran(done.exit_code, done.stdout, done.stderr)


def test_what_is_kept_is_shown_with_whom_it_waits_for(bench: Bench) -> None:
    bench.write("a", [{"k": 1, "ts": 0}, {"k": 2, "ts": 5}, {"k": 3, "ts": 100}], KT)
    bench.write("b", [{"k": 1, "ts": 3}, {"k": 9, "ts": 12}], KT)
    ran = bench.run(SCRIPT)
    assert ran.code == 0, ran.err
    place = str(bench.folder / "checkpoint")
    told = shown(place, "--json")
    assert told.code == 0, told.err
    (block,) = json.loads(told.out)["out"]
    assert {one["alias"]: one["tuples"] for one in block["streams"]} == {
        alias: ran.batches[-1]["state_tuples"][alias] for alias in ("a", "b")
    }
    assert (block["cells"], block["batches"]) == (4, 1)
    assert block["second_stage"] > 0
    text = shown(place, "--rows", "1")
    assert text.code == 0, text.err
    assert "out: " in text.out
    assert "2 rows may still meet rows of b to come, until b.ts has passed a.ts + 10" in text.out
    assert "batch 0: k = " in text.out
    again = bench.run(SCRIPT)
    assert again.code == 0, again.err


@pytest.mark.parametrize("place", ["nothing here", "checkpoint"])
def test_a_folder_without_a_checkpoint_is_told_in_a_sentence(bench: Bench, place: str) -> None:
    (bench.folder / "checkpoint").mkdir()
    told = shown(str(bench.folder / place))
    assert is_clean(told, 2), told.err
    assert "holds no checkpoint" in told.err


def test_state_that_was_dealt_anew_is_shown_before_it_is_taken_over_and_after(
    bench: Bench, spark: SparkSession
) -> None:
    """Cells that are no more lie in Spark's store for ever; large segments of theirs are removed."""
    place = str(bench.folder / "checkpoint")
    for stream, first in (("a", 0), ("b", 1000)):
        bench.write(stream, [{"k": n, "ts": 1} for n in range(first, first + 400)], KT)
    ran = bench.run(SCRIPT, conf={"penstock.cells": "4", "penstock.segments": "100"})
    assert ran.code == 0, ran.err
    spark.conf.unset("penstock.cells")

    def kept() -> tuple[int, int, dict[str, int]]:
        told = shown(place, "--json")
        assert told.code == 0, told.err
        (block,) = json.loads(told.out)["out"]
        return block["cells"], block["batches"], {one["alias"]: one["tuples"] for one in block["streams"]}

    assert kept() == (4, 1, {"a": 400, "b": 400})
    dealt = CliRunner().invoke(app, ["rescale", place, "--cells", "1"])
    assert dealt.exit_code == 0, dealt.stderr
    assert kept() == (1, 1, {"a": 400, "b": 400}), "as the next run takes it over"
    for number in (1, 2):
        bench.write("a", [{"k": 500 + number, "ts": 1}], KT)
        ran = bench.run(SCRIPT)
        assert ran.code == 0, ran.err
        assert kept() == (1, 1 + number, {"a": 400 + number, "b": 400})
