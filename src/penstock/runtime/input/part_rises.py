"""How the ordered columns of a chunk rose, part by part, where a stream has parts (DESIGN section 2, "Parts").

Rows with one value of the column that PARTS BY names are a part, those with NULL too. An order is promised and counted
within each part alone, so the largest value, the climbs and the rows that are late are worked out for each by itself:
the rows are laid out part after part, in each part as they arrived, and as numbers of which those of a part are above
all of the part before it. One running maximum over all of them is then that of each part.

Not decided here: disorder against rows of earlier chunks, which `promise/part_orders.py` remembers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromiseKind, PromisePlan
from penstock.runtime.columns.climbs import Climbs
from penstock.runtime.columns.codes import DAY_TICKS, Bools, Ints, Ordinal, codes, flat, is_coded
from penstock.runtime.columns.order_numbers import ranks, ticks_below
from penstock.runtime.input.wire_columns import PART, PART_ROW, counts_in_parts, part_column

_ROOM = 1 << 62
"""Numbers of all parts together must lie below it; else ranks take their place."""


@dataclass(frozen=True)
class ChunkParts:
    """The parts that a chunk has rows of, and how far each rose."""

    names: tuple[str | None, ...]
    rows: tuple[int, ...]
    """The data rows of each."""
    tops: Mapping[str, tuple[Ordinal | None, ...]] = field(default_factory=dict)
    """By ordered column, the largest value of each; None if all are NULL."""
    climbs: Mapping[str, tuple[Climbs, ...]] = field(default_factory=dict)
    """By column that is ordered within rows, the climbs of each, by the row's number among those of its part."""


def part_names(column: Any) -> Any:
    """The names of parts, as texts; NULL names one too."""
    values = flat(column)
    return values if pa.types.is_string(values.type) else values.cast(pa.string())


def with_parts(plan: Plan, stream: str, data: Any) -> Any:
    """The rows with the number of their part in the chunk, and where rows are counted with their number in it."""
    column = part_column(plan, stream)
    if column is None:
        return data
    encoded = flat(data.column(column)).dictionary_encode(null_encoding="encode")
    number = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    data = data.append_column(PART, pa.array(number))
    if not counts_in_parts(plan, stream):
        return data
    parting = Parting.of(number)
    row = np.empty(len(number), np.int64)
    row[parting.order] = np.arange(len(number)) - parting.starts[parting.part]
    return data.append_column(PART_ROW, pa.array(row))


@dataclass(frozen=True)
class Parting:
    """The rows of a chunk, part after part."""

    order: Ints
    """The rows in that order; those of a part as they arrived."""
    part: Ints
    """Of each, in that order, the number of its part."""
    starts: Ints
    """Where each part begins."""
    ends: Ints
    """Where each part ends."""

    @classmethod
    def of(cls, number: Ints) -> Parting:
        """By the number of each row's part; numbers are from 0, and each has a row."""
        count = int(number.max()) + 1 if len(number) else 0
        # numpy sorts 16-bit numbers by radix, an order of magnitude faster than wider ones.
        order = np.argsort(number.astype(np.uint16) if count < 1 << 16 else number, kind="stable")
        ends = np.cumsum(np.bincount(number, minlength=count))
        return cls(order, number[order], np.concatenate([[0], ends[:-1]]).astype(np.int64), ends)

    def names(self, column: Any) -> tuple[str | None, ...]:
        """What the parts are called, by the column that says so."""
        return tuple(part_names(flat(column).take(pa.array(self.order[self.starts]))).to_pylist())


@dataclass(frozen=True)
class PartRises:
    """A column as numbers in its order, part after part, and the largest up to each row of its part."""

    parting: Parting
    column: Any
    numbers: Ints
    keys: Ints
    """Of each row the number, above all of the parts before; of a NULL, the largest key before it in its part."""
    highest: Ints
    is_known: Bools
    """Of each row, whether it or one before it in its part is not NULL."""
    uniques: Ints | None
    """The numbers by their rank, where keys are made of ranks."""
    low: int
    span: int

    @classmethod
    def of(cls, given: Any, parting: Parting) -> PartRises | None:
        """The rises of a column; None if all its values are NULL."""
        column = flat(given)
        numbers = (codes(column) if is_coded(column.type) else ranks(column))[parting.order]
        valid: Bools = np.ones(len(numbers), np.bool_)
        if column.null_count:
            valid = column.is_valid().to_numpy(zero_copy_only=False)[parting.order]
        if not valid.any():
            return None
        uniques: Ints | None = None
        low, high = int(numbers[valid].min()), int(numbers[valid].max())
        at: Ints = np.zeros(len(numbers), np.int64)
        if (high - low + 2) * len(parting.ends) < _ROOM:
            at[valid] = numbers[valid] - low + 1
        else:
            uniques, at[valid] = np.unique(numbers[valid], return_inverse=True)
            at[valid] += 1
            low, high = 0, len(uniques) - 1
        # 0 stands for NULL: it is below whatever its part has.
        span = high - low + 2
        keys = at + parting.part * span
        highest: Ints = np.maximum.accumulate(keys)
        keys = np.where(valid, keys, highest)
        return cls(parting, column, numbers, keys, highest, highest > parting.part * span, uniques, low, span)

    def _number(self, keys: Ints, part: Ints) -> Ints:
        """The numbers that keys stand for."""
        at = keys - part * self.span - 1
        return at + self.low if self.uniques is None else self.uniques[np.maximum(at, 0)]

    def _values(self, places: Ints) -> Any:
        """The values of rows, by their places: codes, or the values themselves."""
        if is_coded(self.column.type):
            return self.numbers[places]
        found = np.empty(len(places), object)
        found[:] = self.column.take(pa.array(self.parting.order[places])).to_pylist()
        return found

    def tops(self) -> tuple[Ordinal | None, ...]:
        """The largest value of each part."""
        last = self.parting.ends - 1
        first = np.searchsorted(self.highest, self.highest[last], "left")
        values = self._values(first).tolist()
        return tuple(v if known else None for v, known in zip(values, self.is_known[last].tolist(), strict=True))

    def climbs(self, rows: int) -> tuple[Climbs, ...]:
        """Of each part the climbs in its last so many rows, and the last one before them."""
        steps = np.flatnonzero((np.diff(self.highest, prepend=-1) > 0) & self.is_known)
        part = self.parting.part[steps]
        old = steps < self.parting.ends[part] - rows
        # Of climbs that are old the last of each part stands for all.
        is_last = np.ones(len(steps), np.bool_)
        is_last[:-1] = (part[1:] != part[:-1]) | ~old[1:]
        kept = ~old | is_last
        steps, part = steps[kept], part[kept]
        values, row = self._values(steps), steps - self.parting.starts[part]
        bounds = np.searchsorted(part, np.arange(len(self.parting.ends) + 1))
        cut = [slice(start, stop) for start, stop in pairwise(bounds.tolist())]
        return tuple(Climbs(values[one], row[one]) for one in cut)

    def needed(self, promise: PromisePlan) -> Ints | None:
        """The k or d that each row would need by rows of its part in the chunk, 0 for NULL; None if all keep it."""
        if promise.kind is PromiseKind.ORDERED_TIME:
            per_number = DAY_TICKS if pa.types.is_date(self.column.type) else 1
            if self.uniques is None and int((self.highest - self.keys).max()) * per_number <= (promise.high or 0):
                return None
            part = self.parting.part
            found = ticks_below(self._number(self.highest, part), self._number(self.keys, part), per_number)
            found[~self.is_known] = 0
        else:
            below = np.flatnonzero(self.keys < self.highest)
            if not len(below):
                return None
            found = np.zeros(len(self.keys), np.int64)
            found[below] = below - np.searchsorted(self.highest, self.keys[below], "right")
        needed = np.empty(len(found), np.int64)
        needed[self.parting.order] = found
        return needed

    @property
    def top(self) -> Ordinal:
        """The largest value of all."""
        return max(value for value in self.tops() if value is not None)
