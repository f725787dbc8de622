"""Whether rows of different streams are counted in the order of ARRIVES BY (DESIGN section 2, "Arrival order").

They are if the query reads several streams, all of them declare ARRIVES BY, and something counts across them: `[ROWS
n]`, or FOLLOWS within rows. Places on different streams are compared as numbers, so the arrival columns must all be
integers, or all of one type that the engine has numbers for.
"""

from __future__ import annotations

from penstock.model.clauses import RowsWindow
from penstock.model.query import Query
from penstock.model.schemes import Follows
from penstock.model.spans import Auto, Rows
from penstock.model.types import DataType, Kind

_WITHOUT_NUMBERS = frozenset({Kind.STRING, Kind.BINARY})
_MOST_DIGITS = 18
"""Of a decimal that has a number of 64 bits."""


def by_arrival(query: Query) -> bool:
    """Whether the order across the streams of a query is that of ARRIVES BY."""
    streams = {source.stream.name: source.stream for source in query.all_sources}
    return len(streams) > 1 and all(stream.arrival is not None for stream in streams.values())


def counts_by_arrival(query: Query) -> bool:
    """Whether the engine counts rows across streams in that order."""
    return by_arrival(query) and counts_rows(query)


def counts_rows(query: Query) -> bool:
    """Whether something counts rows across streams."""
    names = {source.stream.name for source in query.all_sources}
    follows = any(
        isinstance(scheme, Follows) and isinstance(scheme.slack, Rows | Auto) and scheme.parent in names
        for source in query.all_sources
        for scheme in source.stream.schemes
    )
    return follows or any(isinstance(source.window, RowsWindow) for source in query.all_sources)


def uncomparable_arrivals(query: Query) -> str | None:
    """The types of the arrival columns, in words, if places cannot be compared; None if they can."""
    found: dict[str, DataType] = {}
    for source in query.all_sources:
        kind = source.stream.type_of(source.stream.arrival.column) if source.stream.arrival is not None else None
        if kind is not None:
            found.setdefault(str(kind), kind)
    first, *others = found.values()
    if all(first.compares_with(other) for other in others) and all(_has_numbers(kind) for kind in found.values()):
        return None
    return " and ".join(found)


def _has_numbers(kind: DataType) -> bool:
    return kind.kind not in _WITHOUT_NUMBERS and (kind.precision is None or kind.precision <= _MOST_DIGITS)
