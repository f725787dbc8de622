"""Which promises are worth remembering, chosen anew from what a cell sees (KMON section 8).

Of closed keys (`plan/memory_choice.py`) are seen: the rows of both streams, the share of keys that have left, the share
of rows that name such a key and the clusters that it lets be forgotten (while keys are remembered; before they ever
were, the share of keys stands in for it), and the k in force of the constraints that compete. Of clusters
(`plan/memory_choice.py`): the promise rows that they keep, or while they are not used what they kept before; the rows
that wait for the stream; and the k in force. A choice changes only when the other side is cheaper by a quarter, and not
before W rows of each stream were seen, so that it does not swing. Either choice gives the same answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.plan.memory_choice import ClusterMemory, KeyMemory, clusters_pay, keeping_is_cheaper
from penstock.plan.plan import Plan
from penstock.runtime.state.component import Component

_MARGIN = 1.25


@dataclass(frozen=True)
class Named:
    """Of a batch: the rows of the source, those that named a key that had left, and the clusters that ended so."""

    rows: int = 0
    naming: int = 0
    clusters: int = 0


class Choice(Component):
    """The choice for one key closer where either will do."""

    numbers = (
        "kept",
        "_keys",
        "_keys_left",
        "_rows",
        "_rows_naming",
        "_keys_kept",
        "_clusters",
        "_kept_since",
        "_is_steady",
    )

    def __init__(self, plan: Plan, memory: KeyMemory) -> None:
        self.memory = memory
        self.kept = memory.kept
        self.window = plan.monitor.window
        self._keys = self._keys_left = 0
        """Keys of the target that came, and that left or were never stored."""
        self._rows = self._rows_naming = 0
        """Rows of the source that came once keys had long been remembered, and those that named one that had left."""
        self._keys_kept = self._clusters = 0
        """Keys that came while they were remembered, and clusters of the source that ended after their key had left."""
        self._kept_since = 0
        """The rows of the source that had come when keys were first remembered."""
        self._is_steady = False
        """Whether keys have been remembered for as long as they ever are: before, too few rows name one."""

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:  # noqa: ARG002 - the same in every cell
        """See Component: keys that any cell remembers are remembered."""
        self.kept = any(one.kept for one in members)
        self._is_steady = all(one._is_steady for one in members)

    def see(self, keys: int, keys_left: int, named: Named) -> None:
        """Take note of a batch."""
        self._keys += keys
        self._keys_left += keys_left
        if self.kept and self._is_steady:
            self._keys_kept += keys
            self._rows += named.rows
            self._rows_naming += named.naming
            self._clusters += named.clusters

    def choose(self, source_rows: int, target_rows: int, k: Mapping[str, int | None]) -> bool:
        """Choose anew; gives whether the choice changed. The rows are all that came of the two streams."""
        waits = [rows for c in self.memory.waits if (rows := k.get(c)) is not None]
        ends = [rows for c in self.memory.ends if (rows := k.get(c)) is not None]
        if not waits or not ends or min(source_rows, target_rows, self._keys) < self.window:
            return False
        self._is_steady = self.kept and source_rows - self._kept_since >= min(ends)
        share_left = self._keys_left / self._keys
        is_seen = min(self._rows, self._keys_kept) >= self.window
        share_naming = self._rows_naming / self._rows if is_seen else share_left
        remembered = share_left * target_rows * min(ends) / source_rows
        # A cluster whose key is not remembered is held until the same constraint says that the key can come no more.
        clusters = self._clusters / self._keys_kept if is_seen else 0.0
        waiting = (share_naming * source_rows / target_rows + clusters) * min(waits)
        mine, other = (remembered, waiting) if self.kept else (waiting, remembered)
        if mine <= other * _MARGIN:
            return False
        before, self.kept = self.kept, keeping_is_cheaper(waiting, remembered)
        self._kept_since, self._is_steady = source_rows, False
        return before != self.kept


class ClusterChoice(Component):
    """The choice whether the clusters of one CLUSTERED are used."""

    numbers = ("kept", "_seen", "_values", "_k")

    def __init__(self, plan: Plan, memory: ClusterMemory) -> None:
        self.memory = memory
        self.kept = memory.kept
        self.window = plan.monitor.window
        self._seen = dict.fromkeys((alias for alias, _ in memory.alternatives), 0)
        """Rows that came here of the streams whose rows clusters let go."""
        self._values = 1.0
        """Promise rows for each row within k, when last seen."""
        self._k: int | None = None
        """The k in force when clusters were last used: one that is learned is not known while they are not."""

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:  # noqa: ARG002 - the same in every cell
        """See Component: clusters of which some cell has counted no rows cannot be gone on with."""
        self.kept = all(one.kept for one in members)

    def see(self, fresh: Mapping[str, int]) -> None:
        """Take note of the rows that a batch stored."""
        for alias in self._seen:
            self._seen[alias] += fresh[alias]

    def choose(self, own_k: int | None, promise_rows: int, rows: int, k: Mapping[str, int | None]) -> bool:
        """Choose anew; gives whether the choice changed. `rows` are all that came of the clustered stream."""
        if own_k is None and not self.kept:
            own_k = self._k
        self._k = own_k
        if own_k is None or rows < max(self.window, own_k) or min(self._seen.values()) < self.window:
            return False
        if self.kept:
            self._values = promise_rows / max(1, own_k)
        saved = 0.0
        for alias, constraints in self.memory.alternatives:
            waits = [wait for c in constraints if (wait := k.get(c)) is not None]
            if not waits:
                return False
            saved += self._seen[alias] / rows * max(0, min(waits) - own_k)
        remembered = float(promise_rows) if self.kept else self._values * own_k
        mine, other = (remembered, saved) if self.kept else (saved, remembered)
        if mine <= other * _MARGIN:
            return False
        before, self.kept = self.kept, clusters_pay(saved, remembered)
        return before != self.kept
