"""Requests and their answers as parquet files, cut by event time: four of five requests get one, most in time."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

REQUESTS_A_SECOND = 20_000
ANSWERED = 0.8
PATIENCE = 5_000_000
DISORDER = 200_000
"""Microseconds: the longest wait for an answer that counts, and by how much rows come out of order."""

QUERIES = {
    "inner": "SELECT r.id, a.ts AS at FROM requests AS r JOIN answers AS a ON {on}",
    "left outer": "SELECT r.id, a.ts AS at FROM requests AS r LEFT JOIN answers AS a ON {on}",
    "not exists": "SELECT r.id, r.ts AS at FROM requests AS r WHERE NOT EXISTS (SELECT 1 FROM answers AS a WHERE {on})",
}
ON = "r.id = a.id AND a.ts BETWEEN r.ts AND r.ts + INTERVAL 5 SECONDS"


@dataclass(frozen=True)
class Requests:
    """Both streams in the order of their arrival: ids, and times in microseconds."""

    ids: Any
    times: Any
    answer_ids: Any
    answer_times: Any

    @property
    def rows(self) -> int:
        """The rows of both."""
        return len(self.ids) + len(self.answer_ids)


def generated(rows: int, seed: int = 9) -> Requests:
    """So many rows in all; a tenth of the answers comes too late to count."""
    random = np.random.default_rng(seed)
    requests = int(rows / (1 + ANSWERED))
    times = np.sort(random.integers(0, requests * 1_000_000 // REQUESTS_A_SECOND, requests))
    ids = random.permutation(requests).astype(np.int64)
    answered = random.random(requests) < ANSWERED
    at = times[answered] + random.integers(0, int(PATIENCE / 0.9), int(answered.sum()))
    arrival, later = (t + random.integers(0, DISORDER, len(t)) for t in (times, at))
    order, late = np.argsort(arrival), np.argsort(later)
    return Requests(ids[order], times[order], ids[answered][late], at[late])


def cut(data: Requests, pieces: int) -> dict[str, list[Any]]:
    """Both streams cut at the same times, into so many pieces; then a last one, whose rows settle all before them."""
    end = max(int(data.times.max()), int(data.answer_times.max()))
    edges = np.linspace(0, end, pieces + 1)[1:-1]
    found = {}
    for name, ids, times in (("requests", data.ids, data.times), ("answers", data.answer_ids, data.answer_times)):
        table = pa.table({"id": ids, "ts": pa.array(times, pa.timestamp("us", "UTC"))})
        stops = [0, *np.searchsorted(np.maximum.accumulate(times), edges, "right").tolist(), len(times)]
        found[name] = [table.slice(start, stop - start) for start, stop in pairwise(stops)]
        last = pa.array([end + 10 * PATIENCE], pa.timestamp("us", "UTC"))
        found[name].append(pa.table({"id": pa.array([-1], pa.int64()), "ts": last}))
    return found


def write(folder: Path, data: Requests, batches: int) -> None:
    """Both streams, a file a batch each."""
    for name, pieces in cut(data, batches).items():
        (folder / name).mkdir(parents=True)
        for number, piece in enumerate(pieces):
            path = folder / name / f"{number:05d}.parquet"
            pq.write_table(piece, path)
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def script(folder: Path, out: Path, query: str) -> str:
    """The streams, and one of the queries."""
    stream = """CREATE STREAM {name} (
  id BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 SECOND
) USING parquet OPTIONS (path '{path}', maxFilesPerTrigger '1');

"""
    declared = "".join(stream.format(name=name, path=folder / name) for name in ("requests", "answers"))
    sink = f"CREATE SINK out USING parquet OPTIONS (path '{out}');\n\n"
    return f"{declared}{sink}INSERT INTO out\n{QUERIES[query].format(on=ON)};\n"


def expected(data: Requests, query: str) -> tuple[int, int, int]:
    """The answer by numpy alone: its rows, those without an answer, and the sum of its ids."""
    size = len(data.ids)
    asked = np.empty(size, np.int64)
    asked[data.ids] = data.times
    wait = data.answer_times - asked[data.answer_ids]
    in_time = data.answer_ids[(wait >= 0) & (wait <= PATIENCE)]
    without = size - len(in_time)
    everything, matched = int(data.ids.sum()), int(in_time.sum())
    return {
        "inner": (len(in_time), 0, matched),
        "left outer": (size, without, everything),
        "not exists": (without, 0, everything - matched),
    }[query]


def answered(rows: Any) -> tuple[int, int, int]:
    """The same of what a run gave; the rows that settle the others are left out."""
    ids = rows.column(0).to_numpy()
    counted = ids >= 0
    missing = rows.column(1).is_null().to_numpy(zero_copy_only=False)
    return int(counted.sum()), int((missing & counted).sum()), int(ids[counted].sum())
