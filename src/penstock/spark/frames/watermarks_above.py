"""Watermarks that stand above what was read: put where their columns come from; and one a stream, as Spark has it."""

from __future__ import annotations

from dataclasses import replace

from penstock.frames.job_relations import JobLeaf, JobProject, JobRelation
from penstock.spark.frames.catalyst import Node, children, kind
from penstock.spark.frames.unread_nodes import unread


def require_one_watermark(plan: Node) -> None:
    """Raise NotSupportedYet where a stream has a watermark above another: Spark, too, refuses to run that."""
    if kind(plan) == "EventTimeWatermark" and any(_has_watermark(child) for child in children(plan)):
        raise unread(
            plan,
            "a second withWatermark on one stream",
            "keep one of them, on the time that the job joins or groups by: Spark, too, runs no query with a "
            "watermark that is defined twice",
        )
    for child in children(plan):
        if child.isStreaming():
            require_one_watermark(child)


def _has_watermark(plan: Node) -> bool:
    return plan.isStreaming() and (kind(plan) == "EventTimeWatermark" or any(map(_has_watermark, children(plan))))


def with_delay(relation: JobRelation, number: int, delay: int | None) -> JobRelation | None:
    """The relation whose leaf has the watermark that a node above it puts on a column, renamed or not."""
    match relation:
        case JobLeaf():
            columns = tuple(replace(c, delay=delay) if c.number == number else c for c in relation.columns)
            return replace(relation, columns=columns) if number in {c.number for c in relation.columns} else None
        case JobProject():
            source = next((text.column for column, text in relation.outputs if column.number == number), None)
            below = None if source is None else with_delay(relation.child, source, delay)
            outputs = ((replace(c, delay=delay) if c.number == number else c, text) for c, text in relation.outputs)
            return None if below is None else JobProject(below, tuple(outputs))
        case _:
            # Of rows that a filter lets through; of the others nothing is known.
            return None
