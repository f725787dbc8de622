"""The columns that the joins of a FROM give where they are a block of their own, below the rest of the query.

They are what the query around may name, each value once, under the names that stand in it. Not decided: why the joins
are a block, which is a table that comes late (`late_tables`) or a value that is asked for (`asked_values`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.model.clauses import Output
from penstock.model.expressions import ColumnRef, Expression
from penstock.model.names import fold
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

    def add(self, alias: str, columns: Iterable[Visible]) -> None:
        """Those of an alias that are named somewhere."""
        for column in columns:
            if column.is_virtual or (self._wanted is not None and fold(column.name) not in self._wanted):
                continue
            values = column.ends or (column.value,)
            for number, value in enumerate(values):
                end = (".start", ".end")[number] if column.ends else ""
                self._by_value.setdefault(value, f"{alias}.{column.name}{end}" if alias else f"{column.name}{end}")

    @property
    def all(self) -> tuple[Output, ...]:
        """As the block gives them."""
        return tuple(Output(name, value) for value, name in self._by_value.items())

    def shown(self, columns: Iterable[Visible], alias: str) -> Iterable[Visible]:
        """The same columns as those of the block."""
        for column in columns:
            if column.value in self._by_value:
                yield replace(column, value=ColumnRef(alias, self._by_value[column.value]))
