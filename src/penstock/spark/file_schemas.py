"""What a file says of its columns: Parquet and ORC in their footers, Avro in its head; as fields of Arrow.

Compared with what is declared: a column, or a field within one, that is not there; a type whose values the declared
one may not hold. Names are compared as Spark does, without regard to case. Of Avro only the names are read, since
Spark refuses other types itself; so does it of Parquet.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

_AVRO, _ORC = b"Obj\x01", b"ORC"
_BY_PLACE = "_col"
"""How an old Hive names all columns of a file: Spark then goes by their places."""


@dataclass(frozen=True)
class FileSchema:
    """The columns of a file, and whether nobody else compares their types."""

    fields: tuple[Any, ...]
    needs_types: bool = False


def schema_of(file: str) -> FileSchema:
    """What a file says of itself; raises ValueError, OSError or ArrowException where it cannot be read."""
    with open(file, "rb") as opened:
        magic = opened.read(4)
        if magic == _AVRO:
            return FileSchema(tuple(_fields_of_avro(json.loads(_metadata_of_avro(opened)["avro.schema"]))))
    if magic.startswith(_ORC):
        found = orc.ORCFile(file).schema
        if found.names and all(name.startswith(_BY_PLACE) for name in found.names):
            raise ValueError("columns go by their places")
        return FileSchema(tuple(found), needs_types=True)
    return FileSchema(tuple(pq.read_schema(file)))


def columns_lacking(wanted: Iterable[Any], found: Iterable[Any], above: str = "") -> Iterator[str]:
    """The wanted columns, and fields within them, that are not among those found."""
    known = {field.name.casefold(): field for field in found}
    for field in wanted:
        name = f"{above}{field.name}"
        if field.name.casefold() not in known:
            yield name
        else:
            yield from _lacking_within(field.type, known[field.name.casefold()].type, name)


def _lacking_within(wanted: Any, found: Any, name: str) -> Iterator[str]:
    types = pa.types
    if types.is_struct(wanted) and types.is_struct(found):
        yield from columns_lacking(_fields(wanted), _fields(found), f"{name}.")
    elif _is_list(wanted) and _is_list(found):
        yield from _lacking_within(wanted.value_type, found.value_type, name)
    elif types.is_map(wanted) and types.is_map(found):
        yield from _lacking_within(wanted.key_type, found.key_type, name)
        yield from _lacking_within(wanted.item_type, found.item_type, name)


def types_changed(wanted: Iterable[Any], found: Iterable[Any]) -> Iterator[tuple[str, Any, Any]]:
    """The wanted columns of which the file has another type, which may hold what they cannot: name, its type, ours."""
    known = {field.name.casefold(): field.type for field in found}
    for field in wanted:
        given = known[field.name.casefold()]
        if not _fits(given, field.type):
            yield field.name, given, field.type


def _fits(given: Any, wanted: Any) -> bool:
    types = pa.types
    if given == wanted or types.is_null(given):
        return True
    if types.is_struct(wanted):
        if not types.is_struct(given):
            return False
        known = {field.name.casefold(): field.type for field in _fields(given)}
        return all(_fits(known[field.name.casefold()], field.type) for field in _fields(wanted))
    if _is_list(wanted):
        return _is_list(given) and _fits(given.value_type, wanted.value_type)
    if types.is_map(wanted):
        is_map = types.is_map(given)
        return bool(is_map and _fits(given.key_type, wanted.key_type) and _fits(given.item_type, wanted.item_type))
    if types.is_decimal(wanted):
        is_decimal = types.is_decimal(given) and given.scale <= wanted.scale
        return bool(is_decimal and given.precision - given.scale <= wanted.precision - wanted.scale)
    for is_kind in (types.is_signed_integer, types.is_floating):
        if is_kind(wanted):
            return bool(is_kind(given) and given.bit_width <= wanted.bit_width)
    kinds = (types.is_timestamp, types.is_date, _is_text, _is_binary, types.is_boolean)
    # What is of none of these, such as an interval, is for Spark to read or to refuse.
    return next((bool(is_kind(given)) for is_kind in kinds if is_kind(wanted)), True)


def _fields(struct: Any) -> list[Any]:
    return [struct.field(number) for number in range(struct.num_fields)]


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_binary(kind: Any) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _metadata_of_avro(opened: BinaryIO) -> dict[str, bytes]:
    """What stands before the rows of a file of Avro, behind its first four bytes: a map, in blocks."""
    found: dict[str, bytes] = {}
    while count := _number(opened):
        if count < 0:
            _number(opened)  # How many bytes the block has.
        for _ in range(abs(count)):
            name = opened.read(_number(opened)).decode()
            found[name] = opened.read(_number(opened))
    return found


def _number(opened: BinaryIO) -> int:
    """A number as Avro writes it: seven bits in a byte, the low ones first, the sign in the lowest."""
    read, shift = 0, 0
    while True:
        byte = opened.read(1)
        if not byte or shift > 63:
            raise ValueError("the file ends, or is none of Avro")
        read |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return (read >> 1) ^ -(read & 1)
        shift += 7


def _fields_of_avro(schema: Any) -> Iterator[Any]:
    for field in schema["fields"] if isinstance(schema, dict) else ():
        yield pa.field(field["name"], _type_of_avro(field["type"]))


def _type_of_avro(kind: Any) -> Any:
    """The type where it has fields, as Arrow has it; `null` for every other."""
    if isinstance(kind, list):
        others = [one for one in kind if one != "null"]
        return _type_of_avro(others[0]) if len(others) == 1 else pa.null()
    match kind.get("type") if isinstance(kind, dict) else kind:
        case "record":
            return pa.struct(list(_fields_of_avro(kind)))
        case "array":
            return pa.list_(_type_of_avro(kind["items"]))
        case "map":
            return pa.map_(pa.string(), _type_of_avro(kind["values"]))
        case dict() | list() as inner:
            return _type_of_avro(inner)
        case _:
            return pa.null()
