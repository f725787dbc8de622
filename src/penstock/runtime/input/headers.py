"""Headers: what every cell learns of a chunk, and how it travels.

A header counts the rows of its chunk and tells how far its ordered columns climbed. For ORDERED BY a WITHIN k ROWS it
holds the **climbs** that may still matter: the rows at which a rose above all rows of the chunk before it, with the
last c times k rows in full and one entry for all before them. So the m before any later row is known exactly.
Where k is learned it is not known here: then **stairs** tell of the whole chunk, neighbouring climbs taken together the
more the further back they lie, and the **swing** is the k or d that the rows of the chunk need among themselves.
Rows that break an order against rows of their own chunk are told here too, each with the k or d that it would need:
only the whole chunk shows them, and a cell sees a share of it. NULL climbs nothing and breaks nothing.
Where the stream has parts all of this is about each of its parts (`part_rises.py`).

Not decided here: disorder against rows of earlier chunks. That is for `promise/ordered.py`, which remembers them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.plan import Plan
from penstock.plan.promise_plans import ORDERS, PromiseKind, PromisePlan
from penstock.runtime.columns.climbs import Climbs
from penstock.runtime.columns.codes import DAY_TICKS, INT64, Ints, Ordinal, codes, flat, is_coded
from penstock.runtime.columns.order_numbers import ranks, ticks_below
from penstock.runtime.input.part_rises import ChunkParts, Parting, PartRises
from penstock.runtime.input.wire_columns import PART, part_column, timed_parts

Stair = tuple[Ordinal, int, int]
"""Climbs taken together: the last value, the index of its row, and that of the first climb among them."""

EXACT, GRAIN = 64, 32
"""Climbs in the last so many rows stand alone; before them, those within this part of their age are one stair."""


@dataclass(frozen=True)
class Late:
    """Rows of a chunk that break an order against earlier rows of the chunk; what each would need, in rows or ticks."""

    index: tuple[int, ...]
    needed: tuple[int, ...]


@dataclass(frozen=True)
class Header:
    """What every cell learns of a chunk: its stream, its place in the order, its rows, how its ordered columns rose."""

    stream: str
    place: int
    rows: int
    maxima: Mapping[str, Ordinal] = field(default_factory=dict)
    """By ordered column, the largest value; a column that is all NULL is left out."""
    climbs: Mapping[str, Climbs] = field(default_factory=dict)
    """By column that is ordered within rows, where it climbed; see above."""
    late: Mapping[str, Late] = field(default_factory=dict)
    """By constraint, the rows that break it within the chunk; most often none."""
    stairs: Mapping[str, tuple[Stair, ...]] = field(default_factory=dict)
    """By column whose order within rows is learned."""
    swings: Mapping[str, int] = field(default_factory=dict)
    """By constraint whose k or d is learned: what the rows of the chunk need among themselves."""
    start: int | None = None
    """The arrival number of its first row, where it is not the number of rows before it in the running batch."""
    by_cell: tuple[int, ...] = ()
    """Under a budget, how many copies of its rows go to each cell; left out where there is but one."""
    by_key: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """By alias, how many of its rows fall into each bucket of keys, bucket and count in turn: `budget/shares.py`."""
    parts: ChunkParts | None = None
    """Where its stream has parts: those that it has rows of, and how far each rose."""


def header_of(plan: Plan, stream: str, place: int, data: Any) -> Header:
    """The header of a chunk that holds these rows, all data rows of the piece, numbered (`batch.numbered`)."""
    if part_column(plan, stream) is not None:
        return _header_of_parts(plan, stream, place, data)
    maxima: dict[str, Ordinal] = {}
    climbs: dict[str, Climbs] = {}
    late: dict[str, Late] = {}
    stairs: dict[str, tuple[Stair, ...]] = {}
    swings: dict[str, int] = {}
    for column, promises in _orders(plan, stream).items():
        rise = _Rise.of(data.column(column))
        if rise.top is None:
            continue
        maxima[column] = rise.value(rise.top)
        in_rows = [p.rows for p in promises if p.rows is not None]
        if in_rows:
            climbs[column] = rise.climbs(ceil(max(in_rows) * plan.monitor.factor))
        for promise in promises:
            if plan.by_batch and promise.kind is PromiseKind.ORDERED_TIME and promise.high is not None:
                continue
            needed = rise.needed(promise)
            is_learned = (promise.high if promise.kind is PromiseKind.ORDERED_TIME else promise.rows) is None
            if is_learned and promise.kind is PromiseKind.ORDERED_ROWS:
                stairs[column] = rise.stairs()
            if is_learned:
                swings[promise.constraint] = 0 if needed is None else int(needed.max())
            found = None if is_learned or needed is None else _late(promise, needed)
            if found is not None:
                late[promise.constraint] = found
    return Header(stream, place, data.num_rows, maxima, climbs, late, stairs, swings)


def _header_of_parts(plan: Plan, stream: str, place: int, data: Any) -> Header:
    if not data.num_rows:
        return Header(stream, place, 0, parts=ChunkParts((), ()))
    parting = Parting.of(codes(data.column(PART)))
    maxima: dict[str, Ordinal] = {}
    tops: dict[str, tuple[Ordinal | None, ...]] = {}
    climbs: dict[str, tuple[Climbs, ...]] = {}
    late: dict[str, Late] = {}
    swings: dict[str, int] = {}
    orders = {**{column: [] for column in timed_parts(plan, stream)}, **_orders(plan, stream)}
    for column, promises in orders.items():
        rises = PartRises.of(data.column(column), parting)
        if rises is None:
            continue
        maxima[column], tops[column] = rises.top, rises.tops()
        in_rows = [p.rows for p in promises if p.rows is not None]
        if in_rows:
            climbs[column] = rises.climbs(ceil(max(in_rows) * plan.monitor.factor))
        for promise in promises:
            needed = rises.needed(promise)
            if promise.kind is PromiseKind.ORDERED_TIME and promise.high is None:
                swings[promise.constraint] = 0 if needed is None else int(needed.max())
            elif needed is not None and (found := _late(promise, needed)) is not None:
                late[promise.constraint] = found
    name = part_column(plan, stream)
    rows = tuple((parting.ends - parting.starts).tolist())
    parts = ChunkParts(parting.names(data.column(name)), rows, tops, climbs)
    return Header(stream, place, data.num_rows, maxima, late=late, swings=swings, parts=parts)


def _orders(plan: Plan, stream: str) -> dict[str, list[PromisePlan]]:
    """The orders of a stream by column, each constraint once."""
    found: dict[str, dict[str, PromisePlan]] = {}
    for promise in plan.promises:
        if promise.kind in ORDERS and plan.by_alias[promise.alias].stream == stream:
            found.setdefault(promise.columns[0], {}).setdefault(promise.constraint, promise)
    return {column: list(promises.values()) for column, promises in found.items()}


@dataclass(frozen=True)
class _Rise:
    """A column as numbers in its order, and the largest up to each row."""

    column: Any
    numbers: Ints
    highest: Ints
    top: int | None
    """The first row with the largest value; None if all are NULL."""

    @classmethod
    def of(cls, given: Any) -> _Rise:
        column = flat(given)
        numbers = codes(column) if is_coded(column.type) else ranks(column)
        if column.null_count:
            numbers = np.where(column.is_null().to_numpy(zero_copy_only=False), INT64.min, numbers)
        highest: Ints = np.maximum.accumulate(numbers)
        top = None if column.null_count == len(column) else int(np.searchsorted(highest, highest[-1], "left"))
        if top is not None and column.null_count and numbers[top] == INT64.min:
            top = int(np.argmax(column.is_valid().to_numpy(zero_copy_only=False)))
        return cls(column, numbers, highest, top)

    def value(self, row: int) -> Ordinal:
        if is_coded(self.column.type):
            return int(self.numbers[row])
        value: Ordinal = self.column[row].as_py()
        return value

    def climbs(self, rows: int) -> Climbs:
        """The climbs in the last so many rows, and the last one before them."""
        tail = self.highest[max(0, len(self.highest) - rows - 1) :]
        steps = np.flatnonzero(np.diff(tail)) + 1 + len(self.highest) - len(tail)
        first = int(np.searchsorted(self.highest, tail[0], "left"))
        # The least number of all is closed by nothing, and stands for NULL too.
        found = np.concatenate([[first], steps])
        found = found[self.highest[found] > INT64.min]
        if is_coded(self.column.type):
            return Climbs(self.numbers[found], found)
        return Climbs.of(self.column.take(pa.array(found)).to_pylist(), found.tolist())

    def stairs(self) -> tuple[Stair, ...]:
        """All climbs, taken together the more the further back they lie."""
        steps = np.flatnonzero(np.diff(self.highest, prepend=INT64.min))
        age = np.maximum((len(self.highest) - steps) / EXACT, 1.0)
        floor = np.where(age > 1.0, -np.floor(np.log(age) * GRAIN), 1 + steps)
        first = np.flatnonzero(np.diff(floor, prepend=np.nan) != 0)
        last = np.append(first[1:], len(steps)) - 1
        return tuple(
            (self.value(row), row, since)
            for row, since in zip(steps[last].tolist(), steps[first].tolist(), strict=True)
        )

    def needed(self, promise: PromisePlan) -> Ints | None:
        """The k or d that each row would need by rows of its chunk, 0 for NULL; None if all keep the declared one."""
        if promise.kind is PromiseKind.ORDERED_TIME:
            per_number = DAY_TICKS if pa.types.is_date(self.column.type) else 1
            # Nearly always no row is late, and then this is all that a chunk costs.
            spread = int(self.highest[-1]) - int(self.numbers.min())
            slack = promise.high or 0
            if spread <= INT64.max and int((self.highest - self.numbers).max()) * per_number <= slack:
                return None
            needed = ticks_below(self.highest, self.numbers, per_number)
        else:
            # A row needs more than k if some row is higher that came more than k rows before it.
            rows = len(self.highest) if promise.rows is None else promise.rows + 1
            before = self.highest[: max(len(self.highest) - rows, 0)]
            if promise.rows is not None and not (before > self.numbers[rows:]).any():
                return None
            below = np.flatnonzero(self.numbers < self.highest)
            needed = np.zeros(len(self.numbers), np.int64)
            needed[below] = below - np.searchsorted(self.highest, self.numbers[below], "right")
        if self.column.null_count:
            needed[self.column.is_null().to_numpy(zero_copy_only=False)] = 0
        return needed


def _late(promise: PromisePlan, needed: Ints) -> Late | None:
    """The rows that lie below what they may, by the declared k or d."""
    slack = promise.high if promise.kind is PromiseKind.ORDERED_TIME else promise.rows
    assert slack is not None
    index = np.flatnonzero(needed > slack)
    return Late(tuple(index.tolist()), tuple(needed[index].tolist())) if len(index) else None


def spell(header: Header) -> str:
    """What travels of a header; its stream and its place go with it anyway."""
    told: dict[str, Any] = {"rows": header.rows, "maxima": {c: plain(v) for c, v in header.maxima.items()}}
    if header.climbs:
        told["climbs"] = {c: spell_climbs(found) for c, found in header.climbs.items()}
    if header.by_cell:
        told["by_cell"] = header.by_cell
    if header.by_key:
        told["by_key"] = header.by_key
    if header.late:
        told["late"] = {c: [found.index, found.needed] for c, found in header.late.items()}
    if header.stairs:
        told["stairs"] = {c: [[plain(v), n, since] for v, n, since in found] for c, found in header.stairs.items()}
    if header.swings:
        told["swings"] = header.swings
    if header.parts is not None:
        told["parts"] = _spell_parts(header.parts)
    return json.dumps(told)


def read_header(stream: str, place: int, text: str) -> Header:
    """The header that `spell` wrote."""
    told = json.loads(text)
    return Header(
        stream,
        place,
        told["rows"],
        {c: unplain(v) for c, v in told["maxima"].items()},
        {c: read_climbs(found) for c, found in told.get("climbs", {}).items()},
        {c: Late(tuple(index), tuple(needed)) for c, (index, needed) in told.get("late", {}).items()},
        {c: tuple((unplain(v), n, since) for v, n, since in found) for c, found in told.get("stairs", {}).items()},
        told.get("swings", {}),
        by_cell=tuple(told.get("by_cell", ())),
        by_key={alias: tuple(counts) for alias, counts in told.get("by_key", {}).items()},
        parts=_read_parts(told["parts"]) if "parts" in told else None,
    )


def _spell_parts(parts: ChunkParts) -> list[Any]:
    tops = {c: [None if v is None else plain(v) for v in found] for c, found in parts.tops.items()}
    climbs = {c: [spell_climbs(one) for one in found] for c, found in parts.climbs.items()}
    return [parts.names, parts.rows, tops, climbs]


def _read_parts(told: list[Any]) -> ChunkParts:
    names, rows, tops, climbs = told
    return ChunkParts(
        tuple(names),
        tuple(rows),
        {c: tuple(None if v is None else unplain(v) for v in found) for c, found in tops.items()},
        {c: tuple(read_climbs(one) for one in found) for c, found in climbs.items()},
    )


def spell_climbs(climbs: Climbs) -> list[Any]:
    """Climbs as JSON holds them."""
    values = climbs.values.tolist()
    return [values if climbs.values.dtype == np.int64 else [plain(v) for v in values], climbs.rows.tolist()]


def read_climbs(told: list[Any]) -> Climbs:
    """The climbs that `spell_climbs` wrote."""
    values, rows = told
    return Climbs.of([unplain(v) for v in values], rows)


def plain(value: Ordinal) -> Any:
    """An ordinal as JSON holds it, which has no bytes and no decimals."""
    match value:
        case bytes():
            return {"bytes": value.hex()}
        case Decimal():
            return {"decimal": str(value)}
        case _:
            return value


def unplain(value: Any) -> Ordinal:
    """The ordinal that `plain` wrote."""
    match value:
        case {"bytes": text}:
            return bytes.fromhex(text)
        case {"decimal": text}:
            return Decimal(text)
        case _:
            found: Ordinal = value
            return found
