"""Delta joins: the results that a batch adds, each exactly once.

Fix an order of the sources. A result whose rows are not all old has a last source, in that order, from which it takes
a fresh row. So join the fresh rows of each source with all rows of the sources before it and the old rows of those
after it: every result appears once, in the pass of its last fresh source. Any order is right; fewest fresh rows first
means that the largest batch probes and is never indexed. Within a pass, sources are added by what they share and how
few rows they have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.plan.parts import ConditionPlan
from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import Bools
from penstock.runtime.input.arrival_order import ArrivalOrder
from penstock.runtime.input.clock import Clock
from penstock.runtime.match.matching import Matcher, Partial
from penstock.runtime.match.row_conditions import RowConditions
from penstock.runtime.match.rows_windows import RowsWindows
from penstock.runtime.state.synopsis import ALL, FRESH, OLD, Synopsis


def delta_join(
    plan: Plan,
    matcher: Matcher,
    clock: Clock,
    across: ArrivalOrder | None,
    conditions: tuple[ConditionPlan, ...],
) -> list[Partial]:
    """The new combinations of the streams that the matcher ties, as one partial for each that has fresh rows.

    They pass the conditions, which are asked as soon as their streams have met.
    """
    synopses = matcher.synopses
    growing = _Growing(matcher, RowsWindows(plan, synopses, clock, across), RowConditions(conditions, synopses))
    found: list[Partial] = []
    for start, parts in passes(matcher.plan.aliases, synopses):
        fresh = {start: synopses[start].ids(FRESH)}
        found += growing.grown(_only(fresh, growing.conditions.passing(fresh)), parts)
    return found


@dataclass(frozen=True)
class _Growing:
    matcher: Matcher
    windows: RowsWindows
    conditions: RowConditions

    def grown(self, partial: Partial, parts: Mapping[str, str]) -> Iterator[Partial]:
        """The combinations that partial ones grow into; what comes in pieces grows piece by piece."""
        if not parts:
            yield _only(partial, self.windows.inside(partial))
            return
        here = frozenset(partial)
        target = _next(self.matcher, here, parts)
        rest = {alias: part for alias, part in parts.items() if alias != target}
        for left, right in self.matcher.pieces(partial, target, parts[target], windows=self.windows):
            if len(left):
                longer = {**{a: ids[left] for a, ids in partial.items()}, target: right}
                yield from self.grown(_only(longer, self.conditions.passing(longer, here)), rest)


def _only(partial: Partial, keep: Bools | None) -> Partial:
    return partial if keep is None else {alias: ids[keep] for alias, ids in partial.items()}


def passes(aliases: tuple[str, ...], synopses: Mapping[str, Synopsis]) -> Iterator[tuple[str, dict[str, str]]]:
    """Each source that has fresh rows to start from, and the parts of the others that they are joined with."""
    order = sorted(aliases, key=lambda a: synopses[a].size(FRESH))
    for place, start in enumerate(order):
        parts = dict.fromkeys(order[:place], ALL) | dict.fromkeys(order[place + 1 :], OLD)
        if synopses[start].size(FRESH) and all(synopses[a].size(p) for a, p in parts.items()):
            yield start, parts


def _next(matcher: Matcher, bound: frozenset[str], parts: Mapping[str, str]) -> str:
    def cost(alias: str) -> tuple[int, int]:
        shares = (matcher.shared_axes(bound, alias), matcher.predicates(bound, alias), True)
        tie = next(number for number, shared in enumerate(shares) if shared)
        return tie, matcher.synopses[alias].size(parts[alias])

    return min(parts, key=cost)
