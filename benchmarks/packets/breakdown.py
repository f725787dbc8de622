"""Where the time of a batch goes: the pipeline of the engine, cut short at each step, in one Spark session.

    python -m benchmarks.packets.breakdown DATA TINY HOME promises|windows...

read: the files decoded and every row thrown away. pack: the rows are also packed by cell. shuffle: the
packed rows also go to their cells. whole: also the operator and the sink, `run` itself. fixed: the whole over batches
of a few rows, from the folder TINY. A step's cost is the difference to the one before. Inside the operator, watches of
the cells (timed.py) tell loading, kernel and storing apart; the slower cell of a batch counts, since the other waits.
All figures are the median over batches, the first left out.
"""

from __future__ import annotations

import functools
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from benchmarks.packets.data import script
from benchmarks.packets.sizes import FILES_A_BATCH
from benchmarks.packets.timed import RowCounter, TimedCellProcessor
from pyspark.sql import DataFrame, SparkSession

from penstock import compile as way
from penstock.model.script import Script
from penstock.plan.plan import Plan
from penstock.spark import assembly as engine
from penstock.spark.as_read import schema_read
from penstock.spark.cells import KeyedGrid
from penstock.spark.jvm_options import jvm_options
from penstock.spark.local_files import file_names
from penstock.spark.pack import Packer
from penstock.spark.packed_streams import packed_stream
from penstock.spark.run import RunOptions, run_script
from penstock.spark.session import start_session
from penstock.spark.sources import depends_on_order

CELLS = 2
CONF = {"spark.master": f"local[{CELLS}]", "spark.sql.shuffle.partitions": str(CELLS)}


def main(data: Path, tiny: Path, home: Path, scripts: Sequence[str]) -> None:
    """Measure every step and write HOME/breakdown.json."""
    found = {name: _breakdown(data, tiny, home / name, name == "promises") for name in scripts}
    (home / "breakdown.json").write_text(json.dumps(found), encoding="utf-8")


def _breakdown(data: Path, tiny: Path, home: Path, promises: bool) -> dict[str, Any]:
    home.mkdir(parents=True)
    text = script(data, home / "out", FILES_A_BATCH, promises=promises)
    read = way.parse(text)
    query = read.queries[0]
    plan = way.runnable_plan(query, way.check(read), allow_unbounded=False)
    spark = start_session("where the time goes", {**CONF, **jvm_options({}, few_rows=True)})
    grid = KeyedGrid.over(plan, CELLS)
    packers = [Packer(plan, name, grid, depends_on_order(plan, name)) for name in plan.streams]
    streams = [(stream, packer) for packer in packers if (stream := read.stream(packer.stream)) is not None]
    parts = [packed_stream(spark, stream, packer, None, "where the time goes") for stream, packer in streams]
    packed = functools.reduce(DataFrame.unionAll, parts)
    frames = {"read": _read(spark, read, plan), "pack": packed, "shuffle": packed.repartition(CELLS, "cell")}
    seconds = {name: _to_nowhere(frame, home / f"checkpoint-{name}") for name, frame in frames.items()}
    seconds["whole"], cells = _whole(text, home / "whole")
    tiny_text = script(tiny, home / "tiny-out", FILES_A_BATCH, promises=promises)
    seconds["fixed"], _ = _whole(tiny_text, home / "fixed")
    return {"seconds": seconds, "cells": cells}


def _read(spark: SparkSession, read: Script, plan: Plan) -> DataFrame:
    """How many rows each file has, by decoding what the plan reads of it."""
    frames = []
    for name in plan.streams:
        stream = read.stream(name)
        assert stream is not None
        files = file_names(spark, stream, in_order=False)
        frames.append(files.mapInArrow(RowCounter(schema_read(plan, name)), "rows BIGINT"))
    return functools.reduce(DataFrame.unionAll, frames)


def _to_nowhere(frame: DataFrame, checkpoint: Path) -> float:
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    told = [json.loads(progress.json) for progress in query.recentProgress]
    return _typical([p["durationMs"]["triggerExecution"] / 1000 for p in told if p["numInputRows"]])


def _whole(text: str, home: Path) -> tuple[float, dict[str, float]]:
    """The seconds of a batch of `run`, and those of the parts of its operator."""
    home.mkdir()
    read = way.parse(text)
    plan = way.runnable_plan(read.queries[0], way.check(read), allow_unbounded=False)
    timed = functools.partial(TimedCellProcessor, str(home))
    with patch.object(engine, "CellProcessor", timed):
        options = RunOptions(checkpoint=str(home / "checkpoint"), available_now=True, conf=CONF)
        (running,) = run_script(read, [(read.queries[0], plan)], options)
    return _typical([line["seconds"] for line in running.batches if sum(line["rows_in"].values())]), _parts(home)


def _parts(home: Path) -> dict[str, float]:
    slowest: dict[int, dict[str, float]] = {}
    for file in home.glob("*.jsonl"):
        for batch, line in enumerate(file.read_text(encoding="utf-8").splitlines()):
            spent = json.loads(line)
            if batch not in slowest or sum(spent.values()) > sum(slowest[batch].values()):
                slowest[batch] = spent
    parts = defaultdict(list)
    for batch, spent in slowest.items():
        for name, seconds in spent.items():
            if batch:
                parts[name].append(seconds)
    return {name: median(seconds) for name, seconds in parts.items()}


def _typical(seconds: list[float]) -> float:
    return median(seconds[1:])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
