"""Values as a person reads them, for sentences about a few rows: never on the way of the data.

A time is written as SQL writes it, text and bytes as literals, NULL as NULL. Bytes that are no text, and times that no
calendar of Python's holds, are written all the same: an error about a row must not be one about its values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

_LONGEST = 100
"""Characters shown of a value."""


def rows_read(table: Any) -> Iterator[str]:
    """Each row of a table, `name = value` for each column."""
    for row in range(table.num_rows):
        yield ", ".join(f"{name} = {value_read(table.column(name)[row])}" for name in table.column_names)


def value_read(scalar: Any) -> str:
    """One value of Arrow's."""
    text = _read(scalar)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _read(scalar: Any) -> str:
    kind = scalar.type
    types = pa.types
    if not scalar.is_valid:
        return "NULL"
    if types.is_string(kind) or types.is_large_string(kind):
        text = str(scalar.as_buffer().to_pybytes(), "utf-8", "backslashreplace").replace("'", "''")
        return f"'{text}'"
    if types.is_binary(kind) or types.is_large_binary(kind):
        return f"X'{scalar.as_buffer().to_pybytes().hex().upper()}'"
    if types.is_boolean(kind):
        return str(scalar.as_py()).lower()
    if types.is_timestamp(kind):
        return _time(scalar, kind)
    if types.is_duration(kind):
        return f"{scalar.cast(pa.duration('us')).value / 1_000_000:,g} SECONDS"
    if types.is_list(kind) or types.is_large_list(kind):
        return "[" + ", ".join(map(_read, scalar)) + "]" if len(scalar) else "[]"
    if types.is_struct(kind):
        return "{" + ", ".join(f"{name}: {_read(value)}" for name, value in scalar.items()) + "}"
    try:
        return str(scalar.as_py())
    except (ValueError, OverflowError):
        return str(scalar.cast(pa.int32()) if types.is_date32(kind) else scalar)


def _time(scalar: Any, kind: Any) -> str:
    try:
        micros = scalar.cast(pa.timestamp("us", kind.tz))
        text = micros.as_py().replace(tzinfo=None).isoformat(" ")
    except (ValueError, OverflowError, pa.ArrowException):
        return f"{scalar.value} {kind.unit} since 1970"
    return f"{text.rstrip('0') if '.' in text else text}{' UTC' if kind.tz is not None else ''}"
