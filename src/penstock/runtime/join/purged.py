"""What left a cell in a step, by which rule; and of which rows it was asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from penstock.runtime.columns.codes import Ints, empty_ids

BY_PROMISES = ("dead", "complete", "expanded", "in no result", "settled")
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
