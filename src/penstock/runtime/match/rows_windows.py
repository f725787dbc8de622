"""[ROWS n]: which combinations are in their windows, and which tuples are beyond the reach of all that is to come.

Let seen(t, W) be how many rows of stream W had arrived when tuple t did, t itself included if it is one of W. It never
falls in the order of arrival, so when the last tuple of a combination arrived it was the largest seen of its members.
A tuple w of W is therefore in its window iff `max seen(t, W) - place(w) <= n`: a fact of places in the order of
arrival, fixed once all members arrived, however late the match is found.

Where each new combination holds a fresh tuple, seen is worked out for the batch alone: older tuples have seen no more
than what was there when it began, and a fresh one has seen that. Where rows come late from a join below, a match may
hold no fresh tuple: there each tuple carries what it has seen, as a column for each counted stream.

For one tuple more that is fixed before it is paired: those of W from place `seen - n` on, and, since seen never falls,
those of any stream up to the last that had seen no more of W than `place(w) + n`. Where a hot key would make the square
of its rows, `reach` so gives a range of places in place of all of them.

A tuple is **out of reach** once any row still to be taken in comes too late for it. It may yet match rows that wait,
all of whose tuples came in time.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from penstock.plan.doubting import works_anew
from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import INT64, Bools, Ints
from penstock.runtime.input.arrival_order import ArrivalOrder
from penstock.runtime.input.clock import Clock
from penstock.runtime.input.wire_columns import ORDER, SEEN
from penstock.runtime.join.rows import ABSENT, Rows, count
from penstock.runtime.state.synopsis import Synopsis


class RowsWindows:
    """The windows of the sources of one cell that are counted in rows."""

    def __init__(
        self, plan: Plan, synopses: Mapping[str, Synopsis], clock: Clock, across: ArrivalOrder | None = None
    ) -> None:
        self.synopses = synopses
        self.clock = clock
        self.across = across
        self.streams = {source.alias: source.stream for source in plan.sources}
        self.rows = {s.alias: s.window_rows for s in plan.sources if s.window_rows is not None}
        self._carried = {alias: _carried(plan, alias) for alias in plan.aliases}
        self._rank = {stream: number for number, stream in enumerate(plan.streams)}

    def note_seen(self) -> None:
        """Let the fresh tuples carry what they have seen, where they must."""
        for alias, columns in self._carried.items():
            synopsis, stream = self.synopses[alias], self.streams[alias]
            for counted, column in columns.items() if synopsis.has_fresh else ():
                segment = synopsis.segments[-1]
                if self.across is None:
                    seen = np.full(len(segment), self._seen_by_fresh(counted, stream))
                else:
                    seen = self.across.count_before(counted, stream, segment.codes(ORDER))
                segment.table = segment.table.append_column(column, pa.array(seen, pa.int64()))

    def inside(self, rows: Rows) -> Bools | None:
        """The combinations that are in all windows; None for all. They may leave out sources, or have them absent."""
        windows = {alias: most for alias, most in self.rows.items() if alias in rows}
        if not windows:
            return None
        last = {stream: self.last_seen(stream, rows) for stream in {self.streams[alias] for alias in windows}}
        keep: Bools = np.ones(count(rows), np.bool_)
        for alias, most in windows.items():
            places = _places(self.synopses[alias], rows[alias])
            keep &= (rows[alias] == ABSENT) | (last[self.streams[alias]] - places <= most)
        return keep

    def reach(self, rows: Rows, target: str, ids: Ints) -> tuple[Ints, Ints, Ints] | None:
        """The places of tuples of a target, and from which to which of them each of the rows may meet one in a window.

        None where no window says. What lies between is in the windows, or not: `inside` says.
        """
        windows = {alias: most for alias, most in self.rows.items() if alias in rows}
        if not windows and target not in self.rows:
            return None
        places = _places(self.synopses[target], ids)
        low, high = np.full(count(rows), INT64.min), np.full(count(rows), INT64.max)
        if target in self.rows:
            low = self.last_seen(self.streams[target], rows) - self.rows[target]
        order = np.argsort(places, kind="stable")
        for alias, most in windows.items() if len(ids) else ():
            seen = self.seen(self.streams[alias], target, ids)[order]
            if (seen[1:] < seen[:-1]).any():
                continue
            upto = np.searchsorted(seen, _places(self.synopses[alias], rows[alias]) + most, "right")
            last = np.where(upto > 0, places[order][upto - 1], INT64.min)
            high = np.where(rows[alias] == ABSENT, high, np.minimum(high, last))
        return places, low, high

    def last_seen(self, counted: str, rows: Rows) -> Ints:
        """How many rows of a stream had arrived when the last tuple of each combination did."""
        found: Ints = np.zeros(count(rows), np.int64)
        for alias, ids in rows.items() if len(found) else ():
            there = ids != ABSENT
            if there.all():
                found = np.maximum(found, self.seen(counted, alias, ids))
            elif there.any():
                found[there] = np.maximum(found[there], self.seen(counted, alias, ids[there]))
        return found

    def seen(self, counted: str, alias: str, ids: Ints) -> Ints:
        """How many rows of a stream had arrived when the tuples did; if they are not fresh, perhaps fewer."""
        synopsis, stream = self.synopses[alias], self.streams[alias]
        if stream == counted:
            return _places(synopsis, ids) + 1
        if (column := self._carried[alias].get(counted)) is not None:
            return synopsis.codes(column, ids)
        if self.across is not None:
            found: Ints = self.across.count_before(counted, stream, synopsis.codes(ORDER, ids))
            return found
        fresh = _places(synopsis, ids) >= self.clock.before[stream]
        return np.where(fresh, self._seen_by_fresh(counted, stream), self.clock.before[counted])

    def _seen_by_fresh(self, counted: str, stream: str) -> int:
        """How many rows of a stream arrived before those of the batch of another, stream after stream as in FROM."""
        is_after = self._rank[stream] > self._rank[counted]
        return self.clock.count[counted] if is_after else self.clock.before[counted]

    def out_of_reach(self, rows: Rows) -> Bools:
        """Which rows hold a tuple that is out of the window of any row still to be taken in."""
        found: Bools = np.zeros(count(rows), np.bool_)
        for alias, ids in rows.items():
            if alias in self.rows:
                found |= (ids != ABSENT) & (_places(self.synopses[alias], ids) <= self.passed(alias))
        return found

    def passed(self, alias: str) -> int:
        """The last place of a source that is out of reach."""
        stream, most = self.streams[alias], self.rows[alias]
        return self.clock.count[stream] - most - 1 if self.across is None else self.across.out_of_window(stream, most)


def seen_columns(plan: Plan, alias: str) -> tuple[str, ...]:
    """The columns in which tuples of a source carry what they have seen of other streams."""
    return tuple(_carried(plan, alias).values())


def _carried(plan: Plan, alias: str) -> dict[str, str]:
    """By counted stream, the column in which tuples of a source carry what they have seen of it."""
    if not plan.tree.joins_late_rows and not works_anew(plan):
        return {}
    own = plan.by_alias[alias].stream
    return {stream: f"{SEEN}{stream}" for stream in plan.streams if stream in plan.rows_windowed and stream != own}


def _places(synopsis: Synopsis, ids: Ints) -> Ints:
    """The places of tuples in the order of arrival of their stream; ABSENT stays."""
    there = ids != ABSENT
    if there.all():
        every: Ints = synopsis.gather(ids, lambda s: s.arrival)
        return every
    found = np.full(len(ids), ABSENT, np.int64)
    found[there] = synopsis.gather(ids[there], lambda s: s.arrival)
    return found
