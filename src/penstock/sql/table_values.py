"""Subqueries over tables that stand for a value: `price > (SELECT min(cost) FROM t)`.

Such a query is a table of one row and one column, joined with a stream beside which it stands by LEFT JOIN without a
condition; the value is then a column of that stream. Not in the language: one that names what stands around it, and one
over streams, whose value would change.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from penstock.errors import Refused
from penstock.model.expressions import Cast, ColumnRef, Expression, Literal
from penstock.model.relation import certain, leaves
from penstock.model.table import column_of
from penstock.model.term_types import output_type
from penstock.sql.environment import Environment, NamedQuery
from penstock.sql.from_parts import Part
from penstock.sql.scope import Scalars, Visible
from penstock.sql.table_queries import keys_of, names_of_others, reads_only_tables, table_of
from penstock.sql.tables import TableBinder
from penstock.sql.tree import FromJoin, FromQuery, Name, QueryText, WrittenJoin

if TYPE_CHECKING:
    from penstock.sql.from_clause import FromBinder

_NOT_ONE = "this subquery is not known to give one value"
_GIVES_ONE = (
    "it reads tables and gives one row: (SELECT max(x) FROM t); streams are joined in FROM, grouped: "
    "JOIN (SELECT k, window(ts, '5 minutes') AS w, count(*) AS n FROM s GROUP BY ALL) AS m ON m.k = …"
)


def scalars_of(binder: FromBinder, part: Part, environment: Environment) -> Scalars:
    """What makes a column of a subquery over tables that gives one value."""

    def scalar(query: QueryText, beside: AbstractSet[str]) -> Visible | None:
        alias = Name(binder.sources.free_alias("subquery"), query.at)
        if environment.tables_are_streams:
            return _by_its_type(binder, query, environment)
        is_of_tables = reads_only_tables(query, environment)
        if is_of_tables and (outside := names_of_others(query, part.tables)):
            hint = "join what it gives: LEFT JOIN (SELECT k, max(x) AS most FROM t GROUP BY k) AS m ON m.k = s.k"
            binder.report(f"this subquery names {outside[0]}, which stands around it", query.at, hint, Refused)
            return None
        table = table_of(NamedQuery(alias, query, environment), binder.queries) if is_of_tables else None
        if is_of_tables and table is None:
            return None
        if table is None or () not in table.keys or len(table.columns) != 1:
            binder.report(_NOT_ONE, query.at, _GIVES_ONE, Refused)
            return None
        item = FromQuery(query, None, alias, (), query.at)
        written = FromJoin(WrittenJoin.LEFT, item, item, None, query.at)
        made = TableBinder(binder, written, item, table, WrittenJoin.LEFT)
        there = certain(part.tree)
        made.beside = next((a for a in (*sorted(beside), *leaves(part.tree)) if a in there), None)
        source = binder.attached(made, part, ())
        ((name, kind),) = table.columns
        return None if source is None else Visible(name, ColumnRef(source, column_of(alias.text, name)), kind)

    return scalar


def _by_its_type(binder: FromBinder, query: QueryText, environment: Environment) -> Visible | None:
    """Inside a query over tables alone, which Spark evaluates as a whole: what is asked of a value is its type."""
    bound = binder.queries.bind(query, environment, binder.queries.free_name("value"), None)
    if bound is None:
        return None
    if () not in keys_of(bound) or len(bound.answer) != 1:
        binder.report(_NOT_ONE, query.at, _GIVES_ONE, Refused)
        return None
    kind = output_type(bound.answer[0], bound.type_of)
    return Visible("value", Expression("NULL", (), Cast(Literal(None), kind)), kind)
