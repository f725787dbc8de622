"""Files on a local disk, decoded by the packer itself: Spark says which files a batch has, and in which task.

Spark turns what it reads into rows, and the rows into the columns that Python gets: half of the time of a batch. Here
its file source (listing, triggers, log of what was read: exactly once as ever) hands over names of files, and the task
that packs a file reads the needed columns of it with Arrow.

It is done only where the answer cannot differ: files of a local disk, options that are about listing alone, types that
the decoder of the format reads as Spark does (`parquet_files`, `json_files`), and rows that go to the packer as they
are read (`as_read`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from penstock.model.stream import Stream
from penstock.plan.plan import Plan
from penstock.spark.as_read import columns_read, goes_as_read, may_begin_again, schema_read
from penstock.spark.file_order import each_once, options_for_spark, pattern_of, those_in_order
from penstock.spark.json_files import decoder_of_lines
from penstock.spark.option_values import option_values
from penstock.spark.pack import PACKED, Packer, Place, portions
from penstock.spark.parquet_files import PLAIN, read_pieces
from penstock.spark.who_reads import JSON, PARQUET, Setting, is_ours
from penstock.spark.worker import settle
from penstock.spark.worker_files import path_written

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
_READERS = {"parquet": PARQUET, "json": JSON}
"""By format, the setting that says who decodes it."""
Decoder = Callable[[str, Any], Iterator[Any]]
"""The tables that a file holds, of the columns of a schema: path and schema in."""
_FORGIVING = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")
"""Settings by which Spark's reader passes over files."""


def reads_files(plan: Plan, stream: Stream, conf: Setting) -> bool:
    """Whether the packer decodes the files of that stream; `conf` tells a setting of Spark's."""
    return decoder_of(plan, stream, conf) is not None


def decoder_of(plan: Plan, stream: Stream, conf: Setting) -> Decoder | None:
    """How the packer decodes the files of that stream; None where Spark reads them."""
    storage = stream.storage
    kind = "" if storage is None else storage.format.lower()
    # What a setting says is asked of every stream, so that a mistake in it is told.
    are_ours = {form: is_ours(reader, conf) for form, reader in _READERS.items()}
    if storage is None or not are_ours.get(kind, False) or not goes_as_read(plan, stream):
        return None
    if any((conf(forgiving) or "").lower() == "true" for forgiving in _FORGIVING):
        return None
    options = {name.lower(): value for name, value in option_values(storage)}
    if not options.keys() <= _LISTING or not _is_plain_folder(options.get("path", ""), conf):
        return None
    if kind == "json":
        return decoder_of_lines(stream, conf) if may_begin_again(plan) else None
    return read_pieces if all(of.upper() in PLAIN for of in columns_read(plan, stream.name).values()) else None


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


def packed_files(spark: SparkSession, stream: Stream, packer: Packer, decoder: Decoder) -> DataFrame:
    """The stream, packed from its files."""
    packs = FilePacker(packer, schema_read(packer.plan, stream.name), decoder)
    return file_names(spark, stream, packer.ordered).mapInArrow(packs, PACKED)


@dataclass(frozen=True)
class FilePacker:
    """Packs files given by name; `schema` is what the plan reads of them, as Arrow has it."""

    packer: Packer
    schema: Any
    decoder: Decoder = read_pieces

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For mapInArrow: (path, time, URL) in."""
        settle("pack")
        yield from self.packer.packed(self._pieces(batches))

    def _pieces(self, batches: Iterable[Any]) -> Iterator[tuple[Place, Any]]:
        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        pieces = named_pieces(batches, self.schema, self.decoder)
        if self.packer.ordered:
            for (time, url, block), table in pieces:
                yield (time, url, block, task, 0), table
        else:
            batches_read = (batch for _, table in pieces for batch in table.to_batches())
            for number, table in enumerate(portions(batches_read)):
                yield (0, "", 0, task, number), table


def named_pieces(
    batches: Iterable[Any], schema: Any, decoder: Decoder = read_pieces
) -> Iterator[tuple[tuple[int, str, int], Any]]:
    """The pieces of files given by path, time and URL, each with its time, URL and block."""
    for batch in batches:
        for path, time, url in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            for block, table in enumerate(decoder(path, schema)):
                yield (time, url, block), table
