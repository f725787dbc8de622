"""What the columns of a leaf are of its clock, as far as a plan says: each as text over columns that the leaf gives.

Columns are worked out in projections below; one that reads a column with a watermark is told over that, however many
projections lie in between. Where the leaf does not give the clock, it is given it too (`select("k",
date_trunc("hour", "ts"))`): nothing is lost by a column more. What cannot be written as text, such as a function of the
user's, is noted as being of the clock, nobody knows how.
"""

from __future__ import annotations

from penstock.frames.clock_columns import ClockColumns
from penstock.frames.job_relations import JobExpression
from penstock.spark.frames.catalyst import Catalyst, Node, children, items, kind, number_of, output
from penstock.spark.frames.expression_texts import ExpressionTexts, parts
from penstock.spark.frames.given_clocks import given_clocks

_COLUMN = "AttributeReference"
_PASSED_THROUGH = (
    "Filter",
    "SubqueryAlias",
    "ResolvedHint",
    "View",
    "EventTimeWatermark",
    "Repartition",
    "RepartitionByExpression",
    "RebalancePartitions",
)
"""Nodes that give the columns below them."""
_KEEP_COLUMNS = ("Project", "Join", "Generate", "Deduplicate", "DeduplicateWithinWatermark")
"""Nodes whose columns from below are as they were there."""


class WorkedOut:
    """The columns of one leaf."""

    def __init__(self, plan: Node, texts: ExpressionTexts, clocks: frozenset[int]) -> None:
        self.texts = texts
        self.given = {number_of(attribute): attribute for attribute in output(plan)}
        self.clocks = clocks
        self.made = _made(plan)
        self.same = {self._origin(number): attribute for number, attribute in reversed(self.given.items())}
        self.origins = {self._origin(clock): self.given[clock] for clock in sorted(clocks & self.given.keys())}

    def columns(self) -> ClockColumns:
        """What is known of them."""
        found: dict[int, JobExpression | None] = {}
        for number in self.given.keys() - self.clocks:
            made = self.made.get(self._origin(number))
            if made is not None and self._reads_clock(made):
                found[number] = self._text(made)
        return ClockColumns(self.clocks & self.given.keys(), found)

    def _origin(self, number: int) -> int:
        """The column that one is, under whichever name."""
        made = self.made.get(number)
        return self._origin(number_of(made)) if made is not None and kind(made) == "AttributeReference" else number

    def _reads_clock(self, expression: Node) -> bool:
        return any(self._is_of_clock(number_of(part)) for part in parts(expression) if kind(part) == _COLUMN)

    def _is_of_clock(self, number: int) -> bool:
        origin = self._origin(number)
        made = self.made.get(origin)
        return origin in self.origins or (made is not None and self._reads_clock(made))

    def _text(self, expression: Node) -> JobExpression | None:
        told = self._over_given(expression)
        if told is None or str(told.dataType().typeName()) in ("struct", "array", "map", "variant"):
            return None
        return self.texts.text(told)

    def _over_given(self, expression: Node) -> Node | None:
        """The expression over columns that the leaf gives."""
        if kind(expression) == _COLUMN:
            origin = self._origin(number_of(expression))
            made = self.made.get(origin)
            if origin in self.origins:
                return self.origins[origin]
            if origin in self.same and (made is None or not self._reads_clock(made)):
                return self.same[origin]
            return None if made is None else self._over_given(made)
        below: list[Node] = [self._over_given(child) for child in children(expression)]
        if any(one is None for one in below):
            return None
        if kind(expression) == "GetStructField" and kind(below[0]) == "CreateNamedStruct":
            return items(below[0].valExprs())[int(expression.ordinal())]
        return expression.withNewChildren(self.texts.catalyst.seq(below)) if below else expression


def _made(plan: Node) -> dict[int, Node]:
    """The expressions of the columns that projections below work out, as far as every row comes that way.

    Not below a union, whose columns Spark knows by the ids that they have in its first member; nor in a table, whose
    columns a join may fill with NULLs.
    """
    found: dict[int, Node] = {}
    node = plan
    while True:
        if kind(node) == "Project":
            found |= {number_of(one): one.child() for one in items(node.projectList()) if kind(one) == "Alias"}
        below = [child for child in children(node) if child.isStreaming()]
        if kind(node) not in (*_PASSED_THROUGH, *_KEEP_COLUMNS) or len(below) != 1:
            return found
        (node,) = below


def with_clock(plan: Node, catalyst: Catalyst) -> Node:
    """The leaf with the column that has a watermark, where it gives none but what is worked out of it."""
    if given_clocks(plan):
        return plan
    mark = plan
    while kind(mark) != "EventTimeWatermark":
        if kind(mark) not in (*_PASSED_THROUGH, "Project"):
            return plan
        (mark,) = children(mark)
    number = number_of(mark.eventTime())
    made = _made(plan)

    def reads(column: int) -> bool:
        """Whether a column is the clock, or worked out of it in one step or in several."""
        if column == number or column not in made:
            return column == number
        return any(reads(number_of(part)) for part in parts(made[column]) if kind(part) == _COLUMN)

    return exposing(plan, number, catalyst) if any(reads(number_of(one)) for one in output(plan)) else plan


def exposing(plan: Node, number: int, catalyst: Catalyst) -> Node:
    """The plan with a column of what it stands on; as it is where the column cannot be handed up to it."""
    if any(number_of(one) == number for one in output(plan)) or kind(plan) not in (*_PASSED_THROUGH, "Project"):
        return plan
    (child,) = children(plan)
    below = exposing(child, number, catalyst)
    column = next((one for one in output(below) if number_of(one) == number), None)
    if column is None:
        return plan
    if kind(plan) == "Project":
        return catalyst.project([*items(plan.projectList()), column], below)
    return plan.withNewChildren(catalyst.seq([below]))
