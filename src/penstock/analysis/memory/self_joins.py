"""Streams joined with themselves (MEMORY, section 8.1).

Definition 8.2. A source y is covered by another source x of the same stream if every condition on y, with x's columns
in place of y's, follows from the conditions, and y's columns in the result equal x's. A row of x is then its own
partner, and where it does not matter how often a result is found, y can be left out. Example 8.1 becomes a query over
one stream.

Theorem 5.6 holds for bags as it stands. For DISTINCT, the paper enumerates the locally totally ordered queries and
folds each, which is too strict: a filter on x cannot be put on the stream, since y reads it too, so the query
`x.b <= y.b AND x.a = y.a AND y.b = 5` is bounded though its part with `x.b < 5` is not. We fold the whole query.

If a condition fails after folding, the growing input of witness.py is run, since its rows arrive on all sources of
their stream at once. All sets of a few of its rows are fed to a naive join, and the query is unbounded if what rows to
come add differs between every two sets. How rows compare depends only on the order of their copies, so what holds of
a few holds of any number.

Preconditions: conditions and outputs are columns. Not decided: queries that become bounded only after each locally
totally ordered query is folded by itself; and chains over one stream such as `x.b < y.b AND y.b < z.b`, where a few
greatest values suffice though C3 fails: rows of the growing input are each other's partners, and tell nothing apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from statistics import median

from penstock.analysis.memory.order import Order
from penstock.analysis.memory.reading import Reading
from penstock.analysis.memory.witness import Copies, Row, holds
from penstock.model.predicates import Bound, ColumnRef, Comparison, Expression, OneOf, Op, Predicate, aliases_of
from penstock.model.query import Aggregate, Join, JoinKind, Leaf, Output, Query, Scalar, TimeWindow

_MOST_SOURCES = 4
"""Sources that a naive join of a few rows is tried on."""


def has_self_join(query: Query) -> bool:
    """Whether a stream stands in the query more than once."""
    names = [source.stream.name for source in query.all_sources]
    return len(set(names)) < len(names)


def covered_sources(query: Query) -> tuple[tuple[str, str], ...]:
    """Sources that can be left out, each with the one that covers it, in the order of leaving out."""
    found: list[tuple[str, str]] = []
    while has_self_join(query):
        pair = _covered(query)
        if pair is None:
            break
        found.append(pair)
        query = folded(query, (pair,))
    return tuple(found)


def _covered(query: Query) -> tuple[str, str] | None:
    reading = Reading(query)
    order = Order(reading)
    if not order.holds:
        return None
    for source in reversed(query.all_sources):
        for other in query.all_sources:
            if other.alias != source.alias and other.stream == source.stream:
                held = query.holding(frozenset(query.by_alias)).predicates
                about = [p for p in held if source.alias in aliases_of(p)]
                shown = [ref for ref in reading.read if ref.alias == source.alias]
                if any(source.alias in _read_by_spark(value) for value in _values(query)):
                    continue
                if all(_follows(reading, order, _moved(p, source.alias, other.alias)) for p in about) and all(
                    _at(ref, source.alias, other.alias) in order.equal_to(ref) for ref in shown
                ):
                    return source.alias, other.alias
    return None


def _values(query: Query) -> Iterator[Scalar | Aggregate]:
    yield from query.group_by
    yield from (output.value for output in query.outputs)


def _read_by_spark(value: Scalar | Aggregate) -> set[str]:
    """The sources that an expression names, whose text cannot be moved to another source."""
    inner = value.argument if isinstance(value, Aggregate) else value
    return {ref.alias for ref in inner.columns} if isinstance(inner, Expression) else set()


def folded(query: Query, covers: Iterable[tuple[str, str]]) -> Query:
    """The query without the sources that are covered, their conditions said of those that cover them."""
    for alias, by in covers:
        sources = tuple(source for source in query.sources if source.alias != alias)
        tree: Leaf | Join = Leaf(sources[0].alias)
        for source in sources[1:]:
            tree = Join(JoinKind.INNER, tree, Leaf(source.alias))
        held = query.holding(frozenset(query.by_alias)).predicates
        query = replace(
            query,
            sources=sources,
            tree=tree,
            # What was said of the one left out is said of the other, where it also tells that a column is not NULL.
            where=tuple(dict.fromkeys(_moved(predicate, alias, by) or predicate for predicate in held)),
            outputs=tuple(Output(o.name, _moved_value(o.value, alias, by)) for o in query.outputs),
            group_by=tuple(_moved_scalar(value, alias, by) for value in query.group_by),
        )
    return query


def _at(ref: ColumnRef, alias: str, by: str) -> ColumnRef:
    return ColumnRef(by, ref.column) if ref.alias == alias else ref


def _moved(predicate: Predicate, alias: str, by: str) -> Predicate | None:
    """A condition on one source, said of another; None if it is not only about columns and constants."""
    match predicate:
        case Comparison(left=left, right=right):
            return replace(predicate, left=_at(left, alias, by), right=_at(right, alias, by))
        case Bound(column=ref) | OneOf(column=ref):
            return replace(predicate, column=_at(ref, alias, by))
        case _:
            return None


def _moved_scalar(value: Scalar, alias: str, by: str) -> Scalar:
    match value:
        case ColumnRef():
            return _at(value, alias, by)
        case TimeWindow(column=ref):
            return replace(value, column=_at(ref, alias, by))
        case Expression():
            return value


def _moved_value(value: Scalar | Aggregate, alias: str, by: str) -> Scalar | Aggregate:
    if not isinstance(value, Aggregate):
        return _moved_scalar(value, alias, by)
    if isinstance(value.argument, ColumnRef):
        return replace(value, argument=_at(value.argument, alias, by))
    return value


def _follows(reading: Reading, order: Order, predicate: Predicate | None) -> bool:
    """Whether a condition follows from the order; none does of a column that may be NULL."""
    if predicate is None or not reading.given.issuperset(predicate.columns):
        return False
    match predicate:
        case Comparison(left=left, op=op, right=right):
            low, high = (left, right) if op in (Op.LT, Op.LE) else (right, left)
            if op is Op.EQ:
                return right in order.equal_to(left)
            return order.below(low, high) if op in (Op.LE, Op.GE) else order.strictly_below(low, high)
        case Bound() | OneOf():
            return order.implies(predicate)
        case _:
            return False


def tells_apart(reading: Reading, copies: Copies) -> bool:
    """Whether rows to come tell every two sets of the rows of a witness apart."""
    query = reading.query
    values = [o.value for o in query.outputs]
    if len(query.all_sources) > _MOST_SOURCES or not all(
        isinstance(v.argument if isinstance(v, Aggregate) else v, ColumnRef | None) for v in values
    ):
        return False
    numbers = range(len(copies.rows))
    seen: set[tuple[frozenset[tuple[tuple[object, ...], int]], ...]] = set()
    for size in range(len(copies.rows) + 1):
        for chosen in combinations(numbers, size):
            before = [copies.rows[number] for number in chosen]
            first = _answer(reading, before)
            # A row of the witness that comes again is one of the rows to come, too.
            later = [*copies.probes, *((row,) for row in copies.rows)]
            seen.add(tuple(_news(first, _answer(reading, [*before, *rows])) for rows in later))
    return len(seen) == 1 << len(copies.rows)


_Answer = Counter[tuple[object, ...]]


def _news(before: _Answer, after: _Answer) -> frozenset[tuple[tuple[object, ...], int]]:
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
