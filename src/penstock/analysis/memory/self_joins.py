"""Streams joined with themselves (MEMORY, section 8.1).

Definition 8.2. A source y is covered by another source x of the same stream if every condition on y, with x's columns
in place of y's, follows from the conditions, and y's columns in the result equal x's. A row of x is then its own
partner, and where it does not matter how often a result is found, y can be left out. Example 8.1 becomes a query over
one stream. Several sources may be covered at once, though none is by itself: a join of y with z by one of x with w.

Theorem 5.6 holds for bags as it stands. For DISTINCT, the paper enumerates the locally totally ordered queries and
folds each, which is too strict: a filter on x cannot be put on the stream, since y reads it too, so the query
`x.b <= y.b AND x.a = y.a AND y.b = 5` is bounded though its part with `x.b < 5` is not. We fold the whole query.

If a condition fails after folding, the growing input of witness.py is run (distinguishability.py), since its rows
arrive on all sources of their stream at once.

Preconditions: conditions and outputs are columns. Not decided: queries that become bounded only after each locally
totally ordered query is folded by itself; and chains over one stream such as `x.b < y.b AND y.b < z.b`, where a few
greatest values suffice though C3 fails: rows of the growing input are each other's partners, and tell nothing apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from penstock.analysis.memory.memory_reading import MemoryReading
from penstock.analysis.memory.order import Order
from penstock.model.clauses import Aggregate, Formula, Output, Scalar, TimeWindow
from penstock.model.expressions import ColumnRef, Expression
from penstock.model.predicates import Bound, Comparison, OneOf, Op, Predicate, aliases_of
from penstock.model.query import Query
from penstock.model.relation import Join, JoinKind, Leaf

_MOST_SOURCES = 6
"""Sources of which any number are tried together; with more, one by one."""


def has_self_join(query: Query) -> bool:
    """Whether a stream stands in the query more than once."""
    names = [source.stream.name for source in query.all_sources]
    return len(set(names)) < len(names)


def covered_sources(query: Query) -> tuple[tuple[str, str], ...]:
    """Sources that can be left out, each with the one that covers it, in the order of leaving out."""
    found: list[tuple[str, str]] = []
    while has_self_join(query):
        together = _covered(query)
        if not together:
            break
        found += together
        query = folded(query, together)
    return tuple(found)


def _covered(query: Query) -> tuple[tuple[str, str], ...]:
    """Sources that others cover, all at once; as few as can be."""
    search = _CoverSearch(query)
    if not search.order.holds:
        return ()
    most = 1 if len(query.all_sources) > _MOST_SOURCES else len(query.all_sources) - 1
    for many in range(1, most + 1):
        for left_out in combinations(reversed(search.names), many):
            found = search.covers(left_out, {})
            if found is not None:
                return tuple(found.items())
    return ()


class _CoverSearch:
    """Looks for sources to stand for those that are left out."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._reading = MemoryReading(query)
        self.order = Order(self._reading)
        self._held = query.holding(frozenset(query.by_alias)).predicates
        streams = [source.stream for source in query.all_sources]
        spark = {alias for value in _values(query) for alias in _read_by_spark(value)}
        formulas = [formula for formula in (*query.block.shown, query.having) if isinstance(formula, Formula)]
        spark |= {ref.alias for formula in formulas for ref in formula.columns}
        self.names = [s.alias for s in query.all_sources if streams.count(s.stream) > 1 and s.alias not in spark]

    def covers(self, left_out: Sequence[str], by: dict[str, str]) -> dict[str, str] | None:
        """For each of the sources one that stays and covers it; those of `by` are chosen already."""
        if len(by) == len(left_out):
            return by
        alias = left_out[len(by)]
        ahead = set(left_out[len(by) + 1 :])
        for source in self._query.all_sources:
            if source.alias not in left_out and source.stream == self._query.by_alias[alias].stream:
                chosen = {**by, alias: source.alias}
                about = [p for p in self._held if alias in aliases_of(p) and ahead.isdisjoint(aliases_of(p))]
                if self._keeps_output(alias, source.alias) and all(self._follows(p, chosen) for p in about):
                    found = self.covers(left_out, chosen)
                    if found is not None:
                        return found
        return None

    def _keeps_output(self, alias: str, by: str) -> bool:
        shown = [ref for ref in self._reading.read if ref.alias == alias]
        return all(ColumnRef(by, ref.column) in self.order.equal_to(ref) for ref in shown)

    def _follows(self, predicate: Predicate, by: Mapping[str, str]) -> bool:
        moved: Predicate | None = predicate
        for alias, other in by.items():
            moved = None if moved is None else _moved(moved, alias, other)
        return _follows(self._reading, self.order, moved)


def _values(query: Query) -> Iterator[Scalar | Aggregate]:
    yield from query.group_by
    yield from (output.value for output in query.outputs)


def _read_by_spark(value: Scalar | Aggregate) -> set[str]:
    """The sources that an expression names, whose text cannot be moved to another source."""
    inner = value.arguments if isinstance(value, Aggregate) else (value,)
    return {ref.alias for one in inner if isinstance(one, Expression) for ref in one.columns}


def folded(query: Query, covers: Iterable[tuple[str, str]]) -> Query:
    """The query without the sources that are covered, their conditions said of those that cover them."""
    for alias, by in covers:
        sources = tuple(source for source in query.sources if source.alias != alias)
        tree: Leaf | Join = Leaf(sources[0].alias)
        for source in sources[1:]:
            tree = Join(JoinKind.INNER, tree, Leaf(source.alias))
        held = query.holding(frozenset(query.by_alias)).predicates
        block = replace(
            query.block,
            tree=tree,
            # What was said of the one left out is said of the other, where it also tells that a column is not NULL.
            where=tuple(dict.fromkeys(_moved(predicate, alias, by) or predicate for predicate in held)),
            outputs=tuple(Output(o.name, _moved_value(o.value, alias, by)) for o in query.outputs),
            group_by=tuple(_moved_scalar(value, alias, by) for value in query.group_by),
            shown=tuple(s if isinstance(s, str) else _moved_formula(s, alias, by) for s in query.block.shown),
            having=None if query.having is None else _moved_formula(query.having, alias, by),
        )
        query = query.with_block(block, sources)
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
    return _moved_aggregate(value, alias, by) if isinstance(value, Aggregate) else _moved_scalar(value, alias, by)


def _moved_aggregate(value: Aggregate, alias: str, by: str) -> Aggregate:
    moved = [_at(one, alias, by) if isinstance(one, ColumnRef) else one for one in value.arguments]
    return replace(value, argument=moved[0], more=tuple(moved[1:])) if moved else value


def _moved_formula(formula: Formula, alias: str, by: str) -> Formula:
    """Its text names no source that is left out but in columns of the groups."""
    moved = (p if isinstance(p, str) else _moved_value(p, alias, by) for p in formula.pieces)
    return replace(formula, pieces=tuple(moved), terms=None)


def _follows(reading: MemoryReading, order: Order, predicate: Predicate | None) -> bool:
    """Whether a condition follows from the order; none does of a column that may be NULL."""
    if predicate is None or not reading.given.issuperset(predicate.columns):
        return False
    match predicate:
        case Comparison(left=left, op=op, right=right):
            low, high = (left, right) if op in (Op.LT, Op.LE) else (right, left)
            if op is Op.EQ:
                return right in order.equal_to(left)
            if all((kind := reading.kind(ref)) is not None and kind.is_integer for ref in (low, high)):
                apart = order.reach(high).low - order.reach(low).high
                if apart >= (op in (Op.LT, Op.GT)):
                    return True  # by the constants
            return order.below(low, high) if op in (Op.LE, Op.GE) else order.strictly_below(low, high)
        case Bound() | OneOf():
            return order.implies(predicate)
        case _:
            return False
