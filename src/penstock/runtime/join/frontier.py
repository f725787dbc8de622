"""How far the event times of results have come: what lets the second stage forget a row, or close a group.

By alias with a known low: no future result has an event time of that alias below its frontier. A result is made of rows
that are stored, or are still to come; so it is the least of the low and of what is stored. Where a grouped query keeps
only the window of an event time, the start of the window stands for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from penstock.plan.plan import Plan
from penstock.runtime.promise.closing import Closedness
from penstock.runtime.state.synopsis import ALL, Synopsis


def frontier(plan: Plan, closing: Closedness, synopses: Mapping[str, Synopsis]) -> dict[str, int]:
    """The frontier of one cell; empty if there is no second stage."""
    found: dict[str, int] = {}
    for alias, time, how, column in _clocks(plan):
        low = closing.low(alias, time)
        if low is None:
            continue
        for _, segment in synopses[alias].part(ALL):
            values, order = segment.sorted_by(how, column)
            low = min(low, int(values[int(np.argmax(segment.alive[order]))]))
        found[alias] = low
    return found


def _clocks(plan: Plan) -> Iterator[tuple[str, str, str, str]]:
    """(alias, event time, how to read it, column that stands for it) of the streams whose time the stage looks at."""
    if plan.distinct:
        for source in plan.sources:
            if source.event_time is not None and source.event_time in source.kept:
                yield source.alias, source.event_time, "ticks", source.event_time
    if plan.aggregate is not None:
        for key in plan.aggregate.keys:
            for clock in key.clocks:
                if clock.column in plan.by_alias[clock.alias].kept:
                    yield clock.alias, clock.column, "ticks", clock.column
                else:
                    window = next(w for w in plan.aggregate.windows_of(clock.alias) if w.column == clock.column)
                    yield clock.alias, clock.column, "codes", window.name
