"""Keys that would fill one cell: which they are, and how their rows are dealt instead.

A row lies where the hash of its keys says, so all rows of one key lie in one cell, however many they are. A **split**
key has a small grid of its own, of cells along its axis: each stream that is **spread** has a side of it, its rows take
turns along that side and are copied along the others; rows of streams that are not spread are copied to all of it. A
stream that has most of the rows is spread over all cells; of two that have many, each is copied along the other's side.

**Theorem**: every result is found in exactly one cell, if all streams that are spread stand in every result. Its rows
of these streams say one place along each side, and so one cell of the grid. The rows of the others agree with them on
the key, so they are of the split key too and lie there as everywhere. And a row that is emitted because it matches
nothing is one of the only stream that is spread: it lies in one cell, and meets all that could match it there. What is
promised of the key is told to every cell of its grid, as it is along an axis that a stream lacks (`routing.py`).

**Preconditions** (`may_be_spread`, `may_split`): inner joins, of which two streams may be spread, or one join of two,
of which one may; no BUDGET, since a copy takes room of another row; no row that a match may put into quarantine, for
only the cell of the match sees it; no CLUSTERED, whose counts are of rows that one cell sees. Nor is a stream spread
whose PRIMARY KEY closes something: a stored row stands for its key, and would in its own cell alone.

**Which grid** is the one whose fullest cell, with what the copies add to all cells, has the least to hold (`_shaped`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from operator import mul
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.model.schemes import Policy
from penstock.plan.dealing import dealt_columns
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import MATCHES, PromiseKind
from penstock.runtime.columns.hashing import Hashes, hash_rows
from penstock.runtime.columns.row_values import row_hashes
from penstock.runtime.input.batch import INDEX
from penstock.runtime.input.wire_columns import shipped_columns

LEAST_PART = 0.25
"""A key is hot if it has more than this part of the rows that a cell has on average."""
LEAST_ROWS = 100
"""Nor is it, with fewer."""


@dataclass(frozen=True)
class Split:
    """Keys whose rows lie in a small grid of cells along an axis."""

    axis: int
    sides: tuple[tuple[str, int], ...]
    """The streams that are spread, and over how many cells each."""
    hashes: tuple[int, ...]
    """The keys, by their hashes; in order."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """The streams that are spread."""
        return tuple(alias for alias, _ in self.sides)

    @property
    def cells(self) -> int:
        """How many cells the grid of a key has."""
        return prod(size for _, size in self.sides)

    def side_of(self, alias: str | None) -> tuple[int, int] | None:
        """Over how many cells a stream is spread, and how far apart these are; None where it is not."""
        sizes = [size for _, size in self.sides]
        own = next((n for n, name in enumerate(self.aliases) if name == alias), None)
        return None if own is None else (sizes[own], prod(sizes[own + 1 :]))

    def copies_of(self, alias: str | None) -> tuple[int, ...]:
        """How far from the first of its cells the copies of a row lie, itself among them."""
        sides = [range(1) if name == alias else range(size) for name, size in self.sides]
        steps = [prod(size for _, size in self.sides[n + 1 :]) for n in range(len(self.sides))]
        return tuple(sum(map(mul, place, steps)) for place in product(*sides))

    def to_dict(self) -> dict[str, Any]:
        """As a checkpoint keeps it."""
        return {"axis": self.axis, "spread": [list(side) for side in self.sides], "keys": list(self.hashes)}

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Split:
        """As a checkpoint has kept it."""
        sides = tuple((str(alias), int(size)) for alias, size in kept["spread"])
        return cls(int(kept["axis"]), sides, tuple(map(int, kept["keys"])))

    def has(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """Which of the hashes are those of its keys."""
        return np.isin(hashes, np.array(self.hashes, np.uint64))


class KeyTally:
    """How many rows of each stream have which key, along one axis."""

    def __init__(self, plan: Plan, axis: int) -> None:
        self.plan, self.axis = plan, axis
        self._found: dict[str, list[Hashes]] = {alias: [] for alias in plan.aliases}

    def add(self, alias: str, table: Any) -> None:
        """Count rows of a stream; those of one that lacks the axis do not matter."""
        if (names := dealt_columns(self.plan, self.axis, alias)) and table.num_rows:
            self._found[alias].append(hash_rows(table, names))

    def splits(self, cells: int) -> tuple[Split, ...]:
        """The keys to split, where so many cells lie along the axis; by the grid that each is to have."""
        aliases = [alias for alias, found in self._found.items() if found]
        may = [alias for alias in may_be_spread(self.plan) if alias in aliases]
        if not may or cells < 2:
            return ()
        rows = [np.concatenate(self._found[alias]) for alias in aliases]
        every, of = np.unique(np.concatenate(rows), return_inverse=True)
        owner = np.repeat(np.arange(len(aliases)), [len(one) for one in rows])
        counts = np.bincount(owner * len(every) + of.reshape(-1), minlength=len(aliases) * len(every))
        by_key = counts.reshape(len(aliases), len(every))
        total = by_key.sum(axis=0)
        enough = LEAST_PART * total.sum() / cells
        found: dict[tuple[tuple[str, int], ...], list[int]] = {}
        for key in np.flatnonzero((total > enough) & (total >= LEAST_ROWS)).tolist():
            of_key = {alias: int(by_key[number, key]) for number, alias in enumerate(aliases)}
            if sides := _shaped(self.plan, of_key, cells, enough):
                found.setdefault(sides, []).append(int(every[key]))
        return tuple(Split(self.axis, sides, tuple(keys)) for sides, keys in sorted(found.items()))


def _shaped(plan: Plan, rows: Mapping[str, int], cells: int, enough: float) -> tuple[tuple[str, int], ...]:
    """The sides of the grid that a key of so many rows is to have, of at most so many cells; none if it stays whole.

    What counts is what the fullest cell holds of the key, but no less than is `enough`, and what a cell holds of all
    that is sent. A grid that does not make it less by a tenth is not worth its copies.
    """
    total = sum(rows.values())
    first, *others = sorted(may_be_spread(plan), key=lambda alias: -rows.get(alias, 0))
    many, more = rows.get(first, 0), rows.get(others[0], 0) if others and plan.tree.is_block else 0
    rest = total - many - more
    best: tuple[float, tuple[int, int]] = (0.9 * (max(total, enough) + total / cells), (1, 1))
    for one in range(1, cells + 1):
        for other in range(1, cells // one + 1) if more else (1,):
            fullest = many / one + more / other + rest
            sent = many * other + more * one + rest * one * other
            best = min(best, (max(fullest, enough) + sent / cells, (one, other)))
    sides = zip((first, *others), best[1], strict=False)
    return tuple((alias, size) for alias, size in sides if size > 1)


def most_split(tallies: Sequence[KeyTally], shares: Sequence[int]) -> tuple[Split, ...]:
    """The keys to split along the axis that has the most of them: a row is spread along one."""
    found = [tally.splits(shares[tally.axis]) for tally in tallies]
    return max(found, key=lambda splits: sum(len(split.hashes) for split in splits), default=())


def may_be_spread(plan: Plan) -> tuple[str, ...]:
    """The streams whose rows may be spread where a key is split; none where no key may be."""
    tree = plan.tree
    kept_out = any(p.policy is Policy.QUARANTINE and p.kind in MATCHES for p in plan.promises)
    counted = any(p.kind is PromiseKind.CLUSTERED for p in plan.promises)
    if plan.evict is not None or kept_out or counted or not (tree.is_block or tree.is_pair) or len(plan.sources) < 2:
        return ()
    keyed = {p.alias for p in plan.promises if p.kind is PromiseKind.PRIMARY_KEY}
    return tuple(alias for alias in plan.aliases if alias in tree.root.certain and alias not in keyed)


def may_split(plan: Plan, split: Split) -> bool:
    """Whether keys of a plan may be split so."""
    return set(split.aliases) <= set(may_be_spread(plan)) and (len(split.aliases) == 1 or plan.tree.is_block)


def turns(plan: Plan, alias: str, table: Any) -> Hashes:
    """Numbers by which rows of a split key are spread: of all that cells are given of a row, its place among it.

    So a row that is read again goes where it went, and rows that are alike are spread too.
    """
    names = [*shipped_columns(plan, alias), INDEX]
    return row_hashes(table.select([name for name in names if name in table.column_names]))
