"""A bounded sample of the evicted rows of one source, each standing for as many as its weight says.

A row is sampled by a hash of its arrival, so the choice is the same on every run: at level n one row in 2**n is in the
sample, with weight 2**n. When the sample is full the level rises and half of it leaves; when it has emptied to a
quarter, later rows are taken at a lower level. While nothing had to leave, the sample is all that was evicted.

Each row also carries its **tally**: the results that it was found to miss, from which the error of the estimate is had.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.runtime.budget.rates import Floats
from penstock.runtime.columns.codes import Bools, Ints, flat
from penstock.runtime.columns.hashing import mix
from penstock.runtime.state.component import Component
from penstock.runtime.state.segment import Segment

_ARRIVAL, _BATCH, _WEIGHT, _STANDS, _TALLY = "__ps_arrival", "__ps_batch", "__ps_weight", "__ps_stands", "__ps_tally"
_MARK = "__ps_mark_"
_OWN = np.uint64(0x9E3779B97F4A7C15)


class Sample(Component):
    """The sampled rows of one source, in order of arrival."""

    arrays = ("rows",)
    numbers = ("level", "most", "is_all", "heaviest", "_most_level")

    def __init__(self, most: int, salt: int) -> None:
        self.most = most
        self.salt = mix(np.array([salt], np.uint64) + _OWN)
        """Streams are sampled by chances of their own, or rows that arrive side by side would be sampled together; and
        by others than those by which EVICT(rand) chooses, or those that it evicts would be sampled too often."""
        self.level = 0
        self.segment: Segment | None = None
        self.weight: Ints = np.zeros(0, np.int64)
        """How many evicted rows each stands for."""
        self.stands: Ints = np.zeros(0, np.int64)
        """How many rows each stood for when it was evicted, where rows are merged."""
        self.tally: Floats = np.zeros(0)
        self.is_all = True
        """Whether no row had to leave it, ever, before it could miss nothing more."""
        self.heaviest = 1.0
        """The most that a row of it was found to miss, and at least one result."""
        self._most_level = 0

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def nbytes(self) -> int:
        """The room that it takes."""
        return 0 if self.segment is None else self.segment.nbytes() + 24 * len(self)

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:  # noqa: ARG002 - the same in every cell
        """See Component; the rows are dealt by others."""
        self.most = min(one.most for one in members)
        self.level, self._most_level = max(one.level for one in members), max(one._most_level for one in members)
        self.is_all, self.heaviest = all(one.is_all for one in members), max(one.heaviest for one in members)

    def empty(self) -> None:
        """Let all rows go, for good."""
        self.segment = None
        self.weight, self.stands, self.tally = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)

    def put_in_order(self) -> None:
        """Let rows that came from several samples stand in the order of arrival."""
        if self.segment is not None:
            order = np.argsort(self.segment.arrival, kind="stable")
            self.segment = _taken(self.segment, order)
            self.weight, self.stands, self.tally = self.weight[order], self.stands[order], self.tally[order]

    def add(self, rows: Segment, stands: Ints) -> float:
        """Take in rows that are evicted; gives the variance of tallies that are closed."""
        taken = np.flatnonzero(self._taken(self._hash(rows)))
        picked = _taken(rows, taken)
        weight = np.full(len(picked), 1 << self.level, np.int64)
        if self.segment is None:
            together, order = picked, np.arange(len(picked))
        else:
            together = Segment.merged([self.segment, picked])
            order = np.argsort(together.arrival, kind="stable")
        self.segment = _taken(together, order)
        self.weight = np.concatenate([self.weight, weight])[order]
        self.stands = np.concatenate([self.stands, stands[taken]])[order]
        self.tally = np.concatenate([self.tally, np.zeros(len(picked))])[order]
        variance = 0.0
        while len(self) > self.most:
            variance += self._raise_level()
        return variance

    def _hash(self, rows: Segment) -> Any:
        return mix(mix(rows.arrival.view(np.uint64)) + self.salt)

    def picks(self, rows: Segment, which: Ints) -> tuple[Bools, int, float]:
        """Which of some rows of a segment the sample would take, their weight, and the variance of closed tallies."""
        variance = 0.0
        hashed = self._hash(rows)[which]
        while (taken := self._taken(hashed)).sum() + len(self) > self.most:
            variance += self._raise_level()
        return taken, 1 << self.level, variance

    def _taken(self, hashed: Any) -> Bools:
        found: Bools = np.ones(len(hashed), np.bool_)
        return hashed >> np.uint64(64 - self.level) == 0 if self.level else found

    def missed(self, arrival: Ints, tally: Floats) -> None:
        """Note what rows of the sample have missed, by their arrival; rows that are not in it are passed over."""
        if self.segment is not None:
            places = np.searchsorted(self.segment.arrival, arrival).clip(max=len(self) - 1)
            here = self.segment.arrival[places] == arrival
            self.tally[places[here]] += tally[here]

    def _raise_level(self) -> float:
        self.level += 1
        self._most_level = max(self._most_level, self.level)
        self.is_all = False
        if self.segment is None:
            return 0.0
        light = self.weight < 1 << self.level
        stays = ~light | (self._hash(self.segment) >> np.uint64(64 - self.level) == 0)
        variance = self.variance
        self.weight = np.where(light, 1 << self.level, self.weight)
        self.tally[:] = 0.0
        self._keep(stays)
        return variance

    @property
    def variance(self) -> float:
        """What the open tallies add to the variance of the estimate."""
        return self._spread(slice(None))

    def _spread(self, which: Any) -> float:
        weight, tally = self.weight[which], self.tally[which]
        self.heaviest = max(self.heaviest, float(tally.max(initial=0.0)))
        return float((weight * (weight - 1.0) * tally**2).sum())

    @property
    def unseen(self) -> float:
        """What the variance lacks because few rows miss much: as if one more like the heaviest had been drawn.

        Of a skewed lot most samples hold none of the heavy ones, and then tell too little and too small an error.
        """
        weight = 0 if self.is_all else 1 << self._most_level
        return weight * (weight - 1.0) * self.heaviest**2

    def drop(self, gone: Bools) -> float:
        """Let rows go that can miss nothing more; gives the variance of their tallies."""
        variance = self._spread(gone)
        self._keep(~gone)
        if self.level and 4 * len(self) < self.most:
            self.level -= 1
        return variance

    def _keep(self, stays: Bools) -> None:
        assert self.segment is not None
        rows = np.flatnonzero(stays)
        self.segment = _taken(self.segment, rows) if len(rows) else None
        self.weight, self.stands, self.tally = self.weight[rows], self.stands[rows], self.tally[rows]

    @property
    def rows(self) -> Any | None:
        """The sample as one table; None if it is empty."""
        if self.segment is None:
            return None
        kept = self.segment.table
        own = {
            _ARRIVAL: self.segment.arrival,
            _BATCH: self.segment.batch,
            _WEIGHT: self.weight,
            _STANDS: self.stands,
            _TALLY: self.tally,
            **{_MARK + name: mask for name, mask in self.segment.marks.items()},
        }
        columns = {name: kept.column(name) for name in kept.column_names}
        return pa.table({**columns, **{name: pa.array(values) for name, values in own.items()}})

    @rows.setter
    def rows(self, table: Any | None) -> None:
        if table is None:
            return

        def numbers(name: str) -> Any:
            return np.array(flat(table.column(name)).to_numpy(zero_copy_only=False))

        marks = {n.removeprefix(_MARK): numbers(n) for n in table.column_names if n.startswith(_MARK)}
        self.weight, self.stands, self.tally = numbers(_WEIGHT), numbers(_STANDS), numbers(_TALLY)
        arrival, batch = numbers(_ARRIVAL), numbers(_BATCH)
        plain = table.select([n for n in table.column_names if not n.startswith("__") or not _is_own(n)])
        self.segment = Segment(plain, arrival, batch, np.ones(len(arrival), np.bool_), marks)


def _is_own(name: str) -> bool:
    return name in (_ARRIVAL, _BATCH, _WEIGHT, _STANDS, _TALLY) or name.startswith(_MARK)


def _taken(rows: Segment, which: Ints) -> Segment:
    """Some rows of a segment, in the given order; counts are not kept, the sample has its own."""
    marks = {name: mask[which] for name, mask in rows.marks.items()}
    table = rows.table.take(pa.array(which))
    return Segment(table, rows.arrival[which], rows.batch[which], np.ones(len(which), np.bool_), marks)
