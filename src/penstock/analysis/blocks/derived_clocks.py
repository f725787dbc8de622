"""Which columns of a block's answer have a clock? Those whose **frontier** moves on.

A row of the answer is made of rows of the sources that are stored, or are still to come. So nothing that is emitted
after a batch carries a column x.c below the least of low(x.c) and of x.c in the stored rows: the frontier of x.c
(`runtime/join/frontier.py`). A column of the answer that is x.c in every row, or NULL, has that frontier for its clock.

Theorem: the frontier of x.c passes every value in the end if x.c is ordered and has no largest value
(largest_value.py), and every row of x leaves in the end. For low(x.c) passes v, after which no row below v comes, and
those that are stored leave. It is then a clock like any other, of which no lateness is declared: the block above is
told it batch by batch.

- A column that equals x.c in every row of the answer has its clock too.
- A group by a window of x.c is emitted when the frontier has passed its end, and all that have ended are emitted with
  it: so what is emitted later ends after the frontier, and starts after it less the length of the window; its last
  moment is the frontier or later. A group by x.c itself: likewise. DISTINCT emits a row when it first comes, so the
  frontier below is its own.
- A session of x.c likewise, when the frontier has passed its end: what is emitted later ends at the frontier or after
  it, and starts with the least start of the sessions that are open, or after it. That one moves on as sessions end.
- A value of x.c that a group by a window of it picks (`max`, `min`, its first rows) lies in the window: it has the
  clock of the window's start, in the type of x.c.
  Likewise one that a group by a cut of x.c picks: it lies in what is cut off, and has the clock of its beginning.
- A cut of x.c (`date_trunc`, `to_date`: model/closed_groups.py) never falls while x.c does not: what is emitted later
  has the cut of the frontier, or a later one.
- The end of the window that x.c lies in, in each row, likewise.
- What is always one of several such columns (`coalesce(x.c, y.d)`) has the least of their frontiers.
- An unmatched row of an outer join or NOT EXISTS is emitted while its tuples are stored, as every other row is.

Preconditions: nothing that was let go comes back (ON VIOLATION RECOVER, ARCHIVE); rows that break the order below come
late above. A NULL is passed by no clock and lies below none. Not claimed: columns of a source whose rows are merged or
evicted instead of leaving; other expressions of ordered columns; what is picked by a cut of a time without a zone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.analysis.closings.edges import order_text
from penstock.analysis.facts.largest_value import never_passes
from penstock.analysis.finding import Bounded, Claim, Finding, Means, Unclaimed
from penstock.analysis.reasons import NotPromised, Promised, Reason
from penstock.model.clauses import PICKS, TOP, Aggregate, Output, TimeWindow
from penstock.model.closed_groups import Cut, clocks_of, cut_of, is_cut_of_time
from penstock.model.expressions import ColumnRef, Expression
from penstock.model.lineage import Origin, chosen_among
from penstock.model.query import Query
from penstock.model.schemes import OnViolation, Ordered, Policy
from penstock.model.spans import Frontier
from penstock.model.types import Kind
from penstock.records import record

_LEAVE = (Means.STATELESS, Means.WINDOW, Means.PURGE)
_PICK = ("min", "max", *PICKS, TOP)
"""Aggregates that give one of the values that they are over."""
_OF_ENDS = (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ, Kind.BIGINT)
"""The types that the ends of a window have: they are those of its column, but of a DATE or a smaller number."""


@record
class FrontierClock:
    """A column of the answer, and the ordered column of a source whose frontier tells how far it has come."""

    column: str
    clock: ColumnRef
    window: TimeWindow | None = None
    """Where it is an end of a window of that column."""
    cut: Cut | None = None
    """Where it is a cut of that column."""
    others: tuple[ColumnRef, ...] = ()
    """Where it is one of several columns: the other ones, of whose frontiers the least counts."""


def derived_clocks(
    query: Query, known: Mapping[str, Origin], findings: Mapping[str, Finding]
) -> Iterator[tuple[Claim, FrontierClock] | Unclaimed]:
    """The columns of the answer that have a clock, each with why; of others that might have one, why not."""
    picked: dict[str, Origin | Cut] = {name: window for name, window, _ in picked_in_windows(query)}
    picked |= {name: cut for name, cut, _ in picked_in_cuts(query) if name not in picked}
    for name, origin in (*known.items(), *cuts(query), *picked.items()):
        ref = origin if isinstance(origin, ColumnRef) else origin.column
        doubts: list[Reason] = []
        for clock in _equal_clocks(query, ref):
            why = _stands_still(query, clock, findings[clock.alias])
            if why is None:
                window = origin if isinstance(origin, TimeWindow) else None
                cut = origin if isinstance(origin, Cut) else None
                because = _because(query, name, origin, clock, findings[clock.alias], is_picked=name in picked)
                scheme = Ordered(name, Frontier(), OnViolation(Policy.TRUST))
                yield Claim(scheme, (because,)), FrontierClock(name, clock, window, cut)
                break
            doubts.append(why)
        else:
            if doubts:
                yield Unclaimed(name, tuple(doubts))
    yield from _of_several(query, findings)


def _of_several(query: Query, findings: Mapping[str, Finding]) -> Iterator[tuple[Claim, FrontierClock] | Unclaimed]:
    """The columns of rows that are one of several columns which all have a clock."""
    for shown in () if query.is_grouped else query.answer:
        value = shown.value if isinstance(shown, Output) else None
        refs = chosen_among(value.term) if isinstance(value, Expression) else ()
        kinds = {query.type_of(ref) for ref in refs}
        kind = next(iter(kinds)) if len(kinds) == 1 else None
        is_timed = all(_orders(query, ref) or query.by_alias[ref.alias].event_time == ref for ref in refs)
        if kind is None or not kind.is_clock or not is_timed:
            continue
        doubts = [why for ref in refs if (why := _stands_still(query, ref, findings[ref.alias])) is not None]
        if doubts:
            yield Unclaimed(shown.name, tuple(doubts))
            continue
        orders = [order_text(query.by_alias[ref.alias].stream, _orders(query, ref)[0]) for ref in refs]
        bounds = [finding.bound for ref in refs if isinstance(finding := findings[ref.alias], Bounded)]
        because = Promised.LEAST_FRONTIER(shown.name, list(refs), orders, bounds)
        scheme = Ordered(shown.name, Frontier(), OnViolation(Policy.TRUST))
        yield Claim(scheme, (because,)), FrontierClock(shown.name, refs[0], others=refs[1:])


def cuts(query: Query) -> Iterator[tuple[str, Cut]]:
    """The columns of the answer that are cuts of a time."""
    for shown in query.answer:
        value = shown.value if isinstance(shown, Output) else None
        cut = cut_of(value) if isinstance(value, Expression) else None
        if cut is None or not isinstance(value, Expression) or (query.is_grouped and value not in query.sure_keys):
            continue
        if is_cut_of_time(cut, query.type_of(cut.column)):
            yield shown.name, cut


def picked_in_windows(query: Query) -> Iterator[tuple[str, TimeWindow, bool]]:
    """The columns of the answer that are a value of a window's own column, with the start of that window.

    And whether each has one: what is picked by another value has none where all of these are NULL.
    """
    windows = [key for key in query.sure_keys if isinstance(key, TimeWindow)]
    for shown in query.answer:
        value = shown.value if isinstance(shown, Output) else None
        if not isinstance(value, Aggregate) or value.function not in _PICK:
            continue
        for window in windows:
            kind = query.type_of(window.column)
            if value.argument == window.column and kind is not None and kind.kind in _OF_ENDS:
                yield shown.name, replace(window, end="start"), value.function not in PICKS


def picked_in_cuts(query: Query) -> Iterator[tuple[str, Cut, bool]]:
    """The columns of the answer that are a value of the column that groups are cut of, with that cut as a TIMESTAMP.

    And whether each has one where the column has.
    """
    known = [cut for key in query.sure_keys if (cut := cut_of(key)) is not None]
    for shown in query.answer:
        value = shown.value if isinstance(shown, Output) else None
        if not isinstance(value, Aggregate) or value.function not in _PICK:
            continue
        for cut in known:
            kind = query.type_of(cut.column)
            if value.argument == cut.column and kind is not None and kind.kind is Kind.TIMESTAMP:
                yield shown.name, replace(cut, gives_date=False), value.function not in PICKS
                break


def _equal_clocks(query: Query, ref: ColumnRef) -> Iterator[ColumnRef]:
    """The ordered columns that a column is in every row: itself, then others.

    A group waits for what closes it, which is none but the clocks that the second stage looks at.
    """
    if query.is_grouped:
        yield from clocks_of(query, ref)
        return
    others = query.equalities(frozenset()).class_of(ref) if ref.alias in query.core else (ref,)
    for equal in dict.fromkeys((ref, *others)):
        source = query.by_alias[equal.alias]
        kind = query.type_of(equal)
        is_there = equal == ref or equal.alias in query.core
        if is_there and kind is not None and kind.is_clock and (source.event_time == equal or _orders(query, equal)):
            yield equal


def _orders(query: Query, ref: ColumnRef) -> tuple[Ordered, ...]:
    return query.by_alias[ref.alias].stream.ordering(ref.column)


def _stands_still(query: Query, clock: ColumnRef, finding: Finding) -> Reason | None:
    """Why the frontier of a column does not pass every value; None if it does."""
    stream = query.by_alias[clock.alias].stream
    if not _orders(query, clock):
        return NotPromised.NOT_ORDERED(clock)
    if (limit := never_passes(stream, clock.column)) is not None:
        return NotPromised.STOPS(clock, limit)
    if any(_recovers(scheme) for source in query.all_sources for scheme in source.stream.schemes):
        return NotPromised.MAY_COME_BACK(clock)
    if query.hints.archive is not None:
        return NotPromised.MAY_COME_BACK(clock)
    if not isinstance(finding, Bounded) or finding.means not in _LEAVE:
        return NotPromised.ROWS_STAY(clock, clock.alias)
    return None


def _recovers(scheme: object) -> bool:
    policy = getattr(scheme, "on_violation", None)
    return policy is not None and policy.policy is Policy.RECOVER


def _because(
    query: Query, name: str, origin: Origin | Cut, clock: ColumnRef, finding: Finding, *, is_picked: bool
) -> Reason:
    assert isinstance(finding, Bounded)
    order = order_text(query.by_alias[clock.alias].stream, _orders(query, clock)[0])
    if is_picked and isinstance(origin, Cut):
        return Promised.PICKED_IN_CUT(name, origin.unit, clock, order, finding.bound)
    if is_picked:
        return Promised.PICKED_IN_WINDOW(name, clock, order, finding.bound)
    if isinstance(origin, TimeWindow) and origin.is_session:
        said = Promised.SESSION_STARTS if origin.end == "start" else Promised.SESSION_ENDS
        return said(name, clock, order, finding.bound)
    if isinstance(origin, TimeWindow) and not query.is_grouped:
        return Promised.WINDOW_OF_FRONTIER(name, clock, order, finding.bound)
    if isinstance(origin, TimeWindow):
        return Promised.WINDOWS_EMITTED(name, clock, order, finding.bound)
    if isinstance(origin, Cut):
        return Promised.CUT_OF_FRONTIER(name, origin.unit, clock, order, finding.bound)
    return Promised.FRONTIER(name, clock, order, finding.bound)
