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
    clock: str | None = None
    """The column that has a watermark, or else a time that could have one."""
    is_marked: bool = False
    """Whether it has one."""

    def fix(self, stream: str) -> tuple[str, ...]:
        """What to write so that it forgets; nothing where the stream has no time."""
        if self.clock is None:
            return ()
        keys = ", ".join(f'"{name}"' for name in self.columns)
        marked = () if self.is_marked else (f'{stream}.withWatermark("{self.clock}", "10 minutes")',)
        return (*marked, f"{stream}.dropDuplicatesWithinWatermark([{keys}])")


def deduplications(plan: Node) -> list[Deduplication]:
    """The deduplications in a sub-plan that is left to Spark."""
    found = [one for child in children(plan) for one in deduplications(child)]
    if kind(plan) in DEDUPLICATIONS and plan.isStreaming():
        clocks = {number_of(attribute) for attribute in output(plan) if delay_of(attribute) is not None}
        keys = items(plan.keys())
        forgets = kind(plan) == DEDUPLICATIONS[1] or any(number_of(key) in clocks for key in keys)
        marked = [str(one.name()) for one in output(plan) if number_of(one) in clocks]
        times = [str(one.name()) for one in output(plan) if str(one.dataType().simpleString()) == "timestamp"]
        clock = next(iter([*marked, *times]), None)
        found.append(Deduplication(tuple(str(key.name()) for key in keys), forgets, clock, bool(marked)))
    return found
