"""GROUP BY and DISTINCT: the second stage. Adds up what the cells give, group by group, and says what is given out.

A group by a window of time is given once, when the frontiers, or a punctuation of its other columns, say that no result
can fall into it any more, and is then forgotten. Any other group is given whenever a batch changed a value of it, and
forgotten once an event time that it holds has been passed or a punctuation has closed it. A result that comes for a
group that time has closed (only a broken promise brings one) is counted as lost: what was given is never retracted.
What a punctuation closed is remembered no more, so such a result begins the group anew.

DISTINCT is GROUP BY without measures (`plan/second_stage_plan.py`): of a group only its key is kept, and it is given as
it begins. A result of it that is late is given, at worst again.

count(DISTINCT x) and median keep the values of each group, with how often each came. Where a group gives its first rows
(`top_rows.py`), these are kept, and given as the group would be.

Under a budget at most `room` groups and values, or bytes of them, are remembered (`admission.py`): results that would
need more are lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.model.clauses import TOP, VARIANCES
from penstock.plan.aggregate import COUNT, AggregateColumn, Fold, GroupKey
from penstock.plan.plan import Plan
from penstock.plan.second_stage_plan import grouping, names_of_outputs
from penstock.runtime.columns.codes import INT64, Bools, Ints, flat, ticks
from penstock.runtime.columns.row_values import null_safe_equal
from penstock.runtime.group.admission import admit
from penstock.runtime.group.calendar_cuts import cut_ticks
from penstock.runtime.group.finals import final_values, medians, no_sums
from penstock.runtime.group.measures import Measured, from_columns, measured, numbers_of
from penstock.runtime.group.numbering import Groups, grouped
from penstock.runtime.group.tally import Columns, Kept, Tally
from penstock.runtime.group.top_rows import TopRows
from penstock.runtime.group.totals import Totals
from penstock.runtime.promise.items import NO_REPORTS, ClosedItems, Reports
from penstock.runtime.state.component import Component, State
from penstock.runtime.state.store import Changes, Entries
from penstock.runtime.state.synopsis import ALL

_FOLDS = {"count": Fold.COUNT, "sum": Fold.SUM, "avg": Fold.SUM, "min": Fold.MIN, "max": Fold.MAX}
_FOLDS |= dict.fromkeys(VARIANCES, Fold.MOMENTS)


def given_name(number: int) -> str:
    """The column in which the stage gives an aggregate, by its number among them."""
    return f"__ps_out{number}"


@dataclass(frozen=True)
class Given:
    """What one batch gave."""

    rows: Any
    lost: int
    """Results for groups that were closed, or for which there was no room."""


class GroupStage(Component):
    """The groups of one bucket. `is_first` holds of the bucket that gives the one group of a query without GROUP BY."""

    numbers = ("_batch", "passed", "dropped", "reached")
    parts = ("groups", "values", "items")

    def __init__(self, plan: Plan, room: int | None = None, *, is_first: bool = True) -> None:
        self.room = room
        self.in_bytes = plan.evict is not None and plan.evict.rows is None
        self.dropped = 0
        """Results, since the beginning, for which there was no room."""
        self.aggregate = grouping(plan)
        self.is_first = is_first
        self.keys = tuple(dict.fromkeys(key.name for key in self.aggregate.keys))
        kinds = {(s.alias, c.name): c.type for s in plan.sources for c in s.read}
        kept = [] if self._only_tells_apart else [Kept(COUNT, Fold.COUNT)]
        kept += [Kept(m.name, m.fold, numbers_of(kinds[m.alias, m.column])) for m in self.aggregate.measures]
        kept += [
            Kept(given_name(n), Fold.COUNT if c.distinct else _FOLDS[c.function], numbers_of(c.type))
            for n, c in enumerate(self.aggregate.columns)
            if c.value is not None and not _is_of_kept_values(c) and c.function != TOP and not self._is_key(c)
        ]
        self.top = None if self.aggregate.top is None else TopRows(self.aggregate.top, self.keys)
        if self.top is not None:
            kept = [Kept(COUNT, Fold.COUNT)]
        self.groups = Tally(self.keys, tuple(kept))
        self.values = (
            {0: self.top.tally}
            if self.top is not None
            else {
                n: Tally((*self.keys, c.value), (Kept(COUNT, Fold.COUNT),), len(self.keys))
                for n, c in enumerate(self.aggregate.columns)
                if c.keeps_values and c.value is not None and not self._is_key(c)
            }
        )
        self.items = ClosedItems(plan, names_of_outputs(plan) if plan.aggregate is None else None)
        self.passed: dict[str, int] = {}
        """By key with a clock, how far that has come."""
        self.reached: dict[str, int] = {}
        """By ordered column of the sources, how far results have come: what is emitted later lies no earlier."""
        self._batch = -1
        self._state = State(self)

    @property
    def _only_tells_apart(self) -> bool:
        """Whether a group is no more than its key."""
        return not self.aggregate.columns and not self.aggregate.measures

    def _is_key(self, column: AggregateColumn) -> bool:
        """Whether the values of each group are one, which is grouped by."""
        return column.keeps_values and column.value in self.keys and column.function in ("count", "median")

    @property
    def live(self) -> int:
        """The groups and the values of groups remembered."""
        return sum(tally.live for tally in self._tallies)

    @property
    def nbytes(self) -> int:
        """Their bytes."""
        return sum(tally.nbytes for tally in self._tallies)

    def step(
        self,
        batch: int,
        rows: Any,
        frontier: Mapping[str, int],
        reports: Reports = NO_REPORTS,
        *,
        is_last: bool = False,
    ) -> Given:
        """What a batch gives; `frontier` is the least over all cells of the first stage, `reports` are of each.

        With the last batch every group is over.
        """
        begins = self._batch < 0
        self._batch = max(batch, self._batch + 1)
        columns = {name: flat(rows.column(name)) for name in rows.column_names} if rows.num_rows else {}
        if columns and COUNT not in columns:
            columns[COUNT] = pa.array(np.ones(rows.num_rows, np.int64))
        columns, lost = self._in_time(columns)
        if columns and self.room is not None:
            columns, dropped = self._admitted(columns, self.room, frontier)
            self.dropped += dropped
            lost += dropped
        given = self._added(columns) if columns else None
        if given is None and begins and not self.keys and self.is_first and self.top is None:
            given = self._empty_group()
        for clock, ticks_reached in frontier.items():
            self.reached[clock] = max(ticks_reached, self.reached.get(clock, ticks_reached))
        closed = np.union1d(self._closed(frontier), self.items.found(reports, self.groups.seen))
        if is_last:
            closed = self.groups.seen.ids(ALL)
        if self.aggregate.emits_once:
            given = self._shown(closed) if len(closed) else None
        self._forget(closed)
        self._state.finish()
        if self.in_bytes and self.room is not None and self.nbytes > self.room:
            self._compact()
        return Given(pa.table({}) if given is None else given, lost)

    def _in_time(self, columns: Columns) -> tuple[dict[str, Any], int]:
        """The rows whose group is not closed, and how many results the others are."""
        given_again = self._only_tells_apart and not self.aggregate.emits_once
        if not columns or given_again or not (late := self._of_closed(columns)).any():
            return dict(columns), 0
        lost = int(columns[COUNT].to_numpy(zero_copy_only=False)[late].sum())
        keep = pa.array(~late)
        return ({name: c.filter(keep) for name, c in columns.items()} if not late.all() else {}), lost

    def _of_closed(self, columns: Columns) -> Bools:
        """Which rows are of groups that time has closed."""
        closed: Bools = np.zeros(len(columns[COUNT]), np.bool_)
        for key in self.aggregate.keys:
            if key.name in self.passed:
                values = columns[key.name]
                reached = ticks(values) <= _closed_upto(key, self.passed[key.name])
                closed |= reached & values.is_valid().to_numpy(zero_copy_only=False)
        return closed

    def _admitted(self, columns: Columns, room: int, frontier: Mapping[str, int]) -> tuple[dict[str, Any], int]:
        """The rows for which there is room, with what leaves in this step, and how many results the others are."""
        admitted = self._fitting(columns, room, frontier)
        if self.in_bytes and not admitted.all():
            self._compact()
            admitted = self._fitting(columns, room, frontier)
        if admitted.all():
            return dict(columns), 0
        dropped = int(columns[COUNT].to_numpy(zero_copy_only=False)[~admitted].sum())
        keep = pa.array(admitted)
        return ({name: c.filter(keep) for name, c in columns.items()} if admitted.any() else {}), dropped

    def _fitting(self, columns: Columns, room: int, frontier: Mapping[str, int]) -> Bools:
        leaving = self._with_values(self._closed(frontier))
        # What is closed as it comes has left when the step ends, and needs no room.
        admitted = self._of_closed(columns)
        rest = pa.array(~admitted)
        staying = {name: column.filter(rest) for name, column in columns.items()}
        wanted = [(self.groups, self.keys)]
        wanted += [(t, (*self.keys, str(self.aggregate.columns[n].value))) for n, t in self.values.items()]
        if self.in_bytes:
            freed = sum(tally.least_bytes(ids) for tally, ids in leaving)
            free = room - sum(tally.most_taken() for tally in self._tallies) + freed
        else:
            free = room - self.live + sum(len(ids) for _, ids in leaving)
        if not admitted.all():
            admitted[~admitted] = admit(wanted, staying, free, in_bytes=self.in_bytes)
        return admitted

    def _added(self, columns: Columns) -> Any:
        """Add rows to their groups; gives the groups that changed."""
        count = columns[COUNT].to_numpy(zero_copy_only=False)
        groups = grouped([columns[name] for name in self.keys], len(count))
        first = pa.array(groups.first)
        keys = {name: columns[name].take(first) for name in self.keys}
        if self._only_tells_apart:
            new = pa.array(self.groups.add(self._batch, keys, {}))
            return pa.table({name: column.take(new) for name, column in keys.items()})
        known, ids = self.groups.find(keys)
        before = None if self.aggregate.emits_once or not len(known) else self._shown(ids)
        measures = {COUNT: Totals(None, None, count).summed(groups)}
        if self.top is not None:
            self.top.add(self._batch, columns, keys)
        for measure in self.aggregate.measures:
            measures[measure.name] = from_columns(measure.fold, dict(columns), measure.name).summed(groups)  # type: ignore[assignment]
        for number, column in enumerate(self.aggregate.columns if self.top is None else ()):
            if column.value is not None and (found := self._of_values(number, column, columns, groups)) is not None:
                measures[given_name(number)] = found  # type: ignore[assignment]
        self.groups.add(self._batch, keys, measures)
        if self.aggregate.emits_once:
            return None
        places, ids = self.groups.find(keys)
        after = self._shown(ids[np.argsort(places)])
        return after.filter(pa.array(_differs(after, known, before)))

    def _of_values(self, number: int, column: AggregateColumn, columns: Columns, groups: Groups) -> Measured | None:
        """What a batch adds to an aggregate of values; None where it is worked out when it is shown."""
        assert column.value is not None
        values, count = columns[column.value], columns[COUNT].to_numpy(zero_copy_only=False)
        if not column.keeps_values:
            return measured(_FOLDS[column.function], values, count).summed(groups)
        if number not in self.values:
            return None
        tally = self.values[number]
        there: Ints = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
        chosen, names = pa.array(there), (*self.keys, column.value)
        own = {name: columns[name].take(chosen) for name in names}
        pairs = grouped(list(own.values()), len(there))
        keys = {name: c.take(pa.array(pairs.first)) for name, c in own.items()}
        new: Ints = np.zeros(0, np.int64)
        if pairs.count:
            new = tally.add(self._batch, keys, {COUNT: Totals(None, None, count[there]).summed(pairs)})
        if _is_of_kept_values(column):
            return None
        fresh = np.bincount(groups.of[there][pairs.first][new], minlength=groups.count)
        return Totals(None, None, fresh.astype(np.int64))

    def _shown(self, ids: Ints) -> Any:
        """Groups as they are given out."""
        keys = {name: self.groups.values(name, ids) for name in self.keys}
        if self.top is not None:
            return self._first_rows(self.top, keys)
        measures = self.groups.measured(ids)
        shown = dict(keys)
        for number, column in enumerate(self.aggregate.columns):
            name = given_name(number)
            if self._is_key(column):
                shown[name] = _of_one_value(column, keys[column.value or ""])
            elif _is_of_kept_values(column):
                shown[name] = self._of_kept_values(number, column, keys, len(ids))
            elif column.measure is None and column.value is None:
                shown[name] = pa.array(_held(measures[COUNT]))
            else:
                shown[name] = final_values(column, measures[column.measure or name])
        return pa.table(shown)

    def _first_rows(self, top: TopRows, keys: Columns) -> Any:
        """The first rows of groups, for each its number."""
        _, columns, number = top.first(keys)
        shown = {name: columns[name] for name in self.keys}
        for place, column in enumerate(self.aggregate.columns):
            numbers = pa.array(number.astype(np.int32))
            shown[given_name(place)] = numbers if column.value is None else columns[column.value]
        return pa.table(shown)

    def _of_kept_values(self, number: int, column: AggregateColumn, keys: Columns, size: int) -> Any:
        """A median, or what different values come to."""
        assert column.value is not None
        tally = self.values[number]
        places, ids = tally.find_group(keys)
        values = tally.values(column.value, ids)
        if column.function == "median":
            return medians(size, places, values, _held(tally.measured(ids)[COUNT]))
        if not len(ids):
            return no_sums(column, size)
        # A value more of each group, which is NULL and adds nothing, so that none is without.
        every = pa.concat_arrays([pa.nulls(size, values.type), values])
        of = np.concatenate([np.arange(size), places])
        return final_values(column, measured(Fold.SUM, every).summed(Groups(of, np.arange(size))))

    def _empty_group(self) -> Any:
        """The one group of a query without GROUP BY, while there is no result."""
        return pa.table(
            {
                given_name(n): pa.array([0], pa.int64()) if c.function == "count" else pa.nulls(1)
                for n, c in enumerate(self.aggregate.columns)
            }
        )

    def _closed(self, frontier: Mapping[str, int]) -> Ints:
        """The groups that no result can be added to any more."""
        found: list[Ints] = []
        for key in self.aggregate.keys:
            known = [frontier[str(clock)] for clock in key.clocks if str(clock) in frontier]
            if known:
                self.passed[key.name] = max(*known, self.passed.get(key.name, known[0]))
            if key.name in self.passed:
                found.append(self.groups.upto(_how(key), key.name, _closed_upto(key, self.passed[key.name])))
        return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def _forget(self, ids: Ints) -> None:
        for tally, own in reversed(self._with_values(ids)):
            tally.forget(own)

    def _with_values(self, ids: Ints) -> list[tuple[Tally, Ints]]:
        """Groups, and the values of these groups."""
        if not len(ids):
            return []
        keys = {name: self.groups.values(name, ids) for name in self.keys}
        return [(self.groups, ids), *((t, np.unique(t.find_group(keys)[1])) for t in self.values.values())]

    @property
    def _tallies(self) -> tuple[Tally, ...]:
        return (self.groups, *self.values.values())

    def _compact(self) -> None:
        for tally in self._tallies:
            tally.seen.compact()

    def save(self) -> Changes:
        """What changed since the last save."""
        return self._state.save()

    @classmethod
    def restore(cls, plan: Plan, entries: Entries, room: int | None = None, *, is_first: bool = True) -> GroupStage:
        """The stage whose state a store holds."""
        stage = cls(plan, room, is_first=is_first)
        stage._state.load(entries)
        return stage


def _closed_upto(key: GroupKey, passed: int) -> int:
    """The greatest value of a key that its clock, which has come so far, has passed."""
    if key.cut is None:
        return passed - (key.window or 1)
    reached = cut_ticks(passed, key.cut)
    return int(INT64.min) if reached is None else reached - 1


def _how(key: GroupKey) -> str:
    return "codes" if key.window is not None else "ticks"


def _held(measure: Measured) -> Ints:
    assert isinstance(measure, Totals)
    return measure.held


def _is_of_kept_values(column: AggregateColumn) -> bool:
    """Whether an aggregate is worked out from the values that are kept, when it is shown."""
    return column.function == "median" or (column.distinct and column.function != "count")


def _of_one_value(column: AggregateColumn, values: Any) -> Any:
    """count(DISTINCT x) or median(x) of groups that x itself is a column of."""
    return values.is_valid().cast(pa.int64()) if column.distinct else values.cast(pa.float64(), safe=False)


def _differs(after: Any, known: Ints, before: Any) -> Bools:
    """Which groups are new, or have a value that is not what it was."""
    differs: Bools = np.ones(after.num_rows, np.bool_)
    if before is None:
        return differs
    differs[known] = False
    was = after.take(pa.array(known))
    for name in after.column_names:
        differs[known] |= ~null_safe_equal(flat(was.column(name)), flat(before.column(name)))
    return differs
