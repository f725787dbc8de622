"""The packets: three streams of parquet files, cut by event time, so that C precedes B precedes O as they are read.

10 % of C reaches B and 10 % of B reaches O, each within 2 s; pids are random 64-bit numbers, so that no min/max helps.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RATES = {"c": 1_000, "b": 10_000, "o": 1_000}
"""Rows a second of event time."""
START = 1_700_000_000_000_000
"""Microseconds since 1970 at which the streams begin."""


def packets(seconds: int, seed: int = 7, rates: Mapping[str, int] = RATES) -> dict[str, tuple[Any, Any]]:
    """For each stream its event times (microseconds from the start), in order, and its pids."""
    random = np.random.default_rng(seed)

    def fresh(count: int) -> tuple[Any, Any]:
        return random.uniform(0, seconds * 1e6, count), random.integers(-(2**63), 2**63, count)

    def onward(times: Any, pids: Any) -> tuple[Any, Any]:
        chosen = random.random(len(pids)) < 0.1
        later = times[chosen] + random.uniform(0, 2e6, int(chosen.sum()))
        inside = later < seconds * 1e6
        return later[inside], pids[chosen][inside]

    def filled(name: str, times: Any, pids: Any) -> tuple[Any, Any]:
        more_times, more_pids = fresh(max(0, rates[name] * seconds - len(pids)))
        return np.concatenate([times, more_times]), np.concatenate([pids, more_pids])

    found = {"c": fresh(rates["c"] * seconds)}
    found["b"] = filled("b", *onward(*found["c"]))
    found["o"] = filled("o", *onward(*found["b"]))
    ordered = {}
    for name, (times, pids) in found.items():
        order = np.argsort(times)
        ordered[name] = (times[order].astype(np.int64), pids[order])
    return ordered


def write_packets(
    folder: Path, seconds: int, file_seconds: float, seed: int = 7, rates: Mapping[str, int] = RATES
) -> int:
    """Write the streams, one file for each stretch of event time; gives the number of rows."""
    files = int(np.ceil(seconds / file_seconds))
    return write_files(folder, packets(seconds, seed, rates), np.arange(files + 1) * file_seconds)


def write_files(
    folder: Path, streams: Mapping[str, tuple[Any, Any]], edges: Any, first: int = 0, shift: int = 0
) -> int:
    """Write one file of each stream for each stretch between two edges (seconds); gives the number of rows.

    Files are numbered from `first`, and event times moved by `shift` seconds, so that a long stream can be written
    piece by piece.
    """
    total = 0
    for name, (times, pids) in streams.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        total += len(times)
        cuts = np.searchsorted(times, np.asarray(edges) * 1e6)
        cuts[-1] = len(times)
        for number, (start, stop) in enumerate(pairwise(cuts.tolist()), first):
            part = slice(start, stop)
            size = (pids[part] & 1023).astype(np.int32) + 40
            moved = START + shift * 1_000_000 + times[part]
            table = pa.table({"pid": pids[part], "size": size, "ts": pa.array(moved, pa.timestamp("us", tz="UTC"))})
            path = folder / name / f"{number:05d}.parquet"
            pq.write_table(table, path)
            # Files written within one clock tick would otherwise be ordered by path alone.
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return total


def write_long(folder: Path, pieces: int, seconds: int, file_seconds: float, rates: Mapping[str, int] = RATES) -> int:
    """Write streams that are `pieces` times as long, a piece at a time; no packet crosses from piece to piece."""
    files = int(np.ceil(seconds / file_seconds))
    edges = np.arange(files + 1) * file_seconds
    return sum(
        write_files(folder, packets(seconds, 7 + piece, rates), edges, piece * files, piece * seconds)
        for piece in range(pieces)
    )


PROMISES = {
    "c": ["PRIMARY KEY (pid)"],
    "b": [
        "PRIMARY KEY (pid)",
        "FOLLOWS c (pid) ON (pid) WITHIN 0 ROWS",
        "COOCCURS (pid) AND c (pid) WINDOW [-2 SECONDS, 0]",
    ],
    "o": [
        "PRIMARY KEY (pid)",
        "FOLLOWS b (pid) ON (pid) WITHIN 0 ROWS",
        "COOCCURS (pid) AND b (pid) WINDOW [-2 SECONDS, 0]",
    ],
}


def script(
    data: Path,
    out: Path,
    files_a_trigger: int,
    *,
    promises: bool = True,
    window: str = "60 SECONDS",
    lateness: str = "3 SECONDS",
) -> str:
    """The three-way join over windows of time; without promises, only the order of event time is declared."""
    text = ""
    for name in RATES:
        declared = ["EVENT TIME ts", f"ORDERED BY ts WITHIN {lateness}", *(PROMISES[name] if promises else [])]
        text += (
            f"CREATE STREAM {name} (\n  pid BIGINT, size INT, ts TIMESTAMP,\n  "
            + ",\n  ".join(declared)
            + f"\n) USING parquet OPTIONS (path '{data / name}', maxFilesPerTrigger '{files_a_trigger}');\n\n"
        )
    return (
        f"{text}CREATE SINK matched USING parquet OPTIONS (path '{out}');\n\n"
        "INSERT INTO matched\n"
        "SELECT c.pid, c.size AS c_size, b.size AS b_size, o.size AS o_size, c.ts AS c_ts, o.ts AS o_ts\n"
        f"FROM c [RANGE {window}], b [RANGE {window}], o [RANGE {window}]\n"
        "WHERE c.pid = b.pid AND b.pid = o.pid;\n"
    )
