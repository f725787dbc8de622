"""What is known where tuples of some streams stand together: equalities, bands, domains, or that they never do.

One place that asks `Query.holding` and keeps the answers, so that no analysis uses a condition where it does not
hold. Where all streams asked for are in every result, the answer is the same for each choice of them, and is worked
out once.
"""

from __future__ import annotations

from functools import cached_property

from penstock.analysis.facts.bands import Bands, Constraint, bands_of, window_constraints
from penstock.analysis.facts.domains import Domain, domain_of, emptied
from penstock.analysis.reasons import Because, Told
from penstock.model.clauses import Source
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Equalities
from penstock.model.query import Holding, Query


class Together:
    """The facts of one combination; each is worked out when it is first asked for."""

    def __init__(self, query: Query, holding: Holding, windows: tuple[Constraint, ...] | None) -> None:
        self._query = query
        self._holding = holding
        self._windows = windows
        self._domains: dict[ColumnRef, Domain] = {}
        self._touched: dict[str, tuple[ColumnRef, ...]] = {}

    @property
    def present(self) -> frozenset[str]:
        """Everyone who is there for certain."""
        return self._holding.present

    @cached_property
    def equalities(self) -> Equalities:
        """The columns that are equal."""
        return Equalities.of(self._holding.predicates)

    @cached_property
    def bands(self) -> Bands:
        """How far apart columns may lie."""
        return bands_of(self._query, self._holding, self.equalities, self._windows)

    def touched(self, source: Source) -> tuple[ColumnRef, ...]:
        """The columns of a source of which the bands say anything, its event time first."""
        if source.alias not in self._touched:
            names = [column.name for column in source.stream.carried]
            if source.stream.event_time is not None:
                names.insert(0, source.stream.event_time)
            refs = [ColumnRef(source.alias, name) for name in dict.fromkeys(names)]
            self._touched[source.alias] = tuple(ref for ref in refs if self.bands.touches(ref))
        return self._touched[source.alias]

    @cached_property
    def keys(self) -> dict[str, dict[int, str]]:
        """By alias, its first column in each class of equal columns that it has, by the number of the class."""
        found: dict[str, dict[int, str]] = {}
        for number, refs in enumerate(self.equalities.classes):
            for ref in refs:
                found.setdefault(ref.alias, {}).setdefault(number, ref.column)
        return found

    def domain(self, ref: ColumnRef) -> Domain:
        """The values that a column may take here."""
        # Columns of one class have one domain.
        first = self.equalities.class_of(ref)[0]
        if first not in self._domains:
            self._domains[first] = domain_of(self._query, self._holding, self.equalities, first)
        return self._domains[first]

    @cached_property
    def impossible(self) -> tuple[Told, ...]:
        """Why these tuples never stand together; nothing if they may."""
        empty = emptied(self._holding, self.equalities, self.domain)
        if empty or not self.bands.contradiction:
            return empty
        return (Because.CANNOT_ALL_HOLD(self.bands.contradiction),)


class Facts:
    """The facts of a query; `promised=False` looks at conditions, types and CHECK alone, as MEMORY does."""

    def __init__(self, query: Query, promised: bool = True) -> None:
        self.query = query
        self._windows = tuple(window_constraints(query)) if promised else None
        self._known: dict[frozenset[str], Together] = {}

    def of(self, *together: str) -> Together:
        """Where tuples of these sources stand together; of none, what holds in every result."""
        # What stands in every result adds nothing to what is asked for.
        optional = frozenset(together) - self.query.core
        if optional not in self._known:
            self._known[optional] = Together(self.query, self.query.holding(optional), self._windows)
        return self._known[optional]
