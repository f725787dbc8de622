"""Rows that carry several event times into state of Spark's: it does not start such a query.

Spark purges what a join, a group or a deduplication keeps by the one watermark of the rows that come to it, and where
two of their columns have one (MULTIPLE_EVENT_TIME_COLUMNS), as after a join of two streams, it fails when the query
starts. Which columns come is known only after those that nobody reads are left out: so the plan is asked as Spark's
optimizer leaves it. What Penstock joins and groups itself may carry as many as it likes.
"""

from __future__ import annotations

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.spark.frames.catalyst import WATERMARK, Node, children, items, kind, no_log_of_errors, number_of, output
from penstock.spark.frames.kept_state import keeps_state

_ALLOWED = "spark.sql.streaming.statefulOperator.allowMultiple"
"""Where it is false Spark takes the first of several times, and no second node that keeps state."""


def several_event_times(session: SparkSession, plan: Node) -> tuple[str, ...]:
    """The columns with a watermark that rows carry into the same state of a plan; none if Spark starts it."""
    if str(session.conf.get(_ALLOWED, "true")).lower() == "false":
        return ()
    with no_log_of_errors():
        try:
            return _met(session._jsparkSession.sessionState().optimizer().execute(plan))
        except (PySparkException, Py4JError):
            return ()  # what Spark cannot make a plan of, it tells itself


def _met(node: Node) -> tuple[str, ...]:
    below = [child for child in children(node) if child.isStreaming()]
    if keeps_state(node):
        sides = [items(node.groupingExpressions())] if kind(node) == "Aggregate" else map(output, below)
        for side in sides:
            marked = (one for one in side if kind(one) == "AttributeReference" and one.metadata().contains(WATERMARK))
            times = {number_of(one): str(one.name()) for one in marked}
            if len(times) > 1:
                return tuple(times.values())
    return next(filter(None, map(_met, below)), ())
