"""`penstock state` shows what a checkpoint keeps: as the metrics count it, for joins, blocks and groups."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
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
