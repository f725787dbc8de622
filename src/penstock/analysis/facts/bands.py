"""How far apart can two columns of a result lie? Difference constraints, closed transitively.

Where some streams stand together, each of these is a constraint `later - earlier <= c`, or `< c`:

- a comparison or a time difference that holds there, or that the WHERE of a stream says of its own rows;
- [RANGE d] on i: `ts_j - ts_i < d` for every other stream j that declares an event time;
- COOCCURS, FOLLOWS WITHIN a span, and FOREIGN KEY … WINDOW onto a primary key (the partner is unique then, so every
  match is the one in the window), each only where the equalities tie all its columns between the two streams.

What follows from them is for `analysis/facts/differences.py` to find; whole numbers and dates are rounded to whole
steps here.

Preconditions: the constraints are those of `Query.holding`. In a query with outer joins, [RANGE] between two
streams is used only where both are in every result, or neither can be absent below the join that brings them
together: whether a row that a window puts out of reach still counts as a match of an outer join is then not in
question. Not decided: differences that follow from constants (`a.x < 3 AND b.x > 9`), sums, CHECKs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from penstock.analysis.facts.differences import Demand, Differences, Limit
from penstock.analysis.facts.excess import Allowance, Excess
from penstock.model.clauses import RangeWindow
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Comparison, Difference, Equalities, Op, Predicate
from penstock.model.query import Holding, Query
from penstock.model.relation import FromTree, Leaf, certain, leaves
from penstock.model.schemes import Cooccurs, Follows, ForeignKey, Reference, Scheme, reference_of
from penstock.model.spans import Span, Unit, Window
from penstock.model.types import DataType, Kind
from penstock.records import record


@record
class Stated:
    """A condition or a declaration, as the user wrote it."""

    text: str
    declared: bool = False
    """Whether it is a declaration, which ADAPT may widen; then its text is with ON stream."""


Constraint = Demand[ColumnRef, Stated]
"""One constraint as it was found, with what says so."""


@record
class Bands:
    """The closed constraints of one combination of streams."""

    constraints: tuple[Constraint, ...]
    equalities: Equalities

    @cached_property
    def _closed(self) -> Differences[ColumnRef, Stated]:
        return Differences(
            Demand(self._node(c.later), self._node(c.earlier), c.limit, c.reason) for c in self.constraints
        )

    @cached_property
    def _touched(self) -> frozenset[ColumnRef]:
        return frozenset(self._node(ref) for c in self.constraints for ref in (c.later, c.earlier))

    def touches(self, ref: ColumnRef) -> bool:
        """Whether anything is said of a column; if not, `upper` knows nothing of it."""
        return self._node(ref) in self._touched

    def _node(self, ref: ColumnRef) -> ColumnRef:
        return self.equalities.class_of(ref)[0]

    @property
    def contradiction(self) -> tuple[str, ...]:
        """The constraints that cannot all hold; nothing if they can."""
        return _each_once(self._closed.conflict)

    def upper(self, later: ColumnRef, earlier: ColumnRef) -> Limit | None:
        """The most by which one column exceeds the other; None if there is no limit, or a contradiction."""
        return self._closed.upper(self._node(later), self._node(earlier))

    def closes(self, later: ColumnRef, earlier: ColumnRef) -> Limit | None:
        """As `upper`; of constraints that contradict each other the tightest single one: such rows must leave too."""
        if not self._closed.conflict:
            return self.upper(later, earlier)
        excess = self.excess(later, earlier)
        return None if excess is None else excess.limit()

    def reasons(self, later: ColumnRef, earlier: ColumnRef) -> tuple[str, ...]:
        """What makes it so, each once."""
        first, second = self._node(later), self._node(earlier)
        if first == second:
            return () if later == earlier else (f"{earlier} = {later}",)
        if not self._closed.conflict:
            return _each_once(self._closed.because(first, second))
        excess = self.excess(later, earlier)
        return () if excess is None else tuple(dict.fromkeys(excess.tightest.reasons))

    def excess(self, later: ColumnRef, earlier: ColumnRef) -> Excess | None:
        """By how much one column may exceed the other, whatever is widened; None if there is no limit."""
        first, second = self._node(later), self._node(earlier)
        if first == second:
            return Excess(True, (Allowance(0, False, self.reasons(later, earlier), ()),))
        if (first, second) not in self._known and not self._may_widen:
            limit, one = self._closed.upper(first, second), None
            if limit is not None:
                reasons = tuple([c.reason.text for c in reversed(self._closed.because(first, second))])
                one = Excess(False, (Allowance(limit.ticks, limit.strict, reasons, ()),))
            self._known[first, second] = one
        elif (first, second) not in self._known:
            ways = self._closed.ways(first, second, lambda reason: reason.text if reason.declared else None)
            self._known[first, second] = Excess(False, tuple(map(_allowance, ways))) if ways else None
        return self._known[first, second]

    @cached_property
    def _may_widen(self) -> bool:
        """Whether some constraint is a declaration; where none is, or they contradict, the tightest path is all."""
        return bool(self._closed.conflict) or any(c.reason.declared for c in self.constraints)

    @cached_property
    def _known(self) -> dict[tuple[ColumnRef, ColumnRef], Excess | None]:
        return {}


def _allowance(path: tuple[Constraint, ...]) -> Allowance:
    # Lists and not generators: chains of hundreds of streams have long paths, and a great many.
    reasons = [c.reason for c in reversed(path)]
    return Allowance(
        sum([c.limit.ticks for c in path]),
        True in [c.limit.strict for c in path],
        tuple([r.text for r in reasons]),
        tuple([r.text for r in reasons if r.declared]),
    )


def _each_once(constraints: Sequence[Constraint]) -> tuple[str, ...]:
    """The reasons of a path, from its later end on."""
    return tuple(dict.fromkeys([c.reason.text for c in reversed(constraints)]))


def bands_of(query: Query, holding: Holding, equalities: Equalities, windows: tuple[Constraint, ...] | None) -> Bands:
    """The bands where these conditions hold; with None for windows, only what the conditions themselves say."""
    found = list(_written(query, holding))
    if windows is not None:
        found += [c for c in windows if c.later.alias in holding.present and c.earlier.alias in holding.present]
        found += _promises(query, holding, equalities)
    return Bands(tuple(found), equalities)


def tied(query: Query, equalities: Equalities, own: str, other: str, reference: Reference) -> bool:
    """Whether the equalities pair all columns of a reference from one source to the other."""
    streams = query.by_alias[own].stream, query.by_alias[other].stream
    if reference.stream != streams[1].name:
        return False
    for own_name, other_name in reference.pairs:
        columns = streams[0].column(own_name), streams[1].column(other_name)
        if columns[0] is None or columns[1] is None:
            return False
        if not equalities.equal(ColumnRef(own, columns[0].name), ColumnRef(other, columns[1].name)):
            return False
    return True


def _limits(
    query: Query, left: ColumnRef, op: Op, right: ColumnRef, *, ticks: int, reason: Stated
) -> Iterator[Constraint]:
    """`left - right op ticks`, as limits."""
    step = _step(query.type_of(left))
    if op in (Op.LT, Op.LE, Op.EQ):
        yield Constraint(left, right, Limit(ticks, op is Op.LT).rounded(step), reason)
    if op in (Op.GT, Op.GE, Op.EQ):
        yield Constraint(right, left, Limit(-ticks, op is Op.GT).rounded(step), reason)


def _step(kind: DataType | None) -> int:
    """How far apart two values of a type are at least; 0 if there is no least."""
    if kind is not None and kind.kind is Kind.DATE:
        return Unit.DAY.value
    return int(kind is not None and kind.is_integer)


def _written(query: Query, holding: Holding) -> Iterator[Constraint]:
    for predicate in holding.predicates:
        yield from _of_predicate(query, predicate, None)
    for source in query.all_sources:
        if source.alias in holding.present:
            for predicate in source.stream.where:
                yield from _of_predicate(query, predicate, source.alias)


def _of_predicate(query: Query, predicate: Predicate, alias: str | None) -> Iterator[Constraint]:
    def named(ref: ColumnRef) -> ColumnRef:
        return ref if alias is None else ColumnRef(alias, ref.column)

    reason = Stated(str(predicate) if alias is None else f"{predicate} in {query.by_alias[alias].stream.name}")
    match predicate:
        case Comparison(left=left, op=op, right=right):
            yield from _limits(query, named(left), op, named(right), ticks=0, reason=reason)
        case Difference(minuend=left, subtrahend=right, op=op, span=span):
            yield from _limits(query, named(left), op, named(right), ticks=span.ticks, reason=reason)
        case _:
            return


def window_constraints(query: Query) -> Iterator[Constraint]:
    """What the [RANGE] windows say of each pair of sources that stand together."""
    for source in query.all_sources:
        own = source.event_time
        if not isinstance(source.window, RangeWindow) or own is None:
            continue
        for other in query.all_sources:
            later = other.event_time
            if later is None or other.alias == source.alias:
                continue
            if _window_decides_matches(query, source.alias, other.alias):
                ticks = source.window.span.ticks
                reason = Stated(f"{source.window} on {source.alias}")
                yield from _limits(query, later, Op.LT, own, ticks=ticks, reason=reason)


def _window_decides_matches(query: Query, one: str, other: str) -> bool:
    """Whether a pair out of the window is no match, whatever else stands in the result."""
    if {one, other} <= query.core:
        return True
    of_exists = {e.source.alias for e in query.existences}
    if one in of_exists or other in of_exists:
        return bool({one, other} & query.core)
    return _meet_undoubted(query.tree, one, other)


def _meet_undoubted(tree: FromTree, one: str, other: str) -> bool:
    if isinstance(tree, Leaf):
        return False
    for side in (tree.left, tree.right):
        if {one, other} <= set(leaves(side)):
            return _meet_undoubted(side, one, other)
    return {one, other} <= certain(tree.left) | certain(tree.right)


def _promises(query: Query, holding: Holding, equalities: Equalities) -> Iterator[Constraint]:
    present = [source for source in query.all_sources if source.alias in holding.present]
    for source in present:
        for scheme in source.stream.schemes:
            reference = reference_of(scheme)
            if reference is None:
                continue
            for other in present:
                own_time, other_time = source.event_time, other.event_time
                if other.alias == source.alias or own_time is None or other_time is None:
                    continue
                window = match_window(scheme, other.stream.keys)
                if window is None or not tied(query, equalities, source.alias, other.alias, reference):
                    continue
                reason = Stated(scheme.on(source.stream.name), declared=True)
                if window.high is not None:
                    yield from _limits(query, other_time, Op.LE, own_time, ticks=window.high.ticks, reason=reason)
                if window.low is not None:
                    yield from _limits(query, other_time, Op.GE, own_time, ticks=window.low.ticks, reason=reason)


def match_window(scheme: Scheme, parent_keys: tuple[tuple[str, ...], ...]) -> Window | None:
    """The window in which every match of a scheme lies; None if it says nothing of time."""
    match scheme:
        case Cooccurs():
            return scheme.window
        case Follows(within=Span() as span):
            return Window(None, span)
        case ForeignKey():
            named = set(scheme.parent_columns)
            unique = any(set(key) <= named for key in parent_keys)
            return scheme.window if unique else None
        case _:
            return None
