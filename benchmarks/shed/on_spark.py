"""A three-way join on Spark under a BUDGET of a tenth of its rows, beside PROB offline with the same memory.

PROB for three streams, one row at a time: a row's priority is how often its key arrives on the one other stream times
how often on the other, over the streams as a whole. The engine knows no future and learns its frequencies as it goes;
but the rows of a batch meet each other before any is evicted. All rows that it stores count, promises too.
"""

from __future__ import annotations

import heapq
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.shed.figures import Claim, Figure
from benchmarks.shed.streams import Keys, weights

from penstock.errors import MachineError
from penstock.spark.session import need_java

NAMES = "rst"
FIRST = 1_700_000_000
"""When the first file was written, a second before the next: Spark reads files in the order of their times."""


@dataclass(frozen=True)
class SparkSize:
    """Files a stream, one of each stream a batch."""

    files: int
    rows: int
    keys: int
    skew: float

    @property
    def budget(self) -> int:
        """A tenth of all rows."""
        return len(NAMES) * self.files * self.rows // 10


FULL = (SparkSize(10, 200, 400, 0.6), SparkSize(20, 500, 2_000, 0.4))
QUICK = (SparkSize(5, 200, 400, 0.6),)


def figure_on_spark(size: SparkSize, home: Path) -> Figure:
    """Results up to each batch, and what is stored after it."""
    need_java()
    keys = [np.random.default_rng(number).choice(size.keys, size.files * size.rows, p=weights(size.skew, size.keys))
            for number in range(len(NAMES))]  # fmt: skip
    lines = _run(size, keys, home)
    found = [*accumulate(line["rows_out"] for line in lines)]
    stored = [sum(line["state_rows"].values()) + line["promise_rows"] for line in lines]
    prob, exact = offline_prob(size, keys, size.budget), exact_results(size, keys)
    series = {"EXACT": exact, "ours": tuple(found), "PROB": prob, "rows stored": tuple(stored)}
    claims = (
        Claim("rows stored after any batch, the most", f"{max(stored):,}", f"at most {size.budget:,}",
              max(stored) <= size.budget),
        Claim("results, as a share of EXACT", f"{found[-1] / exact[-1]:.2%}",
              f"at least PROB's {prob[-1] / exact[-1]:.2%}", found[-1] >= prob[-1]),
    )  # fmt: skip
    told = lines[-1]["recall"]
    notes = (f"the engine's own estimate of its recall after the last batch: {told:.2%}",) if told is not None else ()
    rows = len(NAMES) * size.files * size.rows
    title = f"three streams, {rows:,} rows of {size.keys:,} keys, BUDGET({size.budget} ROWS)"
    batches = tuple(range(1, len(lines) + 1))
    name = f"On Spark, skew {size.skew:g}"
    return Figure(None, title, "batch", "results", batches, series, claims, notes=notes, own_name=name)


def _run(size: SparkSize, keys: list[Keys], home: Path) -> list[dict[str, Any]]:
    script = "".join(
        f"CREATE STREAM {name} (k BIGINT, n BIGINT) "
        f"USING parquet OPTIONS (path '{home}/{name}', maxFilesPerTrigger '1');\n"
        for name in NAMES
    )
    script += f"CREATE SINK out USING parquet OPTIONS (path '{home}/out');\n"
    script += f"INSERT INTO out SELECT /*+ BUDGET({size.budget} ROWS) */ r.n AS rn, s.n AS sn, t.n AS tn\n"
    script += "FROM r, s, t WHERE r.k = s.k AND s.k = t.k;\n"
    (home / "three.sql").write_text(script, encoding="utf-8")
    for name, column in zip(NAMES, keys, strict=True):
        (home / name).mkdir()
        for file, part in enumerate(np.split(column, size.files)):
            path = home / name / f"{file:04}.parquet"
            pq.write_table(pa.table({"k": part, "n": np.arange(len(part)) + file * size.rows}), path)
            os.utime(path, (FIRST + file, FIRST + file))
    metrics = home / "metrics.jsonl"
    told = ["--checkpoint", str(home / "checkpoint"), "--available-now", "--metrics", str(metrics)]
    command = [sys.executable, "-m", "penstock", "run", str(home / "three.sql"), *told]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MachineError(f"penstock run ended with code {done.returncode}", detail=done.stderr.strip()[-400:])
    return [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]


def exact_results(size: SparkSize, keys: list[Keys]) -> tuple[int, ...]:
    """The results of all rows up to each batch."""
    counts = [np.zeros(size.keys, np.int64) for _ in NAMES]
    found = []
    for file in range(size.files):
        for number, column in enumerate(keys):
            counts[number] += np.bincount(column[file * size.rows :][: size.rows], minlength=size.keys)
        found.append(int(np.prod(counts, axis=0).sum()))
    return tuple(found)


def offline_prob(size: SparkSize, keys: list[Keys], memory: int) -> tuple[int, ...]:
    """The results of PROB up to each batch, with room for so many rows of all streams together."""
    counts = [np.bincount(column, minlength=size.keys).tolist() for column in keys]
    stored = [Counter[int]() for _ in NAMES]
    heap: list[tuple[int, int, int, int]] = []
    found, results = 0, []
    for step, row in enumerate(zip(*(column.tolist() for column in keys), strict=True)):
        for number, key in enumerate(row):
            one, other = (place for place in range(len(NAMES)) if place != number)
            found += stored[one][key] * stored[other][key]
            stored[number][key] += 1
            heapq.heappush(heap, (counts[one][key] * counts[other][key], step, number, key))
            if len(heap) > memory:
                _, _, gone, lost = heapq.heappop(heap)
                stored[gone][lost] -= 1
        if (step + 1) % size.rows == 0:
            results.append(found)
    return tuple(results)
