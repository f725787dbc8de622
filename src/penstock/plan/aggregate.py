"""How a grouped query is worked out in two stages: inert data, obeyed by runtime/group and by spark.

The first stage, in each cell, gives rows of what the second must tell apart (`carried` columns and windows of time),
each with a count of results and with `measures`: sums, counts and extremes of columns, worked out below the join. The
second stage adds them up group by group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from math import gcd

from penstock.analysis.reasons import Reason
from penstock.model.clauses import COLLECTS, QUANTILES
from penstock.model.expressions import ColumnRef
from penstock.records import record

COUNT = "__ps_n"
"""The number of results that a row of the first stage stands for, or of rows that a stored row stands for."""


class Fold(StrEnum):
    """What is kept of many values of a column."""

    COUNT = "count"
    SUM = "sum"
    """The sum, and the count with it."""
    MIN = "min"
    MAX = "max"
    MOMENTS = "moments"
    """The count, the mean and the squares of the distances from it; in the second stage alone."""
    MIN_BY = "min_by"
    """The value of the row that has the least of another; in the second stage alone."""
    MAX_BY = "max_by"


def start_of_sessions(clock: ColumnRef) -> str:
    """Under what the second stage tells how far the starts of sessions of a time have come."""
    return f"{clock}@session"


@record
class Measure:
    """A column of one stream of which only a sum, a count or an extreme goes through the join."""

    name: str
    fold: Fold
    alias: str
    column: str


@record
class WindowColumn:
    """A window of time as a column: the tick at which it starts.

    Where windows overlap, cells tell apart the panes that lie in the same windows, and hand out a row for each window.
    """

    name: str
    alias: str
    column: str
    ticks: int
    """The length of a window."""
    step: int
    """How far windows lie apart."""
    shift: int
    """By how much they begin after multiples of that."""
    gap: int | None = None
    """After how long a pause a session ends, in ticks; its windows then are of one tick, the time itself, and the
    second stage makes sessions of them. None where it is no session."""

    @property
    def pane(self) -> int:
        """The length of the stretches of time that lie in the same windows."""
        return gcd(self.ticks, self.step)


@record
class CalendarCut:
    """A time cut to a unit of the calendar."""

    unit: str
    gives_date: bool
    """Whether it is a DATE, not a TIMESTAMP."""
    zone: str | None
    """In which it is cut; None for the session's, which is told before a query starts."""
    of_local: bool = False
    """Whether it is a DATE or a TIMESTAMP_NTZ, of which Spark first makes the moment at which clocks there show it."""


@record
class GroupKey:
    """A column of the groups, as the second stage is given it."""

    name: str
    text: str
    """As the query has it."""
    expression: str | None
    """What Spark evaluates over the rows of the first stage; None if it is a column of theirs."""
    window: int | None
    """The length of its windows in ticks, if it is one."""
    clocks: tuple[ColumnRef, ...]
    """Ordered columns that it is, or is a window or a cut of, in every result: once one has passed it, the group is
    closed."""
    cut: CalendarCut | None = None
    """The cut of its clocks that it is, if it is one."""
    gap: int | None = None
    """After how long a pause its sessions end, in ticks, if it is the start of one."""
    of: str | None = None
    """Where some groups leave it out: the column of the rows that it is in the others."""

    @property
    def column(self) -> str:
        """The column of the rows of the first stage that it is."""
        return self.name if self.of is None else self.of


SET = "__ps_set"
"""Of which set of keys a group is."""


@record
class KeySet:
    """A set of keys that is grouped by: what each key is of the rows, None where it is left out."""

    names: tuple[str, ...]
    columns: tuple[str | None, ...]


@record
class FurtherArgument:
    """A further argument of an aggregate: a column of the rows."""

    name: str
    expression: str | None
    """What Spark evaluates to get it; None if it is a column of the rows as it is."""
    type: str | None
    """None where only Spark knows it."""


@record
class AggregateColumn:
    """An aggregate of SELECT: of a measure, of the values of a column of the rows, or of nothing but their count."""

    name: str
    text: str
    function: str
    distinct: bool
    measure: str | None
    value: str | None
    """The column of the rows that it is worked out from."""
    expression: str | None
    """What Spark evaluates to get it; None if it is a column of the rows as it is."""
    type: str | None
    """Of its argument; None where only Spark knows it, or there is none."""
    more: tuple[FurtherArgument, ...] = ()
    """What a value is picked by, for max_by and min_by; with what it is counted."""
    share: float | None = None
    """Of a median or another percentile: how much of the values lies below it."""
    by_set: tuple[int, ...] = ()
    """Of grouping and grouping_id: what it is in the groups of each set of keys."""

    @property
    def expressions(self) -> dict[str, str]:
        """What Spark evaluates, by the column of the rows that it is."""
        found = {self.value: self.expression} | {argument.name: argument.expression for argument in self.more}
        return {name: text for name, text in found.items() if name is not None and text is not None}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the rows that it is worked out from."""
        return (*(() if self.value is None else (self.value,)), *(argument.name for argument in self.more))

    def with_types(self, types: Mapping[str, str]) -> AggregateColumn:
        """With the types of what is evaluated, by the column that it is."""
        more = tuple(replace(argument, type=types.get(argument.name, argument.type)) for argument in self.more)
        return replace(self, type=types.get(self.value or "", self.type), more=more)

    @property
    def keeps_values(self) -> bool:
        """Whether the values of a group are kept one by one."""
        return self.distinct or self.function in (*QUANTILES, *COLLECTS)


@record
class OrderColumn:
    """A column of the rows by which those of a group are ordered."""

    name: str
    descending: bool
    nulls_first: bool


@record
class TopPlan:
    """Where each group gives its first rows: how many, in which order, and of which columns they are."""

    most: int
    ordering: tuple[OrderColumn, ...]
    columns: tuple[str, ...]


@record
class TreeEdge:
    """Two streams between which grouped counts and sums are handed on."""

    one: str
    other: str


@record
class AggregatePlan:
    """All that is needed to work out the groups of a query."""

    keys: tuple[GroupKey, ...]
    columns: tuple[AggregateColumn, ...]
    measures: tuple[Measure, ...]
    windows: tuple[WindowColumn, ...]
    emits_once: bool
    """Whether a group is given once, when it is closed; else whenever it changed."""
    tree: tuple[TreeEdge, ...] | None
    """Along which counts and sums are handed on; None if results are joined first."""
    by_latest: bool
    """Whether, under [RANGE d], they are looked up by key and time from the latest row of each result."""
    how: Reason
    """Which of these, and why."""
    top: TopPlan | None = None
    """Where each group gives its first rows, and not one of its own."""
    sets: tuple[KeySet, ...] = ()
    """Where there are groups by several sets of the keys, the others being NULL."""

    @property
    def is_evaluated(self) -> bool:
        """Whether Spark evaluates expressions between the two stages."""
        return any(key.expression is not None for key in self.keys) or any(c.expressions for c in self.columns)

    @property
    def dealt_by(self) -> tuple[str, ...]:
        """The keys that tell to which bucket of the second stage a row goes; where sessions begin is found there."""
        return (*(key.name for key in self.keys if key.gap is None), *((SET,) if self.sets else ()))

    def measures_of(self, alias: str) -> tuple[Measure, ...]:
        """The measures of one stream."""
        return tuple(m for m in self.measures if m.alias == alias)

    def windows_of(self, alias: str) -> tuple[WindowColumn, ...]:
        """The windows of one stream."""
        return tuple(w for w in self.windows if w.alias == alias)

    def only_shipped(self, alias: str) -> frozenset[str]:
        """The columns that a cell must be given of each row, though it keeps but what they come to."""
        return frozenset(m.column for m in self.measures_of(alias)) | {w.column for w in self.windows_of(alias)}
