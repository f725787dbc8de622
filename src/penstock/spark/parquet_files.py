"""Parquet files on a local disk, decoded by the packer itself: Spark says which files a batch has, and in which task.

Spark turns a column of a Parquet file into rows, and rows into the columns that Python gets; that was half of the time of a
batch. Here its file source (listing, triggers, log of what was read: exactly once as ever) hands over names of files,
and the task that packs a file reads the needed columns of it with Arrow.

It is done only where the answer cannot differ: files of a local disk, options that are about listing alone, plain types,
and no expression (derived column, WHERE, filter, WHEN) that Spark must evaluate on a row. Types are read as Spark's
reader has them: a column that is not there is NULL, integers widen, times are UTC; what it would refuse is refused,
with the file, the column and both types. `penstock.parquet = spark` has Spark read everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import DataError, UsageError
from penstock.model.stream import Stream
from penstock.plan.plan import Plan
from penstock.spark.pack import Packer, Place
from penstock.spark.punctuations import conditions
from penstock.spark.worker import settle

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
_PLAIN = frozenset({"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "DATE", "TIMESTAMP"})
_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
"""Marks of files whose old dates are in another calendar."""
_READ_AT_ONCE = 1 << 27
"""Bytes of row groups that are decoded together."""


def reads_files(spark: SparkSession, plan: Plan, stream: Stream) -> bool:
    """Whether the packer may decode the files of that stream."""
    wanted = (spark.conf.get(READER, None) or "penstock").lower()
    if wanted not in ("penstock", "spark"):
        raise UsageError(f"{READER} is penstock or spark, not {wanted}")
    storage = stream.storage
    if wanted == "spark" or storage is None or storage.format.lower() != "parquet" or stream.where:
        return False
    options = {name.lower(): value for name, value in storage.options}
    if not options.keys() <= _LISTING or not _is_local(spark, options.get("path", "")):
        return False
    read = {c.name: c.type for s in plan.sources if s.stream == stream.name for c in s.read}
    derived = {c.name for c in stream.carried if c.derived is not None}
    return (
        not derived & read.keys()
        and all(kind.upper() in _PLAIN for kind in read.values())
        and not any(s.filters for s in plan.sources if s.stream == stream.name)
        and not list(conditions(plan, stream.name))
    )


def _is_local(spark: SparkSession, path: str) -> bool:
    """Whether Spark reads that path from a local disk."""
    scheme = urlparse(path).scheme
    if not scheme:
        hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # type: ignore[union-attr]  # no other way to ask
        scheme = urlparse(hadoop.get("fs.defaultFS") or "file:").scheme
    return scheme == "file"


def file_names(spark: SparkSession, stream: Stream) -> DataFrame:
    """The files of the stream as they are read: name and time."""
    assert stream.storage is not None
    reader = spark.readStream.format("binaryFile").schema(_FILES).options(**dict(stream.storage.options))
    return reader.load().selectExpr("path", "unix_micros(modificationTime) AS time")


@dataclass(frozen=True)
class FilePacker:
    """Packs files given by name; `schema` is what the plan reads of them, as Arrow has it."""

    packer: Packer
    schema: Any

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For mapInArrow: (path, time) in."""
        settle("pack")
        yield from self.packer.packed(self._pieces(batches))

    def _pieces(self, batches: Iterable[Any]) -> Iterator[tuple[Place, Any]]:
        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        for batch in batches:
            for path, time in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                for block, table in enumerate(read_pieces(path, self.schema)):
                    yield (time, path, block, task, 0), table


def read_pieces(path: str, schema: Any) -> Iterator[Any]:
    """The wanted columns of a file, row groups together up to a size."""
    with pq.ParquetFile(path.removeprefix("file:"), memory_map=True, coerce_int96_timestamp_unit="us") as file:
        names = _names(path, file, schema)
        for groups in _together(file):
            found = file.read_row_groups(groups, columns=list(names.values()), use_threads=False)
            columns = [
                _as_declared(path, field, found.column(names[field.name]))
                if field.name in names
                else pa.nulls(found.num_rows, field.type)
                for field in schema
            ]
            if found.num_rows:
                yield pa.Table.from_arrays(columns, schema=schema)


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
    """What the file calls the wanted columns that it has, whatever the case."""
    called: dict[str, list[str]] = {}
    for name in file.schema_arrow.names:
        called.setdefault(name.casefold(), []).append(name)
    found = {}
    for field in schema:
        names = called.get(field.name.casefold(), [])
        if len(names) > 1:
            raise DataError(f"{path} has several columns {field.name}", detail=f"they are: {', '.join(names)}")
        found.update({field.name: name for name in names})
    kinds = [schema.field(name).type for name in found]
    dated = any(pa.types.is_temporal(kind) for kind in kinds)
    if dated and any(mark in (file.metadata.metadata or {}) for mark in _LEGACY):
        raise DataError(f"{path} was written in the calendar of an old Spark", hint=_LET_SPARK)
    return found


def _as_declared(path: str, field: Any, column: Any) -> Any:
    if column.type == field.type:
        return column
    if not _converts(column.type, field.type):
        raise DataError(
            f"{path} has column {field.name} as {column.type}, and it is declared as {field.type}",
            hint=f"declare the type that the file has; {_LET_SPARK}",
        )
    return column.cast(field.type, safe=False)


_LET_SPARK = f"--conf {READER}=spark lets Spark read it"


def _converts(given: Any, wanted: Any) -> bool:
    """Whether Spark's reader takes one for the other, and an Arrow cast gives the same values."""
    types = pa.types
    if types.is_dictionary(given):
        return _converts(given.value_type, wanted)
    if types.is_string(wanted):
        return bool(types.is_string(given) or types.is_large_string(given))
    if types.is_timestamp(wanted):
        return bool(types.is_timestamp(given) and given.unit in ("ms", "us"))
    if types.is_integer(wanted):
        return bool(types.is_signed_integer(given) and given.bit_width <= wanted.bit_width)
    return bool(types.is_float64(wanted) and types.is_float32(given))
