"""What the names in FROM mean where a query stands: streams, views, and what WITH names.

A name of WITH hides a view or a stream of that name, as in Spark; a view sees the streams and the views before it. A
named query keeps the environment that it was written in, so that it means the same wherever it is used; the block that
it becomes where it cannot be inlined is made once, and a view used twice is read once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.errors import Mistake
from penstock.model.clauses import Union
from penstock.model.names import fold
from penstock.model.query import Query
from penstock.model.stream import Stream
from penstock.model.table import DeclaredTable
from penstock.records import record
from penstock.sql.source import SourceText
from penstock.sql.tree import CommonTable, Element, Name, QueryText


@dataclass
class NamedQuery:
    """A view, or a query that WITH names."""

    name: Name
    query: QueryText
    environment: Environment
    columns: tuple[Name, ...] = ()
    """The names that its columns are given, if they are."""
    elements: tuple[Element, ...] = ()
    """What is declared of it."""
    is_view: bool = False
    is_referred: bool = False
    """Whether a declaration names it, which is then about the rows that it gives."""
    is_wrong: bool = False
    """Whether mistakes were found in it: what is said of it is passed over."""
    block: tuple[Query | Union, Stream] | None = None
    """What it is where it is a block of its own, once that was asked."""
    table: DeclaredTable | None = None
    """What it is where it reads tables alone, once that was asked."""
    _said: tuple[Mistake, ...] = ()

    @property
    def is_declared(self) -> bool:
        """Whether something is declared of its rows, here or elsewhere."""
        return bool(self.elements) or self.is_referred

    def say(self, source: SourceText, before: int) -> None:
        """What is wrong in it, which was found after so many mistakes; again, if that was taken back.

        What stands around a query may be read in another way, and what is said of it is taken back. It is bound once.
        """
        self._said = self._said or tuple(source.mistakes[before:])
        source.say_again(self._said)


@record
class Environment:
    """Names by their folded spelling; None for what is declared, but wrong."""

    streams: Mapping[str, Stream | None]
    queries: Mapping[str, NamedQuery | None] = field(default_factory=dict)
    common: dict[int, NamedQuery] = field(default_factory=dict)
    """What is named by WITH, the same each time that it is looked at."""
    tables: Mapping[str, DeclaredTable | None] = field(default_factory=dict)
    tables_are_streams: bool = False
    """Whether a query over tables alone is bound, with these in the place of streams."""
    outside: Mapping[str, str] = field(default_factory=dict)
    """Folded aliases of a query around, which a query that stands by itself cannot name, and why."""

    def within(self, common: tuple[CommonTable, ...]) -> Environment:
        """Inside a WITH: each of its queries sees those before it."""
        here = self
        for one in common:
            named = self.common.setdefault(id(one), NamedQuery(one.name, one.query, here, one.columns))
            here = replace(here, queries={**here.queries, fold(one.name.text): named})
        return here

    def look(self, name: str) -> Stream | NamedQuery | None:
        """What a name means; None if it means nothing, or something that is itself wrong."""
        if fold(name) in self.queries:
            return self.queries[fold(name)]
        return self.streams.get(fold(name))

    def table(self, name: str) -> DeclaredTable | None:
        """The table that a name means; None if it means none, or something else."""
        return None if fold(name) in self.queries else self.tables.get(fold(name))

    def is_declared(self, name: str) -> bool:
        """Whether there is something of that name, right or wrong."""
        return any(fold(name) in known for known in (self.queries, self.streams, self.tables))

    @property
    def names(self) -> list[str]:
        """All names, as they are spelt."""
        queries = [folded if query is None else query.name.text for folded, query in self.queries.items()]
        declared = (*self.streams.items(), *self.tables.items())
        return queries + [folded if one is None else one.name for folded, one in declared]
