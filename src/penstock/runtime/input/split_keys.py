"""Keys that would fill one cell: which they are, and how their rows are dealt instead.

A row lies where the hash of its keys says, so all rows of one key lie in one cell, however many they are. A **split**
key is dealt otherwise along its axis: the rows of one stream, which has most of them, are spread over all cells along
the axis, and the rows of all other streams are copied to each of these cells.

**Theorem**: every result is found in exactly one cell, if the stream that is spread stands in every result. Its row
lies in one cell. The rows of the others agree with it on the key, so they are of the split key too and lie wherever
it does; and a row that is emitted because it matches nothing is one of the stream that is spread, which meets all
that could match it where it lies. What is promised of the key is told to every cell along the axis, as it is along an
axis that a stream lacks (`routing.py`).

**Preconditions** (`may_be_spread`): inner joins, or one join of two streams; no BUDGET, since a copy takes room of
another row; no row that a match may put into quarantine, for only the cell of the match sees it; no CLUSTERED, whose
counts are of rows that one cell sees. Nor is a stream spread whose PRIMARY KEY closes something: a stored row stands
for its key, and would in its own cell alone.

Not decided: whether a key is hot in several streams at once; its rows stay together, since the copies would be more
than what is spread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    """Keys whose rows are spread in one stream and copied in the others."""

    axis: int
    alias: str
    """The stream whose rows are spread."""
    hashes: tuple[int, ...]
    """The keys, by their hashes; in order."""

    def to_dict(self) -> dict[str, Any]:
        """As a checkpoint keeps it."""
        return {"axis": self.axis, "spread": self.alias, "keys": list(self.hashes)}

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Split:
        """As a checkpoint has kept it."""
        return cls(int(kept["axis"]), str(kept["spread"]), tuple(map(int, kept["keys"])))

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
        """The keys to split, where so many cells lie along the axis; by the stream that is to be spread."""
        aliases = [alias for alias, found in self._found.items() if found]
        may = [aliases.index(alias) for alias in may_be_spread(self.plan) if alias in aliases]
        if not may or cells < 2:
            return ()
        rows = [np.concatenate(self._found[alias]) for alias in aliases]
        every, of = np.unique(np.concatenate(rows), return_inverse=True)
        owner = np.repeat(np.arange(len(aliases)), [len(one) for one in rows])
        counts = np.bincount(owner * len(every) + of.reshape(-1), minlength=len(aliases) * len(every))
        by_key = counts.reshape(len(aliases), len(every))
        total = by_key.sum(axis=0)
        hot = (total > LEAST_PART * total.sum() / cells) & (total >= LEAST_ROWS)
        most = np.array(may)[by_key[may].argmax(axis=0)]
        spread = by_key[most, np.arange(len(every))]
        # What is copied must not be more than what there was.
        chosen = hot & ((total - spread) * cells <= total)
        return tuple(
            Split(self.axis, aliases[number], tuple(map(int, every[mine])))
            for number in may
            if (mine := np.flatnonzero(chosen & (most == number))).size
        )


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


def turns(plan: Plan, alias: str, table: Any) -> Hashes:
    """Numbers by which rows of a split key are spread: of all that cells are given of a row, its place among it.

    So a row that is read again goes where it went, and rows that are alike are spread too.
    """
    names = [*shipped_columns(plan, alias), INDEX]
    return row_hashes(table.select([name for name in names if name in table.column_names]))
