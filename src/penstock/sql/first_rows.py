"""`ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) AS rn`, and `WHERE rn <= n` in the query around it.

Spark has no other way to ask for the first rows of a partition. How many are wanted of each query that numbers its rows
is known before any is bound (`row_limits`). The query that numbers is then a block by itself whose groups are the
partitions; the conditions around it stay, as they may ask for less (`rn = 2`). Where the query around is no more than
columns of it and that limit, the two are one.

Not in the language: other window functions; a number that nothing limits; two numbers in one SELECT.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from penstock.errors import Refused
from penstock.model.clauses import TOP, Aggregate, Ordering, Output, Scalar, TimeWindow
from penstock.model.expressions import ColumnRef, Expression
from penstock.model.names import fold
from penstock.model.query import Query
from penstock.model.term_types import is_nested
from penstock.records import record
from penstock.sql.environment import Environment, NamedQuery
from penstock.sql.expressions import bind_column, bind_node
from penstock.sql.from_parts import items_of
from penstock.sql.outputs import OutputBinder, with_starts
from penstock.sql.row_limits import RowLimit, limit_of, numbers_of
from penstock.sql.scope import Scope
from penstock.sql.time_windows import whole_window
from penstock.sql.tree import Code, FromItem, FromQuery, QueryText, RowNumber, Select, SelectItem
from penstock.sql.words import unwrapped


@record
class Numbered:
    """A query in FROM that numbers its rows."""

    select: Select
    item: SelectItem
    limit: RowLimit | None
    """Whether that they are among the first so many is all that the query around asks."""


def numbered_in(select: Select, environment: Environment) -> Iterator[Numbered]:
    """The queries in FROM that number their rows."""
    for item in items_of(select.source):
        inner = select_of(item, environment)
        for number in numbers_of(inner) if inner is not None else ():
            assert inner is not None
            limit = limit_of(select, item, number)
            yield Numbered(inner, number, limit)


def select_of(item: FromItem | FromQuery, environment: Environment) -> Select | None:
    """The SELECT that a query in FROM is; None for a stream, and for more than one SELECT."""
    body: object = None
    if isinstance(item, FromQuery):
        body = item.query
    elif isinstance(found := environment.look(item.stream.text), NamedQuery):
        body = found.query
    while isinstance(body, QueryText):
        body = body.body
    return body if isinstance(body, Select) else None


def bind_partition(number: RowNumber, scope: Scope) -> tuple[tuple[Scalar, ...], tuple[Ordering, ...]] | None:
    """What rows are partitioned and ordered by; None, and mistakes, if it cannot be."""
    keys = [OutputBinder(scope).scalar(code) for code in number.partition]
    values = [(_value(item.code, scope), item) for item in number.ordering]
    for value, item in values:
        if value is not None and is_nested(value, scope.type_of):
            scope.source.report(
                Refused,
                f"ORDER BY {value}, a value made of others, is not in Penstock's language here",
                item.code.at,
                hint="order by what it is made of: ORDER BY s.a, s.b",
            )
            return None
    if None in keys or any(value is None for value, _ in values):
        return None
    known: list[Scalar] = [whole_window(key) for key in keys if key is not None]
    told = ((value, item) for value, item in values if value is not None and value not in known)
    ordering = [Ordering(value, item.descending, item.nulls_first) for value, item in told]
    return tuple(dict.fromkeys(with_starts(known, scope))), tuple(ordering)


def _value(code: Code, scope: Scope) -> ColumnRef | Expression | None:
    column = bind_column(code.node, scope)
    return column if column is not None else bind_node(code.node, code.tokens, scope)


def first_rows(
    outputs: tuple[Output, ...], keys: tuple[Scalar, ...], ordering: tuple[Ordering, ...]
) -> tuple[tuple[Output, ...], tuple[str, ...]]:
    """The columns of the rows that groups give, those by which they are ordered too; and which of them are shown."""
    found = [o if isinstance(o.value, Aggregate | TimeWindow) or o.value in keys else _of_row(o) for o in outputs]
    shown = tuple(output.name for output in found)
    taken = {fold(name) for name in shown}
    for by in ordering:
        if all(output.value != Aggregate(TOP, by.value) for output in found):
            name = str(by.value)
            while fold(name) in taken:
                name += "_"
            taken.add(fold(name))
            found.append(Output(name, Aggregate(TOP, by.value)))
    return tuple(found), shown if len(found) > len(shown) else ()


def _of_row(output: Output) -> Output:
    assert not isinstance(output.value, Aggregate | TimeWindow)
    return replace(output, value=Aggregate(TOP, output.value))


def folded(select: Select, query: Query, numbered: Numbered, item: FromItem | FromQuery) -> Query | None:
    """The query around a numbered one as a part of it, where it is no more than columns; None where it is more."""
    is_plain = not (select.distinct or select.group_by or select.groups_by_all or select.having or select.hints)
    limit = numbered.limit
    if not is_plain or limit is None or not limit.is_all or item.window is not None or query.top is None:
        return None
    alias = item.alias.text if item.alias is not None else item.stream.text if isinstance(item, FromItem) else ""
    known = {fold(output.name): output for output in query.answer if isinstance(output, Output)}
    chosen: list[Output] = []
    for one in select.items:
        if one.code is None:
            if one.star_of is not None and fold(one.star_of.text) != fold(alias):
                return None
            left_out = {fold(name.text) for name in one.without}
            chosen += (output for name, output in known.items() if name not in left_out)
            continue
        node = unwrapped(one.code.node)
        if not isinstance(node, exp.Column) or len(node.parts) > 2 or (node.table and fold(node.table) != fold(alias)):
            return None
        if (found := known.get(fold(node.name))) is None:
            return None
        chosen.append(found if one.alias is None else replace(found, name=one.alias.text))
    if len({fold(output.name) for output in chosen}) < len(chosen) or len({o.value for o in chosen}) < len(chosen):
        return None
    outputs, shown = first_rows(tuple(chosen), query.group_by, query.top.ordering)
    top = replace(query.top, most=min(query.top.most, limit.most))  # other places may ask for more
    return query.with_block(replace(query.block, outputs=outputs, shown=shown, top=top))


def refuse_beside_groups(item: SelectItem, scope: Scope) -> None:
    """Say that what is numbered are rows."""
    scope.source.report(
        Refused,
        "this ROW_NUMBER() beside GROUP BY, DISTINCT or another ROW_NUMBER() is not in Penstock's language",
        item.at,
        hint="group in a view or a query in FROM, and number its rows in the query around it; of groups one number may "
        "stand beside them, where each item has a name of its own: count(*) AS n",
    )


def refuse_unlimited(item: SelectItem, scope: Scope) -> None:
    """Say that nothing limits the numbers of rows."""
    scope.source.report(
        Refused,
        "ROW_NUMBER() of all rows is not in Penstock's language",
        item.at,
        hint="give it a name, and ask for the first rows in the query around it: "
        "SELECT … FROM (SELECT …, ROW_NUMBER() OVER (…) AS rn FROM …) WHERE rn <= 3",
    )
