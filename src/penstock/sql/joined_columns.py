"""The columns that the joins of a FROM give where they are a block of their own, below the rest of the query.

They are what the query around may name, each value once, under the names that stand in it. Not decided: why the joins
are a block, which is a table that comes late (`late_tables`) or a value that is asked for (`asked_values`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.model.clauses import Output, Source
from penstock.model.expressions import ColumnRef, Expression
from penstock.model.names import fold
from penstock.model.query import Query
from penstock.sql.scope import Visible
from penstock.sql.tree import Select


def named_in(select: Select) -> frozenset[str] | None:
    """The folded names that stand in a query; None if a star does, which names all."""
    return None if any(item.code is None for item in select.items) else select.words


class JoinedColumns:
    """The columns that a block gives, each value once."""

    def __init__(self, names: frozenset[str] | None) -> None:
        self._wanted = names
        self._by_value: dict[ColumnRef | Expression, str] = {}

    def add(self, alias: str, columns: Iterable[Visible], *, are_named: bool = False) -> None:
        """Those of an alias that are named somewhere."""
        for column in columns:
            is_named = are_named or self._wanted is None or fold(column.name) in self._wanted
            if column.is_virtual or not is_named:
                continue
            name = f"{alias}.{column.name}" if alias else column.name
            self._by_value.setdefault(column.value, name)
            for end, value in zip(("start", "end"), column.ends or (), strict=False):
                self._by_value.setdefault(value, f"{name}.{end}")

    def name_of(self, column: Visible) -> str:
        """What one of them is called."""
        return self._by_value[column.value]

    @property
    def all(self) -> tuple[Output, ...]:
        """As the block gives them."""
        return tuple(Output(name, value) for value, name in self._by_value.items())

    def shown(self, columns: Iterable[Visible], alias: str) -> Iterable[Visible]:
        """The same columns as those of the block."""
        for column in columns:
            if column.value in self._by_value:
                start, end = (ColumnRef(alias, self._by_value[e]) for e in column.ends) if column.ends else (None, None)
                ends = None if start is None or end is None else (start, end)
                value = ColumnRef(alias, self._by_value[column.value])
                yield replace(column, value=value, ends=ends, window=None)


def named_of(query: Query, source: Source, asked: Iterable[ColumnRef] = ()) -> set[str]:
    """The columns of a source that a query names, or derives others of."""
    named = {ref.column for ref in (*asked, *query.block.columns) if ref.alias == source.alias}
    return named | {ref.column for c in source.stream.columns if c.derived is not None for ref in c.derived.columns}


def with_columns(query: Query, names: set[str]) -> Query:
    """A block that gives no other columns than these; one where it would give none."""
    outputs = tuple(output for output in query.outputs if output.name in names) or query.outputs[:1]
    return query.with_block(replace(query.block, outputs=outputs))
