"""The cases on Spark, as a user runs them: `penstock run` over files, the first batch left out."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow.parquet as pq
from benchmarks.aggregate.core import Run
from benchmarks.aggregate.data import Case, expected, generated
from benchmarks.packets.runs import CORES, run_python

_SOURCE = " USING parquet OPTIONS (path '{home}/{name}', maxFilesPerTrigger '1')"
_SINK = "CREATE SINK out USING console OPTIONS (numRows '5');\nINSERT INTO out "
_FIRST_FILE = 1_700_000_000


def measure_on_spark(case: Case, batches: int, home: Path) -> Run:
    """One run; its answer is what the console was shown."""
    tables = generated(case)
    size = -(-case.rows // batches)
    for name, table in tables.items():
        (home / name).mkdir(parents=True)
        for number in range(batches):
            path = home / name / f"{number:04d}.parquet"
            pq.write_table(table.slice(number * size, size), path)
            os.utime(path, (_FIRST_FILE + number, _FIRST_FILE + number))
    script = home / "aggregate.sql"
    script.write_text(case.script(_SOURCE.replace("{home}", str(home)), _SINK), encoding="utf-8")
    command = ["-m", "penstock", "run", str(script), "--available-now", "--metrics", str(home / "metrics.jsonl")]
    command += ["--checkpoint", str(home / "checkpoint"), "--conf", f"spark.master=local[{CORES}]"]
    run_python(command, home)
    out = (home / "log").read_text(encoding="utf-8")
    lines = (home / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    read = list({line["batch"]: line for line in map(json.loads, lines)}.values())
    results, total = expected(case, tables)
    seconds = sum(line["seconds"] for line in read[1:])
    rows = sum(sum(line["rows_in"].values()) for line in read[1:])
    stored = max(sum(line["state_rows"].values()) for line in read)
    right = str(results) in out and str(total) in out
    return Run(case.query, case.fanout, rows, results, seconds, stored, right)
