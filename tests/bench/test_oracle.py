"""What the bench compares with is itself held against loops over rows."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.packets.data import START, packets, write_files, write_long
from benchmarks.packets.oracle import ANSWER, read_answer, right_answer, same_bag, window_rows

SECOND = 1_000_000


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Few pids, so that rows match often, twice too, and inside and outside the window; two seconds a file."""
    random = np.random.default_rng(3)
    streams = {
        name: (np.sort(random.integers(0, 20 * SECOND, count)), random.integers(0, 8, count))
        for name, count in (("c", 15), ("b", 30), ("o", 15))
    }
    write_files(tmp_path, streams, np.arange(0, 21, 2))
    return tmp_path


def _rows(data: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for file in sorted((data / name).glob("*.parquet")):
        table = pq.read_table(file)
        rows += table.set_column(2, "ts", table.column("ts").cast(pa.int64())).to_pylist()
    return rows


def test_right_answer_is_the_join_of_all_combinations(data: Path) -> None:
    expected = []
    for c, b, o in product(*(_rows(data, name) for name in "cbo")):
        times = [row["ts"] for row in (c, b, o)]
        if c["pid"] == b["pid"] == o["pid"] and max(times) - min(times) < 5 * SECOND:
            expected.append((c["pid"], c["size"], b["size"], o["size"], c["ts"], o["ts"]))
    assert expected
    columns = dict(zip(ANSWER, zip(*expected, strict=True), strict=True))
    table = pa.table({n: pa.array(v, pa.timestamp("us") if n.endswith("ts") else None) for n, v in columns.items()})
    assert same_bag(right_answer(data, window=5), table)


def test_rows_in_window_are_those_that_no_other_stream_has_passed(data: Path) -> None:
    counted = []
    for batch in range(5):
        read = {name: [r for r in _rows(data, name) if r["ts"] - START < (batch + 1) * 4 * SECOND] for name in "cbo"}
        low = {name: max(row["ts"] for row in rows) - SECOND for name, rows in read.items()}
        kept = 0
        for name, rows in read.items():
            others = [low[other] for other in low if other != name]
            kept += sum(not all(other >= row["ts"] + 3 * SECOND for other in others) for row in rows)
        counted.append(kept)
    assert window_rows(data, 2, window=3, lateness=1) == counted


def test_same_bag_counts_equal_rows(data: Path, tmp_path: Path) -> None:
    right = right_answer(data)
    assert same_bag(right, right.take(pa.array(range(right.num_rows - 1, -1, -1))))
    assert not same_bag(right, right.slice(1))
    assert not same_bag(right, pa.concat_tables([right, right.slice(0, 1)]))
    # The join's order is not fixed and rows may be equal, so the row that stands in for another is one that differs.
    rows = right.to_pylist()
    differs = next(number for number, row in enumerate(rows) if row != rows[0])
    assert not same_bag(right, pa.concat_tables([right.slice(1), right.slice(differs, 1)]))
    (tmp_path / "out").mkdir()
    assert read_answer(tmp_path / "out") is None
    pq.write_table(right.slice(0, 2), tmp_path / "out" / "1.parquet")
    pq.write_table(right.slice(2), tmp_path / "out" / "2.parquet")
    assert same_bag(read_answer(tmp_path / "out"), right)


def test_packets_keep_what_the_script_promises() -> None:
    streams = packets(40, seed=5, rates={"c": 50, "b": 500, "o": 50})
    seen = {name: dict(zip(pids.tolist(), times.tolist(), strict=True)) for name, (times, pids) in streams.items()}
    for name, (times, pids) in streams.items():
        assert len(seen[name]) == len(pids)
        assert (np.diff(times) >= 0).all()
    for one, other in (("c", "b"), ("b", "o")):
        shared = seen[one].keys() & seen[other].keys()
        assert shared
        assert all(0 <= seen[other][pid] - seen[one][pid] <= 2 * SECOND for pid in shared)


def test_long_stream_goes_on_where_the_piece_before_it_ended(tmp_path: Path) -> None:
    rows = write_long(tmp_path, 3, 10, 5, rates={"c": 10, "b": 10, "o": 10})
    for name in "cbo":
        files = sorted((tmp_path / name).glob("*.parquet"), key=lambda file: file.stat().st_mtime)
        assert [file.name for file in files] == [f"{number:05d}.parquet" for number in range(6)]
        read = pa.concat_tables([pq.read_table(file) for file in files]).column("ts").cast(pa.int64()).to_numpy()
        assert (np.diff(read) >= 0).all()
        assert 29 * SECOND < read[-1] - START < 30 * SECOND
        rows -= len(read)
    assert rows == 0
