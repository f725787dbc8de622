"""Do rows to come tell every two sets of some rows apart? A growing input that is run, for a stream joined with itself.

Its rows arrive on all sources of their stream at once, so rows that must be remembered of one source may find each
other's results as rows of another, and the proofs of Theorems 5.6 and 5.10 do not hold as they stand (section 8.1).
So all sets of a few rows of the input are fed to a naive join. Sets that differ in the answer so far, where that is
kept (GROUP BY), or in what some rows to come add to it, need states of their own. If all sets do, the query is
unbounded: how rows compare depends only on the order of their copies, so what holds of a few holds of any number. A few
is two more than the sources: rows that are each other's partners, and columns that stand one window off their copy, can
blur at most one neighbour a source, and where k names make rows partners, the k greatest may stand for all.

Rows to come are the rest of a copy, a row that comes again, and, where values are aggregated, both: a row that is new
changes count(DISTINCT …), the same row again and again moves a median. The first and the last copy are not among the
rows, but ask like the others: a row that asks may be its own partner, and then only its neighbour tells.

Preconditions: conditions, outputs and the arguments of aggregates are columns, on at most six sources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, product
from math import prod
from statistics import median

from penstock.analysis.memory.memory_reading import MemoryReading
from penstock.analysis.memory.witness import MemoryWitness, Row
from penstock.model.clauses import Aggregate
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import aliases_of
from penstock.model.query import Query

_MOST_SOURCES = 6
_EVALUATED = ("count", "sum", "avg", "min", "max", "median")
"""Aggregates that are evaluated here; of others nothing is shown."""
_MOST_TRIED = 200_000
"""Rows that are tried against others; more would take seconds."""


class _TooMany(Exception):
    """The naive join takes too long."""


def copies_to_try(query: Query) -> tuple[int, int]:
    """How many copies show quickly that rows are not told apart, and how many are enough to see that they are."""
    return 5, len(query.all_sources) + 4


def tells_apart(reading: MemoryReading, copies: MemoryWitness) -> bool:
    """Whether rows to come tell every two sets of the rows of a witness apart, but for its first and last row."""
    query = reading.query
    values = [o.value for o in query.outputs]
    if query.grouping_sets or any(a.more or a.function not in _EVALUATED for a in reading.aggregates):
        return False
    if len(query.all_sources) > _MOST_SOURCES or not all(
        isinstance(v.argument if isinstance(v, Aggregate) else v, ColumnRef | None) for v in values
    ):
        return False
    try:
        return _all_apart(reading, copies)
    except _TooMany:
        return False


def _all_apart(reading: MemoryReading, copies: MemoryWitness) -> bool:
    query = reading.query
    join = _NaiveJoin(reading, [*copies.rows, *(row for probe in copies.probes for row in probe)])
    rows = join.numbers(copies.rows[1:-1])
    sets = [chosen for size in range(len(rows) + 1) for chosen in combinations(rows, size)]
    alike = [sets]
    if query.is_grouped:
        alike = _split(alike, lambda chosen: frozenset(join.answer(chosen).items()))
    for later in _continuations(reading, copies):
        if not alike:
            return True
        coming = join.numbers(later)
        alike = _split(alike, lambda chosen, rows=coming: _news(join.answer(chosen), join.answer(chosen + rows)))  # type: ignore[misc]
    return not alike


def _continuations(reading: MemoryReading, copies: MemoryWitness) -> Iterator[tuple[Row, ...]]:
    yield from copies.probes
    yield from ((row,) for row in copies.rows)
    if reading.query.is_grouped:
        for probe, row in product(copies.probes, copies.rows):
            yield (*probe, row)
        if any(a.function == "median" for a in reading.aggregates):
            ends = (copies.probes[0], copies.probes[-1])
            for times, probe, row in product(range(2, len(copies.rows)), ends, copies.rows):
                yield (*probe, *((row,) * times))


_Rows = tuple[int, ...]
_Said = frozenset[tuple[tuple[object, ...], int]]
_Answer = Counter[tuple[object, ...]]


def _split(alike: list[list[_Rows]], said: Callable[[_Rows], _Said]) -> list[list[_Rows]]:
    """The sets that are still alike, given what is said of each; a set that is alone is told apart."""
    found: list[list[_Rows]] = []
    for group in alike:
        parts: dict[_Said, list[_Rows]] = {}
        for chosen in group:
            parts.setdefault(said(chosen), []).append(chosen)
        found += [part for part in parts.values() if len(part) > 1]
    return found


def _news(before: _Answer, after: _Answer) -> _Said:
    """What an answer gives that it had not given."""
    return frozenset((after - before).items())


class _NaiveJoin:
    """The query over any bag of some rows, which go by their numbers."""

    def __init__(self, reading: MemoryReading, rows: Sequence[Row]) -> None:
        self._reading = reading
        self._number = {row: number for number, row in enumerate(dict.fromkeys(rows))}
        tied = [aliases_of(c.predicate) for c in reading.conditions if len(aliases_of(c.predicate)) > 1]
        met = {ref.alias for ref in reading.read}.union(*tied)
        self._aliases = [source.alias for source in reading.query.all_sources if source.alias in met]
        self._free = [source.alias for source in reading.query.all_sources if source.alias not in met]
        """The sources of which it only counts how many rows pass."""
        self._values: dict[tuple[str, int], dict[ColumnRef, object]] = {}
        for source, (row, number) in product(reading.query.all_sources, self._number.items()):
            values = {ColumnRef(source.alias, column): value for column, value in row[1]}
            alone = [c for c in reading.conditions if aliases_of(c.predicate) == {source.alias}]
            if row[0] == source.stream.name and all(condition.passes(values) for condition in alone):
                self._values[source.alias, number] = values
        self._meeting: dict[tuple[str, int, str, int], bool] = {}
        self._answers: dict[_Rows, _Answer] = {}
        self._tried = 0

    def numbers(self, rows: Iterable[Row]) -> _Rows:
        """The numbers of some of the rows."""
        return tuple(self._number[row] for row in rows)

    def answer(self, rows: _Rows) -> _Answer:
        """The answer over some rows; for a query that groups, one row a group."""
        key = tuple(sorted(rows))
        if key not in self._answers:
            self._answers[key] = self._answered(key)
        return self._answers[key]

    def _answered(self, rows: _Rows) -> _Answer:
        query, asked = self._reading.query, self._reading.aggregates
        times = Counter(rows)
        beside = prod(sum(n for row, n in times.items() if (alias, row) in self._values) for alias in self._free)
        keys: Iterable[object] = query.group_by if query.is_grouped else self._reading.read
        columns = [ref for ref in keys if isinstance(ref, ColumnRef)]
        values = [a.argument if isinstance(a.argument, ColumnRef) else None for a in asked]
        groups: dict[tuple[object, ...], Counter[tuple[object, ...]]] = {}
        for chosen in self._results(tuple(times), ()) if beside else ():
            there = dict(zip(self._aliases, chosen, strict=True))
            shown = tuple(self._values[ref.alias, there[ref.alias]].get(ref) for ref in columns)
            read = tuple(None if v is None else self._values[v.alias, there[v.alias]].get(v) for v in values)
            groups.setdefault(shown, Counter())[read] += beside * prod(times[row] for row in chosen)
        if query.is_grouped:
            return Counter(
                {(*key, *(_value(a, n, found) for n, a in enumerate(asked))): 1 for key, found in groups.items()}
            )
        return Counter({key: 1 if query.distinct else found.total() for key, found in groups.items()})

    def _results(self, rows: _Rows, chosen: _Rows) -> Iterator[_Rows]:
        """The combinations of rows that satisfy every condition, source by source."""
        if len(chosen) == len(self._aliases):
            yield chosen
            return
        alias = self._aliases[len(chosen)]
        self._tried += len(rows)
        if self._tried > _MOST_TRIED:
            raise _TooMany
        for row in rows:
            if (alias, row) in self._values and all(
                self._meet(other, number, alias, row) for other, number in zip(self._aliases, chosen, strict=False)
            ):
                yield from self._results(rows, (*chosen, row))

    def _meet(self, one: str, row: int, other: str, another: int) -> bool:
        key = one, row, other, another
        if key not in self._meeting:
            both = {**self._values[one, row], **self._values[other, another]}
            between = [c for c in self._reading.conditions if aliases_of(c.predicate) == {one, other}]
            self._meeting[key] = all(condition.passes(both) for condition in between)
        return self._meeting[key]


def _value(aggregate: Aggregate, number: int, members: Counter[tuple[object, ...]]) -> object:
    """An aggregate over what its group has in that place, each so many times: one of those that are evaluated."""
    if not isinstance(aggregate.argument, ColumnRef):
        return members.total()
    values: Counter[object] = Counter()
    for read, times in members.items():
        if read[number] is not None:
            values[read[number]] += times
    if aggregate.function == "count":
        return len(values) if aggregate.distinct else values.total()
    numbers = {value: times for value, times in values.items() if isinstance(value, int)}
    if len(numbers) < len(values) or not values:
        return None
    match aggregate.function:
        case "min":
            return min(numbers)
        case "max":
            return max(numbers)
        case "median":
            return median(Counter(numbers).elements())
        case _:
            # The mean follows from the sum and the number, which the sum of a row come twice gives away too.
            return sum(value * times for value, times in numbers.items()), values.total()
