"""Which nodes of a plan keep state: rows of a stream to remember, its end to wait for, or what a function remembers.

A node that Spark knows and this list does not is taken as one that keeps none: it is left to Spark, below or on top.
"""

from __future__ import annotations

from penstock.spark.frames.catalyst import Node, children, kind
from penstock.spark.frames.deduplications import DEDUPLICATIONS

_FUNCTIONS = ("FlatMapGroupsWithState", "FlatMapGroupsInPandasWithState")
_PROCESSORS = ("TransformWithState", "TransformWithStateInPySpark")
_STATEFUL = (
    *_FUNCTIONS,
    *_PROCESSORS,
    "GlobalLimit",
    "LocalLimit",
    "Sort",
    "Window",
    "Intersect",
    "Except",
    "Sample",
    "Offset",
    "Tail",
)


def keeps_state(node: Node) -> bool:
    """Whether a node itself needs to remember rows of a stream, or its end."""
    if not node.isStreaming():
        return False
    if kind(node) != "Union" and sum(child.isStreaming() for child in children(node)) > 1:
        return True
    return kind(node) in ("Aggregate", "Distinct", *DEDUPLICATIONS, *_STATEFUL)


def holds_state(node: Node) -> bool:
    """Whether a node, or what it stands on, keeps state."""
    return keeps_state(node) or any(map(holds_state, children(node)))


def keeps_function_state(node: Node) -> bool:
    """Whether a node is a function of the user's with a state of its own."""
    return kind(node) in (*_FUNCTIONS, *_PROCESSORS)


def is_own_state(node: Node) -> bool:
    """Whether a node is a function of the user's with a state of its own that asks for no event time.

    It may stand on top of the answer, which has no watermark: nothing is late to it.
    """
    if kind(node) in _FUNCTIONS:
        return str(node.timeout()) in ("NoTimeout", "ProcessingTimeTimeout")
    return kind(node) in _PROCESSORS and str(node.timeMode()) in ("NoTime", "ProcessingTime")
