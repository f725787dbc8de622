"""When the purge rule is asked, of which rows, and what left a cell in a step by which rule.

Eager asks after every batch, and only of rows whose answer may have changed, so its cost follows the batch. Lazy asks
of all rows at once, when the rows stored have grown by half since it last asked (SAFETY 5.2, II): its cost follows the
state, but is paid seldom. Either is right; lazy holds up to half as much again, and so keeps no bound that is a number
of rows: where the plan states one for some stream, or has a budget, the rule is asked eagerly. Promises are made,
watched and forgotten in every batch alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any

import numpy as np

from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import Ints, empty_ids
from penstock.runtime.state.component import Component

IN_NO_RESULT = "in no result"
"""The rule by which rows of a hopeless source leave."""

BY_PROMISES = ("dead", "complete", "expanded", IN_NO_RESULT, "settled")
"""The rules that rest on promises: were these broken, a row that left might have been needed."""

BY_RULE = ("dead", "complete")
"""Those of the purge trees."""


@dataclass
class Purged:
    """What left, by alias and by rule."""

    rows: dict[str, list[Ints]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    promised: dict[str, list[Ints]] = field(default_factory=dict)
    """Those that promises let go, by alias."""
    otherwise: dict[str, list[Ints]] = field(default_factory=dict)
    """Those that left by no rule of the purge, by alias: by [ROWS n], or because another row stands for them."""

    def add(self, alias: str, rule: str, ids: Ints) -> None:
        """Note rows that left."""
        if len(ids):
            self.rows.setdefault(alias, []).append(ids)
            self.counts[rule] = self.counts.get(rule, 0) + len(ids)
            if rule in BY_PROMISES:
                self.promised.setdefault(alias, []).append(ids)
            if rule not in BY_RULE:
                self.otherwise.setdefault(alias, []).append(ids)

    def by_promises(self, alias: str) -> Ints:
        """The rows of an alias that promises let go."""
        return together(self.promised.get(alias, []))

    def of(self, alias: str) -> Ints:
        """The rows of an alias that left."""
        return together(self.rows.get(alias, []))


class Asking(Enum):
    """Of which rows a batch asks whether they are useless."""

    CHANGED = "those whose answer may have changed"
    ALL = "all"
    NONE = "none: what is useless stays for now"


def together(pieces: list[Ints]) -> Ints:
    """All rows of the pieces."""
    return np.concatenate(pieces) if pieces else empty_ids()


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

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:  # noqa: ARG002 - the same in every cell
        """See Component: all rows are asked."""
        self.kept, self.owed = 0, True

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
