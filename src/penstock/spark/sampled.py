"""Rows of a script's own sources, read once and not as streams: the first ones, to try a plan on, or some of few files.

Files alone can be read beside the stream that reads them; what is kept elsewhere is refused, or not looked at.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.errors import DataError, UsageError
from penstock.model.names import quoted
from penstock.model.script import Script
from penstock.model.stream import Stream
from penstock.plan.plan import Plan
from penstock.runtime import Chunk
from penstock.spark.as_read import schema_read
from penstock.spark.failures import SPARK_ERRORS, what_it_says
from penstock.spark.file_order import escaped, listed_files
from penstock.spark.local_files import Decoder, decoder_of
from penstock.spark.option_values import option_values
from penstock.spark.pack import passes
from penstock.spark.plain_json import NotPlain
from penstock.spark.punctuations import take_out
from penstock.spark.sinks import FILES
from penstock.spark.sources import filters_of, with_declared_columns, with_filters
from penstock.spark.types import spark_type


def first_rows(spark: SparkSession, script: Script, plan: Plan, count: int) -> dict[str, Any]:
    """So many rows of each stream that the plan reads, in order of arrival, as the packer would be given them."""
    found: dict[str, Any] = {}
    for name in plan.streams:
        stream = script.stream(name)
        assert stream is not None
        if not is_in_files(stream):
            raise UsageError(
                f"stream {stream.name} is not kept in files, so there is nothing to look at",
                hint=f"a curve is drawn from data that can be read again: {', '.join(sorted(FILES))}",
            )
        try:
            found[name] = _as_packed(_first(_reader(spark, stream).load(), count), plan, stream).toArrow()
        except SPARK_ERRORS as error:
            raise DataError(f"cannot read stream {name}", detail=what_it_says(error)) from error
    return found


def is_in_files(stream: Stream) -> bool:
    """Whether the rows of a stream can be read beside it."""
    return stream.storage is not None and stream.storage.format.lower() in FILES


@dataclass(frozen=True)
class FilesThere:
    """The files of a stream by now, in order, and how many bytes they have together."""

    names: tuple[str, ...]
    bytes: int


def files_there(spark: SparkSession, stream: Stream) -> FilesThere:
    """Those of such a stream; a flat folder of this machine is looked into, of others Spark is asked."""
    if (listed := listed_files(stream)) is not None:
        return FilesThere(tuple(listed), sum(os.path.getsize(file.removeprefix("file:")) for file in listed))
    frame = _reader(spark, stream).load()
    # Spark writes what it names as parts of a URI, and reads it as a path.
    names = tuple(sorted(map(unquote, frame.inputFiles())))
    return FilesThere(names, int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


def rows_of(
    spark: SparkSession, plan: Plan, stream: Stream, files: Sequence[str], *, columns: Sequence[str], count: int
) -> Any:
    """These columns of at most so many rows of each of some files, as the packer would be given them."""
    decoder = decoder_of(plan, stream, lambda name: spark.conf.get(name, None))
    if decoder is not None:
        whole = schema_read(plan, stream.name)
        with suppress(NotPlain):  # Spark reads it.
            return _decoded(decoder, files, pa.schema([whole.field(name) for name in columns]), count)
    parts = [_reader(spark, stream, file).load().limit(count) for file in files]
    return _as_packed(reduce(DataFrame.unionAll, parts), plan, stream).select(*map(quoted, columns)).toArrow()


def _decoded(decoder: Decoder, files: Sequence[str], schema: Any, count: int) -> Any:
    pieces = [piece.slice(0, count) for file in files for piece in islice(decoder(file, schema), 1)]
    return pa.concat_tables(pieces) if pieces else schema.empty_table()


def _reader(spark: SparkSession, stream: Stream, path: str | None = None) -> DataFrameReader:
    """That of the files of a stream, or of one of them."""
    assert stream.storage is not None
    columns = ", ".join(f"{quoted(c.name)} {spark_type(str(c.type))}" for c in stream.carried if c.derived is None)
    options = dict(option_values(stream.storage))
    if path is not None:
        options = {name: value for name, value in options.items() if name.lower() != "path"} | {"path": escaped(path)}
    return spark.read.format(stream.storage.format).schema(columns).options(**options)


def _first(rows: DataFrame, count: int) -> DataFrame:
    order = ("_metadata.file_modification_time", "_metadata.file_path", F.monotonically_increasing_id())
    return rows.orderBy(*order).limit(count)


def _as_packed(raw: DataFrame, plan: Plan, stream: Stream) -> DataFrame:
    """Rows as the packer would be given them."""
    frame, _ = with_declared_columns(raw, stream, ordered=False, filters=filters_of(plan, stream.name))
    return with_filters(frame, plan, stream.name, ordered=False)


def chunk_of(plan: Plan, stream: str, piece: Any) -> Chunk:
    """A piece of those rows as a single cell is given it."""
    data, punctuations = take_out(plan, stream, piece)
    chosen = {s.alias: data.column(passes(s.alias)) for s in plan.sources if s.stream == stream and s.filters}
    return replace(Chunk.of(plan, stream, 0, data, chosen), punctuations=punctuations)
