"""Whether a file that Spark decodes is as declared, asked as its rows go by.

Spark gives NULL for a column that a file lacks, and for a field within one. The first files are looked at before
anything starts (`declared_columns`); files that come later are looked at here, by the task that packs their rows. The
place of a row tells its file, where rows have one and no WHERE drops them. Elsewhere the first row of a Parquet file
brings its name; of the other formats, which do not tell the number of a row, every row
does, whatever the WHERE of its stream says of that row. The packer reads what the file says of itself
(`file_schemas`), and drops the row if WHERE does. Of JSON it looks for lines of which Spark reads a part
(`json_lines`).

Spark's reader of ORC also gives NULL for a value that the declared type cannot hold; those of Parquet and Avro refuse
a file of another type. So of ORC the types are compared too.

Only files of a local disk: `told.py` says so of others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlparse

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.errors import DataError
from penstock.model.stream import Storage, Stream
from penstock.spark.file_order import is_local
from penstock.spark.file_schemas import FileSchema, columns_lacking, schema_of, types_changed
from penstock.spark.option_values import option_values
from penstock.spark.worker_files import path_written

HEAD = "__ps_head"
"""The name of a file, in its first row or in every one; NULL in others."""
OUTSIDE = "__ps_outside"
"""Whether WHERE drops the row."""
_SELF_DESCRIBING = frozenset({"parquet", "orc", "avro"})

FileQuestion = Callable[[str], None]
"""What is asked of a file, by its path; it raises DataError of one that is not as declared."""


@dataclass(frozen=True)
class HasColumns:
    """Whether a file has the declared columns, a schema of Arrow's."""

    declared: Any
    storage: Storage

    def __call__(self, path: str) -> None:
        """Raise DataError if it lacks one."""
        require_as(path, self.declared, self.storage)


def says_its_columns(stream: Stream) -> bool:
    """Whether a file of the stream says what columns it has."""
    return stream.storage is not None and stream.storage.format.lower() in _SELF_DESCRIBING


def passes_unseen(stream: Stream) -> bool:
    """Whether files that lack a declared column would not be seen to."""
    return says_its_columns(stream) and not is_local(stream)


def head_of_file(stream: Stream) -> Column:
    """HEAD, of a frame that is read from the files of a stream."""
    assert stream.storage is not None
    path = F.col("_metadata.file_path")
    match stream.storage.format.lower():
        case "parquet":
            path = F.when(F.col("_metadata.row_index") == 0, path)
        case "json":
            path = F.when(F.col("_metadata.file_block_start") == 0, path)
        case _:
            pass
    return path.alias(HEAD)


@dataclass
class LookedAt:
    """The files of one task, each asked once."""

    question: FileQuestion | None

    def __post_init__(self) -> None:
        self._asked: set[str] = set()

    def ask(self, path: str) -> None:
        """Raise DataError if a file is not as declared."""
        if self.question is not None and path not in self._asked:
            self._asked.add(path)
            self.question(path)

    def rows_of(self, tables: Iterable[Any]) -> Iterator[Any]:
        """The rows without HEAD and OUTSIDE, their files asked."""
        for table in tables:
            if HEAD not in table.column_names:
                yield table
                continue
            for path in pc.unique(table.column(HEAD)).drop_null().to_pylist():
                self.ask(path)
            rows = table.drop_columns([HEAD])
            if OUTSIDE in rows.column_names:
                rows = rows.drop_columns([OUTSIDE]).filter(pc.invert(rows.column(OUTSIDE)))
            yield rows


def as_url(path: str) -> str:
    """The name of a file that was listed, as Spark writes those that it reads."""
    return quote(path, safe="/:", errors="surrogateescape")


def told_by_file(path: str) -> FileSchema | None:
    """What a file says of itself; None of one that is not on a local disk, or that only Spark can read."""
    parsed = urlparse(path)
    try:
        return schema_of(unquote(parsed.path)) if parsed.scheme in ("", "file") else None
    except (pa.ArrowException, OSError, ValueError):
        return None


def folder_columns(path: str, storage: Storage) -> frozenset[str]:
    """The columns that the folders of a file tell by their names, `column=value`: those below the path that is read.

    Of a pattern these are the folders below what it finds.
    """
    given = {name.lower(): value for name, value in option_values(storage)}
    if given.get("recursivefilelookup", "").lower() == "true":
        return frozenset()
    above = os.path.abspath(path_written(given.get("basepath", given.get("path", ""))))
    inside = unquote(urlparse(path).path).split("/")[len(above.rstrip("/").split("/")) : -1]
    return frozenset(part.partition("=")[0].casefold() for part in inside if "=" in part)


def require_as(path: str, declared: Any, storage: Storage) -> None:
    """Raise DataError if a file of a local disk lacks a declared column, or has it as what Spark reads as NULL."""
    found = told_by_file(path)
    if found is None:
        return  # Spark has read it.
    folders = folder_columns(path, storage)
    wanted = pa.schema([field for field in declared if field.name.casefold() not in folders])
    if missing := list(columns_lacking(wanted, found.fields)):
        raise DataError(
            f"{path} has no column {', '.join(missing)}, which is declared",
            detail=f"it has: {', '.join(field.name for field in found.fields) or 'none'}",
            hint="spell it as the file does, or leave it out of the stream",
        )
    for name, given, kind in types_changed(wanted, found.fields) if found.needs_types else ():
        raise DataError(
            f"{path} has column {name} as {given}, and it is declared as {kind}",
            detail="Spark would read NULL for a value that does not fit",
            hint="declare the type that the file has, and derive another of it: name TYPE AS (expression)",
        )
