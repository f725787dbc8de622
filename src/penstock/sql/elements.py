"""LATERAL VIEW explode(…): each row once for each element of an array or a map that it carries.

Spark does it before the stream meets any other (`model.stream.Exploded`), which is the same, since the elements of a
row follow from the row alone: a join with another stream, and a condition, take each of the rows as they would have
taken the one, and repeat or drop it as often. So the array must be of one stream, one that is in every row.

The types of the elements must be known without Spark: those of a declared column are, those of an expression often.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.errors import Refused
from penstock.model.expressions import ColumnRef
from penstock.model.names import quoted
from penstock.model.relation import certain
from penstock.model.stream import Exploded
from penstock.model.table import column_of, exploded, obstacle
from penstock.model.term_types import type_of
from penstock.model.types import DataType, Kind
from penstock.sql.expressions import bind_expression
from penstock.sql.from_parts import Part
from penstock.sql.scope import NamedColumns, Visible
from penstock.sql.tree import FromElements, Stretch, TypeText
from penstock.sql.types import data_type

if TYPE_CHECKING:
    from penstock.sql.from_clause import FromBinder

_Column = tuple[str, str, DataType | None]
"""A name that Spark gives, what it is of an element, and its type."""


def with_elements(binder: FromBinder, part: Part, written: FromElements) -> Part | None:
    """The part with its rows repeated and the columns of the elements; None, and mistakes, if that cannot be."""
    scope = part.scope(binder.source, missing=frozenset(binder.missing))
    value = bind_expression(written.argument, scope)
    if value is None:
        return None
    named = sorted({ref.alias for ref in value.columns})
    why = _obstacle(binder, part, named)
    if why is not None:
        hint = "write a query of its own: (SELECT … FROM …) AS x LATERAL VIEW …"
        binder.report(f"{written.function} cannot stand here: {why}", written.at, hint, Refused)
        return None
    kind = type_of(value.term, scope.type_of)
    found = _columns(written, kind)
    if found is None or any(one is None for _, _, one in found):
        told = "is not known without Spark" if kind is None else f"is {kind}"
        hint = "say which is meant: explode(CAST(… AS ARRAY<STRING>)); inline takes an ARRAY<STRUCT<…>>"
        binder.report(f"the type of what {written.function} takes {told}", written.argument.at, hint, Refused)
        return None
    names = [name.text for name in written.columns] or [name for name, _, _ in found]
    if len(names) != len(found):
        told = f"{written.function} gives {len(found)} columns here, and {len(names)} are named"
        binder.report(told, written.at)
        return None
    (alias,) = named
    own = binder.sources.by_alias[alias]
    title = written.alias.text if written.alias is not None else _free(part, written.function)
    if title in part.tables:
        binder.report(f"{title} stands twice in the query", written.at, "give each its own alias")
        return None
    types = [one for _, _, one in found if one is not None]
    made = Exploded(
        value.text,
        tuple((name, str(one)) for name, one in zip(names, types, strict=True)),
        tuple(of for _, of, _ in found),
        written.is_outer,
        title,
        alias,
    )
    binder.sources.by_alias[alias] = replace(own, stream=exploded(own.stream, made, types))
    shown = [
        Visible(name, ColumnRef(alias, column_of(title, name)), one) for name, one in zip(names, types, strict=True)
    ]
    return replace(part, tables={**part.tables, title: NamedColumns(title, shown)})


def _obstacle(binder: FromBinder, part: Part, named: list[str]) -> str | None:
    if len(named) != 1:
        return f"it names {' and '.join(named) or 'no stream'}"
    (alias,) = named
    own = binder.sources.by_alias[alias]
    if alias not in certain(part.tree):
        return f"{alias} may be absent"
    return obstacle(own)


def _free(part: Part, function: str) -> str:
    title, number = function, 1
    while title in part.tables:
        number += 1
        title = f"{function}_{number}"
    return title


def _columns(written: FromElements, kind: DataType | None) -> list[_Column] | None:
    """What an element is made of, as Spark names it; None if the function does not take such a value."""
    inside = None if kind is None else _inside(kind.text)
    if inside is None or kind is None:
        return None
    found: list[_Column]
    if written.function.startswith("inline"):
        fields = _inside(inside[0]) if kind.kind is Kind.ARRAY and len(inside) == 1 else None
        named = None if fields is None else [field.partition(":") for field in fields]
        return None if named is None else [(_bare(n), f"col.{quoted(_bare(n))}", _type(t)) for n, _, t in named]
    if kind.kind is Kind.ARRAY and len(inside) == 1:
        found = [("col", "col", _type(inside[0]))]
    elif kind.kind is Kind.MAP and len(inside) == 2:
        found = [("key", "key", _type(inside[0])), ("value", "value", _type(inside[1]))]
    else:
        return None
    return [("pos", "pos", DataType.of(Kind.INT)), *found] if written.function.startswith("pos") else found


def _bare(name: str) -> str:
    return name.strip().strip("`")


def _inside(text: str) -> list[str] | None:
    """What stands between < and >, at its commas."""
    _, bracket, rest = text.strip().partition("<")
    if not bracket or not rest.rstrip().endswith(">"):
        return None
    parts, depth, start, rest = [], 0, 0, rest.rstrip()[:-1]
    for place, letter in enumerate(rest):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(letter, 0)
        if letter == "," and not depth:
            parts.append(rest[start:place])
            start = place + 1
    return [part.strip() for part in (*parts, rest[start:])]


def _type(text: str) -> DataType | None:
    node = exp.DataType.build(text.strip(), dialect="spark")
    return data_type(TypeText(node, text.strip(), Stretch(0, 0)))
