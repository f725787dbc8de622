"""ARRIVES BY on Spark: streams read at their own pace give the answer of one line of rows, whatever the cells.

The oracle puts all rows in the order of (arrival value, order of FROM, place on its stream) and lets each meet what is
among the last n of the other stream.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from tests.measure import FULL
from tests.spark.conftest import Bench
from tests.spark.oracle import Bag

KQN = pa.schema([("k", pa.int64()), ("q", pa.int64()), ("n", pa.int64())])
SCRIPT = """
CREATE STREAM s (k BIGINT, q BIGINT, n BIGINT, ARRIVES BY q)
  USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE STREAM t (k BIGINT, q BIGINT, n BIGINT, ARRIVES BY q{policy})
  USING parquet OPTIONS (path '{data}/t', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT s.n, t.n AS m FROM s [ROWS 7], t [ROWS 4] WHERE s.k = t.k;
"""
Rows = list[dict[str, Any]]
ROWS_IN_WINDOW = {"s": 7, "t": 4}


def line_of(data: dict[str, Rows]) -> list[tuple[str, dict[str, Any]]]:
    rows = [(row["q"], name, place, row) for name in "st" for place, row in enumerate(data[name])]
    return [(name, row) for _, name, _, row in sorted(rows, key=lambda r: r[:3])]


def passed(data: dict[str, Rows], name: str, row: dict[str, Any]) -> bool:
    """Whether the other stream was read past a row."""
    other = "t" if name == "s" else "s"
    return any(r["q"] > row["q"] or (r["q"] == row["q"] and other == "t") for r in data[other])


def given(data: dict[str, Rows]) -> Bag:
    """The pairs whose later row was passed by the other stream."""
    seen: dict[str, Rows] = {"s": [], "t": []}
    found: Bag = Counter()
    for name, row in line_of(data):
        other = "t" if name == "s" else "s"
        seen[name].append(row)
        if passed(data, name, row):
            for partner in seen[other][-ROWS_IN_WINDOW[other] :]:
                if partner["k"] == row["k"]:
                    pair = (row, partner) if name == "s" else (partner, row)
                    found[pair[0]["n"], pair[1]["n"]] += 1
    return found


@pytest.mark.parametrize("cells", ["1", "3"] if FULL else ["3"])
def test_streams_read_at_their_own_pace_give_the_answer_of_one_line(bench: Bench, cells: str) -> None:
    rng = random.Random(7)
    data: dict[str, Rows] = {"s": [], "t": []}
    for q in range(60):
        for name in "st":
            data[name] += [{"k": rng.randrange(4), "q": q, "n": rng.randrange(10**6)} for _ in range(rng.randrange(3))]
    for name, files in (("s", 2), ("t", 4)):
        size = -(-len(data[name]) // files)
        for start in range(0, len(data[name]), size):
            bench.write(name, data[name][start : start + size], KQN)
    script = SCRIPT.replace("{policy}", "")
    first = bench.run(script, conf={"penstock.cells": cells})
    assert first.code == 0, first.err
    assert bench.sink() == given(data)
    waiting = sum(not passed(data, name, row) for name, row in line_of(data))
    assert first.batches[-1]["pending_rows"] == waiting > 0
    assert f"{waiting} row" in first.err
    assert all(line["state_tuples"]["s"] <= 7 and line["state_tuples"]["t"] <= 4 for line in first.batches)
    assert max(line["pending_rows"] for line in first.batches) > waiting, "t was read ahead, or s was"
    for name in "st":
        more = [{"k": 9, "q": 100, "n": 1}]
        data[name] += more
        bench.write(name, more, KQN)
    second = bench.run(script, conf={"penstock.cells": cells})
    assert second.code == 0, second.err
    assert bench.sink() == given(data), "what waited came out of the checkpoint"


def test_a_fall_under_fail_stops_the_run_and_names_the_row(bench: Bench) -> None:
    bench.write("s", [{"k": 1, "q": q, "n": q} for q in range(10)], KQN)
    bench.write("t", [{"k": 1, "q": q, "n": q} for q in (1, 3, 2, 4)], KQN)
    ran = bench.run(SCRIPT.replace("{policy}", " ON VIOLATION FAIL"))
    assert ran.code == 1
    assert "ARRIVES BY q ON t" in ran.err
    assert "q = 2" in ran.err
