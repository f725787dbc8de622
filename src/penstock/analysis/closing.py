"""Which streams are closed, in the end, for every tuple of which others? SAFETY's graph, asked of schemes.

An edge i -> j says: for every tuple of i there comes a time from which no future tuple of j can match it, on any
input that keeps its promises and whose streams move on. There is one when

- i and j never stand together;
- j is ORDERED BY a column a (its event time or any other), and `j.a - i.x` has an upper limit for a column x of i:
  a band, a window, an equality or a comparison;
- i declares FOLLOWS towards j in rows, and the equalities tie all its columns.

A row of i can be purged iff every other source is reachable from i. A step k -> j beyond the first is taken only if
k stands in every result that i and j stand in: a row of i that k is absent from then has no j to wait for.

Preconditions: equalities and bands are those that hold where the two stand together. A stream moves on when its
clock and each ORDERED column pass every value; one that has a largest value cannot (limits.py), so it gives no edge,
the event time no more than any other. Not decided: PRIMARY KEY and CLUSTERED close only values that arrive (ERRATA,
KMON), so alone they give no edge; PUNCTUATED and FOREIGN KEY are left to later analyses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from penstock.analysis.bands import Limit, tied
from penstock.analysis.combination import Combination, Combinations
from penstock.analysis.limits import never_passes
from penstock.model.predicates import ColumnRef
from penstock.model.query import Source
from penstock.model.schemes import Follows, Ordered, Scheme, reference_of
from penstock.model.spans import Auto, Rows, Span, span_of_ticks
from penstock.model.stream import Stream

Missing = tuple[str, Scheme]
"""A declaration that a stream does not make: the stream's name, and the scheme."""


class Way(IntEnum):
    """How an edge closes; the order is the order of preference."""

    NEVER = 0
    CLOCK = 1
    FOLLOWS = 2
    ORDER = 3


@dataclass(frozen=True)
class Passage:
    """The target is closed once its column `ordered` has passed `start + limit`, `start` a column of the source."""

    ordered: ColumnRef
    start: ColumnRef
    limit: Limit


@dataclass(frozen=True)
class Edge:
    """Every tuple of `source` has `target` closed in the end."""

    source: str
    target: str
    way: Way
    wait: str
    """What must happen first, as the end of "a row leaves once …"."""
    because: tuple[str, ...]
    missing: Missing | None = None
    """The declaration that would make this an edge; None if it is one."""
    scheme: Scheme | None = None
    """The FOLLOWS that closes in rows, if that is what does."""
    passage: Passage | None = None
    """The ordered column that must pass, if that is what closes."""


@dataclass(frozen=True)
class Reach:
    """What a source reaches: for each target the edge that gets there, in the order of discovery."""

    edges: tuple[Edge, ...]
    unreached: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every other source is reached."""
        return not self.unreached


class ClosingGraph:
    """The edges between the sources of a query: those there are, and those that one more declaration would make."""

    def __init__(self, combinations: Combinations) -> None:
        self._combinations = combinations
        self.query = combinations.query
        self.aliases = tuple(source.alias for source in self.query.all_sources)

    @cached_property
    def edges(self) -> dict[tuple[str, str], tuple[Edge, ...]]:
        """All edges by pair, the preferred one first; those with something missing come last."""
        found = {}
        for own in self.query.all_sources:
            for other in self.query.all_sources:
                if own.alias != other.alias:
                    edges = self._between(own, other)
                    found[own.alias, other.alias] = tuple(sorted(edges, key=lambda e: (e.missing is not None, e.way)))
        return found

    def reach(self, alias: str, added: frozenset[Missing] = frozenset()) -> Reach:
        """What is reachable from a source, with some declarations added."""
        path: list[Edge] = []
        left = [a for a in self.aliases if a != alias]
        frontier = [alias]
        # Breadth first, so that each source is reached over as few others as can be.
        for via in frontier:
            for target in tuple(left):
                edge = self._usable(alias, via, target, added)
                if edge is not None:
                    left.remove(target)
                    frontier.append(target)
                    path.append(edge)
        return Reach(tuple(path), tuple(left))

    def stands_between(self, alias: str, via: str, target: str) -> bool:
        """Whether `via` is in every result of the other two, so that a path may lead over it."""
        return via == alias or via in self._combinations.of(alias, target).present

    def _usable(self, alias: str, via: str, target: str, added: frozenset[Missing]) -> Edge | None:
        for edge in self.edges[via, target]:
            if edge.missing is None or (added and edge.missing in added):
                return edge if self.stands_between(alias, via, target) else None
        return None

    def _between(self, own: Source, other: Source) -> Iterator[Edge]:
        here = self._combinations.of(own.alias, other.alias)
        if here.impossible:
            wait = f"it was read, for no row of {other.alias} ever matches it"
            yield Edge(own.alias, other.alias, Way.NEVER, wait, here.impossible)
            return
        yield from _by_order(own, other, here)
        yield from self._by_follows(own, other, here)

    def _by_follows(self, own: Source, other: Source, here: Combination) -> Iterator[Edge]:
        for scheme in own.stream.schemes:
            reference = reference_of(scheme)
            if not isinstance(scheme, Follows) or reference is None or isinstance(scheme.slack, Span):
                continue
            if tied(self.query, here.equalities, own.alias, other.alias, reference):
                wait = _counted(scheme.slack, other.alias)
                because = (scheme.on(own.stream.name),)
                yield Edge(own.alias, other.alias, Way.FOLLOWS, wait, because, scheme=scheme)
        pairs = shared_columns(here, own.alias, other.alias)
        if pairs:
            own_columns, other_columns = zip(*pairs, strict=True)
            scheme = Follows(other.stream.name, other_columns, own_columns, Auto())
            yield Edge(own.alias, other.alias, Way.FOLLOWS, "", (), missing=(own.stream.name, scheme))


def shared_columns(here: Combination, own: str, other: str) -> tuple[tuple[str, str], ...]:
    """One pair of columns for each equality class that the two sources share."""
    pairs = []
    for refs in here.equalities.classes:
        mine = [ref.column for ref in refs if ref.alias == own]
        theirs = [ref.column for ref in refs if ref.alias == other]
        if mine and theirs:
            pairs.append((mine[0], theirs[0]))
    return tuple(sorted(pairs))


def limit_on(own: Source, other: ColumnRef, here: Combination) -> tuple[ColumnRef, Limit] | None:
    """A column of a source, its event time if that will do, above which the other column never lies too far."""
    names = [c.name for c in own.stream.carried]
    if own.stream.event_time is not None:
        names.insert(0, own.stream.event_time)
    for ref in (ColumnRef(own.alias, name) for name in names):
        limit = here.bands.upper(other, ref) if here.bands.touches(ref) else None
        if limit is not None:
            return ref, limit
    return None


def stalled(own: Source, other: Source, here: Combination) -> Iterator[str]:
    """The ordered columns of a source that would close it for another's rows, and why they do not get there."""
    for column in other.stream.carried:
        ref = ColumnRef(other.alias, column.name)
        is_ordered = ref == other.event_time or other.stream.ordering(column.name)
        if is_ordered and here.bands.touches(ref) and limit_on(own, ref, here) is not None:
            limit = never_passes(other.stream, column.name)
            if limit is not None:
                yield f"{ref} {limit}"


def _by_order(own: Source, other: Source, here: Combination) -> Iterator[Edge]:
    stream = other.stream
    for column in stream.carried:
        is_clock = column.name == stream.event_time
        if column.type is None or not here.bands.touches(ColumnRef(other.alias, column.name)):
            continue
        if never_passes(stream, column.name) is not None:
            continue
        found = limit_on(own, ColumnRef(other.alias, column.name), here)
        if found is None:
            continue
        start, limit = found
        way = Way.CLOCK if is_clock else Way.ORDER
        declared = stream.ordering(column.name)
        passage = Passage(ColumnRef(other.alias, column.name), start, limit)
        wait = f"{passage.ordered} has passed {_shifted(start, limit, column.type.is_instant)}"
        if declared:
            because = (*limit.reasons, *(order_text(other.stream, scheme) for scheme in declared[:1]))
            yield Edge(own.alias, other.alias, way, wait, because, passage=passage)
        else:
            missing = (stream.name, Ordered(column.name, Auto()))
            yield Edge(own.alias, other.alias, way, wait, limit.reasons, missing=missing, passage=passage)


def order_text(stream: Stream, scheme: Ordered) -> str:
    """The declaration by which a column is ordered, as it was written."""
    if scheme in stream.schemes:
        return scheme.on(stream.name)
    assert stream.arrival is not None
    return stream.arrival.on(stream.name)


def _shifted(start: ColumnRef, limit: Limit, instants: bool) -> str:
    if limit.ticks == 0:
        return str(start)
    return f"{start} {'+' if limit.ticks > 0 else '-'} {span_of_ticks(abs(limit.ticks), instants)}"


def _counted(within: Rows | Auto | Span, alias: str) -> str:
    match within:
        case Rows(count=0):
            return f"its batch is done, for every row of {alias} that matches it came before"
        case Rows(count=1):
            return f"1 more row of {alias} has arrived"
        case Rows(count=count):
            return f"{count} more rows of {alias} have arrived"
        case _:
            return f"so many more rows of {alias} have arrived as the k that is learned"


def describe(reach: Reach, alias: str) -> str:
    """When a row leaves, in words."""
    steps = []
    for edge in reach.edges:
        step = edge.wait if edge.source == alias else f"for each row of {edge.source} that it met, {edge.wait}"
        steps.append(step)
    return "a row leaves once " + ", and ".join(steps)
