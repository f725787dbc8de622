"""Rows that a QUARANTINE keeps out of a query, written beside it.

A cell writes them itself, as a parquet file named after the batch and the cell, before the batch commits: a batch
that is replayed gives the same rows and so writes the same file again, and nothing is written twice. Rows for a sink
(QUARANTINE INTO) go to a folder of their sink and stream, from where they are handed on; the others
stay in a folder of their constraint.

**INTO sink**: each exactly once. The files never change. A second streaming query reads those files and
writes the sink, with a checkpoint of its own: Spark's file source knows which files it has read, and the sink is as
exact as Spark makes it. A row has the columns of its stream. Where rows of several streams go into one sink, a row has
the columns of all of them, NULL where its own stream has none. Of a malformed row (ON MALFORMED QUARANTINE) its file
and its text are kept, as the columns `source_file` and `record`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import DataError, UsageError
from penstock.model.block_tree import blocks_below
from penstock.model.names import quoted
from penstock.model.query import Query
from penstock.model.script import Script
from penstock.model.stream import Sink, Stream
from penstock.plan.plan import Plan
from penstock.runtime import Quarantined
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.file_order import escaped
from penstock.spark.hadoop_path import AnyPath
from penstock.spark.malformed import QUARANTINED, answer_to, quarantines
from penstock.spark.option_values import option_values
from penstock.spark.types import carried_type, restored
from penstock.spark.worker_files import WorkerFolder


def folder_of(constraint: str) -> str:
    """A folder's name for a constraint, a sink or a stream: readable, and different for each."""
    words = re.sub(r"[^A-Za-z0-9]+", "-", constraint).strip("-").lower()[:60]
    return f"{words}-{hashlib.sha256(constraint.encode()).hexdigest()[:8]}"


def waiting_for(sink: str, stream: str) -> str:
    """Where, in the quarantine, the rows of a stream lie that wait for a sink."""
    return f"into/{folder_of(sink)}/{folder_of(stream)}"


def write_quarantined(place: WorkerFolder | None, found: Sequence[Quarantined], name: str) -> None:
    """Write what one step of one cell kept out."""
    if place is None:
        raise DataError(
            f"a row breaks {found[0].constraint}, and there is no place for quarantined rows",
            hint="run with --checkpoint DIR; they are written to DIR/<query>/quarantine",
        )
    files = {}
    for number, kept_out in enumerate(found):
        if kept_out.into is None:
            folder = folder_of(kept_out.constraint)
        else:
            folder = waiting_for(kept_out.into, kept_out.stream)
        files[f"{folder}/{name}-{number}.parquet"] = kept_out.rows
    place.write(files)


def write_malformed(
    place: WorkerFolder | None, into: Mapping[str, str | None], found: Mapping[str, Any], name: str
) -> None:
    """Write the malformed rows that one cell was given of some streams: their files and their text."""
    if place is None:
        raise DataError(
            f"a row of stream {next(iter(found))} does not read as declared, and there is no place for it",
            hint="run with --checkpoint DIR; it is written to DIR/<query>/quarantine",
        )
    files = {}
    for stream, rows in found.items():
        sink = into.get(stream)
        about = malformed_of(stream)
        files[f"{folder_of(about) if sink is None else waiting_for(sink, about)}/{name}.parquet"] = rows
    place.write(files)


def malformed_of(stream: str) -> str:
    """What the folder of a stream's malformed rows is named after."""
    return f"malformed {stream}"


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

    def start(self, spark: SparkSession, *, available_now: bool) -> StreamingQuery:
        """Write what is there, or go on writing."""
        frames = [self._read(spark, stream) for stream in self.streams]
        frames += [self._read_malformed(spark, stream) for stream in self.malformed]
        frame = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
        writer = frame.writeStream.queryName(f"{self.query}: quarantine into {self.sink.name}").outputMode("append")
        writer = writer.format(self.sink.storage.format).options(**dict(option_values(self.sink.storage)))
        writer = writer.option("checkpointLocation", str(self.spark))
        writer = writer.trigger(availableNow=True) if available_now else writer.trigger(processingTime=_EVERY)
        return writer.start()

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
