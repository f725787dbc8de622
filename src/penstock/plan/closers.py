"""Which promises close which stream for whose tuples: time bounds, closers, and the promises to be watched.

A closer from i to j is one way to know that no future tuple of j meets a tuple of i (DESIGN section 1). Bands need
the low of j; an order needs a column of j that the predicates tie to one of i. Each closes what its column passes, and
so everything only if that column has no largest value (analysis/limits.py): then it is certain. FOLLOWS and keys need
all their columns tied by the equalities, closed transitively, that hold where i and j stand together; a key is certain
where a FOREIGN KEY of i, or a self-join, guarantees that the value arrives which i carries in the columns looked at.
The k of WITHIN AUTO is left open: rows for FOLLOWS and for columns that are no event time, else a span of it; nothing
is closed before it is learned. FOREIGN KEY windows bound time only where the parent's key makes the partner unique.
Whether the closers suffice to bound the state is the analysis's question, not this module's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.analysis.combination import Combinations
from penstock.analysis.edges import guarantee, order_text
from penstock.analysis.limits import never_passes
from penstock.model.clauses import RangeWindow, Source
from penstock.model.closure import Equalities
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Comparison, Difference, Op, Predicate
from penstock.model.query import Query
from penstock.model.schemes import Cooccurs, Follows, ForeignKey, Ordered, Policy, PrimaryKey, Scheme, reference_of
from penstock.model.script import policy_of
from penstock.model.spans import Auto, Rows, Span, Window, span_of_ticks
from penstock.model.stream import Arrival
from penstock.plan.arrival import by_arrival
from penstock.plan.bounds import Reach, Reaches, TimeBound, close, tabled
from penstock.plan.pair_bounds import pair_bounds
from penstock.plan.plan import Agreement, Between, Closer, CloserKind, PromiseKind, PromisePlan

Kept = dict[str, tuple[str, ...]]
"""By alias, the columns that every row of a result has and the state holds."""


class Pairing:
    """The predicates and equalities that hold where two sources stand together."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.combinations = Combinations(query)
        self._equalities: dict[frozenset[str], Equalities] = {}
        self._all = query.equalities(frozenset(source.alias for source in query.all_sources))

    def node(self, ref: ColumnRef) -> ColumnRef:
        """The one of its equals by which the bounds know a column."""
        return self._all.class_of(ref)[0]

    def between(self, earlier: ColumnRef, later: ColumnRef) -> Between:
        """Two columns by the names of the bounds; under an outer join one only where the pair makes them so."""
        if self.query.is_inner:
            return Between(self.node(earlier), self.node(later))
        is_one = self.equalities(earlier.alias, later.alias).equal(earlier, later)
        return Between(later if is_one else earlier, later)

    def reaches(self, bounds: tuple[TimeBound, ...]) -> Reaches:
        """The bounds between any two columns."""
        return close(bounds) if self.query.is_inner else tabled(bounds)

    def equalities(self, i: str, j: str) -> Equalities:
        """The classes of equal columns where the two stand together."""
        pair = frozenset({i, j})
        if pair not in self._equalities:
            self._equalities[pair] = self.query.equalities(pair)
        return self._equalities[pair]

    def tied(self, i: str, own: tuple[str, ...], j: str, other: tuple[str, ...]) -> bool:
        """Whether each own column equals its partner in every result of the two."""
        equal = self.equalities(i, j)
        return all(equal.equal(ColumnRef(i, a), ColumnRef(j, b)) for a, b in zip(own, other, strict=True))

    def partners(self, i: str, column: ColumnRef) -> tuple[str, ...]:
        """The columns of i that equal a column of another source."""
        return tuple(r.column for r in self.equalities(i, column.alias).class_of(column) if r.alias == i)

    def pairs(self) -> Iterator[tuple[Source, Source]]:
        """All ordered pairs of different sources."""
        for i in self.query.all_sources:
            for j in self.query.all_sources:
                if i.alias != j.alias:
                    yield i, j

    def references(self) -> Iterator[tuple[Source, Source, Scheme, tuple[str, ...], tuple[str, ...]]]:
        """Schemes about two streams whose columns the query ties: own source, other source, scheme, columns of each."""
        for i, j in self.pairs():
            for scheme in i.stream.schemes:
                reference = reference_of(scheme)
                if reference is not None and reference.stream == j.stream.name:
                    own = tuple(a for a, _ in reference.pairs)
                    other = tuple(b for _, b in reference.pairs)
                    if self.tied(i.alias, own, j.alias, other):
                        yield i, j, scheme, own, other


def find_time_bounds(pairing: Pairing) -> tuple[TimeBound, ...]:
    """Every bound on a difference of columns: from predicates, RANGE windows and declarations."""
    declared = tuple(_declared_bounds(pairing))
    if not pairing.query.is_inner:
        written = {p: tuple(_written_bounds(p)) for p in pairing.query.predicates}
        return pair_bounds(pairing.query, written, declared)
    found = [bound for predicate in pairing.query.predicates for bound in _written_bounds(predicate)]
    for i, j in pairing.pairs():
        if isinstance(i.window, RangeWindow) and i.event_time is not None and j.event_time is not None:
            text = f"{i.alias} has {i.window}"
            found.append(TimeBound(i.event_time, j.event_time, i.window.span.ticks, True, text))
    found += declared
    named = [replace(b, earlier=pairing.node(b.earlier), later=pairing.node(b.later)) for b in found]
    return tuple(dict.fromkeys(b for b in named if b.earlier != b.later))


def _declared_bounds(pairing: Pairing) -> Iterator[TimeBound]:
    for i, j, scheme, _, _ in pairing.references():
        window = _time_window(j, scheme)
        if window is not None and i.event_time is not None and j.event_time is not None:
            constraint = scheme.on(i.stream.name)
            if window.high is not None:
                high = window.high.ticks
                yield TimeBound(i.event_time, j.event_time, high, False, constraint, constraint)
            if window.low is not None:
                low = -window.low.ticks
                yield TimeBound(j.event_time, i.event_time, low, False, constraint, constraint)


def _written_bounds(predicate: Predicate) -> Iterator[TimeBound]:
    match predicate:
        case Comparison(left=left, right=right, op=op) if op is not Op.EQ:
            ticks = 0
        case Difference(minuend=left, subtrahend=right, op=op):
            ticks = predicate.span.ticks
        case _:
            return
    if left.alias == right.alias:
        return
    text = predicate.text or str(predicate)
    if op in (Op.LT, Op.LE, Op.EQ):
        yield TimeBound(right, left, ticks, op is Op.LT, text)
    if op in (Op.GT, Op.GE, Op.EQ):
        yield TimeBound(left, right, -ticks, op is Op.GT, text)


def _time_window(parent: Source, scheme: Scheme) -> Window | None:
    """The window in which every match of a declaration lies; None if it says nothing of time."""
    match scheme:
        case Cooccurs():
            return scheme.window
        case Follows(within=Span() as within):
            return Window(None, within)
        case ForeignKey() if any(set(key) <= set(scheme.parent_columns) for key in parent.stream.keys):
            return scheme.window
        case _:
            return None


def orders(source: Source) -> tuple[Ordered, ...]:
    """The orders of a stream; ARRIVES BY the event time is one."""
    declared = [s for s in source.stream.schemes if isinstance(s, Ordered)]
    return (*declared, *(s for s in source.stream.low if s not in declared))


def find_closers(pairing: Pairing, bounds: tuple[TimeBound, ...], kept: Kept) -> tuple[Closer, ...]:
    """Every way to close one source for the tuples of another; `kept` are the columns that can be looked at."""
    found: list[Closer] = []
    reaches = pairing.reaches(bounds)
    for i, j in pairing.pairs():
        for order in orders(j):
            found += _order_closers(pairing, i, j, order, _Reaches(reaches, kept[i.alias]))
        found += _key_closers(pairing, i, j)
    for i, j, scheme, own, other in pairing.references():
        if isinstance(scheme, Follows) and isinstance(scheme.slack, Rows | Auto):
            constraint = scheme.on(i.stream.name)
            count = scheme.slack.count if isinstance(scheme.slack, Rows) else None
            at_once = f"{j.alias} was read past it" if by_arrival(pairing.query) else "at once"
            many = "so many" if count is None else str(count)
            learned = " as the k that is learned" if count is None else ""
            text = at_once if count == 0 else f"{many} rows of {j.alias} arrived after it{learned}"
            text = f"{text} ({constraint})"
            made = (constraint,)
            found.append(
                Closer(CloserKind.FOLLOWS, i.alias, j.alias, True, own, other, None, None, False, count, made, text)
            )
    return tuple(sorted(set(found), key=lambda c: (c.source, c.target, c.kind, c.text)))


@dataclass(frozen=True)
class _Reaches:
    """The closed bounds, and the columns of one source that they may start from."""

    closed: Reaches
    kept: tuple[str, ...]

    def upto(self, between: Between) -> Reach | None:
        """The bound between two columns; two that are one differ by nothing."""
        if between.earlier == between.later:
            return Reach(0, False, (f"{between.earlier} and its equals",))
        return self.closed.get((between.earlier, between.later))


def _order_closers(pairing: Pairing, i: Source, j: Source, scheme: Ordered, reaches: _Reaches) -> Iterator[Closer]:
    ordered = ColumnRef(j.alias, scheme.column)
    kind = j.stream.type_of(scheme.column)
    for column in reaches.kept:
        start = ColumnRef(i.alias, column)
        between = pairing.between(start, ordered)
        reach = reaches.upto(between)
        if reach is None or kind is None:
            continue
        if not kind.is_clock and reach.ticks != 0:
            continue
        order = order_text(j.stream, scheme)
        by = f" by {span_of_ticks(reach.ticks, kind.is_instant)}" if reach.ticks else ""
        reasons = "; ".join(dict.fromkeys((*(t for t in reach.texts if between.earlier != between.later), order)))
        yield Closer(
            CloserKind.BAND if kind.is_clock else CloserKind.ORDER,
            i.alias,
            j.alias,
            never_passes(j.stream, scheme.column) is None,
            (column,),
            (scheme.column,),
            between,
            reach.ticks,
            reach.strict,
            None,
            reach.constraints,
            f"{ordered} has passed {start}{by} ({reasons})",
        )


def find_agreements(pairing: Pairing, bounds: tuple[TimeBound, ...], kept: Kept) -> tuple[Agreement, ...]:
    """The bounds that rows of two sources keep wherever they stand in one result, whether written or implied."""
    found = []
    closed = pairing.reaches(bounds)
    for i, j in pairing.pairs() if bounds else ():
        for left in (ColumnRef(i.alias, c) for c in kept[i.alias]):
            for right in (ColumnRef(j.alias, c) for c in kept[j.alias]):
                kind = pairing.query.type_of(left)
                between = pairing.between(left, right)
                if (between.earlier, between.later) in closed and kind is not None and kind.is_clock:
                    found.append(Agreement(left, right, between))
    return tuple(found)


def _key_closers(pairing: Pairing, i: Source, j: Source) -> Iterator[Closer]:
    for scheme in j.stream.schemes:
        if not isinstance(scheme, PrimaryKey):
            continue
        own = [pairing.partners(i.alias, ColumnRef(j.alias, column))[:1] for column in scheme.columns]
        if all(own):
            constraint = scheme.on(j.stream.name)
            sure = guarantee(i, j, pairing.combinations.of(i.alias, j.alias), scheme.columns)
            columns = tuple(column for (column,) in own) if sure is None else sure.own
            reasons = constraint if sure is None else f"{constraint}; {sure.text}"
            text = f"the row of {j.alias} that it names has arrived ({reasons})"
            yield Closer(
                CloserKind.KEY,
                i.alias,
                j.alias,
                sure is not None,
                columns,
                scheme.columns,
                None,
                None,
                False,
                None,
                (constraint,),
                text,
            )


def find_promises(pairing: Pairing, closers: tuple[Closer, ...]) -> tuple[PromisePlan, ...]:
    """The declarations that the runtime turns into promises and watches."""
    found: list[PromisePlan] = []
    used_keys = {(c.target, c.target_columns) for c in closers if c.kind is CloserKind.KEY}
    for source in pairing.query.all_sources:
        for scheme in source.stream.schemes:
            if isinstance(scheme, PrimaryKey) and (source.alias, scheme.columns) in used_keys:
                found.append(promise_of(PromiseKind.PRIMARY_KEY, source, scheme, scheme.columns))
        if source.stream.arrival is not None:
            found.append(_arrives(source, source.stream.arrival))
        for order in orders(source):
            if order not in source.stream.schemes:
                continue  # It is ARRIVES BY, which says more.
            match order.slack:
                case Rows(count=count):
                    found.append(promise_of(PromiseKind.ORDERED_ROWS, source, order, (order.column,), rows=count))
                case Span() as span:
                    found.append(promise_of(PromiseKind.ORDERED_TIME, source, order, (order.column,), high=span.ticks))
                case Auto():
                    in_time = order.column == source.stream.event_time
                    kind = PromiseKind.ORDERED_TIME if in_time else PromiseKind.ORDERED_ROWS
                    found.append(promise_of(kind, source, order, (order.column,)))
    for i, j, scheme, own, other in pairing.references():
        if isinstance(scheme, Follows) and isinstance(scheme.slack, Rows | Auto):
            rows = scheme.slack.count if isinstance(scheme.slack, Rows) else None
            kind = PromiseKind.FOLLOWS_ROWS
            found.append(promise_of(kind, i, scheme, own, partner=j.alias, partner_columns=other, rows=rows))
        window = _time_window(j, scheme)
        if window is None or window == Window() or i.event_time is None or j.event_time is None:
            continue  # A window without ends promises nothing.
        kind = PromiseKind.FOLLOWS_TIME if isinstance(scheme, Follows) else PromiseKind.COOCCURS
        low = None if window.low is None else window.low.ticks
        high = None if window.high is None else window.high.ticks
        found.append(promise_of(kind, i, scheme, own, partner=j.alias, partner_columns=other, low=low, high=high))
    return tuple(found)


def _arrives(source: Source, arrival: Arrival) -> PromisePlan:
    return PromisePlan(
        PromiseKind.ARRIVES,
        arrival.on(source.stream.name),
        source.alias,
        (arrival.column,),
        None,
        (),
        0,
        None,
        None,
        Policy.ADAPT if arrival.on_violation is None else arrival.on_violation.policy,
        None if arrival.on_violation is None else arrival.on_violation.into,
    )


def promise_of(
    kind: PromiseKind,
    source: Source,
    scheme: Scheme,
    columns: tuple[str, ...],
    *,
    partner: str | None = None,
    partner_columns: tuple[str, ...] = (),
    rows: int | None = None,
    low: int | None = None,
    high: int | None = None,
    when: str | None = None,
) -> PromisePlan:
    """The record of one declaration for one alias."""
    into = scheme.on_violation.into if scheme.on_violation is not None else None
    return PromisePlan(
        kind,
        scheme.on(source.stream.name),
        source.alias,
        columns,
        partner,
        partner_columns,
        rows,
        low,
        high,
        policy_of(scheme),
        into,
        when,
    )
