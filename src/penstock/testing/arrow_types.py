"""The declared types of columns as Arrow has them, and what a table given by a test may hold in their place.

A table may be narrower than declared (an INT for a BIGINT, seconds for microseconds) and may leave a time zone out,
which is then UTC; it may not be of another family, which Spark would cast and a test should not.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from penstock.errors import DataError, NotSupportedYet
from penstock.runtime.columns.term_values import PLAIN_TYPES

_TEXT = re.compile(r"(VARCHAR|CHAR)\s*\(\s*\d+\s*\)|STRING\s+COLLATE\b.*", re.IGNORECASE)
_ARRAY = re.compile(r"ARRAY<(.+)>", re.IGNORECASE)
_DECIMAL = re.compile(r"DECIMAL\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)", re.IGNORECASE)

_FAMILIES = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
    lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind),
    pa.types.is_date,
    pa.types.is_timestamp,
)


def arrow_type(column: str, declared: str) -> Any:
    """The type that a column of that declared type has in a table."""
    if (plain := PLAIN_TYPES.get(declared.upper())) is not None:
        return plain
    if _TEXT.fullmatch(declared):
        return pa.string()
    if found := _DECIMAL.fullmatch(declared):
        return pa.decimal128(int(found[1]), int(found[2]))
    if found := _ARRAY.fullmatch(declared):
        return pa.list_(arrow_type(column, found[1]))
    raise NotSupportedYet(
        f"{column} is declared {declared}, which only Spark can carry",
        hint="leave the column out of the query that is tested, or test it on Spark",
    )


def declared_type(kind: Any) -> str:
    """What a type of Arrow is called where it is declared; the other way round than `arrow_type`."""
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    return next((name for name, plain in PLAIN_TYPES.items() if plain == kind), "VOID")


def as_declared(stream: str, name: str, column: Any, declared: str) -> Any:
    """A column that a test gives, in its declared type."""
    wanted = arrow_type(f"{stream}.{name}", declared)
    kind = column.type
    if kind == wanted:
        return column
    if pa.types.is_dictionary(kind):
        return as_declared(stream, name, column.cast(kind.value_type), declared)
    if not pa.types.is_null(kind) and not _is_kin(kind, wanted):
        raise DataError(
            f"column {name} of the table for stream {stream} is {kind}, and not {wanted}",
            detail=f"it is declared {declared}",
            hint=f"give it as pa.{_spelt(wanted)}",
        )
    try:
        return column.cast(wanted)
    except pa.ArrowInvalid as error:
        raise DataError(
            f"column {name} of the table for stream {stream} holds what a {declared} cannot", detail=str(error)
        ) from None


def _is_kin(kind: Any, wanted: Any) -> bool:
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(wanted):
        return wanted.tz is not None or kind.tz is None
    return any(family(kind) and family(wanted) for family in _FAMILIES)


def _spelt(kind: Any) -> str:
    if pa.types.is_timestamp(kind):
        return f"timestamp('us', tz={kind.tz!r})" if kind.tz else "timestamp('us')"
    text = str(kind)
    return text if text.endswith(")") else f"{'bool_' if text == 'bool' else text.partition('[')[0]}()"
