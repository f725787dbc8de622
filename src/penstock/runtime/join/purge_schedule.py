"""When the purge rule is asked: eagerly, after every batch, or lazily, when enough may have piled up (SAFETY 5.2, II).

Eager asks only of rows whose answer may have changed, so its cost follows the batch. Lazy asks of all rows at once, and
only when the rows stored have grown by half since it last asked: its cost follows the state, but is paid seldom. Either
is right; lazy holds up to half as much again, and so keeps no bound that is a number of rows: where the plan states
one for some stream, or has a budget, the rule is asked eagerly. Promises are made, watched and forgotten in every batch
alike.
"""

from __future__ import annotations

from enum import StrEnum

from penstock.plan.plan import Plan
from penstock.runtime.join.purged import Asking
from penstock.runtime.state.component import Component

LEAST_ROWS = 10_000
"""Stored rows below which lazy does not ask at all."""


class Patience(StrEnum):
    """The purge strategy; its values are those of the setting."""

    EAGER = "eager"
    LAZY = "lazy"


class PurgeSchedule(Component):
    """Says of each batch whether the rule is asked, and of which rows."""

    numbers = ("kept", "owed")

    def __init__(self, plan: Plan, patience: Patience) -> None:
        bounded = plan.evict is not None or any(s.state.rows is not None for s in plan.sources)
        self.eager = patience is Patience.EAGER or bounded
        self.kept = 0
        """The rows stored when the rule was last asked of all."""
        self.owed = False
        """Whether a batch went by unasked since: whoever asks next must ask of all, the setting changed or not."""

    def asking(self, stored: int) -> Asking:
        """Of which rows to ask, with so many stored."""
        if self.eager:
            return Asking.ALL if self.owed else Asking.CHANGED
        return Asking.ALL if stored >= LEAST_ROWS and 2 * stored >= 3 * self.kept else Asking.NONE

    def asked(self, asking: Asking, stored: int) -> None:
        """Note what was asked, and how many rows are stored after it."""
        self.owed = asking is Asking.NONE
        if asking is Asking.ALL:
            self.kept = stored
