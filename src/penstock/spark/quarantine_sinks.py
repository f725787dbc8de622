"""QUARANTINE INTO a sink: rows that were kept out of a query go there, each exactly once.

The files that cells write (`quarantine.py`) never change. A second streaming query reads them and writes the sink, with
a checkpoint of its own: Spark's file source knows which files it has read, and the sink is as exact as Spark makes it.
A row has the columns of its stream. Where rows of several streams go into one sink, a row has the columns of all of
them, NULL where its own stream has none. Of a malformed row (ON MALFORMED QUARANTINE) its file and its text are kept,
as the columns `source_file` and `record`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.errors import UsageError
from penstock.model.block_tree import blocks_below
from penstock.model.names import quoted
from penstock.model.query import Query
from penstock.model.script import Script
from penstock.model.stream import Sink, Stream
from penstock.plan.plan import Plan
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.connectors import require_connector
from penstock.spark.file_order import escaped
from penstock.spark.hadoop_path import AnyPath
from penstock.spark.malformed import QUARANTINED, answer_to, quarantines
from penstock.spark.quarantine import folder_of, malformed_of, waiting_for
from penstock.spark.types import carried_type, restored
from penstock.spark.writers import plain_writer

_EVERY = "5 seconds"


@dataclass(frozen=True)
class Drain:
    """From the quarantine of one query to one sink."""

    query: str
    sink: Sink
    streams: tuple[Stream, ...]
    """Whose rows break a promise; a view is one, with its columns."""
    malformed: tuple[str, ...]
    """Whose rows do not read as declared."""
    root: AnyPath
    """The quarantine."""
    folder: AnyPath
    """Its own checkpoint."""

    @property
    def spark(self) -> AnyPath:
        """Where Spark keeps its offsets."""
        return self.folder

    @property
    def is_new(self) -> bool:
        """Whether it has not started yet."""
        return not self.folder.exists()

    def require(self, spark: SparkSession) -> None:
        """Raise where its sink cannot take its rows, before anything starts."""
        require_connector(spark, f"sink {self.sink.name}", self.sink.storage.format)
        self._writer(spark)

    def start(self, spark: SparkSession, *, available_now: bool) -> StreamingQuery:
        """Write what is there, or go on writing."""
        writer = self._writer(spark).queryName(f"{self.query}: quarantine into {self.sink.name}").outputMode("append")
        writer = writer.option("checkpointLocation", str(self.spark))
        writer = writer.trigger(availableNow=True) if available_now else writer.trigger(processingTime=_EVERY)
        return writer.start()

    def _writer(self, spark: SparkSession) -> DataStreamWriter:
        frames = [self._read(spark, stream) for stream in self.streams]
        frames += [self._read_malformed(spark, stream) for stream in self.malformed]
        frame = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
        return plain_writer(frame, self.sink)

    def _read(self, spark: SparkSession, stream: Stream) -> DataFrame:
        folder = self.root / waiting_for(self.sink.name, stream.name)
        folder.mkdir(parents=True, exist_ok=True)
        schema = ", ".join(f"{quoted(c.name)} {carried_type(str(c.type))}" for c in stream.carried)
        rows = spark.readStream.schema(schema).parquet(escaped(str(folder)))
        return rows.selectExpr(*(restored(c.name, str(c.type)) for c in stream.carried))

    def _read_malformed(self, spark: SparkSession, name: str) -> DataFrame:
        folder = self.root / waiting_for(self.sink.name, malformed_of(name))
        folder.mkdir(parents=True, exist_ok=True)
        return spark.readStream.schema(QUARANTINED).parquet(escaped(str(folder)))


def into_of(script: Script, plan: Plan) -> list[Sink]:
    """The sinks that the QUARANTINE INTO clauses of a query name."""
    names = dict.fromkeys(p.into for block in plan.all_blocks for p in block.promises if p.into is not None)
    names |= dict.fromkeys(_malformed_into(script, plan).values())
    return [sink for name in names if (sink := script.sink(name)) is not None]


def _malformed_into(script: Script, plan: Plan) -> dict[str, str]:
    """The sinks for malformed rows, by stream."""
    streams = filter(None, map(script.stream, plan.read_streams))
    return {s.name: into for s in streams if quarantines(s) and (into := answer_to(s).into) is not None}


def drains_of(script: Script, query: Query, plan: Plan, checkpoint: Checkpoint | None) -> tuple[Drain, ...]:
    """What a query needs for its QUARANTINE INTO clauses."""
    known = {stream.name: stream for stream in script.streams}
    known |= {source.stream.name: source.stream for source in blocks_below(query)}
    streams: dict[str, dict[str, None]] = {}
    for block in plan.all_blocks:
        for promise in block.promises:
            for alias in (promise.alias, promise.partner):
                if promise.into is not None and alias is not None:
                    streams.setdefault(promise.into, {})[block.by_alias[alias].stream] = None
    malformed = _malformed_into(script, plan)
    for into in malformed.values():
        streams.setdefault(into, {})
    found = []
    for name, read in streams.items():
        sink = script.sink(name)
        assert sink is not None
        if checkpoint is None:
            raise UsageError(f"QUARANTINE INTO {sink.name} needs a checkpoint", hint="add --checkpoint DIR")
        folder = checkpoint.folder / "quarantine_sinks" / folder_of(sink.name)
        bad = tuple(stream for stream, into in malformed.items() if into == name)
        own = tuple(known[stream] for stream in read)
        found.append(Drain(plan.query, sink, own, bad, checkpoint.quarantine, folder))
    return tuple(found)
