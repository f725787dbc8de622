"""Which sub-plans are left to Spark as streams: they keep no state, or none but that of deduplication.

Such a one gives a row at once or never, so that what its input promises holds of it. A union of streams with watermarks
is none: each member keeps its own clock.
"""

from __future__ import annotations

from penstock.spark.frames.catalyst import Node, children, kind
from penstock.spark.frames.deduplications import DEDUPLICATIONS
from penstock.spark.frames.kept_state import keeps_state


def is_left_to_spark(node: Node) -> bool:
    """Whether a sub-plan keeps no state, or none but that of deduplication: it gives rows at once or never."""
    kept = keeps_state(node) and kind(node) not in DEDUPLICATIONS
    return not kept and all(map(is_left_to_spark, children(node)))


def unites_clocks(node: Node) -> bool:
    """Whether a union stands above watermarks: the clock of such a stream is the least of its members'."""
    if kind(node) == "Union" and any(_has(child, "EventTimeWatermark") for child in children(node)):
        return True
    return any(map(unites_clocks, children(node)))


def _has(node: Node, wanted: str) -> bool:
    return kind(node) == wanted or any(_has(child, wanted) for child in children(node))
