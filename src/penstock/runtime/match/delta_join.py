"""Delta joins: the results that a batch adds, each exactly once.

Fix an order of the sources. A result whose rows are not all old has a last source, in that order, from which it takes
a fresh row. So join the fresh rows of each source with all rows of the sources before it and the old rows of those
after it: every result appears once, in the pass of its last fresh source. Any order is right; fewest fresh rows first
means that the largest batch probes and is never indexed. Within a pass, sources are added by what they share and how
few rows they have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import INT64, Bools, Ints
from penstock.runtime.input.arrival_order import ArrivalOrder
from penstock.runtime.input.clock import Clock
from penstock.runtime.input.wire_columns import ORDER
from penstock.runtime.match.matching import Matcher, Partial
from penstock.runtime.state.synopsis import ALL, FRESH, OLD, Synopsis


def delta_join(plan: Plan, matcher: Matcher, clock: Clock, across: ArrivalOrder | None = None) -> list[Partial]:
    """The new combinations of the streams that the matcher ties, as one partial for each that has fresh rows."""
    synopses = matcher.synopses
    found = []
    for start, parts in passes(matcher.plan.aliases, synopses):
        partial: Partial = {start: synopses[start].ids(FRESH)}
        while parts and len(partial[start]):
            target = _next(matcher, frozenset(partial), parts)
            left, right = matcher.pairs(partial, target, parts.pop(target))
            partial = {alias: ids[left] for alias, ids in partial.items()}
            partial[target] = right
        if len(partial) == len(matcher.plan.aliases) and len(partial[start]):
            keep = in_rows_windows(plan, matcher, clock, partial, across)
            found.append(partial if keep is None else {alias: ids[keep] for alias, ids in partial.items()})
    return found


def passes(aliases: tuple[str, ...], synopses: Mapping[str, Synopsis]) -> Iterator[tuple[str, dict[str, str]]]:
    """Each source that has fresh rows to start from, and the parts of the others that they are joined with."""
    order = sorted(aliases, key=lambda a: synopses[a].size(FRESH))
    for place, start in enumerate(order):
        parts = dict.fromkeys(order[:place], ALL) | dict.fromkeys(order[place + 1 :], OLD)
        if synopses[start].size(FRESH) and all(synopses[a].size(p) for a, p in parts.items()):
            yield start, parts


def _next(matcher: Matcher, bound: frozenset[str], parts: dict[str, str]) -> str:
    def cost(alias: str) -> tuple[int, int]:
        shares = (matcher.shared_axes(bound, alias), matcher.predicates(bound, alias), True)
        tie = next(number for number, shared in enumerate(shares) if shared)
        return tie, matcher.synopses[alias].size(parts[alias])

    return min(parts, key=cost)


def in_rows_windows(
    plan: Plan, matcher: Matcher, clock: Clock, partial: Partial, across: ArrivalOrder | None
) -> Bools | None:
    """The new combinations in which, when the last row arrived, each was among the last n of its stream; None if all.

    They may leave out sources of the plan.
    """
    windows = {s.alias: s.window_rows for s in plan.sources if s.alias in partial and s.window_rows is not None}
    if not windows:
        return None
    arrival: dict[str, Ints] = {a: matcher.synopses[a].gather(ids, lambda s: s.arrival) for a, ids in partial.items()}
    if across is None:
        keep = _in_windows_by_batch(plan, clock, arrival, windows)
    else:
        last = _last(plan, matcher, across, partial, arrival)
        keep = np.ones(len(last[0]), np.bool_)
        for alias, rows in windows.items():
            keep &= across.in_window(plan.by_alias[alias].stream, rows, arrival[alias], last)
    return keep


def _last(
    plan: Plan, matcher: Matcher, across: ArrivalOrder, partial: Partial, arrival: dict[str, Ints]
) -> tuple[Ints, Ints, Ints]:
    """The last row of each combination in the order across streams: its code, its stream's rank, its arrival number."""
    size = len(next(iter(partial.values())))
    code, rank, number = np.full(size, INT64.min), np.full(size, -1), np.full(size, -1)
    for source in (s for s in plan.sources if s.alias in partial):
        own = matcher.synopses[source.alias].codes(ORDER, partial[source.alias])
        here = across.rank[source.stream]
        mine = arrival[source.alias]
        later = (own > code) | ((own == code) & ((here > rank) | ((here == rank) & (mine > number))))
        code, rank, number = np.where(later, own, code), np.where(later, here, rank), np.where(later, mine, number)
    return code, rank, number


def _in_windows_by_batch(plan: Plan, clock: Clock, arrival: dict[str, Ints], windows: dict[str, int]) -> Bools:
    """The windows where no order across streams is declared.

    The rows of a batch arrive stream after stream in the order of FROM, so the last row is one of this batch, of the
    last stream in that order that has one in the combination.
    """
    rank = {stream: number for number, stream in enumerate(plan.streams)}
    size = len(next(iter(arrival.values())))
    last_rank = np.full(size, -1)
    last_arrival = np.full(size, -1)
    for source in sorted((s for s in plan.sources if s.alias in arrival), key=lambda s: rank[s.stream]):
        fresh = arrival[source.alias] >= clock.before[source.stream]
        here = rank[source.stream]
        last_arrival = np.where(
            fresh,
            np.where(last_rank == here, np.maximum(last_arrival, arrival[source.alias]), arrival[source.alias]),
            last_arrival,
        )
        last_rank = np.where(fresh, here, last_rank)
    keep: Bools = np.ones(size, np.bool_)
    for alias, rows in windows.items():
        stream = plan.by_alias[alias].stream
        here = rank[stream]
        others = np.where(last_rank > here, clock.count[stream], clock.before[stream])
        count = np.where(last_rank == here, last_arrival + 1, others)
        keep &= count - arrival[alias] <= rows
    return keep
