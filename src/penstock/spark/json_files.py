"""How a file of JSON is decoded by the packer (`local_files`): portion by portion, as long as its lines are plain.

Which lines are, and why Spark gives the same rows of them, `plain_json` says. A file that is compressed is not looked
into: Spark knows by its name how.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import DataError
from penstock.model.stream import Stream
from penstock.spark.file_order import first_by_name
from penstock.spark.malformed import own_record
from penstock.spark.plain_json import LONGEST, NotPlain, PlainColumns, read_plain
from penstock.spark.who_reads import JSON, Setting

_PORTION = 32 << 20
"""Bytes that are decoded together."""
_HEAD = 1 << 16
"""Bytes of a file that are looked at as a query starts."""
_COMPRESSED = frozenset({".gz", ".bz2", ".deflate", ".snappy", ".lz4", ".lzo", ".zst", ".zstd", ".xz", ".z"})
"""How names of files end that Spark decompresses; what it would of another name begins with no brace."""
_LET_SPARK = f"--conf {JSON}=spark lets Spark read it"


def plain_columns(stream: Stream, names: frozenset[str], conf: Setting) -> PlainColumns | None:
    """The columns of a stream that stand in JSON, under these names; None where Spark is to read them."""
    wanted = [c for c in stream.carried if c.name in names]
    is_utc = (conf("spark.sql.session.timeZone") or "").upper() == "UTC"
    columns = PlainColumns(tuple(c.name for c in wanted), tuple(str(c.type) for c in wanted), is_utc)
    is_of_old = (conf("spark.sql.legacy.timeParserPolicy") or "").upper() == "LEGACY"
    has_no_zones = (conf("spark.sql.timestampType") or "").upper() == "TIMESTAMP_NTZ"
    if own_record(stream) is not None or is_of_old or has_no_zones or not columns.are_taken:
        return None
    return columns


def decoder_of_lines(stream: Stream, conf: Setting) -> PlainLines | None:
    """How the packer decodes files of a stream of JSON; None where Spark is to, as far as a first file tells."""
    columns = plain_columns(stream, frozenset(c.name for c in stream.carried if c.derived is None), conf)
    return None if columns is None or not _begins_plainly(stream, columns) else PlainLines(stream.name, columns)


def _begins_plainly(stream: Stream, columns: PlainColumns) -> bool:
    """Whether the first lines of a file that is there by now are plain: then those of the others may be."""
    file = first_by_name(stream)
    if file is None or _is_compressed(file.name):
        return file is None
    try:
        with file.open("rb") as opened:
            head = opened.read(_HEAD)
        # A line that is cut is left out; if it is the only one, nothing is known.
        lines = head if len(head) < _HEAD else head[: head.rfind(b"\n") + 1]
        if plain := lines.rstrip(b"\n"):
            read_plain(plain, columns)
    except (OSError, NotPlain):
        return False
    return True


@dataclass(frozen=True)
class PlainLines:
    """Decodes files of a stream; all declared columns are looked at, since a row may be malformed in any of them."""

    stream: str
    columns: PlainColumns

    def __call__(self, path: str, schema: Any) -> Iterator[Any]:
        """The wanted columns of a file; raises NotPlain where Spark is to read it."""
        try:
            for lines in _portions(path.removeprefix("file:")):
                yield read_plain(lines, self.columns).select(schema.names).cast(schema)
        except NotPlain as error:
            raise error.met_in(self.stream, path) from error
        except OSError as error:
            hint = None if isinstance(error, FileNotFoundError) else _LET_SPARK
            raise DataError(f"cannot read {path}", detail=str(error), hint=hint) from error


def _is_compressed(path: str) -> bool:
    return Path(path).suffix.lower() in _COMPRESSED


def _portions(path: str) -> Iterator[bytes]:
    """The lines of a file in portions of whole ones, without the line feed behind the last and blank lines there."""
    if _is_compressed(path):
        raise NotPlain("its name says how it is compressed")
    with open(path, "rb") as file:
        begun = b""
        while read := file.read(_PORTION):
            end = read.rfind(b"\n") + 1
            if not end:
                begun += read
                if len(begun) > LONGEST:
                    raise NotPlain(f"a line has more than {LONGEST} bytes")
                continue
            if lines := (begun + read[:end]).rstrip(b"\n"):
                yield lines
            begun = read[end:]
        if begun := begun.rstrip(b"\n"):
            yield begun
