"""Who came before whom across streams: the order of ARRIVES BY, ties by the order of FROM (DESIGN section 2).

A row's place is the code of the largest arrival value read on its stream up to it, then its stream's rank in FROM, then
its arrival number. Rows that fall, and NULLs, break ARRIVES BY; they keep their turn on their stream, so their place
is that of the largest value before them. Every cell knows how far each stream was read, and of the streams whose rows
are counted the place of every row from some row on, its own or not. Two facts follow:

- T was **read past** a row of S with code v iff T's largest code is above v, or is v and T stands later in FROM.
- Once W was read past a row l, how many of its rows came before l is known, and so is whether a row of W is in its
  `[ROWS n]` then (`match/rows_windows.py`).

So a row may be taken in once every other stream that has `[ROWS n]` was read past it: all counts at it are then known.
Codes of different streams are compared, so the planner must have seen to it that their types agree.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import INT64, Bools, Ints, codes, flat
from penstock.runtime.input.wire_columns import counted_streams
from penstock.runtime.state.component import Component
from penstock.runtime.state.queue import Queue

EVERYTHING = int(INT64.max)
_PLACE = "place"
NOTHING = int(INT64.min) - 1
"""A limit below every code."""


def order_codes(column: Any) -> Ints:
    """The code of the largest value up to each row; NULL is no value."""
    values = flat(column)
    found = codes(values)
    if values.null_count:
        found = np.where(values.is_null().to_numpy(zero_copy_only=False), INT64.min, found)
    return np.maximum.accumulate(found)


class ArrivalOrder(Component):
    """How far each stream was read, and the places of counted rows. The same in every cell."""

    tables = ("places",)
    numbers = ("top",)

    def __init__(self, plan: Plan) -> None:
        self.rank = {stream: number for number, stream in enumerate(plan.streams)}
        self.windowed = plan.rows_windowed
        self.ended = False
        """Whether every stream was read to its end."""
        self.top: dict[str, int | None] = dict.fromkeys(plan.streams)
        """The largest code read of each stream."""
        self.places = {stream: Queue(_PLACE) for stream in plan.streams if stream in counted_streams(plan)}
        """By counted stream, the places of its rows by arrival number, from the first that is still known."""

    def read(self, stream: str, top: int | None, places: Ints | None) -> int:
        """Take note of a chunk that was read; gives the code below which none of its rows may stand."""
        before = self.top[stream]
        floor = int(INT64.min) if before is None else before
        if stream in self.places:
            assert places is not None
            self.places[stream].append(place=np.maximum(places, floor))
        if top is not None or before is not None:
            self.top[stream] = floor if top is None else max(top, floor)
        return floor

    def base(self, counted: str) -> int:
        """The arrival number of the first row of a counted stream whose place is still known."""
        return self.places[counted].first

    def _of(self, counted: str) -> Ints:
        found: Ints = self.places[counted].column(_PLACE)
        return found

    def _passed(self, stream: str, others: frozenset[str]) -> int:
        """The largest code at which rows of a stream were passed by all of the others; EVERYTHING if there are none."""
        limit = EVERYTHING
        for other in others - {stream} if not self.ended else ():
            top = self.top[other]
            reach = NOTHING if top is None else top if self.rank[other] > self.rank[stream] else top - 1
            limit = min(limit, reach)
        return limit

    def admitted(self, stream: str) -> int:
        """The largest code up to which rows of a stream may be taken in."""
        return self._passed(stream, self.windowed)

    def settled(self, stream: str) -> int:
        """The largest code up to which every other stream was read; rows beyond it are read ahead of the slowest."""
        return self._passed(stream, frozenset(self.rank))

    def front(self, stream: str) -> int:
        """No row of the stream that is still to be taken in stands below it."""
        top = EVERYTHING if self.ended else self.top[stream]
        return NOTHING if top is None else min(top, self.admitted(stream) + 1)

    def count_before(self, counted: str, stream: str, code: Any) -> Any:
        """How many rows of a counted stream stand before rows of another that have these codes."""
        held = code if isinstance(code, np.ndarray) else self._held(code)
        ties: Literal["left", "right"] = "right" if self.rank[counted] < self.rank[stream] else "left"
        return self.base(counted) + np.searchsorted(self._of(counted), held, ties)

    def is_after(self, counted: str, number: Ints, stream: str, code: Ints) -> Bools:
        """Whether rows of a counted stream, by arrival number, come after rows of another; one let go of does not."""
        at = number - self.base(counted)
        place = self._of(counted)[np.maximum(at, 0)]
        later = place > code if self.rank[counted] < self.rank[stream] else place >= code
        return (at >= 0) & later

    def out_of_window(self, counted: str, rows: int) -> int:
        """Rows of a counted stream up to this arrival number are outside [ROWS n] of all that is still to be taken in.

        A future combination holds a row still to be taken in; its last row stands at that row or after it.
        """
        return self.needed_from(counted) - rows - 1

    def needed_from(self, counted: str) -> int:
        """How many rows of a counted stream stand before all that is still to be taken in of the others."""
        return min(self.next_at(counted, other) for other in self.rank if other != counted)

    def followed(self, parent: str, child: str, rows: int) -> int:
        """The largest code of rows of child after which so many rows of parent were taken in, all before them too."""
        limit = self.front(parent)
        if rows:
            places = self._of(parent)
            taken = int(np.searchsorted(places, self._held(self.admitted(parent)), "right"))
            limit = min(limit, int(places[taken - rows])) if taken >= rows else NOTHING
        return limit if self.rank[parent] > self.rank[child] else max(limit - 1, NOTHING)

    def last_taken(self, counted: str, rows: int) -> int:
        """The arrival number of the first of the last so many rows of a counted stream that were taken in."""
        taken = np.searchsorted(self._of(counted), self._held(self.admitted(counted)), "right")
        return self.base(counted) + int(taken) - rows

    def next_at(self, counted: str, stream: str) -> int:
        """How many rows of a counted stream stand before all that is still to be taken in of another."""
        return int(self.count_before(counted, stream, self.front(stream)))

    @staticmethod
    def _held(code: int) -> int:
        return max(code, int(INT64.min))

    def forget(self, needed: dict[str, int]) -> None:
        """Let go of places before the given arrival numbers."""
        for stream, first in needed.items():
            surplus = min(first - self.base(stream), len(self.places[stream]))
            if surplus > 0:
                self.places[stream].drop(surplus)

    @property
    def nbytes(self) -> int:
        """The bytes of the places."""
        return sum(places.nbytes for places in self.places.values())
