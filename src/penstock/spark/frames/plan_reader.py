"""An analyzed plan as a job's relation: which nodes are read, and what is left to Spark.

Three parts of a plan, from below:

- **leaves**: maximal sub-plans that keep no state (sources, parsing, functions of the user's, joins with tables), and
  `dropDuplicates` on top of such a one, which gives a row at once or never, so that what its input promises holds of
  it. They stay Spark's own. A union of streams with watermarks is no leaf: each member keeps its own clock.
- **the region** that is read: joins of streams, groups, distinct rows, unions, and between them filters and columns.
- **above**: what lies on top and keeps no state, or one of the user's own that asks for no event time, or that of a
  deduplication (`deduplicated_answers`). It is put back on the answer. Filters and columns right above a join are read
  with it, since they say which rows must meet and which columns are needed; a filter of which only a part can be read
  is read in that part, and stays above as a whole. What of the condition of an inner join on top cannot be read becomes
  such a filter.

A node is read only if all that it says is (its expressions: `expression_texts`); any other node that keeps state is
refused with its place. What Spark notes with an attribute says which columns have a watermark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from penstock.errors import NotSupportedYet
from penstock.frames.clock_columns import NO_CLOCKS, ClockColumns, clock_columns, projected
from penstock.frames.job_relations import (
    JobAggregate,
    JobColumn,
    JobDistinct,
    JobExpression,
    JobFilter,
    JobJoin,
    JobLeaf,
    JobLookup,
    JobProject,
    JobRelation,
    JobTable,
    JobUnion,
    columns_of_leaves,
    leaves_of,
    placeholder,
)
from penstock.frames.job_script import JobPromise
from penstock.model.names import fold
from penstock.spark.frames.catalyst import Catalyst, Node, children, delay_of, items, kind, number_of, output
from penstock.spark.frames.deduplicated_answers import (
    deduplicated,
    reads_others,
    require_alone,
    unread_deduplication,
)
from penstock.spark.frames.expression_texts import ExpressionTexts
from penstock.spark.frames.heartbeats import PASSES, hidden_clock
from penstock.spark.frames.kept_state import holds_state, is_own_state, keeps_function_state, keeps_state
from penstock.spark.frames.leaves import is_left_to_spark, unites_clocks
from penstock.spark.frames.promised_plans import PromisedPlan, is_same
from penstock.spark.frames.read_job import TRANSPARENT, ReadJob, column_of, columns_of
from penstock.spark.frames.source_names import name_of, name_of_table
from penstock.spark.frames.struct_fields import StructFields
from penstock.spark.frames.tables_below import with_table_below
from penstock.spark.frames.unread_nodes import (
    PER_BATCH,
    only_state,
    unread,
    unread_aggregate_hint,
    unread_expression_hint,
    unread_node,
    words_of,
)
from penstock.spark.frames.watermarks_above import require_one_watermark, with_delay
from penstock.spark.frames.window_groups import grouped_window
from penstock.spark.frames.window_times import with_window_times
from penstock.spark.frames.windowed_leaves import LeafWindow, calls, near, windows_of, with_starts, with_times
from penstock.spark.frames.worked_out import WorkedOut, with_clock

_MOVES = ("Repartition", "RepartitionByExpression", "RebalancePartitions")
"""Nodes that say only where rows are worked on."""
_READ_ABOVE_PROMISES = ("Filter", "Project", "Join", "Union", "EventTimeWatermark", "Deduplicate", "Distinct")
_KINDS = {
    "INNER": "INNER",
    "CROSS": "INNER",
    "LEFT OUTER": "LEFT OUTER",
    "RIGHT OUTER": "RIGHT OUTER",
    "FULL OUTER": "FULL OUTER",
    "LEFT SEMI": "LEFT SEMI",
    "LEFT ANTI": "LEFT ANTI",
}

_FLAGS = 10**15
"""Numbers from here on are no expression ids of Spark's."""


@dataclass
class PlanReader:
    """Reads the plan of one DataFrame."""

    catalyst: Catalyst
    promised: Sequence[PromisedPlan] = ()
    """Plans of which something is promised, or that a promise names: each is a leaf of its own."""
    texts: ExpressionTexts = field(init=False)
    fields: StructFields = field(init=False)
    leaves: list[Node] = field(default_factory=list)
    tables: list[Node] = field(default_factory=list)
    """The tables that the answers of joins are looked up in."""
    plan: Node = None
    windows: dict[int, LeafWindow] = field(default_factory=dict)
    """The windows of time among the columns of the leaves."""
    known: ClockColumns = NO_CLOCKS
    """What the columns of the leaves are of their clocks."""
    unsaid: set[int] = field(default_factory=set)
    """Columns that conditions or keys ask for, and that are of a clock, nobody can say how."""
    flags: int = 0
    """How many leaves have a flag for rows that tell the time alone."""

    def __post_init__(self) -> None:
        self.texts = ExpressionTexts(self.catalyst)

    def read(self, plan: Node) -> ReadJob:
        """What the plan of a stream says; raises NotSupportedYet with the place of what cannot be read."""
        self.plan = plan
        self.fields = StructFields(self.catalyst, plan)
        path: list[Node] = []
        node = plan
        while not keeps_state(node) or is_own_state(node) or self._stays_on_top(node, path):
            below = [child for child in children(node) if holds_state(child)]
            if len(below) != 1 or kind(node) == "Union":
                break
            if kind(node) in PER_BATCH:
                raise unread_node(node)
            path.append(node)
            (node,) = below
        if keeps_function_state(node) and not any(map(holds_state, children(node))):
            raise only_state(node)
        if not holds_state(node) or (is_left_to_spark(node) and self._stays_below(node)):
            # Nothing keeps state but what Spark deduplicates: the whole plan is one leaf.
            return ReadJob(self._leaf(plan), tuple(self.leaves), (), plan, (), plan)
        node = self._lifted(node, path)
        relation = self._relation(node)
        while path and isinstance(relation, JobJoin | JobLookup | JobFilter | JobProject):
            above = self._above(path[-1], relation)
            if above is None:
                break
            relation, is_whole = above
            if not is_whole:
                break
            node = path.pop()
        on_top = deduplicated(path)
        if on_top is not None:
            require_alone(on_top, relation, self.leaves)
        unsaid = self._unsaid(relation)
        return ReadJob(
            relation, tuple(self.leaves), self._promises(), node, tuple(path), plan, unsaid, tuple(self.tables)
        )

    def _stays_on_top(self, node: Node, path: Sequence[Node]) -> bool:
        """Whether a node deduplicates the answer of joins, and is put back on it."""
        return deduplicated(path) is None and not is_left_to_spark(node) and reads_others(self.plan, node)

    def _stays_below(self, node: Node) -> bool:
        return reads_others(self.plan, node) and not (self.promised and self._holds_promise(node))

    def _unsaid(self, relation: JobRelation) -> tuple[str, ...]:
        columns = [column for leaf in leaves_of(relation) for column in leaf.columns if column.number in self.unsaid]
        return tuple(dict.fromkeys(column.name for column in columns)) or ("a key",) * bool(self.unsaid)

    def _promises(self) -> tuple[JobPromise, ...]:
        """What is promised of the leaves; a promise about a stream that the job does not read is of no use to it."""
        found = []
        for one in self.promised:
            source = self._promised_source(one.plan)
            for promise in one.promises if source is not None else ():
                other = None if promise.other is None else self._promised_source(self.catalyst.analyzed(promise.other))
                if source is not None and (promise.other is None or other is not None):
                    found.append(JobPromise(source, promise, other))
        return tuple(found)

    def _source_of(self, plan: Node) -> int | None:
        return next((source for source, leaf in enumerate(self.leaves) if leaf.sameResult(plan)), None)

    def _promised_source(self, plan: Node) -> int | None:
        """The leaf that a promise is about, whose columns have the names that it uses."""
        return next((source for source, leaf in enumerate(self.leaves) if is_same(leaf, plan)), None)

    def _is_promised(self, node: Node) -> bool:
        """Whether something is promised of a node, by the names that it has."""
        return any(is_same(node, one.plan) for one in self.promised)

    def _holds_promise(self, node: Node) -> bool:
        return self._is_promised(node) or any(map(self._holds_promise, children(node)))

    def _lifted(self, node: Node, path: list[Node]) -> Node:
        """An inner join on top without the conditions that cannot be read, which become a filter above it."""
        if kind(node) != "Join" or str(node.joinType().sql()) not in ("INNER", "CROSS") or node.condition().isEmpty():
            return node
        read: list[Node] = []
        unread: list[Node] = []
        for condition in self.texts.conjuncts(node.condition().get()):
            (unread if self.texts.text(condition) is None else read).append(condition)
        if not unread:
            return node
        join = self.catalyst.joined(node, read)
        above = self.catalyst.filtered(unread, join)
        # The nodes above stand on what they stood on: each is rebuilt over the new one when the answer is put back.
        path.append(above)
        return join

    def _above(self, node: Node, below: JobRelation) -> tuple[JobRelation, bool] | None:
        """A node over the region as part of it, and whether it is so as a whole; None if nothing of it can be read."""
        if kind(node) in TRANSPARENT:
            return below, True
        if kind(node) == "Filter":
            conditions = self.texts.conjuncts(node.condition())
            found = [text for condition in conditions if (text := self.texts.text(condition)) is not None]
            if not found:
                return None
            return JobFilter(below, self._asked(found, below)), len(found) == len(conditions)
        if kind(node) == "Project":
            outputs = [(column_of(one), self.texts.text(one)) for one in items(node.projectList())]
            read = tuple((column, text) for column, text in outputs if text is not None)
            return (projected(below, read, self.known), True) if len(read) == len(outputs) else None
        return None

    def _relation(self, node: Node) -> JobRelation:
        if is_left_to_spark(node) and (
            self._is_promised(node) or not (unites_clocks(node) or (self.promised and self._holds_promise(node)))
        ):
            return self._leaf(node)
        if kind(node) in (*TRANSPARENT, *_MOVES):
            return self._relation(children(node)[0])
        match kind(node):
            case _ if self._is_above_promise(node) and kind(node) not in _READ_ABOVE_PROMISES:
                raise self._unread_above_promise(node)
            case "Filter":
                conditions = tuple(self._needed(part, node) for part in self.texts.conjuncts(node.condition()))
                below = self._relation(node.child())
                return JobFilter(below, self._asked(conditions, below))
            case "Project":
                return self._project(node)
            case "Join":
                return self._join(node)
            case "Aggregate":
                return self._aggregate(node)
            case "EventTimeWatermark":
                if not holds_state(node):
                    require_one_watermark(node)
                below = self._relation(node.child())
                number = number_of(node.eventTime())
                found = with_delay(below, number, next(delay_of(o) for o in output(node) if number_of(o) == number))
                if found is None and not holds_state(node):
                    raise unread(
                        node,
                        "withWatermark above a filter above what is promised",
                        "put withWatermark before the filter, or promise it of what withWatermark gives",
                    )
                if found is None:
                    raise unread_node(node)
                return found
            case "Distinct":
                return JobDistinct(self._relation(node.child()))
            case "Deduplicate":
                return self._distinct(node)
            case "Union":
                return JobUnion(tuple(map(self._relation, children(node))), tuple(map(column_of, output(node))))
            case _:
                raise unread_node(node)

    def _is_above_promise(self, node: Node) -> bool:
        """Whether a node would be left to Spark, if nothing were promised of what it stands on."""
        return bool(self.promised) and is_left_to_spark(node) and self._holds_promise(node)

    def _unread_above_promise(self, node: Node) -> NotSupportedYet:
        words = words_of(node)
        return unread(node, f"{words} above what is promised", f"promise it of what {words} gives")

    def _leaf(self, plan: Node) -> JobLeaf | JobFilter:
        require_one_watermark(plan)
        promised = [one for one in self.promised if is_same(plan, one.plan)]
        if not promised:
            timed = with_times(plan, self.catalyst, self.texts)
            plan = self.fields.given_by(with_clock(timed, self.catalyst))
            found = windows_of(plan, self.texts)
            plan = with_starts(plan, self.catalyst, found)
            self.windows |= found
        columns = columns_of(plan)
        ordered = {fold(p.ordered) for one in promised for p in one.promises if p.ordered is not None}
        clocks = frozenset(c.number for c in columns if c.delay is not None or fold(c.name) in ordered)
        if clocks:
            self.known |= WorkedOut(plan, self.texts, clocks).columns()
        source = self._source_of(plan)
        if source is None:
            self.leaves.append(plan)
            source = len(self.leaves) - 1
        leaf = JobLeaf(source, name_of(self.leaves[source]), columns)
        if hidden_clock(plan) is None or promised:
            return leaf
        self.flags += 1
        flag = JobColumn(_FLAGS + self.flags, PASSES, "BOOLEAN")
        return JobFilter(replace(leaf, columns=(*columns, flag)), (JobExpression.of(flag),))

    def _project(self, node: Node) -> JobRelation:
        shown = items(node.projectList())
        below, times = with_window_times(self._relation(node.child()), shown)
        outputs = ((column_of(one), times.get(number_of(one)) or self._needed(one, node)) for one in shown)
        return projected(below, tuple(outputs), self.known)

    def _join(self, node: Node) -> JobRelation:
        written = str(node.joinType().sql())
        if written not in _KINDS:
            raise unread(node, f"a {written} join of streams")
        left, right = children(node)
        if not (left.isStreaming() and right.isStreaming()):
            below = with_table_below(self.catalyst, node)
            if below is not None and not below.equals(node):
                return self._relation(below)
            if below is not None:
                raise unread(
                    node,
                    "a join with a table above what is promised",
                    "promise it of what that join gives, or join the table after the streams",
                )
            return self._lookup(node, written)
        condition = node.condition()
        sides = self._relation(left), self._relation(right)
        known = {column.number for side in sides for column in side.columns}
        asked = self.texts.conjuncts(self.fields.said(condition.get(), known)) if condition.isDefined() else []
        on = tuple(self._needed(part, node) for part in asked)
        same = columns_of_leaves(sides[0]) | columns_of_leaves(sides[1])
        told = [
            near(part, self.windows, same) or self._asked((text,), *sides) for part, text in zip(asked, on, strict=True)
        ]
        return JobJoin(_KINDS[written], *sides, tuple(text for texts in told for text in texts))

    def _lookup(self, node: Node, written: str) -> JobRelation:
        """A join with a table by columns of several streams, which Spark makes with their answer."""
        left, right = children(node)
        stream, table = (left, right) if left.isStreaming() else (right, left)
        looked_up = ("INNER", "CROSS", "LEFT OUTER", "LEFT SEMI", "LEFT ANTI")
        if written not in (looked_up if stream is left else ("INNER", "CROSS", "RIGHT OUTER")):
            raise unread(node, f"a {written} join that keeps the rows of a table")
        below = self._relation(stream)
        condition = node.condition()
        asked = self.texts.conjuncts(condition.get()) if condition.isDefined() else []
        on = self._asked([self._needed(part, node) for part in asked], below)
        self.tables.append(table)
        told = JobTable(len(self.tables), name_of_table(table), tuple(map(column_of, output(table))))
        return JobLookup(
            "LEFT OUTER" if stream is right and written == "RIGHT OUTER" else _KINDS[written], below, told, on
        )

    def _aggregate(self, node: Node) -> JobRelation:
        child = node.child()
        found = grouped_window(node, self.texts)
        names: dict[int, str] = {}
        if found is not None:
            names, child, conditions = {found.number: found.text.text}, found.child, found.conditions
        below = self._relation(child)
        if found is not None and conditions:
            below = JobFilter(below, conditions)
        known = clock_columns(below, self.known)
        keyed = {number_of(key) for key in items(node.groupingExpressions()) if kind(key) == "AttributeReference"}
        names |= calls(self.windows, columns_of_leaves(below) & keyed, known.clocks)

        def grouped(expression: Node) -> JobExpression:
            """A key or an aggregate; a window of time in it as the call that it is."""
            text = known.said(self._needed(expression, node))
            return JobExpression(text.spelt({number: placeholder(number) for number in text.columns} | names))

        keys = [grouped(key) for key in items(node.groupingExpressions())]
        self._asked(keys, below)
        outputs = [(column_of(one), grouped(one)) for one in items(node.aggregateExpressions())]
        return JobAggregate(below, tuple(keys), tuple(outputs))

    def _asked(self, texts: Sequence[JobExpression], *below: JobRelation) -> tuple[JobExpression, ...]:
        """Conditions or keys over some relations: they read clocks where they read what is worked out of these."""
        known = NO_CLOCKS
        for relation in below:
            known |= clock_columns(relation, self.known)
        for text in texts:
            self.unsaid |= known.unsaid(text)
        return tuple(map(known.said, texts))

    def _distinct(self, node: Node) -> JobRelation:
        if reads_others(self.plan, node):
            raise self._unread_above_promise(node) if self._is_above_promise(node) else unread_deduplication(node)
        keys = {number_of(key) for key in items(node.keys())}
        shown = [attribute for attribute in output(node) if number_of(attribute) in keys]
        # Of rows that agree on these columns any may be kept: they are all that is read of it.
        columns = tuple((column_of(one), JobExpression.of(column_of(one))) for one in shown)
        return JobDistinct(projected(self._relation(node.child()), columns, self.known))

    def _needed(self, expression: Node, node: Node) -> JobExpression:
        text = self.texts.text(expression)
        if text is None:
            hint = unread_expression_hint(expression)
            if kind(node) == "Aggregate":
                hint = unread_aggregate_hint(expression)
            if self._is_above_promise(node):
                hint = "promise it of what this gives: what is promised is read from there on"
            raise unread(node, f"the expression {expression.sql()}", hint, expression)
        return text
