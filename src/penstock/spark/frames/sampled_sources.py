"""A bounded sample of what a job reads, in place of its sources.

The plan of a job is cut at its sources, below everything that it does with their rows. The first rows of each are taken
once, by a query that reads the source as the job would, and written as files, one a batch; the job's plan is then put
together again over these files, as a stream or at rest, with the expression ids that it knows. So whatever runs that
plan has the same rows, in the same batches, however often it asks.

The rows of each source are cut into as many batches as of every other, in proportion. Files are taken in the order of
arrival; of Kafka the earliest records that there are, unless the job says where it starts.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.errors import UsageError
from penstock.model.names import quoted
from penstock.spark.frames.catalyst import Catalyst, Node, children, kind, output
from penstock.spark.frames.source_names import name_of, options_of
from penstock.spark.sinks import FILES

_FILES_A_BATCH = 20
_PLACE = ("__ps_time", "__ps_path", "__ps_block", "__ps_row")
"""Columns that tell where a row of a file stands."""
_FIRST_FILE = 1_700_000_000


@dataclass
class SampledSource:
    """The first rows of a source, as files."""

    node: Node
    folder: Path
    rows: tuple[int, ...]
    """How many each file holds."""


@dataclass
class SampledSources:
    """The sources of a plan, each sampled once."""

    catalyst: Catalyst
    home: Path
    rows: int
    """At most so many of each source."""
    batches: int
    sources: list[SampledSource] = field(default_factory=list)
    _streams: list[tuple[Node, Node]] = field(default_factory=list)
    """The nodes of a plan, and the streams that stand in their places: an equal node is the same stream."""

    def streaming(self, plan: Node) -> Node:
        """The plan over the sample, as a stream of so many batches."""
        return self._over(plan, self._stream)

    def at_rest(self, plan: Node) -> Node:
        """The plan over the sample as a batch."""
        return self._over(plan, self._batch)

    @property
    def rows_of_batches(self) -> tuple[int, ...]:
        """The rows of all sources in each batch."""
        return tuple(sum(source.rows[place] for source in self.sources) for place in range(self.batches))

    def _over(self, plan: Node, made: Callable[[Node], DataFrame]) -> Node:
        below = children(plan)
        if not below and plan.isStreaming():
            return self._named_as(plan, made(plan))
        if not any(child.isStreaming() for child in below):
            return plan
        return plan.withNewChildren(self.catalyst.seq(self._over(child, made) for child in below))

    def _named_as(self, node: Node, frame: DataFrame) -> Node:
        plan = frame._jdf.queryExecution().analyzed()
        columns = [
            self.catalyst.alias(given, str(known.name()), known)
            for given, known in zip(output(plan), output(node), strict=True)
        ]
        return self.catalyst.project(columns, plan)

    def _stream(self, node: Node) -> DataFrame:
        for known, plan in self._streams:
            if known.equals(node):
                return self.catalyst.frame(plan)
        frame = self._read(self.catalyst.session.readStream.option("maxFilesPerTrigger", 1), node)
        self._streams.append((node, frame._jdf.queryExecution().analyzed()))
        return frame

    def _batch(self, node: Node) -> DataFrame:
        return self._read(self.catalyst.session.read, node)

    def _read(self, reader: Any, node: Node) -> DataFrame:
        schema = _by_place(self.catalyst.frame(node)).schema
        frame: DataFrame = reader.schema(schema).parquet(str(self._sampled(node).folder))
        return frame

    def _sampled(self, node: Node) -> SampledSource:
        for source in self.sources:
            if source.node.sameResult(node):
                return source
        folder = self.home / f"source_{len(self.sources)}"
        table = _first_rows(self.catalyst, node, self.rows, self.home / f"taken_{len(self.sources)}")
        if not table.num_rows:
            raise UsageError(
                f"the source {name_of(node)} gives no rows now, so there is nothing to compare",
                hint="ask again when it has some",
            )
        self.sources.append(SampledSource(node, folder, _written(table, folder, self.batches)))
        return self.sources[-1]


def _written(table: pa.Table, folder: Path, batches: int) -> tuple[int, ...]:
    folder.mkdir(parents=True)
    ends = [round(table.num_rows * part / batches) for part in range(batches + 1)]
    for number, (start, end) in enumerate(itertools.pairwise(ends)):
        path = folder / f"{number:06d}.parquet"
        pq.write_table(table.slice(start, end - start), path, coerce_timestamps="us")
        os.utime(path, (_FIRST_FILE + number, _FIRST_FILE + number))
    return tuple(end - start for start, end in itertools.pairwise(ends))


def _first_rows(catalyst: Catalyst, node: Node, rows: int, home: Path) -> pa.Table:
    """The first rows of a source, in the order in which it gives them."""
    frame, places = _as_read(catalyst, node, rows)
    return taken_rows(frame, places, rows, home)


def written_leaf(frame: DataFrame, folder: Path, rows: int, batches: int) -> None:
    """What a DataFrame over a sample gives, as files."""
    _written(taken_rows(frame, (), rows, folder.with_name(f"{folder.name}_taken")), folder, batches)


def taken_rows(frame: DataFrame, places: Sequence[str], rows: int, home: Path) -> pa.Table:
    """So many rows of a stream, those of a batch in the order of some columns, which are left out."""
    taken: list[pa.Table] = []

    def left() -> int:
        return rows - sum(int(table.num_rows) for table in taken)

    def take(batch: DataFrame, _: int) -> None:
        if left() > 0:
            shown = batch.orderBy(*places).drop(*places) if places else batch
            taken.append(shown.limit(left()).toArrow())

    writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(home))
    query = writer.trigger(availableNow=True).start()
    try:
        while not query.awaitTermination(1) and left() > 0:
            pass
    finally:
        query.stop()
    return pa.concat_tables(taken) if taken else frame.sparkSession.createDataFrame([], frame.schema).toArrow()


def _as_read(catalyst: Catalyst, node: Node, rows: int) -> tuple[DataFrame, Sequence[str]]:
    """The source as a stream from its beginning, its columns by place, and columns that tell the order of its rows."""
    options, session, own = options_of(node), catalyst.session, catalyst.frame(node)
    if kind(node) == "StreamingRelation" and str(node.sourceName()).lower() in FILES:
        given = {"maxfilespertrigger": str(_FILES_A_BATCH), "maxfileage": "36500d"} | options
        read = session.readStream.format(str(node.sourceName())).options(**given).schema(own.schema).load()
        place = (
            F.unix_micros("_metadata.file_modification_time"),
            F.col("_metadata.file_path"),
            F.col("_metadata.file_block_start"),
            F.monotonically_increasing_id(),
        )
        named = [column.alias(name) for column, name in zip(place, _PLACE, strict=True)]
        columns = [F.col(quoted(name)).alias(f"column_{place}") for place, name in enumerate(own.columns)]
        return read.select(*columns, *named), _PLACE
    if kind(node) == "StreamingRelationV2" and str(node.sourceName()).lower() == "kafka":
        given = {"startingoffsets": "earliest", "maxoffsetspertrigger": str(rows)} | options
        return _by_place(session.readStream.format("kafka").options(**given).load()), ()
    return _by_place(own), ()


def _by_place(frame: DataFrame) -> DataFrame:
    """The frame with columns named by their places: a source may have two of one name."""
    return frame.toDF(*(f"column_{place}" for place in range(len(frame.columns))))
