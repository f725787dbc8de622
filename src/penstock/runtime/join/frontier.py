"""How far the ordered columns of results have come: it lets the second stage forget, and is told to the block above.

By ordered column of a source: no future result carries it below its frontier. A result is made of rows that are stored,
or are still to come; so it is the least of what is known to have passed and of what is stored. A NULL lies below
nothing. Of a column that is always one of several it is the least of theirs. Where a grouped query keeps only the
window of an event time, the start of the window stands for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from penstock.model.expressions import ColumnRef
from penstock.plan.plan import FrontierColumn, Plan
from penstock.runtime.group.calendar_cuts import cut_ticks
from penstock.runtime.promise.closing import Closedness
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, Synopsis


def frontier(plan: Plan, closing: Closedness, synopses: Mapping[str, Synopsis]) -> dict[str, int]:
    """The frontier of one cell, by column; empty if nobody asks for it."""
    found: dict[str, int] = {}
    for ref, how, column in _clocks(plan):
        low = closing.low(ref.alias, ref.column)
        if low is None:
            continue
        for _, segment in synopses[ref.alias].part(ALL):
            least = _least(segment, how, column)
            low = low if least is None else min(low, least)
        found[str(ref)] = low
    return found


def answer_frontier(plan: Plan, reached: Mapping[str, int]) -> dict[str, int]:
    """By column of the answer, from which value on it may still be emitted; `reached` is by column of the sources."""
    known = ((told, _least_reached(told, reached)) for told in plan.frontiers)
    found = {told.name: _reached(told, ticks) for told, ticks in known if ticks is not None}
    return {name: ticks for name, ticks in found.items() if ticks is not None}


def _least_reached(told: FrontierColumn, reached: Mapping[str, int]) -> int | None:
    """How far the clocks have come of what a column is, or is one of; None where one has not spoken."""
    known = [reached.get(name) for name in (told.told_by, *map(str, told.others))]
    spoken = [ticks for ticks in known if ticks is not None]
    return min(spoken) if len(spoken) == len(known) else None


def _reached(told: FrontierColumn, ticks: int) -> int | None:
    """From which value on a column may still be emitted; None where the calendar does not reach."""
    return told.reached(ticks) if told.cut is None else cut_ticks(ticks, told.cut)


def least_of(frontiers: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """The frontier of answers that are one stream: of each column that all of them tell of, the least."""
    known = set(frontiers[0]).intersection(*frontiers[1:])
    return {column: min(frontier[column] for frontier in frontiers) for column in known}


def _least(segment: Segment, how: str, column: str) -> int | None:
    """The least value of the rows that are stored; None if all are NULL."""
    if not segment.column(column).null_count:
        return segment.least_living(how, column)
    values, order = segment.sorted_by(how, column)
    known = segment.alive[order] & segment.column(column).is_valid().to_numpy(zero_copy_only=False)[order]
    return int(values[int(np.argmax(known))]) if known.any() else None


def _clocks(plan: Plan) -> Iterator[tuple[ColumnRef, str, str]]:
    """(ordered column, how to read it, column that stands for it) of all that is asked for."""
    asked = [ref for told in plan.frontiers for ref in (told.clock, *told.others)]
    if plan.distinct:
        asked += [ColumnRef(s.alias, c) for s in plan.sources for c in s.kept if plan.is_clock(s.alias, c)]
    if plan.aggregate is not None:
        asked += [clock for key in plan.aggregate.keys for clock in key.clocks]
    for ref in dict.fromkeys(asked):
        if ref.column in plan.by_alias[ref.alias].kept:
            yield ref, "ticks", ref.column
        elif plan.aggregate is not None:
            for window in plan.aggregate.windows_of(ref.alias):
                if window.column == ref.column:
                    yield ref, "codes", window.name
                    break
