"""Whether the files of a stream have the columns that it declares, looked at before anything starts.

Spark's readers give NULL for a column that a file lacks, and a CSV file's columns by their place whatever its header
says. So a misspelt column is an answer that is wrong without a word. Parquet, ORC and Avro files say what they have:
the first of those that are there are asked (each file that the packer decodes itself says it again when it is read). A
CSV file with a header is checked by Spark as it reads, told to do so (`enforceSchema`). A row of JSON or XML need not
have every field: a column is missing if no row of the first batch has it. Spark reads a field of JSON only under the
very name, upper and lower case told apart, so one that is spelt otherwise is missing.

Of Parquet, ORC and Avro files that come later and that Spark decodes, `file_heads` asks as they are read. Not looked
at: text, which has one column; CSV without a header.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyspark.sql import SparkSession

from penstock.errors import DataError
from penstock.model.names import quoted
from penstock.model.stream import Stream
from penstock.spark.failures import SPARK_ERRORS
from penstock.spark.file_heads import as_url, folder_columns, require_as, told_by_file
from penstock.spark.file_order import escaped, listed_files, options_for_spark
from penstock.spark.malformed import own_record
from penstock.spark.option_values import option_values

_SELF_DESCRIBING = frozenset({"parquet", "orc", "avro"})
_BY_FIELD = frozenset({"json", "xml"})
_FEW = 8
"""Files that are asked first; most streams have a column in one of them or in none."""
_LISTING = ("path", "pathglobfilter", "recursivefilelookup")
_TRIGGERS = ("maxfilespertrigger", "maxbytespertrigger", "latestfirst", "filenameonly", "maxfileage")
"""Options that are about which files are read, and when."""


def is_told_by_rows(stream: Stream) -> bool:
    """Whether only its rows say which columns the stream has."""
    return stream.storage is not None and stream.storage.format.lower() in _BY_FIELD


def require_columns(spark: SparkSession, stream: Stream, *, what: str = "stream", all_as: Any = None) -> None:
    """Raise DataError if a declared column is not in the first files.

    With a schema of Arrow, all files of a local disk that are there must be as it says, in what they say of themselves.
    """
    assert stream.storage is not None
    kind = stream.storage.format.lower()
    text = own_record(stream)
    spelt = _spelling(kind)
    wanted = {spelt(c.name): c.name for c in stream.carried if c.derived is None and c.name != text}
    if kind not in _SELF_DESCRIBING | _BY_FIELD or not wanted:
        return
    files = first_files(spark, stream)
    if kind in _SELF_DESCRIBING:
        for path in files[:_FEW]:
            if (told := _columns_of_file(spark, stream, path)) is not None:
                _require(what, stream, wanted, told, path)
        for path in files if all_as is not None else ():
            require_as(as_url(path), all_as, stream.storage)
        return
    options = {name.lower(): value for name, value in option_values(stream.storage)}
    batch = files[: int(limit)] if (limit := options.get("maxfilespertrigger", "")).isdigit() else files
    found: frozenset[str] | None = None
    for part in (batch[:_FEW], batch) if len(batch) > _FEW else (batch,):
        found = _columns(spark, stream, part) if part else None
        if found is None or wanted.keys() <= found:
            return
    if not found:
        # A batch without a row says nothing of columns.
        found = _columns(spark, stream, files)
        if not found or wanted.keys() <= found:
            return
    where = "any row of the first batch" if what == "stream" else "any row of it"
    _require(what, stream, wanted, found, where)


def first_files(spark: SparkSession, stream: Stream) -> list[str]:
    """The files that are there, in the order in which they are read."""
    assert stream.storage is not None
    if (listed := listed_files(stream)) is not None:
        return listed
    listing = {name: value for name, value in options_for_spark(stream.storage).items() if name.lower() in _LISTING}
    try:
        found = spark.read.format("binaryFile").options(**listing).load()
        rows = found.select("path", "modificationTime").collect()
    except SPARK_ERRORS:
        return []  # What is wrong with the path is said by whoever reads it.
    return [row["path"] for row in sorted(rows, key=lambda row: (row["modificationTime"], row["path"]))]


def _columns_of_file(spark: SparkSession, stream: Stream, path: str) -> frozenset[str] | None:
    """The columns of one file. On a local disk it is asked itself: a job of Spark takes a tenth of a second.

    Of Avro Spark is asked: an option of its reader may say other columns than the file.
    """
    assert stream.storage is not None
    told = None if stream.storage.format.lower() == "avro" else told_by_file(as_url(path))
    if told is None:
        return _columns(spark, stream, [path])
    return frozenset(field.name.casefold() for field in told.fields) | folder_columns(as_url(path), stream.storage)


def _columns(spark: SparkSession, stream: Stream, files: list[str]) -> frozenset[str] | None:
    """The columns that files have, those in the names of their folders among them; None if they cannot be read."""
    assert stream.storage is not None
    skipped = (*_LISTING, *_TRIGGERS)
    reader = spark.read.format(stream.storage.format)
    reader = reader.options(
        **{name: value for name, value in option_values(stream.storage) if name.lower() not in skipped}
    )
    try:
        found = {*reader.load([escaped(path) for path in files]).columns}
    except SPARK_ERRORS:
        return None  # A file that cannot be read is named, with the cause, by whoever reads it.
    spelt = _spelling(stream.storage.format.lower())
    folders = frozenset[str]().union(*(folder_columns(as_url(path), stream.storage) for path in files))
    of_folders = {spelt(c.name) for c in stream.carried if c.name.casefold() in folders}
    return frozenset(map(spelt, found)) | of_folders


def _spelling(kind: str) -> Callable[[str], str]:
    """What of a name counts where files of a format have it."""
    return str if kind == "json" else str.casefold


def _require(what: str, stream: Stream, wanted: dict[str, str], found: Iterable[str], where: str) -> None:
    missing = [name for folded, name in wanted.items() if folded not in found]
    if missing:
        several = len(missing) > 1
        raise DataError(
            f"{what} {stream.name} declares {'columns' if several else 'column'} {', '.join(map(quoted, missing))}, "
            f"{'which are' if several else 'which is'} not in {where}",
            detail=f"there are: {', '.join(sorted(found)) or 'none'}",
            hint=f"spell {'them' if several else 'it'} as the data does, or leave {'them' if several else 'it'} out",
        )
