"""Which promises close which stream for whose tuples: time bounds, closers, and the promises to be watched.

A closer from i to j is one way to know that no future tuple of j meets a tuple of i (DESIGN section 1). Bands need
the low of j; an order needs a column of j that the predicates tie to one of i; FOLLOWS and keys need all their
columns tied by the equalities, closed transitively, that hold where i and j stand together. Constraints WITHIN AUTO
close nothing before their k is learned, so they give no closer here. FOREIGN KEY windows bound time only where the
parent's key makes the partner unique. Whether the closers suffice to bound the state is the analysis's question, not
this module's.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.closure import Equalities
from penstock.model.predicates import ColumnRef, Comparison, Difference, Op
from penstock.model.query import Query, RangeWindow, Source
from penstock.model.schemes import Cooccurs, Follows, ForeignKey, Ordered, PrimaryKey, Scheme, reference_of
from penstock.model.script import policy_of
from penstock.model.spans import Auto, Rows, Span, Window, span_of_ticks
from penstock.plan.bounds import TimeBound, close
from penstock.plan.plan import Closer, CloserKind, PromiseKind, PromisePlan


class Pairing:
    """The predicates and equalities that hold where two sources stand together."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self._equalities: dict[frozenset[str], Equalities] = {}

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
    """Every bound on a difference of event times: from predicates, RANGE windows and declarations."""
    found: list[TimeBound] = []
    for i, j in pairing.pairs():
        if i.event_time is None or j.event_time is None:
            continue
        found += _bounds_of_predicates(pairing, i, j)
        if isinstance(i.window, RangeWindow):
            text = f"{i.alias} has {i.window}"
            found.append(TimeBound(i.alias, j.alias, i.window.span.ticks, True, text))
    for i, j, scheme, _, _ in pairing.references():
        window = _time_window(j, scheme)
        if window is not None and i.event_time is not None and j.event_time is not None:
            constraint = scheme.on(i.stream.name)
            if window.high is not None:
                found.append(TimeBound(i.alias, j.alias, window.high.ticks, False, constraint, constraint))
            if window.low is not None:
                found.append(TimeBound(j.alias, i.alias, -window.low.ticks, False, constraint, constraint))
    return tuple(dict.fromkeys(found))


def _bounds_of_predicates(pairing: Pairing, i: Source, j: Source) -> Iterator[TimeBound]:
    """Upper bounds on ts(j) - ts(i) that single predicates give."""
    equal = pairing.equalities(i.alias, j.alias)
    assert i.event_time is not None
    assert j.event_time is not None
    if equal.equal(i.event_time, j.event_time):
        yield TimeBound(i.alias, j.alias, 0, False, f"{i.event_time} = {j.event_time}")
    for predicate in pairing.query.holding(frozenset({i.alias, j.alias})).predicates:
        match predicate:
            case Comparison(left=left, right=right, op=op) if op is not Op.EQ:
                ticks = 0
            case Difference(minuend=left, subtrahend=right, op=op):
                ticks = predicate.span.ticks
            case _:
                continue
        text = predicate.text or str(predicate)
        if equal.equal(left, j.event_time) and equal.equal(right, i.event_time) and op in (Op.LT, Op.LE, Op.EQ):
            yield TimeBound(i.alias, j.alias, ticks, op is Op.LT, text)
        if equal.equal(left, i.event_time) and equal.equal(right, j.event_time) and op in (Op.GT, Op.GE, Op.EQ):
            yield TimeBound(i.alias, j.alias, -ticks, op is Op.GT, text)


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
    """The orders of a stream whose k or d is known; ARRIVES BY the event time is one."""
    declared = [s for s in source.stream.schemes if isinstance(s, Ordered)]
    declared += [s for s in source.stream.low if s not in declared]
    return tuple(s for s in declared if not isinstance(s.slack, Auto))


def find_closers(pairing: Pairing, bounds: tuple[TimeBound, ...]) -> tuple[Closer, ...]:
    """Every way to close one source for the tuples of another."""
    found: list[Closer] = []
    reaches = close(bounds)
    for i, j in pairing.pairs():
        reach = reaches.get((i.alias, j.alias))
        clocked = [o for o in orders(j) if o.column == j.stream.event_time]
        if reach is not None and clocked and i.stream.event_time is not None and j.stream.event_time is not None:
            instants = i.stream.clock is not None and i.stream.clock.is_instant
            order = ", ".join(o.on(j.stream.name) for o in clocked)
            found.append(
                Closer(
                    CloserKind.BAND,
                    i.alias,
                    j.alias,
                    True,
                    (i.stream.event_time,),
                    (j.stream.event_time,),
                    reach.ticks,
                    reach.strict,
                    None,
                    reach.constraints,
                    f"the event time of {j.alias} has passed that of the row by "
                    f"{span_of_ticks(reach.ticks, instants)} ({'; '.join(reach.texts)}; {order})",
                )
            )
        found += _order_closers(pairing, i, j)
        found += _key_closers(pairing, i, j)
    for i, j, scheme, own, other in pairing.references():
        if isinstance(scheme, Follows) and isinstance(scheme.slack, Rows):
            constraint = scheme.on(i.stream.name)
            count = scheme.slack.count
            text = f"{count} rows of {j.alias} arrived after it ({constraint})" if count else f"at once ({constraint})"
            found.append(
                Closer(CloserKind.FOLLOWS, i.alias, j.alias, True, own, other, None, False, count, (constraint,), text)
            )
    return tuple(sorted(set(found), key=lambda c: (c.source, c.target, c.kind, c.text)))


def _order_closers(pairing: Pairing, i: Source, j: Source) -> Iterator[Closer]:
    for scheme in orders(j):
        ref = ColumnRef(j.alias, scheme.column)
        constraint = scheme.on(j.stream.name)
        ties = [(column, False) for column in pairing.partners(i.alias, ref)]
        for predicate in pairing.query.holding(frozenset({i.alias, j.alias})).predicates:
            if isinstance(predicate, Comparison) and predicate.op is not Op.EQ:
                for left, op, right in (
                    (predicate.left, predicate.op, predicate.right),
                    (predicate.right, predicate.op.mirrored, predicate.left),
                ):
                    if left == ref and right.alias == i.alias and op in (Op.LT, Op.LE):
                        ties.append((right.column, op is Op.LT))
        for column, strict in dict.fromkeys(ties):
            if column == i.stream.event_time and scheme.column == j.stream.event_time:
                continue  # The band closer between the two event times says the same, and more.
            text = f"{ref} has passed {i.alias}.{column} ({constraint})"
            yield Closer(
                CloserKind.ORDER,
                i.alias,
                j.alias,
                True,
                (column,),
                (scheme.column,),
                None,
                strict,
                None,
                (constraint,),
                text,
            )


def _key_closers(pairing: Pairing, i: Source, j: Source) -> Iterator[Closer]:
    for scheme in j.stream.schemes:
        if not isinstance(scheme, PrimaryKey):
            continue
        own = [pairing.partners(i.alias, ColumnRef(j.alias, column))[:1] for column in scheme.columns]
        if all(own):
            constraint = scheme.on(j.stream.name)
            columns = tuple(column for (column,) in own)
            text = f"the row of {j.alias} that it names has arrived ({constraint})"
            yield Closer(
                CloserKind.KEY,
                i.alias,
                j.alias,
                False,
                columns,
                scheme.columns,
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
                found.append(_promise(PromiseKind.PRIMARY_KEY, source, scheme, scheme.columns))
        for order in orders(source):
            match order.slack:
                case Rows(count=count):
                    found.append(_promise(PromiseKind.ORDERED_ROWS, source, order, (order.column,), rows=count))
                case Span() as span:
                    found.append(_promise(PromiseKind.ORDERED_TIME, source, order, (order.column,), high=span.ticks))
                case Auto():
                    pass
    for i, j, scheme, own, other in pairing.references():
        if isinstance(scheme, Follows) and isinstance(scheme.slack, Rows):
            found.append(
                _promise(
                    PromiseKind.FOLLOWS_ROWS,
                    i,
                    scheme,
                    own,
                    partner=j.alias,
                    partner_columns=other,
                    rows=scheme.slack.count,
                )
            )
        window = _time_window(j, scheme)
        if window is None or window == Window() or i.event_time is None or j.event_time is None:
            continue  # A window without ends promises nothing.
        kind = PromiseKind.FOLLOWS_TIME if isinstance(scheme, Follows) else PromiseKind.COOCCURS
        low = None if window.low is None else window.low.ticks
        high = None if window.high is None else window.high.ticks
        found.append(_promise(kind, i, scheme, own, partner=j.alias, partner_columns=other, low=low, high=high))
    return tuple(found)


def _promise(
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
) -> PromisePlan:
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
    )
