"""Streams with parts on Spark: folders that a column of their path names, read in batches that cut across them."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tests.spark.conftest import Bench

SCHEMA = pa.schema([("k", pa.int64()), ("ts", pa.int64())])
SCRIPT = """
CREATE STREAM s (
  k BIGINT, ts BIGINT, shop INT, EVENT TIME ts IDLE AFTER 500, PARTS BY shop, ORDERED BY ts WITHIN 5
) USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '6');
CREATE STREAM t (
  k BIGINT, ts BIGINT, shop INT, EVENT TIME ts, PARTS BY shop, ORDERED BY ts WITHIN 3 ROWS
) USING parquet OPTIONS (path '{data}/t', maxFilesPerTrigger '5');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT s.k, s.shop, s.ts, t.ts AS other FROM s, t WHERE s.k = t.k AND s.ts - t.ts BETWEEN -20 AND 20;
"""


def write(bench: Bench, stream: str, draw: Random, first: int) -> list[dict[str, Any]]:
    """Four shops, each with three files in order, written shop after shop."""
    found = []
    for shop in range(4):
        for part in range(3):
            rows = [{"k": draw.randint(0, 9), "ts": first + part * 100 + n} for n in range(0, 100, draw.randint(2, 4))]
            bench.write(stream, rows, SCHEMA, f"shop={shop}/{bench.files:04d}.parquet")
            found += [{**row, "shop": shop} for row in rows]
    return found


@pytest.mark.thorough
def test_folders_each_in_order_break_nothing_and_give_the_whole_join_over_a_restart(bench: Bench) -> None:
    draw = Random(5)
    for stream in "st":
        # All parts are there from the first batch on.
        for shop in range(4):
            bench.write(stream, [{"k": 100, "ts": 0}], SCHEMA, f"shop={shop}/begin.parquet")
    first = {stream: write(bench, stream, draw, 0) for stream in "st"}
    ran = bench.run(SCRIPT, unbounded=False, conf={"penstock.cells": "2"})
    assert ran.code == 0, ran.err
    second = {stream: write(bench, stream, draw, 300) for stream in "st"}
    ran = bench.run(SCRIPT, unbounded=False, conf={"penstock.cells": "2"})
    assert ran.code == 0, ran.err
    assert all(not line["violations"] for line in ran.batches)
    rows = {stream: [*first[stream], *second[stream]] for stream in "st"}
    rows = {stream: [*its, *({"k": 100, "ts": 0, "shop": shop} for shop in range(4))] for stream, its in rows.items()}
    pairs = ((one, other) for one in rows["s"] for other in rows["t"] if one["k"] == other["k"])
    near = ((one, other) for one, other in pairs if abs(one["ts"] - other["ts"]) <= 20)
    expected = Counter((one["k"], one["shop"], one["ts"], other["ts"]) for one, other in near)
    assert bench.sink() == expected
    assert ran.batches[-1]["parts"]["s"]["known"] == 4
    assert max(sum(line["state_rows"].values()) for line in ran.batches[-1:]) < 100
