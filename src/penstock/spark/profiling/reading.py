"""The data that a stream names, as batch DataFrames: every row in its place in the order of arrival (DESIGN section 2).

Rows of files arrive by (modification time, path, row index). WHERE drops rows; those that satisfy a WHEN are
punctuations and no data. A data row's number counts the data rows before it. What is read in one micro-batch follows
from maxFilesPerTrigger; without it everything there is comes at once.
Formats of files alone are read: other sources need not end.

`first_rows` brings some to the driver: what the core is replayed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.errors import UsageError
from penstock.model.names import quoted
from penstock.model.predicates import conjunction
from penstock.model.schemes import Punctuated
from penstock.model.stream import Stream
from penstock.spark.failures import SPARK_ERRORS
from penstock.spark.malformed import judged
from penstock.spark.option_values import option_values
from penstock.spark.readers import read_error, reader_of
from penstock.spark.sinks import FILES
from penstock.spark.sources import tells, with_declared_columns
from penstock.spark.types import carried

POS = "__ps_pos"
"""The number of a data row among the data rows of its stream, from 0."""
IS_DATA, FILE, FILE_TIME, BLOCK, ROW, BATCH = (
    "__ps_data",
    "__ps_file",
    "__ps_time",
    "__ps_block",
    "__ps_row",
    "__ps_batch",
)


@dataclass(frozen=True)
class ProfiledStream:
    """A stream as it arrived."""

    stream: Stream
    every: DataFrame
    """Every row that WHERE lets through, punctuations too: the columns, IS_DATA, and FILE, BLOCK, ROW for its place."""
    data: DataFrame
    """The data rows: the columns, POS, and BATCH; kept until `forget`."""
    rows: int
    batches: tuple[int, ...]
    """Data rows that were read up to and with each micro-batch."""

    def forget(self) -> None:
        """Give back the room of the data rows."""
        self.data.unpersist()


def require_readable(stream: Stream) -> None:
    """Raise UsageError where there is nothing to read, or no end to it."""
    if stream.storage is None:
        raise UsageError(
            f"stream {stream.name} has no USING, so there is no data to profile",
            hint="add USING format OPTIONS (…) that names files",
        )
    if stream.storage.format.lower() not in FILES:
        raise UsageError(
            f"stream {stream.name} is read from {stream.storage.format}, which need not end",
            detail=f"profile reads files: {', '.join(sorted(FILES))}",
            hint="write a stretch of it to files, and name these in a copy of the script",
        )


def arrived(spark: SparkSession, stream: Stream, columns: Sequence[str]) -> ProfiledStream:
    """Read a stream and number its rows, keeping these columns; runs a job that counts the rows of each file."""
    require_readable(stream)
    assert stream.storage is not None
    try:
        raw, kept = judged(reader_of(spark.read, stream).load(), stream)
        raw = raw if not kept else raw.where(kept[1].isNull())
        place = _place(raw)
        frame, _ = with_declared_columns(raw, replace(stream, where=()), ordered=False, beside=place)
        passes = F.lit(True) if not stream.where else F.coalesce(F.expr(conjunction(stream.where)), F.lit(False))
        frame = frame.withColumns({"__ps_passes": passes, IS_DATA: ~punctuating(stream)})
        files = _files(frame)
    except SPARK_ERRORS as error:
        raise read_error(stream, error) from error
    offsets, batches = _offsets(files, _files_a_batch(stream))
    known = spark.createDataFrame(offsets)
    every = frame.where("__ps_passes").drop("__ps_passes")
    inside = Window.partitionBy(FILE).orderBy(BLOCK, ROW)
    data = every.where(IS_DATA).withColumn("__ps_inside", F.row_number().over(inside) - 1)
    data = data.join(F.broadcast(known), FILE).withColumn(
        POS, (F.col("__ps_offset") + F.col("__ps_inside")).cast("bigint")
    )
    data = data.select(*map(quoted, columns), POS, BATCH)
    # Every question reads it, and numbering sorts: it is kept, on disk where memory is short.
    return ProfiledStream(stream, every, data.persist(), sum(count for *_, count in files), batches)


def _place(raw: DataFrame) -> tuple[Column, ...]:
    """A file, and the row's place in it: its index where the format knows it, else block by block as it is read."""
    if tells(raw, "row_index"):
        block, row = F.lit(0).cast("bigint"), F.col("_metadata.row_index")
    else:
        block, row = F.col("_metadata.file_block_start"), F.monotonically_increasing_id()
    return (
        F.col("_metadata.file_path").alias(FILE),
        F.unix_micros("_metadata.file_modification_time").alias(FILE_TIME),
        block.alias(BLOCK),
        row.alias(ROW),
    )


def punctuating(stream: Stream) -> Column:
    """Whether a row satisfies some WHEN."""
    found = F.lit(False)
    for scheme in stream.schemes:
        if isinstance(scheme, Punctuated):
            found = found | F.coalesce(F.expr(conjunction(scheme.when)), F.lit(False))
    return found


def _files(frame: DataFrame) -> list[tuple[int, str, int]]:
    """Each file with any row, in the order of arrival, and how many of its rows are data."""
    counted = frame.groupBy(FILE_TIME, FILE).agg(F.count_if(F.col("__ps_passes") & F.col(IS_DATA)).alias("n"))
    return sorted((row[FILE_TIME], row[FILE], row["n"]) for row in counted.collect())


def _files_a_batch(stream: Stream) -> int | None:
    assert stream.storage is not None
    given = {name.lower(): value for name, value in option_values(stream.storage)}.get("maxfilespertrigger", "")
    return int(given) if given.isdigit() and int(given) else None


def _offsets(files: list[tuple[int, str, int]], files_a_batch: int | None) -> tuple[pa.Table, tuple[int, ...]]:
    offsets, batch_of, ends, seen = [], [], list[int](), 0
    for number, (_, _, count) in enumerate(files):
        batch = 0 if files_a_batch is None else number // files_a_batch
        offsets.append(seen)
        batch_of.append(batch)
        seen += count
        if batch == len(ends):
            ends.append(seen)
        ends[batch] = seen
    table = pa.table(
        {
            FILE: pa.array([path for _, path, _ in files], pa.string()),
            "__ps_offset": pa.array(offsets, pa.int64()),
            BATCH: pa.array(batch_of, pa.int64()),
        }
    )
    return table, tuple(ends)


def ticks(stream: Stream, column: str) -> Column:
    """A column of a clock type as a number: microseconds, or the integer itself; NULL stays NULL."""
    kind = stream.type_of(column)
    assert kind is not None
    value = F.col(quoted(column))
    if kind.is_integer:
        return value.cast("bigint")
    return F.unix_micros(value.cast("timestamp"))


INSTANT = "__ps_instant"
"""When a row came, on a clock that the streams share, if there is one."""


def first_rows(
    arrived: ProfiledStream,
    columns: Mapping[str, str],
    flags: Mapping[tuple[str | None, str], str],
    clock: str | None,
    rows: int,
) -> Any:
    """So many rows in the order of arrival, punctuations included, as an Arrow table.

    It has the columns, by name and type; a boolean for each flag, by the alias that its condition names columns by and
    the condition; IS_DATA; and INSTANT, the ticks of the column `clock`.
    """
    frame = arrived.every.orderBy(FILE_TIME, FILE, BLOCK, ROW).limit(rows)
    instant = F.lit(0).cast("bigint") if clock is None else ticks(arrived.stream, clock)
    frame = frame.withColumn(INSTANT, instant)
    for (alias, condition), name in flags.items():
        frame = (frame if alias is None else frame.alias(alias)).selectExpr("*", f"({condition}) AS {quoted(name)}")
    shown = [carried(name, kind) for name, kind in columns.items()]
    return frame.selectExpr(*shown, *map(quoted, flags.values()), IS_DATA, INSTANT).toArrow()
