"""How the rows of a sample of entities lie beside each other: lags, and rows that break what is declared.

Where joins are replaced by counts, nothing watches the declarations. So some entities, chosen by the hash of the
columns that the query matches by, are looked at whole: all their rows in a window and its margins. Of these are counted

- the lag of each row of V and of A behind the latest row of the root that it matches; the mean over the root's rows is
  the share that crosses the end of a window, times its length (REWRITE 5.2), if they come evenly; V's and A's add up;
- rows of V and of A that did cross an end, as they do where rows crowd there. What comes in of V and what goes out of
  A make the answer too large, what goes out of V and comes in of A too small: the larger of the two is the most by
  which it can be off;
- rows that break a declaration: of V without a partner in the root, of A without one in V that has one, in the declared
  windows;
  matches beyond the first, as the query matches; rows that match what another row of their stream has matched. Each
  changes the count by one. They are looked for among the rows of V and A in the window, and those beyond its ends
  whose partner is in it.

Preconditions: the margins are at least as long as the longest declared lag, so that a partner in the declared window is
seen. A lag that is longer than declared shows as a row without a partner. What a stream holds that is not counted is
not seen. Whole columns, sorted once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Lags:
    """The limits of a match: `low <= t - s <= high`, in ticks."""

    low: int
    high: int


@dataclass(frozen=True)
class Sampled:
    """What a sample of one window shows."""

    rows: int
    """Rows of the root in the window."""
    mean_lag: float
    """Ticks; V's and A's together, each over all rows of the root, and two standard errors on top."""
    crossed: int
    """Rows of V and A that crossed an end of the window and make the answer too large, or too small if more do that."""
    breaking: int
    """Rows, and matches, that break a declaration."""


@dataclass(frozen=True)
class Entities:
    """Rows of one source: a number for their entity, and when."""

    keys: Array
    times: Array

    def are_within(self, begin: int, end: int) -> Array:
        """Which of them are in a stretch of time."""
        return np.asarray((self.times >= begin) & (self.times < end))

    def take(self, chosen: Array) -> Entities:
        """Some of them."""
        return Entities(self.keys[chosen], self.times[chosen])


@dataclass(frozen=True)
class LaggedRows:
    """The rows of V or A: how far they lie after the root, and after the partner that their FOREIGN KEY promises."""

    rows: Entities
    lags: Lags
    promised: Lags
    asked: Lags
    """How far after that partner the query would match them."""


def measure(root: Entities, counted: LaggedRows | None, removed: LaggedRows | None, begin: int, end: int) -> Sampled:
    """What the rows of a window show; `counted` is None where V is the root."""
    root_here = root.take(root.are_within(begin, end))
    parents, parents_here, whole = root, root_here, root
    rows = len(root_here.times)
    mean_lag, breaking, too_large, too_small = 0.0, 0, 0, 0
    for child in (counted, removed):
        if child is None:
            continue
        inside = child.rows.are_within(begin, end)
        met = _partners(root, child.rows, child.lags)
        met_here = _partners(root_here, child.rows, child.lags)
        mean_lag += _mean(_partners(root, child.rows.take(inside), child.lags)[2], rows)
        came_in = int((inside & (met[1] > met[0]) & (met_here[1] == met_here[0])).sum())
        went_out = int((~inside & (met_here[1] > met_here[0])).sum())
        too_large += came_in if child is counted else went_out
        too_small += went_out if child is counted else came_in
        first, last, _ = _partners(parents_here, child.rows, child.asked)
        here = child.rows.take(inside | (last > first))
        breaking += _broken(parents, whole, here, child)
        parents, parents_here, whole = child.rows, here, child.rows.take(met[1] > met[0])
    return Sampled(rows, mean_lag, max(too_large, too_small), breaking)


def _broken(parents: Entities, whole: Entities, rows: Entities, child: LaggedRows) -> int:
    """How many of some rows of V or A, and of their matches, break a declaration, or rest on a row that does: the
    partner of a row of A may have none in the root, and be counted in the window before. `whole` are those that have.
    """
    promised = _partners(whole, rows, child.promised)
    first, last, _ = _partners(parents, rows, child.asked)
    found = last - first
    matched = last[found > 0]
    without = int((promised[0] == promised[1]).sum())
    return without + int(np.maximum(found - 1, 0).sum()) + len(matched) - len(np.unique(matched))


def _partners(parents: Entities, children: Entities, limits: Lags) -> tuple[Array, Array, Array]:
    """For each child the stretch of its partners among the sorted parents, and the lags of those that have one."""
    everyone, codes = np.unique(np.concatenate([parents.keys, children.keys]), return_inverse=True)
    times = np.concatenate([parents.times, children.times])
    if not len(everyone):
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, nothing
    start = times.min()
    width = int(times.max() - start) + abs(limits.low) + abs(limits.high) + 1
    # One number for entity and time, so that one sorted column answers; entities lie further apart than any window.
    own = codes[: len(parents.keys)] * (2 * width) + (parents.times - start)
    order = np.sort(own)
    child = codes[len(parents.keys) :] * (2 * width) + (children.times - start)
    first = np.searchsorted(order, child - limits.high, side="left")
    last = np.searchsorted(order, child - limits.low, side="right")
    has = last > first
    return first, last, np.abs(child[has] - order[last[has] - 1])


def _mean(lags: Array, rows: int) -> float:
    """The mean over all rows of the root, those without a match with 0, and two standard errors."""
    if rows == 0:
        return 0.0
    mean = float(lags.sum()) / rows
    variance = max(0.0, float((lags.astype(float) ** 2).sum()) / rows - mean**2)
    return mean + 2 * math.sqrt(variance / rows)
