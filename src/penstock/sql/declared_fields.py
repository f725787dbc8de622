"""Fields of structs: which type has what is named after a column, by the type that the column is declared with?

`s.point.x`, `points[0].x`, `by_name['a'].x` and, of an array of structs, `points.x` are followed through the declared
type, as Spark does: case does not matter, a name after a MAP is one of its keys. A field that is not there is a
mistake. Nothing is said where a type is not known, of a VARIANT, and of functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.model.names import fold
from penstock.model.types import DataType
from penstock.records import record
from penstock.sql.tree import Name, Stretch, TypeText
from penstock.sql.types import data_type

if TYPE_CHECKING:
    from penstock.sql.scope import Resolved


@record
class WrongField:
    """A field that is named, and is not there."""

    name: Name
    of: str
    """The type that does not have it."""
    known: tuple[str, ...]
    """The fields that it has."""


def wrong_field(node: exp.Expr, fields: tuple[Name, ...], declared: DataType | None) -> WrongField | None:
    """The first field named after a column that its type does not have; None if there is none, or it is not known."""
    kind = None if declared is None else _type_tree(declared.text)
    for step in _steps(node, fields):
        if kind is None:
            return None
        if not isinstance(step, Name):
            kind = _element(kind, step)
            continue
        found = _field(kind, step.text)
        if isinstance(found, tuple):
            return WrongField(step, kind.sql("spark"), found)
        kind = found
    return None


def fields_of(declared: DataType | None) -> tuple[tuple[str, DataType | None], ...]:
    """The fields of a struct with their types; none where it is no struct, or not known."""
    kind = None if declared is None else _type_tree(declared.text)
    if kind is None or kind.this is not exp.DType.STRUCT:
        return ()
    names = _field(kind, "")
    kinds = [(name, _field(kind, name)) for name in names] if isinstance(names, tuple) else []
    return tuple((name, _data_type(one) if isinstance(one, exp.DataType) else None) for name, one in kinds)


def _data_type(kind: exp.DataType) -> DataType | None:
    return data_type(TypeText(kind, kind.sql("spark"), Stretch(0, 0)))


def path_type(node: exp.Expr, columns: Mapping[int, Resolved]) -> DataType | None:
    """The type of a field or an element of a column; None where it is not known. Columns go by their nodes."""
    kind = _kind_at(node, columns)
    return None if kind is None else _data_type(kind)


def _kind_at(node: exp.Expr, columns: Mapping[int, Resolved]) -> exp.DataType | None:
    match node:
        case exp.Paren():
            return _kind_at(node.this, columns)
        case exp.Column() if id(node) in columns:
            found = columns[id(node)]
            kind = None if found.column.type is None else _type_tree(found.column.type.text)
            steps: tuple[Name, ...] = found.fields
        case exp.Dot() if isinstance(node.expression, exp.Identifier):
            kind, steps = _kind_at(node.this, columns), (named(node.expression),)
        case exp.Bracket():
            kind = _kind_at(node.this, columns)
            return None if kind is None else _element(kind, node)
        case _:
            return None
    for step in steps:
        inside = None if kind is None else _field(kind, step.text)
        kind = inside if isinstance(inside, exp.DataType) else None
    return kind


def _steps(node: exp.Expr, fields: tuple[Name, ...]) -> Iterator[Name | exp.Bracket]:
    """What is taken of a column, one after the other: the fields of its dotted name, then what stands around that."""
    yield from fields
    around = node.parent
    while around is not None and (isinstance(around, exp.Paren) or around.this is node):
        if isinstance(around, exp.Bracket):
            yield around
        elif isinstance(around, exp.Dot) and isinstance(around.expression, exp.Identifier):
            yield named(around.expression)
        elif not isinstance(around, exp.Paren):
            return
        node, around = around, around.parent


def named(part: exp.Expr) -> Name:
    """A part of a dotted name, with its place."""
    start, end = part.meta.get("start", 0), part.meta.get("end", 0)
    return Name(part.name, Stretch(start, end + 1))


def _element(kind: exp.DataType, bracket: exp.Bracket) -> exp.DataType | None:
    """The type of `x[…]`."""
    if kind.this is exp.DType.STRUCT:
        inside = bracket.expressions[0] if len(bracket.expressions) == 1 else None
        found = _field(kind, inside.name) if isinstance(inside, exp.Literal) and inside.is_string else None
        return found if isinstance(found, exp.DataType) else None
    inner = kind.expressions[-1] if kind.this in (exp.DType.ARRAY, exp.DType.MAP) and kind.expressions else None
    return inner if isinstance(inner, exp.DataType) else None


def _field(kind: exp.DataType, name: str) -> exp.DataType | tuple[str, ...] | None:
    """The type of a field; the names of those that there are, if it is none; None if it is not known."""
    if kind.this is exp.DType.MAP or kind.this is exp.DType.VARIANT:
        return _element(kind, exp.Bracket())
    if kind.this is exp.DType.ARRAY:
        inner = kind.expressions[0] if kind.expressions else None
        found = _field(inner, name) if isinstance(inner, exp.DataType) else None
        return (
            exp.DataType(this=kind.this, expressions=[found], nested=True) if isinstance(found, exp.DataType) else found
        )
    if kind.this is not exp.DType.STRUCT:
        return ()
    if not all(isinstance(part, exp.ColumnDef) for part in kind.expressions):
        return None
    found = next((part.args.get("kind") for part in kind.expressions if fold(part.name) == fold(name)), None)
    if found is None:
        return tuple(part.name for part in kind.expressions)
    return found if isinstance(found, exp.DataType) else None


@lru_cache(maxsize=512)
def _type_tree(text: str) -> exp.DataType | None:
    try:
        return exp.DataType.build(text, dialect="spark")
    except (SqlglotError, ValueError):
        return None
