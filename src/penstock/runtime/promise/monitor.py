"""The k of one constraint, measured while the query runs (KMON sections 4.3, 5.3, 6.3).

A declared k is a promise: it is never undercut, ADAPT widens it to what was seen, and it falls back to a smaller k, not
below the declared one, once that held for W arrivals. So it is measured only while it is widened. The k of WITHIN AUTO
starts from nothing: no promise is made before W arrivals were seen; then k is the largest distance among the last W. A
row that needs more stops the use of the constraint until W more arrivals were seen (the paper's k = infinity).

A distance is seen only if what it is measured from is still there: when a stream begins nothing is older than it, and
after a rise nothing is older than the k that was in force. So the largest distance of W arrivals may be no more than
the **sight**, and a k out of use is adopted only once distances a quarter beyond it would have been seen. (The paper
adopts it after W arrivals, and loses results over and over while a rise goes on.)

Arrivals are the rows that the cell itself sees, and time passes in whole batches: W is reached, never undercut. What
counts as a distance, and that it is never measured too small, is for the watch of each kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.plan.plan import Plan
from penstock.runtime.state.component import Component

_BEYOND = 1.25
"""How far beyond a k distances must have been in sight before it is adopted."""


class Monitor(Component):
    """The k or d in force; None while the constraint is not in use."""

    numbers = ("k", "missed", "_sees_from", "_position", "_blocks")

    def __init__(self, plan: Plan, declared: int | None, begins_at: int | None = 0) -> None:
        self.declared = declared
        self.k = declared
        self.is_learned = declared is None
        self.window = plan.monitor.window
        self.missed = 0
        """The distance that put a learned k out of use: while it is, distances that far must still be measured."""
        self._sees_from = begins_at
        """Where the constraint stood, in the unit of k, when the eldest came that is still there to be seen, while k is
        not in use; None if that is where the first batch leaves it."""
        self._position = 0
        self._blocks: list[tuple[int, int]] = []
        """Of the last batches: the rows that arrived, and the largest distance among them; W rows or a little more."""

    @property
    def allowed(self) -> int | None:
        """What a row may need without breaking the constraint: as declared, however far ADAPT has widened it since."""
        return self.k if self.declared is None else self.declared

    @property
    def is_active(self) -> bool:
        """Whether distances are measured: k may fall."""
        return self.declared is None or (self.k is not None and self.k > self.declared)

    def see(self, arrivals: int, largest: int, position: int) -> None:
        """Take note of a batch, after which the constraint stands at that position."""
        if not self.is_active or not arrivals:
            return
        self._position = position
        if self._sees_from is None:
            self._sees_from = position
        self._blocks.append((arrivals, largest))
        seen = sum(count for count, _ in self._blocks)
        while seen - self._blocks[0][0] >= self.window:
            seen -= self._blocks.pop(0)[0]

    def settle(self) -> None:
        """Adopt a smaller k, if it held for W arrivals."""
        if not self.is_active or sum(count for count, _ in self._blocks) < self.window:
            return
        in_sight = self.k is not None or self.largest * _BEYOND <= self.sight
        if in_sight and (self.k is None or self.largest < self.k):
            self.k = max(self.largest, self.declared or 0)
            self.missed = 0
            if self.k == self.declared:
                self._blocks = []

    def stretch(self, needed: int) -> None:
        """Rows of one batch needed more of each other, which broke nothing: a learned k covers it from now on."""
        if self.is_learned and self.k is not None:
            self.k = max(self.k, needed)

    def exceeded(self, needed: int) -> None:
        """A row needed more: widen a declared k, stop using a learned one."""
        if self.is_learned:
            if self.k is not None:
                self._sees_from = self._position - self.k
            self.k = None
            self.missed = max(self.missed, needed)
            self._blocks = []
        elif self.k is not None:
            self.k = max(self.k, needed)

    def begin_again(self, position: int) -> None:
        """What is measured from is gone: a k that is learned is learned anew."""
        if self.is_learned:
            self.k, self._blocks = None, []
            self._sees_from = position

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:  # noqa: ARG002 - the same in every cell
        """See Component: the widest k, out of use where any is; it falls only once W more arrivals were seen."""
        self._position = max(one._position for one in members)
        # What a k in use has let go is not there to be seen.
        eldest = [one._sees_from if one.k is None else self._position - one.k for one in members]
        known = [place for place in eldest if place is not None]
        self._sees_from = max(known) if known else None
        self.k = None if any(one.k is None for one in members) else max(one.k for one in members)
        self.missed = max(one.missed for one in members)
        self._blocks = []

    @property
    def sight(self) -> int:
        """The largest distance that would have been seen, while k is not in use."""
        return 0 if self.k is not None or self._sees_from is None else self._position - self._sees_from

    @property
    def largest(self) -> int:
        """The largest distance among the arrivals that count."""
        return max((largest for _, largest in self._blocks), default=0)
