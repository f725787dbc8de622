"""Whether closed keys are worth remembering, chosen anew from what a cell sees (KMON section 8; `plan/key_memory.py`).

Seen are: the rows of both streams, the share of keys that have left, the share of rows that name such a key (while
keys are remembered; else the share of keys stands in for it), and the k in force of the constraints that compete. The
choice changes only when the other side is cheaper by a quarter, and not before W rows of each stream were seen, so
that it does not swing. Either choice gives the same answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.plan.key_memory import KeyMemory, keeping_is_cheaper
from penstock.plan.plan import Plan

_MARGIN = 1.25


class Choice:
    """The choice for one key closer where either will do."""

    def __init__(self, plan: Plan, memory: KeyMemory) -> None:
        self.memory = memory
        self.kept = memory.kept
        self.window = plan.monitor.window
        self._keys = self._keys_left = 0
        """Keys of the target that came, and that left or were never stored."""
        self._rows = self._rows_naming = 0
        """Rows of the source that came while keys were remembered, and those of them that named one that had left."""

    def see(self, keys: int, keys_left: int, rows: int, rows_naming: int) -> None:
        """Take note of a batch."""
        self._keys += keys
        self._keys_left += keys_left
        if self.kept:
            self._rows += rows
            self._rows_naming += rows_naming

    def choose(self, source_rows: int, target_rows: int, k: Mapping[str, int | None]) -> bool:
        """Choose anew; gives whether the choice changed. The rows are all that came of the two streams."""
        waits = [rows for c in self.memory.waits if (rows := k.get(c)) is not None]
        ends = [rows for c in self.memory.ends if (rows := k.get(c)) is not None]
        if not waits or not ends or min(source_rows, target_rows, self._keys) < self.window:
            return False
        share_left = self._keys_left / self._keys
        share_naming = self._rows_naming / self._rows if self._rows >= self.window else share_left
        remembered = share_left * target_rows * min(ends) / source_rows
        waiting = share_naming * source_rows * min(waits) / target_rows
        mine, other = (remembered, waiting) if self.kept else (waiting, remembered)
        if mine <= other * _MARGIN:
            return False
        before, self.kept = self.kept, keeping_is_cheaper(waiting, remembered)
        return before != self.kept

    def save(self) -> list[Any]:
        """What it must remember, as JSON holds it."""
        return [self.kept, self._keys, self._keys_left, self._rows, self._rows_naming]

    def load(self, saved: list[Any]) -> None:
        """Go on where a saved one stood."""
        self.kept, self._keys, self._keys_left, self._rows, self._rows_naming = saved
