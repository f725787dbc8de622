"""Starting queries in turn, and again: as many at a time as there are cores, each once its name is free."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from penstock.spark.failures import SPARK_ERRORS
from penstock.spark.running import Running

_LONGEST = 60
"""Seconds that a query may take to begin, or to leave its name, before nobody waits for it."""


@dataclass(frozen=True)
class _Beginning:
    """When a query was started, and which batch of it was the last one then: --final starts each a second time."""

    since: float
    seen: int


class Starts:
    """Starts queries, as many at a time as there are cores; the next once one of them has had its first batch.

    Each starts Python processes of its own, for which Spark waits ten seconds and no longer: all at once, the queries
    of a long script would be given up. One that was is started again, in its turn. A query that has nothing to read
    yet has begun when it says so, and one that takes longer than a minute makes no other wait.
    """

    def __init__(self, running: Sequence[Running], start: Callable[[Running], None], cores: int) -> None:
        self._waiting = deque(running)
        self._beginning: list[tuple[Running, _Beginning]] = []
        self._start = start
        self._cores = max(1, cores)

    @property
    def are_done(self) -> bool:
        """Whether every query was started."""
        return not self._waiting

    def again(self, one: Running) -> None:
        """Let a query start once more, in its turn."""
        self._beginning = [(other, at) for other, at in self._beginning if other is not one]
        self._waiting.append(one)

    def go_on(self) -> None:
        """Start what may be started now."""
        now = time.monotonic()
        self._beginning = [(one, at) for one, at in self._beginning if not _has_begun(one, at, now)]
        while self._waiting and len(self._beginning) < self._cores:
            one = self._waiting.popleft()
            self._start(one)
            self._beginning.append((one, _Beginning(now, one.seen)))


def _has_begun(one: Running, at: _Beginning, now: float) -> bool:
    assert one.handle is not None
    is_idle = one.handle.isActive and one.handle.status["message"].startswith("Waiting for")
    return one.seen > at.seen or is_idle or not one.handle.isActive or now - at.since > _LONGEST


def let_go(one: Running) -> None:
    """Forget a query that has ended, so that it can start again.

    Spark calls a query inactive a moment before it gives its name back, and starts no second one by that name: what
    waits for its end waits for both.
    """
    if one.handle is not None:
        with suppress(*SPARK_ERRORS):  # why it failed is asked for elsewhere
            one.handle.awaitTermination(_LONGEST)
    one.handle = None
