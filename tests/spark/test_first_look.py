"""A key that fills a cell by what the files hold is split from the first batch on, and stays so over a restart."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.spark.conftest import Bench
from tests.spark.oracle import Bag, bag

CELLS = 16
STREAMS = """
CREATE STREAM orders (k BIGINT, n BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts)
  USING {format} OPTIONS (path '{data}/orders', maxFilesPerTrigger '1');
CREATE STREAM items (k BIGINT, n BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts)
  USING {format} OPTIONS (path '{data}/items', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT o.n, i.n AS m FROM orders AS o JOIN items AS i ON o.k = i.k AND i.ts - o.ts BETWEEN 0 AND 1000
"""


def written(bench: Bench, number: int, kind: str) -> dict[str, pa.Table]:
    """A file of each stream; half of the items are of key 0, of the orders one is."""
    random = np.random.default_rng(number)
    count = 40_000
    spread = random.integers(1, 1 << 40, count)
    keys = {"orders": spread.copy(), "items": np.where(np.arange(count) % 2 == 0, 0, spread)}
    keys["orders"][0] = 0
    found = {}
    for stream, of in keys.items():
        times = np.sort(random.integers(1000 * number, 1000 * number + 999, count))
        found[stream] = pa.table({"k": of, "n": np.arange(count) + number * count, "ts": times})
        path = bench.place(stream, f"{number:04d}.{kind}")
        hidden = path.with_name("." + path.name)
        if kind == "json":
            hidden.write_text("".join(json.dumps(row) + "\n" for row in found[stream].to_pylist()))
        else:
            pq.write_table(found[stream], hidden)
        bench.date(hidden, path)
    return found


def joined(tables: list[dict[str, pa.Table]]) -> Bag:
    orders, items = (pa.concat_tables(one[name] for one in tables) for name in ("orders", "items"))
    both = orders.join(items, "k", join_type="inner", right_suffix="_i")
    near = both.filter((pa.compute.field("ts_i") - pa.compute.field("ts")).isin(list(range(1001))))
    return bag(zip(near["n"].to_pylist(), near["n_i"].to_pylist(), strict=True))


@pytest.mark.parametrize("kind", ["parquet", pytest.param("json", marks=pytest.mark.thorough)])
def test_half_of_a_stream_in_one_key_fills_no_cell(bench: Bench, spark: SparkSession, kind: str) -> None:
    script = STREAMS.replace("{format}", kind) + ";"
    tables, told = [], []
    for number in range(2):
        tables.append(written(bench, number, kind))
        ran = bench.run(script, conf={"penstock.cells": str(CELLS)}, final=number == 1)
        spark.conf.unset("penstock.cells")
        assert ran.code == 0, ran.err
        assert ran.err.rstrip().endswith("out: exact")
        told.append("note: out: a key that fills a cell is split over its 16 cells" in ran.err)
        if not number:
            (line,) = ran.batches
            assert line["fullest_cell"] * CELLS <= 2 * sum(line["state_rows"].values())
    # Said once, as the query first starts, and kept.
    assert told == [True, False]
    kept: dict[str, Any] = json.loads((bench.folder / "checkpoint" / "out" / "plan.json").read_text())
    assert [(split["spread"], len(split["keys"])) for split in kept["split keys"]] == [([["i", CELLS]], 1)]
    assert bench.sink() == joined(tables)


@pytest.mark.thorough
def test_a_key_that_the_query_leaves_out_is_not_split(bench: Bench) -> None:
    written(bench, 0, "parquet")
    ran = bench.run(STREAMS.replace("{format}", "parquet") + " WHERE i.k <> 0;", conf={"penstock.cells": str(CELLS)})
    assert ran.code == 0, ran.err
    assert "split" not in ran.err
