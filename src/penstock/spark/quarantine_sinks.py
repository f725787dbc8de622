"""QUARANTINE INTO sink: quarantined rows handed on to their sink, each exactly once.

The cells have written them as files that never change (`quarantine.py`). A second streaming query reads those files and
writes the sink, with a checkpoint of its own: Spark's file source knows which files it has read, and the sink is as
exact as Spark makes it. A row has the columns of its stream. Where rows of several streams go into one sink, a row has
the columns of all of them, NULL where its own stream has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import UsageError
from penstock.model.names import quoted
from penstock.model.script import Script
from penstock.model.stream import Sink
from penstock.plan.plan import Plan
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.quarantine import folder_of, waiting_for
from penstock.spark.types import carried_type, restored

_EVERY = "5 seconds"


@dataclass(frozen=True)
class Drain:
    """From the quarantine of one query to one sink."""

    query: str
    sink: Sink
    streams: tuple[str, ...]
    root: str
    folder: Path
    """Its own checkpoint."""

    @property
    def spark(self) -> str:
        """Where Spark keeps its offsets."""
        return str(self.folder)

    @property
    def is_new(self) -> bool:
        """Whether it has not started yet."""
        return not self.folder.exists()

    def start(self, spark: SparkSession, script: Script, *, available_now: bool) -> StreamingQuery:
        """Write what is there, or go on writing."""
        frames = [self._read(spark, script, stream) for stream in self.streams]
        frame = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
        writer = frame.writeStream.queryName(f"{self.query}: quarantine into {self.sink.name}").outputMode("append")
        writer = writer.format(self.sink.storage.format).options(**dict(self.sink.storage.options))
        writer = writer.option("checkpointLocation", self.spark)
        writer = writer.trigger(availableNow=True) if available_now else writer.trigger(processingTime=_EVERY)
        return writer.start()

    def _read(self, spark: SparkSession, script: Script, name: str) -> DataFrame:
        stream = script.stream(name)
        assert stream is not None
        folder = waiting_for(self.root, self.sink.name, name)
        folder.mkdir(parents=True, exist_ok=True)
        schema = ", ".join(f"{quoted(c.name)} {carried_type(str(c.type))}" for c in stream.carried)
        rows = spark.readStream.schema(schema).parquet(str(folder))
        return rows.selectExpr(*(restored(c.name, str(c.type)) for c in stream.carried))


def into_of(script: Script, plan: Plan) -> list[Sink]:
    """The sinks that the QUARANTINE INTO clauses of a query name."""
    names = dict.fromkeys(p.into for p in plan.promises if p.into is not None)
    return [sink for name in names if (sink := script.sink(name)) is not None]


def drains_of(script: Script, plan: Plan, checkpoint: Checkpoint | None) -> tuple[Drain, ...]:
    """What a query needs for its QUARANTINE INTO clauses."""
    streams: dict[str, dict[str, None]] = {}
    for promise in plan.promises:
        if promise.into is not None:
            for alias in (promise.alias, promise.partner):
                if alias is not None:
                    streams.setdefault(promise.into, {})[plan.by_alias[alias].stream] = None
    found = []
    for name, read in streams.items():
        sink = script.sink(name)
        assert sink is not None
        if checkpoint is None:
            raise UsageError(f"QUARANTINE INTO {sink.name} needs a checkpoint", hint="add --checkpoint DIR")
        folder = checkpoint.folder / "quarantine_sinks" / folder_of(sink.name)
        found.append(Drain(plan.query, sink, tuple(read), checkpoint.quarantine, folder))
    return tuple(found)
