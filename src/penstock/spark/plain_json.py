"""JSON that is read in columns, by Arrow: where that gives what Spark's reader gives, and nothing else is read.

**Theorem.** Lines that `read_plain` takes are rows to Spark's reader of JSON too, one a line, none of them malformed,
with the same values; of any other lines it raises `NotPlain`, and Spark is asked.

*One row a line.* Every line begins with `{` and ends with `}`, and there are as many rows as lines. A value cannot go
on over the end of a line: there a `}` stands before the line feed and a `{` behind it, which in JSON follow each other
nowhere within a value, and within a string no line feed stands at all. So each line is whole values, at least one, and
since the numbers agree, one.

*No more than JSON.* Arrow reads strict JSON but for NaN and infinities, which are looked for where a value may stand.
Spark takes all of strict JSON in UTF-8 that keeps within the limits of its parser (`LONGEST`, `_LONG`, `_DEEPEST`).
That the bytes are UTF-8 is asked of all of them, since Spark also reads past fields that nobody declares.

*The same values.* A field is read by its exact name, and twice in a row it is refused here. A value is refused here if
its token is not that of the type: text for a number, a number for text, a fraction for an integer, an integer that does
not fit. What is left are strings, booleans, integers, doubles (both sides round to the nearest; a negative zero and an
infinity are refused, of which Spark's parser makes something else), days as `2024-05-01` and instants as
`2024-05-01T12:00:00.123456Z`, with a zone or a distance, or with none where the session's zone is UTC. NULL and a field
that is not there are NULL to both.

Not taken: other types and ways to write a time, what only options make readable, blanks around a line. Spark reads it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from penstock.errors import DataError
from penstock.spark.who_reads import JSON

KINDS = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}
"""The types whose values are read here, and what Arrow has for them."""
LONGEST = 50_000
"""Bytes of a line: names of fields may be as long, to Spark's parser."""
_LONG = 900
"""Bytes of a number: it takes a thousand. A line that is no longer has no such number."""
_DEEPEST = 900
"""Brackets and braces of a line: it takes a thousand within each other."""
_LONG_NUMBER = re.compile(rb"[-+.0-9eE]{%d}" % _LONG)
_NO_NUMBER = re.compile(rb"[:\[,]\s*-?(?:NaN|Inf)")
_ZONED, _PLAIN = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?", r"$"
_DISTANT = _ZONED + r"(Z|[+-](0\d|1[0-7]):[0-5]\d)" + _PLAIN
_ZONELESS = _ZONED + _PLAIN
_DAY = r"^\d{4}-\d\d-\d\d$"
_FIRST_YEAR = -62_135_596_800_000_000
"""The first microsecond of year 1: before it the two count years in other ways."""


class NotPlain(DataError):
    """These lines are for Spark to read; that they are wrong is not said."""

    def met_in(self, stream: str, place: str) -> NotPlain:
        """The same with the stream and the place where they stand."""
        return NotPlain(
            f"stream {stream}: {place} holds JSON that only Spark reads as it means",
            detail=self.message,
            hint=f"--conf {JSON}=spark lets Spark read it",
        )


@dataclass(frozen=True)
class PlainColumns:
    """The declared columns of a stream, and whether a time without a zone is one of UTC."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    is_utc: bool = False

    @property
    def are_taken(self) -> bool:
        """Whether values of all these types are read here."""
        return all(kind.upper() in KINDS for kind in self.types)


def read_plain(lines: bytes, columns: PlainColumns) -> Any:
    """The rows of lines parted by line feeds, as a table; raises NotPlain."""
    count = _require_lines(lines)
    _require_strict(lines)
    kinds = {name: KINDS[kind.upper()] for name, kind in zip(columns.names, columns.types, strict=True)}
    asked = pa.schema([(name, pa.string() if pa.types.is_temporal(kind) else kind) for name, kind in kinds.items()])
    try:
        table = pj.read_json(
            pa.BufferReader(lines),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(lines) + 1),
            parse_options=pj.ParseOptions(explicit_schema=asked, unexpected_field_behavior="ignore"),
        )
    except pa.ArrowInvalid as error:
        raise NotPlain(str(error).split("\n")[0]) from error
    if table.num_rows != count:
        raise NotPlain("a line holds several values")
    read = [_as_declared(table.column(name), kind, columns) for name, kind in kinds.items()]
    return pa.table(read, schema=pa.schema(list(kinds.items()))) if read else table


def _require_lines(lines: bytes) -> int:
    """How many there are, each in braces and within the limits."""
    if not (lines.startswith(b"{") and lines.endswith(b"}")) or b"\r" in lines:
        raise NotPlain("a line does not begin and end with a brace")
    signs = np.frombuffer(lines, np.uint8)
    feeds = np.flatnonzero(signs == ord("\n"))
    if not ((signs[feeds - 1] == ord("}")) & (signs[feeds + 1] == ord("{"))).all():
        raise NotPlain("a line does not begin and end with a brace")
    ends = np.append(feeds, len(lines))
    longest = int(np.diff(ends, prepend=-1).max())
    if longest > LONGEST:
        raise NotPlain(f"a line has {longest} bytes")
    if longest > _LONG and _LONG_NUMBER.search(lines):
        raise NotPlain(f"a number has {_LONG} digits or more")
    if lines.count(b"{") + lines.count(b"[") > len(ends) + _DEEPEST:
        opens = np.cumsum((signs == ord("{")) | (signs == ord("[")))[ends - 1]
        if int(np.diff(opens, prepend=0).max()) > _DEEPEST:
            raise NotPlain(f"a line has more than {_DEEPEST} brackets")
    return len(ends)


def _require_strict(lines: bytes) -> None:
    if not lines.isascii():
        try:
            lines.decode("utf-8")
        except UnicodeDecodeError as error:
            raise NotPlain("the bytes are no UTF-8") from error
    if (b"NaN" in lines or b"Inf" in lines) and _NO_NUMBER.search(lines):
        raise NotPlain("a value is no number")


def _as_declared(column: Any, kind: Any, columns: PlainColumns) -> Any:
    if pa.types.is_floating(kind):
        _require_finite(column)
        return column
    if not pa.types.is_temporal(kind):
        return column
    try:
        return _times(column, kind, columns)
    except pa.ArrowInvalid as error:
        raise NotPlain("a time is written in another way") from error


def _require_finite(column: Any) -> None:
    numbers = column.drop_null().to_numpy()
    if not np.isfinite(numbers).all() or np.signbit(numbers[numbers == 0]).any():
        raise NotPlain("a number is infinite, or a negative zero")


def _times(column: Any, kind: Any, columns: PlainColumns) -> Any:
    """Text as days or instants, if all of it is written in one of the ways that are taken."""
    if pa.types.is_date(kind):
        days = column.cast(kind) if _all_are(column, _DAY) else None
        if days is not None and _is_past_first_year(days.cast(pa.timestamp("us"))):
            return days
        raise NotPlain("a day is written in another way")
    if _all_end_in_z(column) or _all_are(column, _DISTANT):
        instants = column.cast(kind)
    elif columns.is_utc and _all_are(column, _ZONELESS):
        instants = column.cast(pa.timestamp("us")).cast(kind)
    else:
        raise NotPlain("a time is written in another way")
    if not _is_past_first_year(instants):
        raise NotPlain("a time is of a year before the first")
    return instants


def _all_are(column: Any, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(column, pattern)).as_py() is not False


def _all_end_in_z(column: Any) -> bool:
    """Whether all are `2024-05-01T12:00:00Z`, or have a fraction of at most six digits: by length and place.

    That all else is a digit is asked by the cast, which is given no other way to write a time of such a length.
    """
    lengths = pc.min_max(pc.binary_length(column)).as_py()
    if lengths["min"] is None:
        return True
    is_instant = pc.and_(pc.ends_with(column, "Z"), _has_at(column, 19, (".", "Z")))
    is_instant = pc.and_(is_instant, _has_at(column, 10, ("T", " ")))
    fits = lengths["min"] >= len("2024-05-01T12:00:00Z") and lengths["max"] <= len("2024-05-01T12:00:00.123456Z")
    return fits and pc.all(is_instant).as_py() is not False


def _has_at(column: Any, place: int, signs: tuple[str, ...]) -> Any:
    return pc.is_in(pc.binary_slice(column.cast(pa.binary()), place, place + 1), pa.array([s.encode() for s in signs]))


def _is_past_first_year(instants: Any) -> bool:
    least = pc.min(instants.cast(pa.timestamp("us")).cast(pa.int64())).as_py()
    return least is None or least >= _FIRST_YEAR
