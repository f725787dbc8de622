"""Parquet files on a local disk, decoded by the packer itself: Spark says which files a batch has, and in which task.

Spark turns the columns of a Parquet file into rows, and the rows into the columns that Python gets: half of the time of
a batch. Here its file source (listing, triggers, log of what was read: exactly once as ever) hands over names of files,
and the task that packs a file reads the needed columns of it with Arrow.

It is done only where the answer cannot differ: files of a local disk, options that are about listing alone, plain
types, and no expression (derived column, WHERE, filter, WHEN, VALUE) that Spark must evaluate on a row. Types are read
as Spark's reader has them: a column without any value is NULL, integers widen, times are UTC. What it would refuse is
refused, with the file, the column and both types; so are what it alone converts (a number to a date, binary to text),
and a column that a file lacks, for which it would give NULL. `penstock.parquet = spark` has Spark read everything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import DataError, UsageError
from penstock.model.names import quoted
from penstock.model.stream import Stream
from penstock.plan.plan import Plan
from penstock.runtime.input.wire_columns import value_columns
from penstock.spark.file_order import each_once, options_for_spark, pattern_of, those_in_order
from penstock.spark.option_values import option_values
from penstock.spark.pack import PACKED, Packer, Place, portions
from penstock.spark.types import arrow_schema
from penstock.spark.worker import settle
from penstock.spark.worker_files import path_written

READER = "penstock.parquet"
"""Who decodes Parquet: `penstock`, where it can be, or `spark`, always."""
_FILES = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
_LISTING = frozenset(
    {
        "path",
        "maxfilespertrigger",
        "maxbytespertrigger",
        "latestfirst",
        "filenameonly",
        "maxfileage",
        "maxcachedfiles",
        "discardcachedinputratio",
        "cleansource",
        "sourcearchivedir",
        "pathglobfilter",
        "recursivefilelookup",
    }
)
"""Options that say which files are read and when, not how."""
Setting = Callable[[str], str | None]
"""What a setting of Spark's is; None if it is not set."""
PLAIN = frozenset({"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "DATE", "TIMESTAMP"})
_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
"""Marks of files whose old dates are in another calendar."""
_FORGIVING = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")
"""Settings by which Spark's reader passes over files."""
_LET_SPARK = f"--conf {READER}=spark lets Spark read it"
_READ_AT_ONCE = 1 << 27
"""Bytes of row groups that are decoded together."""


def reads_files(plan: Plan, stream: Stream, conf: Setting) -> bool:
    """Whether the packer decodes the files of that stream; `conf` tells a setting of Spark's."""
    wanted = (conf(READER) or "penstock").lower()
    if wanted not in ("penstock", "spark"):
        raise UsageError(f"{READER} is penstock or spark, not {wanted}")
    storage = stream.storage
    if wanted == "spark" or storage is None or storage.format.lower() != "parquet" or stream.where or stream.tables:
        return False
    if any((conf(forgiving) or "").lower() == "true" for forgiving in _FORGIVING):
        return False
    options = {name.lower(): value for name, value in option_values(storage)}
    if not options.keys() <= _LISTING or not _is_plain_folder(options.get("path", ""), conf):
        return False
    derived = {c.name for c in stream.carried if c.derived is not None}
    read = _columns_read(plan, stream.name)
    return (
        not derived & read.keys()
        and all(kind.upper() in PLAIN for kind in read.values())
        and not any(s.filters or _has_tests(plan, s.alias) for s in plan.sources if s.stream == stream.name)
        and not any(rows.stream == stream.name for rows in plan.punctuations)
        and not any(value_columns(plan, s.alias) for s in plan.sources if s.stream == stream.name)
    )


def _has_tests(plan: Plan, alias: str) -> bool:
    return bool(plan.tree.tests_of(alias))


def schema_read(plan: Plan, stream: str) -> Any:
    """What the plan reads of a stream, as Arrow has it; needs a session."""
    return arrow_schema(", ".join(f"{quoted(name)} {kind}" for name, kind in _columns_read(plan, stream).items()))


def _columns_read(plan: Plan, stream: str) -> dict[str, str]:
    """The columns that the plan reads of a stream, under any alias, and their types."""
    return {c.name: c.type for s in plan.sources if s.stream == stream for c in s.read}


def is_on_local_disk(path: str, conf: Setting) -> bool:
    """Whether that path is one of a local disk to Spark."""
    scheme = urlparse(path).scheme
    is_elsewhere = not scheme and (conf("spark.hadoop.fs.defaultFS") or os.environ.get("HADOOP_CONF_DIR"))
    return scheme in ("", "file") and not is_elsewhere


def _is_plain_folder(path: str, conf: Setting) -> bool:
    """Whether Spark reads that path from a local disk, and not from folders named `column=value`."""
    is_split = "=" in path or next(Path(path_written(path)).glob("*=*/"), None) is not None
    return is_on_local_disk(path, conf) and not is_split


def file_names(spark: SparkSession, stream: Stream, in_order: bool) -> DataFrame:
    """The files of the stream: path, time and URL; `in_order` from batch to batch, where that can be had."""
    assert stream.storage is not None
    reader = spark.readStream.format("binaryFile").schema(_FILES).options(**options_for_spark(stream.storage))
    pattern = pattern_of(stream) if in_order else None
    files = reader.load() if pattern is None else those_in_order(spark, stream, reader.option("path", pattern).load())
    files = each_once(stream, files)
    # What orders files of one time is what orders those that Spark reads, and cuts into batches: the path as a URL.
    return files.selectExpr("path", "unix_micros(modificationTime) AS time", "_metadata.file_path AS url")


def packed_files(spark: SparkSession, stream: Stream, packer: Packer) -> DataFrame:
    """The stream, packed from its files."""
    packs = FilePacker(packer, schema_read(packer.plan, stream.name))
    return file_names(spark, stream, packer.ordered).mapInArrow(packs, PACKED)


@dataclass(frozen=True)
class FilePacker:
    """Packs files given by name; `schema` is what the plan reads of them, as Arrow has it."""

    packer: Packer
    schema: Any

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For mapInArrow: (path, time, URL) in."""
        settle("pack")
        yield from self.packer.packed(self._pieces(batches))

    def _pieces(self, batches: Iterable[Any]) -> Iterator[tuple[Place, Any]]:
        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        pieces = named_pieces(batches, self.schema)
        if self.packer.ordered:
            for (time, url, block), table in pieces:
                yield (time, url, block, task, 0), table
        else:
            batches_read = (batch for _, table in pieces for batch in table.to_batches())
            for number, table in enumerate(portions(batches_read)):
                yield (0, "", 0, task, number), table


def named_pieces(batches: Iterable[Any], schema: Any) -> Iterator[tuple[tuple[int, str, int], Any]]:
    """The pieces of files given by path, time and URL, each with its time, URL and block."""
    for batch in batches:
        for path, time, url in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            for block, table in enumerate(read_pieces(path, schema)):
                yield (time, url, block), table


def read_pieces(path: str, schema: Any) -> Iterator[Any]:
    """The wanted columns of a file, row groups together up to a size."""
    try:
        with pq.ParquetFile(path.removeprefix("file:"), memory_map=True, coerce_int96_timestamp_unit="us") as file:
            if not file.metadata.num_rows:
                return
            names = _names(path, file, schema)
            for groups in _together(file):
                found = file.read_row_groups(groups, columns=list(names.values()), use_threads=False)
                columns = [_as_declared(path, field, found.column(names[field.name])) for field in schema]
                if found.num_rows:
                    yield pa.Table.from_arrays(columns, schema=schema)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"cannot read {path}", detail=str(error).split("\n")[0], hint=_LET_SPARK) from error


def _together(file: Any) -> Iterator[list[int]]:
    groups: list[int] = []
    size = 0
    for number in range(file.metadata.num_row_groups):
        groups.append(number)
        size += file.metadata.row_group(number).total_byte_size
        if size >= _READ_AT_ONCE:
            yield groups
            groups, size = [], 0
    if groups:
        yield groups


def _names(path: str, file: Any, schema: Any) -> dict[str, str]:
    """What the file calls the wanted columns, whatever the case."""
    called: dict[str, list[str]] = {}
    for name in file.schema_arrow.names:
        called.setdefault(name.casefold(), []).append(name)
    found: dict[str, str | None] = {}
    for field in schema:
        names = called.get(field.name.casefold(), [])
        if len(names) > 1:
            raise DataError(f"{path} has several columns {field.name}", detail=f"they are: {', '.join(names)}")
        if f"/{field.name.casefold()}=" in path.casefold():
            raise DataError(f"column {field.name} of {path} stands in the name of a folder", hint=_LET_SPARK)
        found[field.name] = names[0] if names else None
    if missing := [name for name, its in found.items() if its is None]:
        raise DataError(
            f"{path} has no column {', '.join(missing)}, which is declared",
            detail=f"it has: {', '.join(file.schema_arrow.names) or 'none'}",
            hint="spell it as the file does, or leave it out of the stream",
        )
    kinds = [schema.field(name).type for name in found]
    dated = any(pa.types.is_temporal(kind) for kind in kinds)
    if dated and any(mark in (file.metadata.metadata or {}) for mark in _LEGACY):
        raise DataError(f"{path} was written in the calendar of an old Spark", hint=_LET_SPARK)
    return {name: its for name, its in found.items() if its is not None}


def _as_declared(path: str, field: Any, column: Any) -> Any:
    if column.type == field.type:
        return column
    if not _converts(column.type, field.type):
        raise DataError(
            f"{path} has column {field.name} as {column.type}, and it is declared as {field.type}",
            hint=f"declare the type that the file has; {_LET_SPARK}",
        )
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise DataError(
            f"{path} has values in column {field.name} that {field.type} cannot hold", detail=str(error)
        ) from error


def _converts(given: Any, wanted: Any) -> bool:
    """Whether Spark's reader takes one for the other, and an Arrow cast gives the same values."""
    types = pa.types
    if types.is_dictionary(given):
        return _converts(given.value_type, wanted)
    if types.is_null(given):
        return True
    if types.is_string(wanted):
        return bool(types.is_string(given) or types.is_large_string(given) or types.is_string_view(given))
    if types.is_timestamp(wanted):
        return bool(types.is_timestamp(given) and given.unit in ("ms", "us"))
    if types.is_integer(wanted):
        widest = wanted.bit_width if types.is_signed_integer(given) else wanted.bit_width // 2
        return bool(types.is_integer(given) and given.bit_width <= widest)
    return bool(types.is_float64(wanted) and types.is_float32(given))
