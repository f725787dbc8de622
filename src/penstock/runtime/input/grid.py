"""Cells: which of them a row must go to (DESIGN section 2).

With one key class a cell is a hash bucket. With several, the cells form a hypercube with one axis for each class: a
stream that has the class of an axis goes to one coordinate of it, one that lacks it to all, so every result is found
in exactly one cell. The shares of the axes are chosen so that the fewest copies are made. A query without any key has
one cell. Classes that the same streams carry are one axis, dealt by the hash of all of them (`plan/dealing.py`).
Rows that may be given unmatched are not copied: an axis that they lack has share 1. Nor are rows that a match may put
into quarantine: only the cell of the match sees it, and they must be kept out of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.model.schemes import Policy
from penstock.plan.dealing import dealt_columns, dealt_together
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import MATCHES
from penstock.runtime.columns.hashing import hash_rows

Cells = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Grid:
    """The cells of a query: how many along each axis."""

    shares: tuple[int, ...]

    @classmethod
    def of(cls, plan: Plan, cells: int, rates: Mapping[str, float] | None = None, *, may_copy: bool = True) -> Grid:
        """At most that many cells; with copies of rows only if they may be."""
        return cls(best_shares(plan, cells, rates or {}, may_copy=may_copy))

    @classmethod
    def dealt(cls, plan: Plan, cells: int) -> Grid:
        """At most that many cells; with copies of rows only where there would be but one without."""
        free = cls.of(plan, cells, may_copy=False)
        # A copy takes room of a budget that another row could have.
        return free if free.cells > 1 or plan.evict is not None else cls.of(plan, cells)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return prod(self.shares)

    @cached_property
    def _strides(self) -> tuple[int, ...]:
        return tuple(prod(self.shares[axis + 1 :]) for axis in range(len(self.shares)))

    def base(self, plan: Plan, alias: str, columns: frozenset[str] | None, table: Any) -> tuple[Cells, tuple[int, ...]]:
        """Each row's cell where free axes are 0, and what to add for the others; `columns` limits what is fixed."""
        fixed = self.along(plan, alias, columns, table)
        free = [range(0, share * stride, stride) for number, share, stride in self._cut() if number not in fixed]
        base = sum(fixed.values(), start=np.zeros(table.num_rows, np.int64))
        return base, tuple(sum(offsets) for offsets in product(*free))

    def along(self, plan: Plan, alias: str, columns: frozenset[str] | None, table: Any) -> dict[int, Cells]:
        """By axis that rows say where they lie along: what that adds to the number of the cell."""
        found = {}
        for number, share, stride in self._cut():
            dealt_by = dealt_columns(plan, number, alias)
            if dealt_by and (columns is None or columns.issuperset(dealt_by)):
                hashed = hash_rows(table, dealt_by)
                found[number] = (hashed % np.uint64(share)).astype(np.int64) * stride
        return found

    def copies(self, plan: Plan, alias: str, columns: frozenset[str] | None = None) -> bool:
        """Whether rows of an alias, or what is known of some columns of it, lie in several cells."""
        dealt = [dealt_columns(plan, number, alias) for number, _, _ in self._cut()]
        return any(not by or (columns is not None and not columns.issuperset(by)) for by in dealt)

    def _cut(self) -> Iterator[tuple[int, int, int]]:
        """The axes that are cut at all: number, share and stride."""
        cut = enumerate(zip(self.shares, self._strides, strict=True))
        return ((number, share, stride) for number, (share, stride) in cut if share > 1)

    def agree(self, plan: Plan, alias: str, column: str, table: Any, cells: Cells) -> npt.NDArray[np.bool_]:
        """Which rows agree with a cell each on the axis of a column; all do where no axis is dealt by it alone."""
        found = np.ones(table.num_rows, np.bool_)
        for number, share, stride in self._cut():
            if dealt_columns(plan, number, alias) == [column]:
                found &= hash_rows(table, [column]) % np.uint64(share) == (cells // stride % share).astype(np.uint64)
        return found


def best_shares(plan: Plan, cells: int, rates: Mapping[str, float], *, may_copy: bool = True) -> tuple[int, ...]:
    """The shares, at most so many cells in all, that use the most cells and then make the fewest copies."""
    best: tuple[tuple[float, ...], tuple[int, ...]] | None = None
    whole = set(plan.tree.whole_axes) | _quarantined_axes(plan)
    whole |= {n for n in range(len(plan.axes)) if not dealt_together(plan, n)}
    if not may_copy:
        whole |= {n for n, axis in enumerate(plan.axes) if any(axis.column(alias) is None for alias in plan.aliases)}
    for shares in _factorings(cells, len(plan.axes)):
        if any(shares[axis] > 1 for axis in whole):
            continue
        copies = 0.0
        for source in plan.sources:
            lacking = [s for axis, s in zip(plan.axes, shares, strict=True) if axis.column(source.alias) is None]
            copies += rates.get(source.alias, 1.0) * prod(lacking)
        # What a cell must hold and join falls with the number of cells and grows with the copies.
        cost = (copies / prod(shares), copies, *(-share for share in shares))
        if best is None or cost < best[0]:
            best = (cost, shares)
    assert best is not None
    return best[1]


def _quarantined_axes(plan: Plan) -> set[int]:
    """The axes that a stream lacks whose rows QUARANTINE may keep out because of a match."""
    kept_out = {
        alias
        for p in plan.promises
        if p.policy is Policy.QUARANTINE and p.kind in MATCHES
        for alias in (p.alias, p.partner)
        if alias is not None
    }
    return {n for n, axis in enumerate(plan.axes) if any(axis.column(alias) is None for alias in kept_out)}


def _factorings(cells: int, axes: int) -> Iterator[tuple[int, ...]]:
    if axes == 0:
        yield ()
        return
    for share in range(1, cells + 1):
        for rest in _factorings(cells // share, axes - 1):
            yield (share, *rest)
