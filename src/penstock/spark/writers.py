"""What writes the answer of a query: Spark's own writers, told what its sink says, or the workers (`parquet_sink`)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.errors import UsageError
from penstock.model.names import fold
from penstock.model.query import Query
from penstock.model.stream import KAFKA, Sink
from penstock.spark.kafka import records_of_rows, writing_kafka
from penstock.spark.option_values import option_values
from penstock.spark.parquet_sink import entering, files_of, writes_columns
from penstock.spark.stream import Assembled
from penstock.spark.upserts import upserting

_FOLDERS = "partitionby"
"""The option of a sink that names columns for its folders; Spark takes it by a call."""


def writer_of(assembled: Assembled, sink: Sink | None, query: Query) -> DataStreamWriter:
    """What writes the answer of a query, as its sink says; to the console if there is none."""
    answer, packed = assembled.answer, assembled.packed
    if sink is None:
        return answer.writeStream.format("console").option("truncate", "false")
    if sink.key:
        return answer.writeStream.foreachBatch(upserting(answer, sink, query))
    if packed is not None and writes_packed(assembled, sink):
        files = files_of(answer, packed, sink, assembled.run)
        return files.writeStream.foreachBatch(entering(answer, sink, assembled.run))
    return plain_writer(answer, sink)


def plain_writer(rows: DataFrame, sink: Sink) -> DataStreamWriter:
    """Spark's own writer of rows into a sink, told what the sink says."""
    if sink.storage.format.lower() == KAFKA:
        return records_of_rows(rows, sink).writeStream.format(KAFKA).options(**writing_kafka(sink.storage))
    given = dict(option_values(sink.storage))
    asked = [name for name in given if name.lower() == _FOLDERS]
    columns = [column.strip() for name in asked for column in given.pop(name).split(",")]
    known = {fold(name): name for name in rows.columns}
    for column in columns:
        if fold(column) not in known:
            raise UsageError(
                f"sink {sink.name}: partitionBy names {column}, which is no column of its rows",
                detail=f"there are: {', '.join(rows.columns)}",
            )
    writer = rows.writeStream.format(sink.storage.format).options(**given)
    return writer.partitionBy(*(known[fold(column)] for column in columns)) if columns else writer


def writes_packed(assembled: Assembled, sink: Sink) -> bool:
    """Whether the workers write an answer as they packed it, so that Spark sees none of its rows."""
    return not sink.key and writes_columns(assembled.answer, assembled.packed, sink)
