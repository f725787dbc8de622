"""The right answer: a one-shot join of all files in pyarrow, without any engine of ours or Spark's.

    python -m benchmarks.packets.oracle DATA OUT.parquet [window in seconds]

Also what a plain window join must keep, counted row by row in the files: the rows that are within their window of the
least event time that another stream may still give.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from benchmarks.packets.data import RATES

ANSWER = ["pid", "c_size", "b_size", "o_size", "c_ts", "o_ts"]
_MICROSECONDS = 1_000_000


def right_answer(data: Path, window: float = 60) -> Any:
    """The join of the files: one pid, and all three event times less than a window apart."""
    tables = {}
    for name in RATES:
        read = pq.read_table(data / name)
        tables[name] = read.rename_columns([c if c == "pid" else f"{name}_{c}" for c in read.column_names])
    joined = tables["c"].join(tables["b"], "pid", join_type="inner").join(tables["o"], "pid", join_type="inner")
    times = [joined.column(f"{name}_ts").cast(pa.int64()) for name in RATES]
    apart = pc.subtract(pc.max_element_wise(*times), pc.min_element_wise(*times))
    return joined.filter(pc.less(apart, round(window * _MICROSECONDS))).select(ANSWER)


def read_answer(folder: Path) -> Any:
    """The rows that a run wrote."""
    files = sorted(folder.glob("*.parquet"))
    tables = [pq.read_table(file) for file in files]
    return pa.concat_tables(tables) if tables else None


def same_bag(one: Any, other: Any) -> bool:
    """Whether two answers hold the same rows, each as often."""
    return bool(_in_order(one).equals(_in_order(other)))


def _in_order(table: Any) -> Any:
    if table is None:
        return None
    # Spark writes instants in its own format; what counts is the microsecond.
    kinds = {"pid": pa.int64(), "c_ts": pa.timestamp("us"), "o_ts": pa.timestamp("us")}
    columns = {name: table.column(name).cast(kinds.get(name, pa.int32())).combine_chunks() for name in ANSWER}
    return pa.table(columns).sort_by([(name, "ascending") for name in ANSWER])


def window_rows(data: Path, files_a_batch: int, window: float = 60, lateness: float = 3) -> list[int]:
    """After each batch, the rows that a join which knows windows and the order of event time alone must keep.

    A row of s is out of reach once the least event time still to come, on every other stream, is its own + window.
    """
    files = {name: sorted((data / name).glob("*.parquet")) for name in RATES}
    read: dict[str, list[Any]] = {name: [] for name in RATES}
    kept = []
    for start in range(0, max(map(len, files.values())), files_a_batch):
        for name, found in files.items():
            for file in found[start : start + files_a_batch]:
                read[name].append(pq.read_table(file, columns=["ts"]).column("ts").cast(pa.int64()).to_numpy())
        newest = {name: max((int(times[-1]) for times in part if len(times)), default=0) for name, part in read.items()}
        rows = 0
        for name, pieces in read.items():
            low = min(newest[other] for other in RATES if other != name) - round(lateness * _MICROSECONDS)
            reach = low - round(window * _MICROSECONDS)
            rows += sum(len(times) - int(np.searchsorted(times, reach, "right")) for times in pieces)
        kept.append(rows)
    return kept


if __name__ == "__main__":
    pq.write_table(right_answer(Path(sys.argv[1]), *map(float, sys.argv[3:])), sys.argv[2])
