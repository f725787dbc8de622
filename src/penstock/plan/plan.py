"""The plan: what a query keeps of each stream, how its tuples meet, and what lets them go. Inert data.

Two readers: `explain` shows it, the runtime obeys it. Frozen, comparable, and the same after a round trip through JSON.
Lengths of event time are ticks, as in `model.spans`. What bounds a stream, and why, is the verdict's to say.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cached_property
from typing import Any

from penstock.analysis.reasons import Reason
from penstock.analysis.rewriting.count_queries import Rewriting
from penstock.model.expressions import ColumnRef
from penstock.model.graph import Shape
from penstock.plan.aggregate import AggregatePlan, CalendarCut, start_of_sessions
from penstock.plan.closer_plans import Agreement, Closer, CloserKind, JointCloser
from penstock.plan.codec import decode, encode
from penstock.plan.evict import EvictPlan
from penstock.plan.merge_plan import MergePlan
from penstock.plan.parts import ItemCloser, KeyAxis, MonitorPlan, PairPredicate
from penstock.plan.promise_plans import PromiseKind, PromisePlan, PunctuationRows
from penstock.plan.tree import NodePlan, TreePlan
from penstock.records import record

FORMAT = 11
"""Raised when a plan, or the state of a cell that runs it, can no longer be read as before."""

ROW = "__ps_row"
"""The one column of results of which nothing is asked but that they are there: a table without columns has no rows."""


@record
class WindowPlan:
    """`[ROWS n]` or `[RANGE d]`: one of the two is set."""

    rows: int | None
    ticks: int | None
    text: str


@record
class StateFigure:
    """What the verdict says of one piece of state."""

    verdict: str
    means: str | None
    """What keeps it bounded, as `analysis.finding.Means` names it."""
    rows: int | None


@record
class ColumnPlan:
    """A column that a row carries, and its Spark type."""

    name: str
    type: str


@record
class SourcePlan:
    """One stream of the query under its alias."""

    alias: str
    stream: str
    event_time: str | None
    arrives_by: str | None
    """The column that never falls in the order of arrival, if one is declared."""
    read: tuple[ColumnPlan, ...]
    """What is read of the source: the kept columns, and those that only filters or promises look at."""
    kept: tuple[str, ...]
    """What the state holds: columns of outputs, of predicates with other streams, of promises."""
    shipped: tuple[str, ...]
    """What a cell must be given of each row: the kept columns, and those that its promises are about."""
    filters: tuple[str, ...]
    """Conditions on this stream alone that a row must meet as it arrives, for Spark to evaluate as one boolean.

    Columns are named with the alias. What an outer join or EXISTS lets a row fail is not among them.
    """
    window: WindowPlan | None
    not_null: tuple[str, ...]
    """A row with a NULL here is in no result, so it is final as it arrives."""
    equal: tuple[tuple[str, ...], ...]
    """Columns of this stream that must be equal within one row for it to be in any result."""
    merge: MergePlan | None
    """How rows that the query cannot tell apart become one."""
    unmerged: Reason | None
    """What stands against it, where the bound needs it all the same."""
    state: StateFigure
    block: str | None = None
    """The stream that a block, or a union of some, gives, by its name; None for a declared stream."""
    members: tuple[str, ...] = ()
    """Where it is a union: the blocks whose answers it is."""
    parts: str | None = None
    """The column whose values are the parts of the stream, within each of which alone it keeps its order."""
    idle: int | None = None
    """How many ticks behind the latest event time of all parts a silent one no longer holds the clock back; None for
    never."""

    @property
    def is_hopeless(self) -> bool:
        """Whether its rows stand in no result, as the verdict knows: each leaves with its batch."""
        return self.state.rows == 0 and self.unmerged is None

    @property
    def has_rows_window(self) -> bool:
        """Whether its rows leave by [ROWS n], whatever they wait for."""
        return self.window_rows is not None

    @property
    def window_rows(self) -> int | None:
        """The n of its [ROWS n], if it has one."""
        return None if self.window is None else self.window.rows


@record
class FrontierColumn:
    """A column of the answer whose clock the block above is told: by the frontier of a column of a source."""

    name: str
    clock: ColumnRef
    window: int | None
    """The length of its windows in ticks, where it is an end of one."""
    is_end: bool
    """Whether it is the end of the window that is given out, not its start."""
    step: int = 1
    """How far its windows lie apart."""
    shift: int = 0
    """By how much they begin after multiples of that."""
    cut: CalendarCut | None = None
    """The cut of its clock that it is, if it is one: of what is reached, the runtime takes the cut."""
    is_session: bool = False
    """Whether it is an end of a session, whose windows have no length."""
    others: tuple[ColumnRef, ...] = ()
    """Where it is always one of several columns: the other ones, of whose clocks the least counts."""

    @property
    def told_by(self) -> str:
        """Under what the cells, or the second stage, tell how far its clock has come."""
        return start_of_sessions(self.clock) if self.is_session and not self.is_end else str(self.clock)

    def reached(self, ticks: int) -> int:
        """From which value on the column may still be emitted, where the frontier of its clock lies there."""
        if self.window is None:
            return ticks
        # A window that ends at the frontier is over: the first that begins after the frontier less their length is not.
        start = self.shift + ((ticks - self.window - self.shift) // self.step + 1) * self.step
        return start + self.window if self.is_end else start


@record
class UselessPunctuations:
    """A punctuation scheme that lets no row of this query go: its rows are dropped at the source."""

    alias: str
    constraint: str
    """Its text with ON stream."""
    why: Reason


@record
class OutputColumn:
    """A column of a stored row that the core must hand out; `name` is what it is called in the result."""

    alias: str
    column: str
    name: str


@record
class SelectedColumn:
    """A column of SELECT: which of the core's columns it is; None where Spark evaluates an expression."""

    name: str
    output: str | None
    clocks: tuple[ColumnRef, ...] = ()
    """Under DISTINCT: the ordered columns that an expression is a cut of, in every result."""
    cut: CalendarCut | None = None


@record
class Plan:
    """All that is needed to run a query on cells, and to show how it will run."""

    format: int
    query: str
    sources: tuple[SourcePlan, ...]
    shape: Shape
    axes: tuple[KeyAxis, ...]
    components: tuple[tuple[str, ...], ...]
    """The streams that conditions tie together."""
    predicates: tuple[PairPredicate, ...]
    agreements: tuple[Agreement, ...]
    punctuations: tuple[PunctuationRows, ...]
    promises: tuple[PromisePlan, ...]
    closers: tuple[Closer, ...]
    joint_closers: tuple[JointCloser, ...]
    outputs: tuple[OutputColumn, ...]
    selected: tuple[SelectedColumn, ...]
    in_arrival_order: bool
    """Whether rows are counted across streams, and in the order of ARRIVES BY, which all of them declare."""
    distinct: bool
    conditions: tuple[str, ...]
    """Conditions on several streams that Spark evaluates, on the joined rows; their columns are among the outputs."""
    tree: TreePlan
    """The joins; one block where every stream stands in every result."""
    aggregate: AggregatePlan | None
    """How its groups are worked out, if it has any."""
    item_closers: tuple[ItemCloser, ...]
    """The punctuations that let DISTINCT and GROUP BY forget."""
    monitor: MonitorPlan
    verdict: str
    strategy: str
    exact: bool
    second_stage: tuple[StateFigure, ...]
    """The state of DISTINCT or GROUP BY, if there is one."""
    useless: tuple[UselessPunctuations, ...]
    """The punctuation schemes, by alias, that need not be read."""
    rewriting: Rewriting | None
    """The counts that are run in place of the joins, where they are."""
    evict: EvictPlan | None
    """The BUDGET, if there is one."""
    frontiers: tuple[FrontierColumn, ...] = ()
    """The clocks of its answer, where another block reads it."""
    blocks: tuple[Plan, ...] = ()
    """The plans of the blocks below, each after those that it reads and called by the name of the stream it gives."""
    audit: float = 0.0
    """The share of the keys of which rows that promises let go are kept, to see whether anything would meet them."""
    by_batch: bool = False
    """Whether an order in time is promised of batches only, not of the rows of one, as a watermark of Spark's is."""

    @property
    def over_batches(self) -> Plan:
        """The plan, and those of its blocks, with batches that are instants."""
        blocks = tuple(replace(block, by_batch=True) for block in self.blocks)
        return replace(self, blocks=blocks, by_batch=True)

    @property
    def inner(self) -> bool:
        """Whether every stream stands in every result."""
        return self.tree.is_block

    @property
    def nodes(self) -> tuple[NodePlan, ...]:
        """The joins, numbered from below; the last gives the answer."""
        return self.tree.nodes

    @cached_property
    def key_closers(self) -> tuple[Closer, ...]:
        """The keys that are marked on rows."""
        return tuple(c for c in self.closers if c.is_marked and c.kind is CloserKind.KEY)

    @cached_property
    def held_closers(self) -> tuple[Closer, ...]:
        """The closers whose promise rows are held apart from the stored ones: of punctuations and of clusters."""
        return tuple(c for c in self.closers if c.is_marked and c.kind is not CloserKind.KEY)

    @cached_property
    def by_alias(self) -> dict[str, SourcePlan]:
        """The sources by alias."""
        return {source.alias: source for source in self.sources}

    def is_clock(self, alias: str, column: str) -> bool:
        """Whether a column is an event time, or one of which the block that gives its stream tells how far it is."""
        told = (p for p in self.promises if p.kind is PromiseKind.FRONTIER and p.alias == alias)
        return self.by_alias[alias].event_time == column or any(p.columns == (column,) for p in told)

    @property
    def aliases(self) -> tuple[str, ...]:
        """The aliases, in the order of FROM."""
        return tuple(source.alias for source in self.sources)

    @cached_property
    def streams(self) -> tuple[str, ...]:
        """The streams, each once, in the order in which FROM first names them."""
        return tuple(dict.fromkeys(source.stream for source in self.sources))

    @cached_property
    def read_streams(self) -> tuple[str, ...]:
        """The declared streams that its blocks read, each once."""
        sources = (source for block in self.all_blocks for source in block.sources)
        return tuple(dict.fromkeys(source.stream for source in sources if source.block is None))

    @cached_property
    def rows_windowed(self) -> frozenset[str]:
        """The streams that have [ROWS n] under some alias."""
        return frozenset(s.stream for s in self.sources if s.has_rows_window)

    @property
    def distinct_over_expressions(self) -> bool:
        """Whether DISTINCT compares rows that Spark must evaluate first."""
        return self.distinct and (bool(self.conditions) or any(column.output is None for column in self.selected))

    @cached_property
    def closed_for(self) -> dict[str, tuple[str, ...]]:
        """By alias, the streams that are closed for each of its tuples in the end."""
        found: dict[str, dict[str, None]] = {}
        for closer in self.closers:
            if closer.certain:
                found.setdefault(closer.source, {})[closer.target] = None
        return {source: tuple(targets) for source, targets in found.items()}

    @property
    def all_blocks(self) -> tuple[Plan, ...]:
        """The blocks of the query, each by itself, from below; the last gives the answer."""
        return (*self.blocks, replace(self, blocks=()) if self.blocks else self)

    def closers_between(self, source: str, target: str) -> tuple[Closer, ...]:
        """The ways to close `target` for a tuple of `source`."""
        return tuple(c for c in self.closers if c.source == source and c.target == target)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain JSON values."""
        plain: dict[str, Any] = encode(self)
        return plain

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Plan:
        """The plan that `to_dict` gave; raises ValueError on anything else."""
        return decode(cls, _as_now(data))

    def to_json(self) -> str:
        """The plan as one line of JSON, the same on every run."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that `to_json` gave."""
        return cls.from_dict(json.loads(text))


def _as_now(data: Any) -> Any:
    """A plan as this version writes it; checkpoints of 0.2.0 may have been written before batches could be instants."""
    if not isinstance(data, dict):
        return data
    blocks = data.get("blocks")
    known = {**data, "blocks": [_as_now(block) for block in blocks]} if isinstance(blocks, list) else data
    return {"by_batch": False, **known}
