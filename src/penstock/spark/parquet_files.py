"""How a Parquet file is decoded by the packer (`local_files`): as Spark's reader has it.

A column without any value is NULL, integers widen, times are UTC. What Spark would refuse is refused, with the file,
the column and both types; so are what it alone converts (a number to a date, binary to text), and a column that a file
lacks, for which it would give NULL. `penstock.parquet = spark` has Spark read everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import DataError
from penstock.spark.who_reads import PARQUET

PLAIN = frozenset({"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "DATE", "TIMESTAMP"})
_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
"""Marks of files whose old dates are in another calendar."""
_LET_SPARK = f"--conf {PARQUET}=spark lets Spark read it"
_READ_AT_ONCE = 1 << 27
"""Bytes of row groups that are decoded together."""


def read_pieces(path: str, schema: Any) -> Iterator[Any]:
    """The wanted columns of a file, row groups together up to a size."""
    try:
        with pq.ParquetFile(path.removeprefix("file:"), memory_map=True, coerce_int96_timestamp_unit="us") as file:
            if not file.metadata.num_rows:
                return
            names = _names(path, file, schema)
            for groups in _together(file):
                found = file.read_row_groups(groups, columns=list(names.values()), use_threads=False)
                columns = [_as_declared(path, field, found.column(names[field.name])) for field in schema]
                if found.num_rows:
                    yield pa.Table.from_arrays(columns, schema=schema)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"cannot read {path}", detail=str(error).split("\n")[0], hint=_LET_SPARK) from error


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
    """What the file calls the wanted columns, whatever the case."""
    called: dict[str, list[str]] = {}
    for name in file.schema_arrow.names:
        called.setdefault(name.casefold(), []).append(name)
    found: dict[str, str | None] = {}
    for field in schema:
        names = called.get(field.name.casefold(), [])
        if len(names) > 1:
            raise DataError(f"{path} has several columns {field.name}", detail=f"they are: {', '.join(names)}")
        if f"/{field.name.casefold()}=" in path.casefold():
            raise DataError(f"column {field.name} of {path} stands in the name of a folder", hint=_LET_SPARK)
        found[field.name] = names[0] if names else None
    if missing := [name for name, its in found.items() if its is None]:
        raise DataError(
            f"{path} has no column {', '.join(missing)}, which is declared",
            detail=f"it has: {', '.join(file.schema_arrow.names) or 'none'}",
            hint="spell it as the file does, or leave it out of the stream",
        )
    kinds = [schema.field(name).type for name in found]
    dated = any(pa.types.is_temporal(kind) for kind in kinds)
    if dated and any(mark in (file.metadata.metadata or {}) for mark in _LEGACY):
        raise DataError(f"{path} was written in the calendar of an old Spark", hint=_LET_SPARK)
    return {name: its for name, its in found.items() if its is not None}


def _as_declared(path: str, field: Any, column: Any) -> Any:
    if column.type == field.type:
        return column
    if not _converts(column.type, field.type):
        raise DataError(
            f"{path} has column {field.name} as {column.type}, and it is declared as {field.type}",
            hint=f"declare the type that the file has; {_LET_SPARK}",
        )
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise DataError(
            f"{path} has values in column {field.name} that {field.type} cannot hold", detail=str(error)
        ) from error


def _converts(given: Any, wanted: Any) -> bool:
    """Whether Spark's reader takes one for the other, and an Arrow cast gives the same values."""
    types = pa.types
    if types.is_dictionary(given):
        return _converts(given.value_type, wanted)
    if types.is_null(given):
        return True
    if types.is_string(wanted):
        return bool(types.is_string(given) or types.is_large_string(given) or types.is_string_view(given))
    if types.is_timestamp(wanted):
        return bool(types.is_timestamp(given) and given.unit in ("ms", "us"))
    if types.is_integer(wanted):
        widest = wanted.bit_width if types.is_signed_integer(given) else wanted.bit_width // 2
        return bool(types.is_integer(given) and given.bit_width <= widest)
    return bool(types.is_float64(wanted) and types.is_float32(given))
