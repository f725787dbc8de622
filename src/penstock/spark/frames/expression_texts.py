"""Spark's expressions as text, each only if Spark reads the text as the same expression.

An expression is written by Spark itself (`sql`), with a placeholder for each column, and read again by Spark over a
relation that has these columns, under the ids that they have in the plan. The text is good if what Spark reads is
semantically equal to the expression that was written: same functions, same types, same columns. So whatever has no
text of its own (functions of the user's, what only plans can say) is told apart without a list of it.

Casts between whole numbers, and between lengths of time, that Spark put there itself are left out first, since Spark
puts them there again: whoever reads the text then sees a column compared with a column. Where that is not the same,
they stay.

Not taken: what is random or reads a clock, what Spark only approximates, queries within expressions, functions of the
user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.frames.job_relations import JobExpression, placeholder
from penstock.spark.frames.catalyst import Catalyst, Node, children, items, kind, number_of

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_OPAQUE = ("PythonUDF", "ScalaUDF", "ScalaAggregator", "PythonUDAF", "ScalaUDAF", "HiveSimpleUDF", "HiveGenericUDF")
_APPROXIMATE = ("HyperLogLogPlusPlus", "ApproximatePercentile", "ApproxTopK")
_CLOCKS = ("CurrentTimestamp", "Now", "LocalTimestamp", "CurrentDate", "CurrentTime", "CurrentBatchTimestamp")
_QUERIES = ("ScalarSubquery", "Exists", "InSubquery", "ListQuery", "LateralSubquery", "OuterReference")
_UNWRITTEN = frozenset((*_OPAQUE, *_APPROXIMATE, *_CLOCKS, *_QUERIES))


class ExpressionTexts:
    """Writes the expressions of one plan."""

    def __init__(self, catalyst: Catalyst) -> None:
        self.catalyst = catalyst

    def text(self, expression: Node) -> JobExpression | None:
        """The expression as text; None if no text says the same."""
        if kind(expression) == "Alias":
            expression = expression.child()
        if not expression.deterministic() or any(kind(part) in _UNWRITTEN for part in parts(expression)):
            return None
        expression = self._expanded(expression, {})
        attributes = [part for part in parts(expression) if kind(part) == "AttributeReference"]
        for shown in (self._spelt(expression, plain=True), self._spelt(expression, plain=False)):
            text = str(shown.sql())
            if self.means(text, attributes, expression):
                return JobExpression(text)
        return None

    def conjuncts(self, condition: Node) -> list[Node]:
        """The parts of a condition that must all hold."""
        condition = self._expanded(condition, {})
        if kind(condition) != "And":
            return [condition]
        return [part for side in children(condition) for part in self.conjuncts(side)]

    def means(self, text: str, attributes: Sequence[Node], expression: Node) -> bool:
        """Whether Spark reads a text over these attributes as that expression."""
        plan = self.catalyst.selected(self.renamed(attributes), f"({text}) AS shown")
        if plan is None or kind(plan) not in ("Project", "Aggregate"):
            return False
        (shown,) = items(plan.expressions())[-1:] if kind(plan) == "Project" else items(plan.aggregateExpressions())
        return bool(shown.child().semanticEquals(expression))

    def renamed(self, attributes: Iterable[Node]) -> list[Node]:
        """Each attribute once, under its placeholder."""
        known = {number_of(attribute): attribute for attribute in attributes}
        return [self._placed(attribute) for attribute in known.values()]

    def _expanded(self, expression: Node, known: dict[int, Node]) -> Node:
        """The expression without the forms that only stand for another: BETWEEN, dropna, a part that is named once.

        What is named once is evaluated once; of a deterministic expression that is no matter.
        """
        if self.catalyst.is_a(expression, "InheritAnalysisRules"):
            return self._expanded(children(expression)[0], known)
        if kind(expression) == "With":
            named = {int(one.id().id()): self._expanded(one.child(), known) for one in items(expression.defs())}
            return self._expanded(expression.child(), known | named)
        if kind(expression) == "CommonExpressionRef" and int(expression.id().id()) in known:
            return known[int(expression.id().id())]
        if kind(expression) == "AtLeastNNonNulls" and int(expression.n()) == len(children(expression)):
            return self._expanded(self.catalyst.none_missing(children(expression)), known)
        below = [self._expanded(child, known) for child in children(expression)]
        return expression.withNewChildren(self.catalyst.seq(below)) if below else expression

    def _placed(self, attribute: Node) -> Node:
        return attribute.withName(placeholder(number_of(attribute))).withQualifier(self.catalyst.seq(()))

    def _spelt(self, expression: Node, plain: bool) -> Node:
        """The expression over placeholders; `plain` is without casts that change nothing or that Spark adds."""
        if kind(expression) == "AttributeReference":
            return self._placed(expression)
        if plain and kind(expression) == "Cast":
            below = children(expression)[0]
            types = (str(below.dataType().simpleString()), str(expression.dataType().simpleString()))
            is_length = all(one.startswith("interval ") for one in types)
            if types[0] == types[1] or is_length or all(one in _WHOLE for one in types):
                return self._spelt(below, plain)
        below = [self._spelt(child, plain) for child in children(expression)]
        return expression.withNewChildren(self.catalyst.seq(below)) if below else expression


def parts(expression: Node) -> list[Node]:
    """An expression and all that it is made of."""
    return [expression, *(part for child in children(expression) for part in parts(child))]
