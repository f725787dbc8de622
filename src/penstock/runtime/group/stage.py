"""GROUP BY and DISTINCT: the second stage. Adds up what the cells give, group by group, and says what is given out.

A group by a window of time is given once, when the frontiers, or a punctuation of its other columns, say that no result
can fall into it any more, and is then forgotten. Any other group is given whenever a batch changed a value of it, and
forgotten once an event time that it holds has been passed or a punctuation has closed it. A result that comes for a
group that time has closed (only a broken promise brings one) is counted as lost: what was given is never retracted.
What a punctuation closed is remembered no more, so such a result begins the group anew.

DISTINCT is GROUP BY without measures (`plan/second_stage_plan.py`): of a group only its key is kept, and it is given as
it begins. A result of it that is late is given, at worst again.

count(DISTINCT x) and median keep the values of each group (`kept_values.py`). Where a group gives its first rows
(`top_rows.py`), these are kept, and given as the group would be. Of groups by a session (`sessions.py`) the session is
called by its start until it is given.

Under a budget at most `room` groups and values, or bytes of them, are remembered (`admission.py`): results that would
need more are lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.model.clauses import COLLECTS, TOP, VARIANCES
from penstock.plan.aggregate import COUNT, SET, AggregateColumn, Fold, GroupKey, start_of_sessions
from penstock.plan.plan import Plan
from penstock.plan.second_stage_plan import grouping, names_of_outputs
from penstock.runtime.columns.codes import INT64, Bools, Ints, flat, ticks
from penstock.runtime.columns.row_values import null_safe_equal
from penstock.runtime.group.admission import admit
from penstock.runtime.group.calendar_cuts import cut_ticks
from penstock.runtime.group.finals import final_values
from penstock.runtime.group.kept_values import KeptValues
from penstock.runtime.group.measures import Measured, from_columns, measured, numbers_of
from penstock.runtime.group.numbering import grouped
from penstock.runtime.group.sessions import Sessions, session_end
from penstock.runtime.group.tally import Columns, Kept, Tally
from penstock.runtime.group.top_rows import TopRows
from penstock.runtime.group.totals import Totals
from penstock.runtime.promise.items import NO_REPORTS, ClosedItems, Reports
from penstock.runtime.state.component import Component, State
from penstock.runtime.state.store import Changes, Entries
from penstock.runtime.state.synopsis import ALL

_FOLDS = {"count": Fold.COUNT, "sum": Fold.SUM, "avg": Fold.SUM, "min": Fold.MIN, "max": Fold.MAX}
_FOLDS |= dict.fromkeys(VARIANCES, Fold.MOMENTS) | {"max_by": Fold.MAX_BY, "min_by": Fold.MIN_BY}

_NOTHING = {"count": pa.array([0], pa.int64())} | dict.fromkeys(COLLECTS, pa.array([[]], pa.list_(pa.null())))
"""What an aggregate of no rows is that is not NULL."""


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
        session = next((key for key in self.aggregate.keys if key.gap is not None), None)
        self.sessions = None if session is None else Sessions(session)
        self.others = tuple(dict.fromkeys(self.aggregate.dealt_by))
        self.keys = self.others if session is None else (*self.others, session.name)
        kinds = {(s.alias, c.name): c.type for s in plan.sources for c in s.read}
        kept = [] if self._only_tells_apart else [Kept(COUNT, Fold.COUNT)]
        kept += [Kept(m.name, m.fold, numbers_of(kinds[m.alias, m.column])) for m in self.aggregate.measures]
        self.kept_values = KeptValues(self.aggregate, self.keys, groups_merge=self.sessions is not None)
        kept += [
            Kept(given_name(n), Fold.COUNT if c.distinct else _FOLDS[c.function], numbers_of(c.type))
            for n, c in enumerate(self.aggregate.columns)
            if self._is_measured(c)
        ]
        kept += [] if self.sessions is None else [self.sessions.last]
        self.top = None if self.aggregate.top is None else TopRows(self.aggregate.top, self.keys)
        if self.top is not None:
            kept = [Kept(COUNT, Fold.COUNT)]
        self.groups = Tally(self.keys, tuple(kept), 0 if self.sessions is None else len(self.others))
        self.values = self.kept_values.tallies if self.top is None else {0: self.top.tally}
        self.items = ClosedItems(plan, names_of_outputs(plan) if plan.aggregate is None else None)
        self.passed: dict[str, int] = {}
        """By key with a clock, how far that has come."""
        self.reached: dict[str, int] = {}
        """By ordered column of the sources, how far results have come: what is emitted later lies no earlier."""
        self._batch = -1
        self._state = State(self)

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:
        """See Component."""
        self.dropped = sum(one.dropped for one in members) if is_first else 0

    @property
    def _only_tells_apart(self) -> bool:
        """Whether a group is no more than its key."""
        return not self.aggregate.columns and not self.aggregate.measures and self.sessions is None

    def _is_measured(self, column: AggregateColumn) -> bool:
        """Whether an aggregate of values is added up as they come."""
        is_shown = self.kept_values.made_when_shown(column) or self.kept_values.is_key(column)
        return column.value is not None and column.function != TOP and not is_shown

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
        for name in self.keys:
            if name in columns and pa.types.is_floating(columns[name].type):
                # Spark groups by 0.0 what is -0.0, and shows that.
                columns[name] = pc.add(columns[name], pa.scalar(0.0, columns[name].type))
        if columns and COUNT not in columns:
            columns[COUNT] = pa.array(np.ones(rows.num_rows, np.int64))
        columns, lost = self._in_time(columns)
        if columns and self.sessions is not None:
            columns, too_late = self._in_sessions(columns, self.sessions)
            lost += too_late
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
        if self.sessions is not None:
            self._tell_starts(self.sessions, frontier)
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

    def _in_sessions(self, columns: Columns, sessions: Sessions) -> tuple[dict[str, Any], int]:
        """The rows with the starts of their sessions, which were not over before; how many results the others are."""
        name = sessions.key.name
        assigned = sessions.assign(columns, self.others, self.groups)
        keys = {own: self.groups.values(own, assigned.moved) for own in self.keys} if len(assigned.moved) else {}
        for tally in self.values.values() if keys else ():
            place, ids = tally.find_group(keys)
            tally.move(self._batch, ids, name, pa.array(assigned.moved_to[place]))
        self.groups.move(self._batch, assigned.moved, name, pa.array(assigned.moved_to))
        found = dict(columns) | {sessions.last.name: columns[name], name: pa.array(assigned.starts)}
        late: Bools = assigned.ends < self.passed.get(name, int(INT64.min))
        if not late.any():
            return found, 0
        lost = int(columns[COUNT].to_numpy(zero_copy_only=False)[late].sum())
        return ({own: c.filter(pa.array(~late)) for own, c in found.items()} if not late.all() else {}), lost

    def _tell_starts(self, sessions: Sessions, frontier: Mapping[str, int]) -> None:
        """Nothing is given later that starts before the least of the open sessions and of what is still to come."""
        least = sessions.least_start(self.groups)
        for clock in sessions.key.clocks:
            if (reached := frontier.get(str(clock))) is not None:
                start = reached if least is None else min(reached, least)
                told = start_of_sessions(clock)
                self.reached[told] = max(start, self.reached.get(told, start))

    def _of_closed(self, columns: Columns) -> Bools:
        """Which rows are of groups that time has closed."""
        closed: Bools = np.zeros(len(columns[COUNT]), np.bool_)
        for key in self.aggregate.keys:
            if key.name in self.passed and key.gap is None:
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
        wanted += [(tally, tally.keys) for tally in self.values.values()]
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
        measures: dict[str, Measured] = {COUNT: Totals(None, None, count).summed(groups)}
        if self.sessions is not None:
            measures[self.sessions.last.name] = self.sessions.last_times(columns).summed(groups)
        if self.top is not None:
            self.top.add(self._batch, columns, keys)
        for measure in self.aggregate.measures:
            measures[measure.name] = from_columns(measure.fold, dict(columns), measure.name).summed(groups)
        for number, column in enumerate(self.aggregate.columns if self.top is None else ()):
            fresh: Measured | None = (
                self.kept_values.add(self._batch, number, columns, groups) if number in self.values else None
            )
            if self._is_measured(column):
                if fresh is None:
                    values, *by = (columns[name] for name in column.columns)
                    fresh = measured(_FOLDS[column.function], values, count, *by).summed(groups)
                measures[given_name(number)] = fresh
        self.groups.add(self._batch, keys, measures)
        if self.aggregate.emits_once:
            return None
        places, ids = self.groups.find(keys)
        after = self._shown(ids[np.argsort(places)])
        return after.filter(pa.array(_differs(after, known, before)))

    def _shown(self, ids: Ints) -> Any:
        """Groups as they are given out."""
        keys = {name: self.groups.values(name, ids) for name in self.keys}
        if self.top is not None:
            return self._first_rows(self.top, keys)
        measures = self.groups.measured(ids)
        shown = dict(keys)
        if self.sessions is not None:
            shown[session_end(self.sessions.key.name)] = self.sessions.shown_ends(self.groups, ids)
        for number, column in enumerate(self.aggregate.columns):
            name = given_name(number)
            if column.by_set:
                kind = pa.int8() if column.function == "grouping" else pa.int64()
                shown[name] = pa.array(column.by_set, kind).take(keys[SET])
            elif self.kept_values.is_key(column):
                shown[name] = self.kept_values.of_key(column, keys)
            elif self.kept_values.made_when_shown(column):
                shown[name] = self.kept_values.shown(number, keys, len(ids))
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

    def _empty_group(self) -> Any:
        """The one group of a query without GROUP BY, while there is no result."""
        return pa.table(
            {
                given_name(n): _NOTHING[c.function] if c.function in _NOTHING else pa.nulls(1)
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
            if key.name in self.passed and self.sessions is not None and key is self.sessions.key:
                found.append(self.sessions.closed(self.groups, self.passed[key.name]))
            elif key.name in self.passed:
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

    def rest_on(self, entries: Entries) -> None:
        """Hold the rows that were just saved where these entries are."""
        self._state.rest_on(entries)

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


def _differs(after: Any, known: Ints, before: Any) -> Bools:
    """Which groups are new, or have a value that is not what it was."""
    differs: Bools = np.ones(after.num_rows, np.bool_)
    if before is None:
        return differs
    differs[known] = False
    now = after.take(pa.array(known))
    was = before if before.schema == now.schema else before.cast(now.schema)  # Of nothing no type is known.
    for name in after.column_names:
        differs[known] |= ~null_safe_equal(flat(now.column(name)), flat(was.column(name)))
    return differs
