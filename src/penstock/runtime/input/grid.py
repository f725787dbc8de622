"""Cells: which of them a row must go to (DESIGN section 2).

With one key class a cell is a hash bucket. With several, the cells form a hypercube with one axis for each class: a
stream that has the class of an axis goes to one coordinate of it, one that lacks it to all, so every result is found
in exactly one cell. The shares of the axes are chosen so that the fewest copies are made. A query without any key has
one cell. Classes that the same streams carry are one axis, dealt by the hash of all of them (`plan/dealing.py`).
Keys that would fill a cell may be split: they have a small grid of their own along an axis (`split_keys.py`).
Rows that may be given unmatched are not copied: an axis that they lack has share 1. Nor are rows that a match may put
into quarantine: only the cell of the match sees it, and they must be kept out of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.model.schemes import Policy
from penstock.plan.dealing import dealt_columns, dealt_together
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import MATCHES
from penstock.runtime.columns.codes import Ints
from penstock.runtime.columns.hashing import Hashes, hash_rows
from penstock.runtime.input.split_keys import Split, turns

Cells = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CellLine:
    """Rows that go to cells as many steps apart."""

    rows: Ints | None
    """Which of a table they are; None for all."""
    base: Cells
    """The cell of each where free axes are 0."""
    offsets: tuple[int, ...]
    """What to add for the others."""


@dataclass(frozen=True)
class Grid:
    """The cells of a query: how many along each axis, and which keys are split."""

    shares: tuple[int, ...]
    splits: tuple[Split, ...] = ()
    """All along one axis, and no key twice."""

    @classmethod
    def of(cls, plan: Plan, cells: int, rates: Mapping[str, float] | None = None, *, may_copy: bool = True) -> Grid:
        """At most that many cells; with copies of rows only if they may be."""
        return cls(best_shares(plan, cells, rates or {}, may_copy=may_copy))

    @classmethod
    def dealt(cls, plan: Plan, cells: int, rates: Mapping[str, float] | None = None) -> Grid:
        """At most that many cells; with copies of rows only where there would be but one without."""
        free = cls.of(plan, cells, rates, may_copy=False)
        # A copy takes room of a budget that another row could have.
        return free if free.cells > 1 or plan.evict is not None else cls.of(plan, cells, rates)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return prod(self.shares)

    @cached_property
    def _strides(self) -> tuple[int, ...]:
        return tuple(prod(self.shares[axis + 1 :]) for axis in range(len(self.shares)))

    def lines(self, plan: Plan, alias: str, columns: frozenset[str] | None, table: Any) -> list[CellLine]:
        """The cells of each row, or of what is said of some columns of it; rows of split keys by themselves."""
        return [
            replace(self.line(plan, alias, columns, part, split), rows=rows)
            for rows, split, part in self.parts(plan, alias, table)
        ]

    def parts(self, plan: Plan, alias: str, table: Any) -> list[tuple[Ints | None, Split | None, Any]]:
        """The rows whose keys are not split, then those of each split that has some; None for all rows."""
        whole: list[tuple[Ints | None, Split | None, Any]] = [(None, None, table)]
        if not self.splits:
            return whole
        names = dealt_columns(plan, self.splits[0].axis, alias)
        if not names or not set(names) <= set(table.column_names):
            return whole
        hashed = hash_rows(table, names)
        rest = np.ones(len(hashed), np.bool_)
        found: list[tuple[Ints | None, Split | None, Any]] = []
        for split in self.splits:
            mine = split.has(hashed)
            if mine.any():
                rows = np.flatnonzero(mine)
                found.append((rows, split, table.take(pa.array(rows))))
                rest &= ~mine
        if not found:
            return whole
        rows = np.flatnonzero(rest)
        return [*([(rows, None, table.take(pa.array(rows)))] if len(rows) else []), *found]

    def line(
        self, plan: Plan, alias: str, columns: frozenset[str] | None, table: Any, split: Split | None = None
    ) -> CellLine:
        """The cells of rows that are all of keys of one split, or of keys that are not split."""
        dealt_by = dealt_columns(plan, split.axis, alias) if split is not None else []
        if split is None or (columns is not None and not columns.issuperset(dealt_by)):
            fixed = self.along(plan, alias, columns, table)
            return CellLine(None, _sum(fixed, table), self.offsets(a for a in self.cut_axes if a not in fixed))
        fixed = self.along(plan, alias, columns, table, but=split.axis)
        free = self.offsets(a for a in self.cut_axes if a not in fixed and a != split.axis)
        stride, whose = self._strides[split.axis], alias if columns is None else None
        # As many such grids as there is room for along the axis, so that keys do not share one without need.
        own = remainders(hash_rows(table, dealt_by), self.shares[split.axis] // split.cells) * split.cells
        if (side := split.side_of(whose)) is not None:
            size, step = side
            own = own + remainders(turns(plan, alias, table), size) * step
        fixed[split.axis] = own * stride
        copies = tuple(place * stride + other for place in split.copies_of(whose) for other in free)
        return CellLine(None, _sum(fixed, table), copies)

    @property
    def cut_axes(self) -> list[int]:
        """The axes along which there are several cells."""
        return [number for number, _, _ in self._cut()]

    def offsets(self, free: Iterable[int]) -> tuple[int, ...]:
        """What to add to the number of a cell for all those along some axes."""
        along = set(free)
        steps = [range(0, share * stride, stride) for number, share, stride in self._cut() if number in along]
        return tuple(sum(step) for step in product(*steps))

    def along(
        self, plan: Plan, alias: str, columns: frozenset[str] | None, table: Any, *, but: int | None = None
    ) -> dict[int, Cells]:
        """By axis, but for one, that rows say where they lie along: what that adds to the number of the cell."""
        found = {}
        for number, share, stride in self._cut():
            dealt_by = dealt_columns(plan, number, alias)
            if dealt_by and number != but and (columns is None or columns.issuperset(dealt_by)):
                found[number] = remainders(hash_rows(table, dealt_by), share) * stride
        return found

    def go_with_rows(self, plan: Plan, alias: str, columns: frozenset[str]) -> bool:
        """Whether what is said of some columns of rows of an alias goes to the very cells that the rows go to."""
        dealt = [dealt_columns(plan, number, alias) for number, _, _ in self._cut()]
        return not self.splits and all(columns.issuperset(by) for by in dealt if by)

    def copies(self, plan: Plan, alias: str, columns: frozenset[str] | None = None) -> bool:
        """Whether rows of an alias, or what is known of some columns of it, lie in several cells."""
        dealt = [dealt_columns(plan, number, alias) for number, _, _ in self._cut()]
        is_split = any(len(split.copies_of(alias if columns is None else None)) > 1 for split in self.splits)
        return is_split or any(not by or (columns is not None and not columns.issuperset(by)) for by in dealt)

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


def _sum(fixed: Mapping[int, Cells], table: Any) -> Cells:
    return sum(fixed.values(), start=np.zeros(table.num_rows, np.int64))


def remainders(hashed: Hashes, by: int) -> Ints:
    """Each hash modulo a number, which for a power of two is its lowest bits."""
    left = hashed & np.uint64(by - 1) if by & (by - 1) == 0 else hashed % np.uint64(by)
    return left.view(np.int64)


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


def copies_what_is_kept_out(plan: Plan, grid: Grid) -> bool:
    """Whether rows lie in several cells that a match may put into quarantine: it would keep them out of one."""
    return any(grid.shares[axis] > 1 for axis in _quarantined_axes(plan))


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
