"""The deduplications that stay Spark's own, and whether a watermark lets them forget what they saw."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.spark.frames.catalyst import Node, children, delay_of, items, kind, number_of, output

DEDUPLICATIONS = ("Deduplicate", "DeduplicateWithinWatermark")


@dataclass(frozen=True)
class Deduplication:
    """A deduplication that Spark does."""

    columns: tuple[str, ...]
    forgets: bool
    """Whether a watermark lets it forget what it saw."""


def deduplications(plan: Node) -> list[Deduplication]:
    """The deduplications in a sub-plan that is left to Spark."""
    found = [one for child in children(plan) for one in deduplications(child)]
    if kind(plan) in DEDUPLICATIONS and plan.isStreaming():
        clocks = {number_of(attribute) for attribute in output(plan) if delay_of(attribute) is not None}
        keys = items(plan.keys())
        forgets = kind(plan) == DEDUPLICATIONS[1] or any(number_of(key) in clocks for key in keys)
        found.append(Deduplication(tuple(str(key.name()) for key in keys), forgets))
    return found
