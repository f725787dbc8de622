"""Figure 4's k = 5,000 once more, by `penstock run` on Spark: the same answer and the same state as in the core."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.kmon.graphs import graph_a
from benchmarks.kmon.measures import Findings, Size
from benchmarks.kmon.runs import drive

from penstock.errors import MachineError
from penstock.spark.session import need_java

BATCHES = 10


def on_spark(size: Size, found: Findings, say: Callable[[str], None]) -> None:
    """Run it, and compare with the core over the same batches."""
    need_java()
    experiment = graph_a(size.of(70_000), size.of(5_000), size.window)
    rows_a_batch = -(-experiment.made.rows // BATCHES)
    core = drive(experiment, "RIDS", rows_a_batch)
    say("Figure 4 on Spark: RIDS, k = 5,000")
    home = Path(tempfile.mkdtemp(prefix="penstock-kmon-"))
    try:
        script = experiment.script("RIDS")
        for name, columns in experiment.made.columns.items():
            folder = home / name
            folder.mkdir()
            cuts = np.searchsorted(columns["seq"], np.arange(BATCHES + 1) * rows_a_batch)
            for number in range(BATCHES):
                part = {c: values[cuts[number] : cuts[number + 1]] for c, values in columns.items()}
                pq.write_table(pa.table(part), folder / f"{number:03d}.parquet")
            old = "".join(line for line in script.splitlines() if line.startswith(f"CREATE STREAM {name} "))
            told = f"{old.removesuffix(';')} USING parquet OPTIONS (path '{folder}', maxFilesPerTrigger '1');"
            script = script.replace(old, told)
        file = home / "script.sql"
        file.write_text(f"CREATE SINK out USING noop;\n{script.replace('SELECT', 'INSERT INTO out SELECT')}")
        metrics = home / "metrics.jsonl"
        command = [sys.executable, "-m", "penstock", "run", str(file), "--available-now", "--metrics", str(metrics)]
        done = subprocess.run([*command, "--conf", "penstock.cells=1"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise MachineError("the run on Spark failed", detail=done.stderr.strip().replace("\n", " | ")[-400:])
        batches = [json.loads(line) for line in metrics.read_text().splitlines()]
    finally:
        shutil.rmtree(home, ignore_errors=True)
    results = sum(b["rows_out"] for b in batches)
    kept = sum(batches[-1]["state_rows"].values()) + batches[-1]["promise_rows"]
    if results != sum(core.results):
        found.wrong.append("Figure 4 on Spark")
    seconds = sum(b["seconds"] for b in batches[1:]) / sum(sum(b["rows_in"].values()) for b in batches[1:])
    found.tables["On Spark, k = 5,000"] = [
        ["", "results", "keeps, end", "µs a row"],
        ["core, one cell", f"{sum(core.results):,}", f"{core.final:,}", f"{core.cost(core.seen[0]):.2f}"],
        ["penstock run, one cell", f"{results:,}", f"{kept:,}", f"{1e6 * seconds:.2f}"],
    ]
