"""Spark's plans from Python: the few calls that reading and rebuilding them takes.

All of it is through Spark's own classes, over py4j: a plan is a tree of nodes, each with children, output attributes
and expressions; every attribute has an expression id, by which it is known wherever it is named.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import is_instance_of  # type: ignore[import-untyped]
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession

Node = Any
"""A plan or an expression of Spark's."""

WATERMARK = "spark.watermarkDelayMs"
"""Where Spark notes the delay of a watermark, with the attribute."""
_SHOWN = 60
"""Characters of SQL that a place shows."""
_TIMES = ("timestamp", "timestamp_ntz")
"""What a clock may be; Spark also notes it with windows of such a column."""


class Catalyst:
    """The JVM's side of one session."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        jvm: Any = session.sparkContext._jvm
        self._jvm = jvm
        self._sql = jvm.org.apache.spark.sql
        self._nothing = jvm.scala.Option.empty()

    def analyzed(self, frame: DataFrame) -> Node:
        """The plan of a DataFrame with names and types known; queries that WITH names stand where they are used."""
        plan = frame._jdf.queryExecution().analyzed()
        return self._always_inlined().apply(plan)

    def _always_inlined(self) -> Node:
        """The rule that puts what WITH names where it is used; Spark 4.1 asks it for fewer things than 4.3 does."""
        rule = self._jvm.java.lang.Class.forName("org.apache.spark.sql.catalyst.optimizer.InlineCTE")
        others = rule.getConstructors()[0].getParameterCount() - 1
        return self._sql.catalyst.optimizer.InlineCTE(True, *[False] * others)

    def frame(self, plan: Node) -> DataFrame:
        """A plan as a DataFrame."""
        return DataFrame(self._sql.classic.Dataset.ofRows(self.session._jsparkSession, plan), self.session)

    def seq(self, items: Iterable[Node]) -> Node:
        """A Scala Seq."""
        return self._jvm.PythonUtils.toSeq(list(items))

    def alias(self, expression: Node, name: str, attribute: Node) -> Node:
        """An expression under a name, known as that attribute is."""
        empty = self.seq(())
        make = self._sql.catalyst.expressions.Alias
        return make(expression, name, attribute.exprId(), empty, self._nothing, empty)

    def project(self, expressions: Sequence[Node], child: Node) -> Node:
        """A projection."""
        return self._sql.catalyst.plans.logical.Project(self.seq(expressions), child)

    def field(self, struct: Node, place: int, name: str, alias: str) -> Node:
        """A field of a struct under a name, as a column that no plan had before."""
        return self.named(
            self._sql.catalyst.expressions.GetStructField(struct, place, self._jvm.scala.Some(name)), alias
        )

    def named(self, expression: Node, alias: str) -> Node:
        """An expression under a name, as a column that no plan had before."""
        make = self._sql.catalyst.expressions
        empty = self.seq(())
        return make.Alias(expression, alias, make.NamedExpression.newExprId(), empty, self._nothing, empty)

    def variable(self, name: str) -> Node:
        """The variable of a lambda, before anyone knows its type."""
        return self._sql.catalyst.expressions.UnresolvedNamedLambdaVariable(self.seq([name]))

    def struct(self, names_and_values: Sequence[Node]) -> Node:
        """A struct that is written with the names of its fields."""
        return self._sql.catalyst.expressions.CreateNamedStruct(self.seq(names_and_values))

    def filtered(self, conditions: Sequence[Node], child: Node) -> Node:
        """A filter by all of some conditions."""
        return self._sql.catalyst.plans.logical.Filter(self._all(conditions), child)

    def joined(self, join: Node, conditions: Sequence[Node]) -> Node:
        """A join with other conditions."""
        left, right = children(join)
        on = self._jvm.scala.Some(self._all(conditions)) if conditions else self._nothing
        return self._sql.catalyst.plans.logical.Join(left, right, join.joinType(), on, join.hint())

    def none_missing(self, values: Sequence[Node]) -> Node:
        """That none of some values is NULL or, of floating-point numbers, NaN."""
        make = self._sql.catalyst.expressions
        asked = [make.IsNotNull(value) for value in values]
        floating = (one for one in values if str(one.dataType().simpleString()) in ("float", "double"))
        return self._all([*asked, *(make.Not(make.IsNaN(one)) for one in floating)])

    def _all(self, conditions: Sequence[Node]) -> Node:
        first, *rest = conditions
        for condition in rest:
            first = self._sql.catalyst.expressions.And(first, condition)
        return first

    def relation(self, attributes: Sequence[Node]) -> Node:
        """A relation without rows that has these attributes."""
        local = self._sql.catalyst.plans.logical.LocalRelation
        return local(self.seq(attributes), self.seq(()), False, self._nothing)

    def selected(self, attributes: Sequence[Node], text: str) -> Node | None:
        """The plan of a SELECT of one expression over these attributes; None if Spark cannot make sense of it."""
        state = self.session._jsparkSession.sessionState()
        with no_log_of_errors():
            try:
                written = state.sqlParser().parsePlan(f"SELECT {text}")
                plan = state.analyzer().execute(written.withNewChildren(self.seq([self.relation(attributes)])))
            except (PySparkException, Py4JError):
                return None
        return plan if plan.resolved() else None

    def is_a(self, node: Node, name: str) -> bool:
        """Whether a node is of a class or trait of Spark's expressions."""
        wanted = f"org.apache.spark.sql.catalyst.expressions.{name}"
        return bool(is_instance_of(self.session.sparkContext._gateway, node, wanted))


@contextmanager
def no_log_of_errors() -> Iterator[None]:
    """PySpark logs every error of SQL that it passes on, also one that is an answer to us."""
    # Asked for as PySpark does: one of another class would fail when PySpark logs its next error.
    loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was


def items(sequence: Node) -> list[Node]:
    """The elements of a Scala Seq."""
    return [sequence.apply(place) for place in range(sequence.size())]


def children(node: Node) -> list[Node]:
    """What a node stands on."""
    return items(node.children())


def output(plan: Node) -> list[Node]:
    """The attributes that a plan gives."""
    return items(plan.output())


def kind(node: Node) -> str:
    """The name of a node's class."""
    return str(node.getClass().getSimpleName()).rstrip("$")


def conjuncts(condition: Node) -> list[Node]:
    """The parts of a condition that must all hold."""
    if kind(condition) != "And":
        return [condition]
    return [part for side in children(condition) for part in conjuncts(side)]


def number_of(attribute: Node) -> int:
    """What an attribute is known by."""
    return int(attribute.exprId().id())


def delay_of(attribute: Node) -> int | None:
    """The milliseconds of a watermark on it."""
    metadata = attribute.metadata()
    if not metadata.contains(WATERMARK) or str(attribute.dataType().simpleString()) not in _TIMES:
        return None
    return int(metadata.getLong(WATERMARK))


def place_of(node: Node) -> str | None:
    """Where in the job a node or an expression comes from, as far as Spark knows: a file and line, or a line of SQL."""
    origins = [one.origin() for one in (node, *_expressions(node))]
    contexts = (origin.pysparkErrorContext() for origin in origins)
    in_file = next((str(context.get()._2()) for context in contexts if context.isDefined()), None)
    if in_file is not None:
        return in_file
    for origin in origins:
        if origin.sqlText().isDefined() and origin.line().isDefined():
            number = int(origin.line().get())
            written = str(origin.sqlText().get()).splitlines()[number - 1 : number]
            shown = textwrap.shorten(" ".join(written), _SHOWN, placeholder=" …")
            return f"line {number} of the SQL: {shown}"
    return None


def nearest_place(node: Node) -> str | None:
    """The place of the nearest node below that has one."""
    level = [child for child in children(node) if child.isStreaming()]
    while level:
        for one in level:
            if (place := place_of(one)) is not None:
                return place
        level = [child for one in level for child in children(one) if child.isStreaming()]
    return None


def _expressions(node: Node) -> list[Node]:
    """The expressions of a node with all that they are made of; those that an expression is made of."""
    try:
        own = items(node.expressions())
    except Py4JError:
        own = children(node)  # an expression itself
    return [part for one in own for part in (one, *_expressions(one))]
