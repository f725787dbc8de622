"""One process dies, and the others live: a Python worker, the JVM, the driver; or another run wants the checkpoint.

What is left ends by itself with one clear error, or goes on; started again, the same command gives the exact answer.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from tests.spark.conftest import Bench, Ran
from tests.spark.killed_queries import GROUPED, START, STREAMS, grouped, write_files
from tests.spark.oracle import bag, joined
from tests.spark.processes import members

SCRIPT = STREAMS + GROUPED
FILES = 8


def offsets(bench: Bench) -> int:
    folders = (bench.folder / "checkpoint").glob("*/spark/offsets")
    return sum(1 for folder in folders for path in folder.iterdir() if path.name.isdigit())


def begun(bench: Bench, process: subprocess.Popen[str]) -> None:
    """Wait until batches are under way."""
    deadline = time.monotonic() + 120
    while process.poll() is None and offsets(bench) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.poll() is None, process.communicate()[1]


def again(bench: Bench) -> None:
    """Start it once more: the answer is whole."""
    ran = bench.finish(bench.start(SCRIPT, unbounded=False))
    assert ran.code == 0, ran.err
    assert bench.sink("counts") == grouped(bench, START + timedelta(seconds=FILES - 2))


@pytest.mark.thorough
@pytest.mark.parametrize("victim", ["worker", "jvm", "driver", "terminated"])
def test_one_process_dies(outside: Bench, victim: str) -> None:
    write_files(outside, FILES)
    process = outside.start(SCRIPT, unbounded=False, now=False)
    begun(outside, process)
    ran: Ran | None = None
    match victim:
        case "worker":
            for pid in members(process.pid, "penstock.spark.daemon")[:1]:
                os.kill(pid, signal.SIGKILL)
            time.sleep(5)
            process.send_signal(signal.SIGINT)
            ran = outside.finish(process, timeout=120)
            assert ran.code in (1, 130), ran.err
        case "jvm":
            os.kill(members(process.pid, "java")[-1], signal.SIGKILL)
            ran = outside.finish(process, timeout=120)
            assert ran.code == 1, ran.err
            assert "error: " in ran.err
        case "driver":
            others = members(process.pid, "")
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            deadline = time.monotonic() + 60
            while any(Path(f"/proc/{pid}/stat").exists() for pid in others) and time.monotonic() < deadline:
                time.sleep(0.5)
        case _:
            process.send_signal(signal.SIGTERM)
            ran = outside.finish(process, timeout=120)
            assert ran.code in (130, 143), ran.err
    if ran is not None:
        assert "Traceback" not in ran.err
        assert "py4j" not in ran.err.lower()
    again(outside)


@pytest.mark.thorough
def test_two_runs_at_once_on_one_checkpoint(outside: Bench) -> None:
    write_files(outside, FILES)
    first = outside.start(SCRIPT, unbounded=False, now=False)
    begun(outside, first)
    second = outside.finish(outside.start(SCRIPT, unbounded=False), timeout=120)
    assert second.code in (1, 2)
    assert "checkpoint" in second.err
    assert "Traceback" not in second.err
    assert first.poll() is None
    first.send_signal(signal.SIGINT)
    assert outside.finish(first, timeout=120).code == 130
    again(outside)


@pytest.mark.thorough
def test_tasks_that_are_killed_are_done_again(bench: Bench, spark: SparkSession) -> None:
    """Of a query that runs, tasks of either stage are killed as they come: Spark does them again, nothing twice."""
    rows = {name: [{"k": n % 50, "n": n} for n in range(1_000)] for name in "st"}
    reader = spark.readStream.schema("k BIGINT, n BIGINT").option("maxFilesPerTrigger", 1)
    inputs = {}
    for name, given in rows.items():
        for start in range(0, len(given), 100):
            bench.write(name, given[start : start + 100], pa.schema([("k", pa.int64()), ("n", pa.int64())]))
        inputs[name] = reader.parquet(str(bench.folder / "data" / name))
    script = "CREATE STREAM s (k BIGINT, n BIGINT); CREATE STREAM t (k BIGINT, n BIGINT);"
    script += "SELECT s.k, s.n, t.n AS m FROM s, t WHERE s.k = t.k;"
    answer = penstock.stream(spark, penstock.parse(script), inputs=inputs, allow_unbounded=True)
    scheduler = spark.sparkContext._jsc.sc()
    killed, is_over = [], threading.Event()

    def kill() -> None:
        store = scheduler.statusStore()
        while not is_over.wait(0.4):
            stages = store.activeStages()
            for place in range(stages.size()):
                stage = stages.apply(place)
                tasks = store.taskList(stage.stageId(), stage.attemptId(), 8)
                for number in range(tasks.size()):
                    task = tasks.apply(number)
                    if task.status() == "RUNNING" and scheduler.killTaskAttempt(task.taskId(), True, "a test"):
                        killed.append(task.taskId())

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        writer = answer.writeStream.format("memory").queryName("killed_tasks").trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(bench.folder / "killed")).start()
        query.awaitTermination()
    finally:
        is_over.set()
        killer.join()
    assert len(killed) > 3
    due = joined([rows["s"], rows["t"]], lambda s, t: s["k"] == t["k"], lambda s, t: (s["k"], s["n"], t["n"]))
    assert bag(spark.table("killed_tasks").collect()) == due
