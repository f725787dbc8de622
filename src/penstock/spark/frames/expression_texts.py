"""Spark's expressions as text, each only if Spark reads the text as the same expression.

An expression is written by Spark itself (`sql`), with a placeholder for each column, and read again by Spark over a
relation that has these columns, under the ids that they have in the plan. The text is good if what Spark reads is
semantically equal to the expression that was written: same functions, same types, same columns. So whatever has no
text of its own (functions of the user's, what only plans can say) is told apart without a list of it.

Casts between whole numbers, and between lengths of time, that Spark put there itself are left out first, since Spark
puts them there again: whoever reads the text then sees a column compared with a column. Where that is not the same,
they stay.

Some Spark writes as no text that it reads, or as one that says more: lambdas (`transform(items, x -> …)`) and
percentiles are written here, in the place of a variable that stands for them.

Not taken: what is random or reads a clock, what Spark only approximates, queries within expressions, functions of the
user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

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
        for plain in (True, False):
            try:
                text = _Spelling(self, plain).text(expression)
            except Py4JError:
                return None  # a node that takes no other children than its own
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
        return [self.placed(attribute) for attribute in known.values()]

    def _expanded(self, expression: Node, known: dict[int, Node]) -> Node:
        """The expression without the forms that only stand for another: BETWEEN, dropna, a part that is named once.

        What is named once is evaluated once; of a deterministic expression that is no matter.
        """
        if kind(expression) == "Alias":
            return self._expanded(expression.child(), known)  # within another: of a field of a struct
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

    def placed(self, attribute: Node) -> Node:
        """An attribute under its placeholder."""
        return attribute.withName(placeholder(number_of(attribute))).withQualifier(self.catalyst.seq(()))


@dataclass
class _Spelling:
    """One way to write an expression over placeholders."""

    texts: ExpressionTexts
    plain: bool
    """Without casts that change nothing, or that Spark adds."""
    written: dict[str, str] = field(default_factory=dict)
    """What is written in the place of variables."""
    variables: dict[int, str] = field(default_factory=dict)
    """The names of their own variables, by the order in which they stand: the same in each run of a job."""

    def text(self, expression: Node) -> str:
        """The text of it."""
        shown = str(self._spelt(expression).sql())
        # What stands within another is noted before it.
        for name, text in reversed(self.written.items()):
            shown = shown.replace(name, text)
        return shown

    def _spelt(self, expression: Node) -> Node:
        match kind(expression):
            case "AttributeReference":
                return self.texts.placed(expression)
            case "NamedLambdaVariable":
                return self.texts.catalyst.variable(self._named(expression))
            case "LambdaFunction":
                return self._lambda(expression)
            case "AggregateExpression" if (share := _share(expression)) is not None:
                of = children(expression.aggregateFunction())[0]
                return self._instead(f"percentile({self._spelt(of).sql()}, {share})")
            case "Cast" if self.plain and _is_no_matter(expression):
                return self._spelt(children(expression)[0])
        below = [self._spelt(child) for child in children(expression)]
        if kind(expression) == "CreateNamedStruct":
            # As `struct(a, b)` it would have the names of the placeholders.
            return self.texts.catalyst.struct(below)
        return expression.withNewChildren(self.texts.catalyst.seq(below)) if below else expression

    def _lambda(self, function: Node) -> Node:
        names = list(map(self._named, items(function.arguments())))
        body = str(self._spelt(function.function()).sql())
        return self._instead(f"{names[0] if len(names) == 1 else '(' + ', '.join(names) + ')'} -> {body}")

    def _instead(self, text: str) -> Node:
        """A variable in the place of which a text is written."""
        name = f"penstock_text_{len(self.written)}_"
        self.written[name] = text
        return self.texts.catalyst.variable(name)

    def _named(self, variable: Node) -> str:
        return self.variables.setdefault(number_of(variable), f"each_{len(self.variables) + 1}")


def _share(aggregate: Node) -> str | None:
    """The share that a percentile is asked for, as people write it; None of others, and where rows count not once."""
    function = aggregate.aggregateFunction()
    if kind(function) != "Percentile" or aggregate.isDistinct() or aggregate.filter().isDefined():
        return None
    _, share, times = children(function)[:3]
    if kind(times) != "Literal" or str(times.value()) != "1":
        return None
    number = children(share)[0] if kind(share) == "Cast" else share
    if kind(number) != "Literal":
        return None
    return str(number.value()) if kind(share) == "Cast" else str(number.sql())


def _is_no_matter(cast: Node) -> bool:
    """Whether a cast changes nothing, or is one that Spark puts there itself."""
    types = (str(children(cast)[0].dataType().simpleString()), str(cast.dataType().simpleString()))
    is_length = all(one.startswith("interval ") for one in types)
    return types[0] == types[1] or is_length or all(one in _WHOLE for one in types)


def parts(expression: Node) -> list[Node]:
    """An expression and all that it is made of."""
    return [expression, *(part for child in children(expression) for part in parts(child))]
