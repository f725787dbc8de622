"""The files of a batch, looked at by the driver once the batch is done.

Spark lists files, notes which of them a batch has, and lists them again as the batch begins: for one that is gone by
then it gives no rows, and says nothing. (One that goes while it is read is an error.) So whoever follows a run asks of
each batch whether its files are still there. A file that is not may have been read before it went; nobody knows, so the
answer is no longer called exact. Nor is it where a file of Parquet, ORC or Avro has no bytes: Spark passes over it, and
does not come back once somebody has written it. Whoever wants files moved or deleted in time asks Spark for it
(`cleanSource`), and is not looked after here.

Two questions wait for the first files: whether any row of JSON or XML has a declared column, where there was no file
when the run started; and whether each file is as declared (`file_questions`), where counts replace the joins or a
table is joined first, and no packer of ours sees which rows are a file's. Both end the run, one batch late.

Only files of a local disk are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.model.stream import Stream
from penstock.spark.declared_columns import is_told_by_rows, require_columns
from penstock.spark.file_heads import as_url, says_its_columns
from penstock.spark.file_order import is_local, local_folder
from penstock.spark.file_questions import asked_of_files
from penstock.spark.hadoop_path import AnyPath
from penstock.spark.option_values import option_values
from penstock.spark.pending_batch import UNREADABLE, files_of_batch

_CLEANING = "cleansource"


class BatchFiles:
    """What is asked of the files of each batch of one query; `log` is Spark's own checkpoint."""

    def __init__(self, spark: SparkSession, log: AnyPath, streams: Iterable[Stream], *, is_counted: bool) -> None:
        self._spark = spark
        self._log = log
        self._is_counted = is_counted
        self._streams = [stream for stream in streams if is_local(stream) and local_folder(stream) is not None]
        self._are_kept = not any(map(_is_cleaned, self._streams))
        self._empty = [stream for stream in self._streams if is_told_by_rows(stream) and _is_empty(stream)]

    def gone_of(self, batch: int) -> list[Path]:
        """The files of a batch that are not there, or are none; raises DataError where a declared column is nowhere."""
        try:
            files = list(files_of_batch(self._log, batch))
        except UNREADABLE:
            return []  # What is wrong with the checkpoint is said by Spark.
        for stream in self._streams:
            is_unseen = self._is_counted or stream.tables
            if is_unseen and (question := asked_of_files(stream)) is not None:
                for file in files:
                    if _is_of(file, stream):
                        question(as_url(str(file)))
        waiting = [stream for stream in self._empty if not any(_is_of(file, stream) for file in files)]
        for stream in self._empty:
            if stream not in waiting:
                require_columns(self._spark, stream)
        self._empty = waiting
        return [file for file in files if not file.exists() or self._is_none(file)] if self._are_kept else []

    def _is_none(self, file: Path) -> bool:
        """Whether a file has no bytes, as no file of its format is."""
        headed = any(says_its_columns(stream) and _is_of(file, stream) for stream in self._streams)
        return headed and file.stat().st_size == 0


def _is_cleaned(stream: Stream) -> bool:
    assert stream.storage is not None
    options = {name.lower(): value.lower() for name, value in option_values(stream.storage)}
    return options.get(_CLEANING, "off") != "off"


def _is_empty(stream: Stream) -> bool:
    folder = local_folder(stream)
    return folder is not None and not any(path.is_file() and path.stat().st_size for path in folder.rglob("*"))


def _is_of(file: Path, stream: Stream) -> bool:
    folder = local_folder(stream)
    return folder is not None and file.is_relative_to(folder.absolute())
