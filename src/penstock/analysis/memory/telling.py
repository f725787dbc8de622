"""Do rows to come tell every two sets of some rows apart? A growing input that is run, for a stream joined with itself.

Its rows arrive on all sources of their stream at once, so rows that must be remembered of one source may find each
other's results as rows of another, and the proofs of Theorems 5.6 and 5.10 do not hold as they stand (section 8.1).
So all sets of a few rows of the input are fed to a naive join. Sets that differ in the answer so far, where that is
kept (GROUP BY), or in what some rows to come add to it, need states of their own. If all sets do, the query is
unbounded: how rows compare depends only on the order of their copies, so what holds of a few holds of any number. A few
is one more than the names of the stream: where k names make rows partners of each other, the k greatest may stand for
all.

Rows to come are the rest of a copy, a row that comes again, and, where values are aggregated, both: a row that is new
changes count(DISTINCT …), the same row again and again moves a median. The first and the last copy are not among the
rows, but ask like the others: a row that asks may be its own partner, and then only its neighbour tells.

Preconditions: conditions, outputs and the arguments of aggregates are columns, on at most four sources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product
from statistics import median

from penstock.analysis.memory.reading import Reading
from penstock.analysis.memory.witness import Copies, Row, holds
from penstock.model.predicates import ColumnRef, aliases_of
from penstock.model.query import Aggregate, Query

_MOST_SOURCES = 4


def copies_to_try(query: Query, alias: str) -> int:
    """How many copies of a result to be are enough to see whether rows of a source must be remembered."""
    named = [source for source in query.all_sources if source.stream == query.by_alias[alias].stream]
    return len(named) + 3


def tells_apart(reading: Reading, copies: Copies) -> bool:
    """Whether rows to come tell every two sets of the rows of a witness apart, but for its first and last row."""
    query = reading.query
    values = [o.value for o in query.outputs]
    if len(query.all_sources) > _MOST_SOURCES or not all(
        isinstance(v.argument if isinstance(v, Aggregate) else v, ColumnRef | None) for v in values
    ):
        return False
    rows = copies.rows[1:-1]
    sets = [[*chosen] for size in range(len(rows) + 1) for chosen in combinations(rows, size)]
    before = {tuple(chosen): _answer(reading, chosen) for chosen in sets}
    alike = [sets]
    if query.is_grouped:
        alike = _split(alike, [frozenset(before[tuple(chosen)].items()) for chosen in sets])
    for later in _continuations(reading, copies):
        if not alike:
            return True
        left = [chosen for group in alike for chosen in group]
        alike = _split(alike, [_news(before[tuple(c)], _answer(reading, [*c, *later])) for c in left])
    return not alike


def _continuations(reading: Reading, copies: Copies) -> Iterator[tuple[Row, ...]]:
    yield from copies.probes
    yield from ((row,) for row in copies.rows)
    if reading.query.is_grouped:
        again = (1, 2, 3) if any(a.function == "median" for a in reading.aggregates) else (1,)
        for times, probe, row in product(again, copies.probes, copies.rows):
            yield (*probe, *((row,) * times))


_Said = frozenset[tuple[tuple[object, ...], int]]


def _split(alike: list[list[list[Row]]], said: list[_Said]) -> list[list[list[Row]]]:
    """The sets that are still alike, given what is said of each in turn; a set that is alone is told apart."""
    found: list[list[list[Row]]] = []
    answers = iter(said)
    for group in alike:
        parts: dict[_Said, list[list[Row]]] = {}
        for chosen in group:
            parts.setdefault(next(answers), []).append(chosen)
        found += [part for part in parts.values() if len(part) > 1]
    return found


_Answer = Counter[tuple[object, ...]]


def _news(before: _Answer, after: _Answer) -> _Said:
    """What an answer gives that it had not given."""
    return frozenset((after - before).items())


def _answer(reading: Reading, rows: list[Row]) -> _Answer:
    """The naive answer over some rows; for a query that groups, one row a group."""
    query = reading.query
    results = [dict(r) for r in _results(reading, rows, 0, {})]
    if not query.is_grouped:
        shown = Counter(tuple(r.get(ref) for ref in reading.read) for r in results)
        return Counter(set(shown)) if query.distinct else shown
    keys = [value for value in query.group_by if isinstance(value, ColumnRef)]
    groups: dict[tuple[object, ...], list[dict[ColumnRef, object]]] = {}
    for result in results:
        groups.setdefault(tuple(result.get(ref) for ref in keys), []).append(result)
    return Counter({(*key, *(_value(a, members) for a in reading.aggregates)): 1 for key, members in groups.items()})


def _results(
    reading: Reading, rows: list[Row], number: int, so_far: dict[ColumnRef, object]
) -> Iterator[dict[ColumnRef, object]]:
    """The combinations of rows that satisfy every condition, source by source."""
    sources = reading.query.all_sources
    if number == len(sources):
        yield so_far
        return
    alias = sources[number].alias
    ahead = {source.alias for source in sources[number + 1 :]}
    about = [
        c for c in reading.conditions if alias in aliases_of(c.predicate) and ahead.isdisjoint(aliases_of(c.predicate))
    ]
    for name, values in rows:
        if name == sources[number].stream.name:
            here = {**so_far, **{ColumnRef(alias, column): value for column, value in values}}
            if all(holds(condition, here) for condition in about):
                yield from _results(reading, rows, number + 1, here)


def _value(aggregate: Aggregate, members: list[dict[ColumnRef, object]]) -> object:
    if not isinstance(aggregate.argument, ColumnRef):
        return len(members)
    values = [m[aggregate.argument] for m in members if m.get(aggregate.argument) is not None]
    if aggregate.function == "count":
        return len(set(values)) if aggregate.distinct else len(values)
    numbers = [value for value in values if isinstance(value, int)]
    if len(numbers) < len(values) or not values:
        return None
    match aggregate.function:
        case "min":
            return min(numbers)
        case "max":
            return max(numbers)
        case "median":
            return median(numbers)
        case _:
            # The mean follows from the sum and the number, which the sum of a row come twice gives away too.
            return sum(numbers), len(numbers)
