"""Whether a Parquet file that Spark decodes has the declared columns, asked as its first row goes by.

Spark gives NULL for a column that a file lacks. The first files are looked at before anything starts
(`declared_columns`); files that come later are looked at here, by the task that packs their rows. The first row of a
file brings its name, whatever the WHERE of its stream says of that row; the packer reads the footer, and drops the row
if WHERE does.

Only files of a local disk, and only Parquet: other formats do not tell the number of a row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.errors import DataError
from penstock.model.stream import Stream

HEAD = "__ps_head"
"""The name of a file, in its first row; NULL in every other."""
OUTSIDE = "__ps_outside"
"""Whether WHERE drops the row."""


def has_heads(stream: Stream) -> bool:
    """Whether the files of a stream that Spark decodes are looked at."""
    is_parquet = stream.storage is not None and stream.storage.format.lower() == "parquet"
    return is_parquet and not stream.tables


def head_of_file() -> Column:
    """HEAD, of a frame that is read from Parquet files."""
    return F.when(F.col("_metadata.row_index") == 0, F.col("_metadata.file_path")).alias(HEAD)


def looked_at(table: Any, declared: Iterable[str]) -> Any:
    """The rows without HEAD and OUTSIDE; raises DataError if a file that begins among them lacks a declared column."""
    if HEAD not in table.column_names:
        return table
    for path in table.column(HEAD).drop_null().to_pylist():
        _require(path, declared)
    table = table.drop_columns([HEAD])
    if OUTSIDE not in table.column_names:
        return table
    inside = pc.invert(table.column(OUTSIDE))
    return table.drop_columns([OUTSIDE]).filter(inside)


def _require(path: str, declared: Iterable[str]) -> None:
    parsed = urlparse(path)
    if parsed.scheme not in ("", "file"):
        return
    file = unquote(parsed.path)
    try:
        names = pq.read_schema(file).names
    except (pa.ArrowException, OSError):
        return  # Spark has read it.
    folders = (part.partition("=")[0] for part in file.split("/")[:-1] if "=" in part)
    found = {name.casefold() for name in (*names, *folders)}
    if missing := [name for name in declared if name.casefold() not in found]:
        raise DataError(
            f"{path} has no column {', '.join(missing)}, which is declared",
            detail=f"it has: {', '.join(names) or 'none'}",
            hint="spell it as the file does, or leave it out of the stream",
        )
