"""Records of Kafka whose values are plain JSON: Spark hands their bytes over, and the packer reads them in columns.

Spark's reader makes an object of each value, a row of it and columns of the rows, and a text of the bytes before: most
of the time of a batch. Which values are plain, and why Spark gives the same rows of them, `plain_json` says; a record
without a value is a row of NULLs, as it is to Spark. Which records a batch has, and in which task, is Spark's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.model.names import fold
from penstock.model.stream import OF_RECORD, SOURCE_PARTS, Stream
from penstock.plan.plan import Plan
from penstock.spark.arrow_map import mapped
from penstock.spark.as_read import goes_as_read, may_begin_again, schema_read
from penstock.spark.json_files import plain_columns
from penstock.spark.kafka import only_topic
from penstock.spark.pack import PACKED, Packer, Place, portions
from penstock.spark.plain_json import NotPlain, PlainColumns, read_plain
from penstock.spark.readers import reader_of
from penstock.spark.record_values import are_plain_json
from penstock.spark.types import spark_type
from penstock.spark.who_reads import JSON, Setting, is_ours
from penstock.spark.worker import settle

_VALUE, _TOPIC, _PARTITION = "__ps_value", "__ps_topic", "__ps_partition"


def columns_of_records(plan: Plan, stream: Stream, conf: Setting) -> PlainColumns | None:
    """The columns that the packer reads of the values of a stream of Kafka; None where Spark reads them."""
    if not stream.is_kafka or not is_ours(JSON, conf) or not goes_as_read(plan, stream) or not may_begin_again(plan):
        return None
    assert stream.storage is not None
    if not are_plain_json(stream.storage):
        return None
    return plain_columns(stream, frozenset(name for name in _plain(stream) if fold(name) not in OF_RECORD), conf)


def packed_records(spark: SparkSession, stream: Stream, packer: Packer, columns: PlainColumns) -> DataFrame:
    """The stream, packed from the records of its topics."""
    assert stream.storage is not None
    records = reader_of(spark.readStream, stream).load()
    schema = schema_read(packer.plan, stream.name)
    own = [
        F.col(OF_RECORD[fold(c.name)]).cast(spark_type(str(c.type))).alias(c.name)
        for c in stream.carried
        if c.derived is None and fold(c.name) in OF_RECORD and c.name in schema.names
    ]
    topic = only_topic(stream.storage)
    named = [F.col("topic").alias(_TOPIC)] if topic is None else []
    given = [F.col("value").alias(_VALUE), *named, F.col("partition").alias(_PARTITION), *own]
    return mapped(records.select(*given), RecordPacker(packer, schema, columns, topic), PACKED)


def _plain(stream: Stream) -> list[str]:
    return [c.name for c in stream.carried if c.derived is None]


@dataclass(frozen=True)
class RecordPacker:
    """Packs records given by value, topic and partition; `schema` is what the plan reads of them, as Arrow has it.

    Where they are all of one topic, records do not carry it: the JVM pays for each column of each.
    """

    packer: Packer
    schema: Any
    columns: PlainColumns
    topic: str | None
    """The only one; None where there may be several, and parts are called by theirs too."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For mapInArrow."""
        settle("pack")
        yield from self.packer.packed(self._pieces(batches))

    def _pieces(self, batches: Iterable[Any]) -> Iterator[tuple[Place, Any]]:
        """What came of one partition after the other, in the order of its offsets."""
        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        tables = (table for portion in portions(batches) for table in _by_partition(portion))
        for number, table in enumerate(tables):
            partition = table.column(_PARTITION)[0].as_py()
            place = f"{self.topic or table.column(_TOPIC)[0].as_py()}-{partition}"
            rows = self._rows(table, place, place if self.topic is None else str(partition))
            yield (0, place if self.packer.ordered else "", 0, task, number), rows

    def _rows(self, table: Any, place: str, part: str) -> Any:
        try:
            read = values_read(table.column(_VALUE), self.columns)
        except NotPlain as error:
            raise error.met_in(self.packer.stream, f"partition {place}") from error
        found = []
        for field in self.schema:
            if field.name == SOURCE_PARTS:
                found.append(pa.repeat(part, table.num_rows))
            else:
                found.append((read if field.name in read.column_names else table).column(field.name))
        return pa.table(found, schema=self.schema)


def _by_partition(table: Any) -> Iterator[Any]:
    """The rows of one partition after the other, as they stand."""
    told = [table.column(name).combine_chunks() for name in (_PARTITION, _TOPIC) if name in table.column_names]
    changes = reduce(pc.or_, (pc.not_equal(column[1:], column[:-1]) for column in told))
    starts = (np.flatnonzero(changes.to_numpy(zero_copy_only=False)) + 1).tolist()
    for start, stop in pairwise([0, *starts, table.num_rows]):
        yield table.slice(start, stop - start)


def values_read(values: Any, columns: PlainColumns) -> Any:
    """The rows of values, a chunked column of bytes; raises NotPlain."""
    whole = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], pa.binary())
    whole = whole.fill_null(b"{}")
    together = pa.LargeListArray.from_arrays(pa.array([0, len(whole)], pa.int64()), whole)
    lines = pc.binary_join(together, b"\n")[0].as_py()
    rows = read_plain(lines, columns)
    if rows.num_rows != len(whole):
        raise NotPlain("a value has several lines")
    return rows
