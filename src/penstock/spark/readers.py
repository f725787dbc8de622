"""Spark's readers, of streams and of batches, told what the storage of a stream or a table says, and no less.

Left to themselves they give NULL for a value that does not read as its type, and take the columns of a CSV file by
their places whatever its header says.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pyspark.sql import DataFrameReader
from pyspark.sql.streaming.readwriter import DataStreamReader

from penstock.errors import DataError, PenstockError, UsageError
from penstock.model.names import quoted
from penstock.model.stream import Stream
from penstock.spark.failures import what_it_says
from penstock.spark.file_order import options_for_spark
from penstock.spark.kafka import has_headers, reading_kafka
from penstock.spark.malformed import is_text, reading_columns, reading_options
from penstock.spark.option_values import option_values
from penstock.spark.sinks import FILES
from penstock.spark.types import arrow_schema, carried_type, spark_type

Reader = TypeVar("Reader", DataFrameReader, DataStreamReader)


def reader_of(reader: Reader, stream: Stream) -> Reader:
    """A reader of streams or of batches, told what the stream's storage says."""
    assert stream.storage is not None
    options = dict(option_values(stream.storage))
    if stream.storage.format.lower() in FILES:
        options = options_for_spark(stream.storage)
    elif stream.is_kafka:
        options = reading_kafka(stream.storage, with_headers=has_headers(stream))
    reader = reader.format(stream.storage.format).options(**options)
    if stream.storage.format.lower() == "csv":
        # By their names, if the file tells them, and not by their places.
        reader = reader.option("enforceSchema", dict(option_values(stream.storage)).get("enforceSchema", "false"))
    if stream.storage.format.lower() in FILES:
        columns = declared_columns(stream)
        if is_text(stream):
            columns = ", ".join([columns, *reading_columns(stream)])
            reader = reader.options(**reading_options(stream))
        reader = reader.schema(columns)
    return reader


def declared_columns(stream: Stream) -> str:
    """The columns that its data must have, as Spark writes a schema."""
    return ", ".join(f"{quoted(c.name)} {spark_type(str(c.type))}" for c in stream.carried if c.derived is None)


def declared_in_files(stream: Stream) -> Any:
    """The same as Arrow finds it in files: months, which Arrow lacks, are whole numbers there."""
    plain = [c for c in stream.carried if c.derived is None]
    return arrow_schema(", ".join(f"{quoted(c.name)} {carried_type(str(c.type))}" for c in plain))


def read_error(stream: Stream, error: Exception) -> PenstockError:
    """What to say where Spark cannot read a stream; that there is no such path is bad input."""
    kind = UsageError if "[PATH_NOT_FOUND]" in str(error) else DataError
    return kind(f"cannot read stream {stream.name}", detail=what_it_says(error), hint="see its USING and OPTIONS")
