"""The order of arrival is restored: (file modification time, path, row), whatever order Spark reads files in.

`[ROWS n]` makes the order visible. Files are written so that neither their names nor the order in which they are
written gives the order of their times.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from tests.spark.conftest import Bench
from tests.spark.oracle import Bag, same

KN = pa.schema([("k", pa.int64()), ("n", pa.int64())])
SCRIPT = """
CREATE STREAM s (k BIGINT, n BIGINT) USING {format} OPTIONS (path '{data}/s'{options});
CREATE STREAM t (k BIGINT, n BIGINT) USING {format} OPTIONS (path '{data}/t'{options});
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT s.n, t.n AS m FROM s [ROWS 7], t [ROWS 4] WHERE s.k = t.k;
"""
Rows = list[dict[str, Any]]


def last_rows(batches: list[tuple[Rows, Rows]], windows: tuple[int, int]) -> Bag:
    """One row after the other: it meets what is among the last n of the other stream, itself included in its own."""
    seen: tuple[Rows, Rows] = ([], [])
    found: Bag = Counter()
    for batch in batches:
        for own in (0, 1):
            for row in batch[own]:
                seen[own].append(row)
                for partner in seen[1 - own][-windows[1 - own] :]:
                    if same(row["k"], partner["k"]):
                        pair = (row, partner) if own == 0 else (partner, row)
                        found[pair[0]["n"], pair[1]["n"]] += 1
    return found


def write_files(bench: Bench, text: bool) -> dict[str, list[Rows]]:
    """Six files a stream, in order of their times; some have the same time and differ in their path."""
    names = ["e", "b", "f", "a", "c", "d"]
    times = [10, 20, 30, 40, 50, 50]
    data: dict[str, list[Rows]] = {}
    for offset, stream in enumerate("st"):
        files: list[Rows] = []
        for number in range(6):
            files.append([{"k": (row * 7 + number + offset) % 3, "n": number * 100 + row} for row in range(5 + number)])
        data[stream] = files
        for number in (3, 0, 5, 1, 4, 2):
            name = names[number]
            if text:
                path = bench.write_text(
                    stream, f"{name}.csv", "".join(f"{row['k']},{row['n']}\n" for row in files[number])
                )
            else:
                path = bench.write(stream, files[number], KN, f"{name}.parquet")
            os.utime(path, (1_700_000_000 + times[number], 1_700_000_000 + times[number]))
    return data


@pytest.mark.parametrize(("format_name", "cells"), [("parquet", "2"), ("csv", "3")])
def test_rows_windows_follow_file_time_path_and_row(bench: Bench, format_name: str, cells: str) -> None:
    data = write_files(bench, text=format_name == "csv")
    script = SCRIPT.replace("{format}", format_name).replace("{options}", "")
    ran = bench.run(script, unbounded=False, conf={"penstock.cells": cells})
    assert ran.code == 0, ran.err
    everything = ([r for f in data["s"] for r in f], [r for f in data["t"] for r in f])
    assert bench.sink() == last_rows([everything], (7, 4))
    assert ran.batches[-1]["state_tuples"] == {"s": 7, "t": 4}


def test_rows_windows_with_two_files_a_trigger(bench: Bench) -> None:
    data = write_files(bench, text=False)
    script = SCRIPT.replace("{format}", "parquet").replace("{options}", ", maxFilesPerTrigger '2'")
    ran = bench.run(script, unbounded=False)
    assert ran.code == 0, ran.err
    batches = [
        ([r for f in data["s"][start : start + 2] for r in f], [r for f in data["t"][start : start + 2] for r in f])
        for start in (0, 2, 4)
    ]
    assert bench.sink() == last_rows(batches, (7, 4))
    assert [line["rows_in"] for line in ran.batches] == [{"s": len(s), "t": len(t)} for s, t in batches]
