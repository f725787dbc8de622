"""DataFrames that were adopted, known again by the observation in their plans, and what each was made of.

So a job whose one line is changed can be checked as before: what is asked about the adopted DataFrame is asked about
the one that it was made of. Something that keeps state on top of it, or beside it, is not part of that, and refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from penstock.errors import UsageError
from penstock.frames.job_hints import JobHints
from penstock.spark.frames.catalyst import Node, children, kind
from penstock.spark.frames.kept_state import keeps_state

_noted: dict[str, AdoptedOf] = {}
"""By observation."""


@dataclass(frozen=True)
class AdoptedOf:
    """What a DataFrame was adopted of, under which name, with which hints."""

    frame: DataFrame
    query: str | None
    hints: JobHints


def note_adopted_of(observation: str, source: AdoptedOf) -> None:
    """Note what the DataFrame with an observation was made of."""
    _noted[observation] = source


def adopted_of(frame: DataFrame) -> AdoptedOf | None:
    """What a DataFrame was adopted of; None if it was not. Raises UsageError if only a part of it was."""
    if not hasattr(frame, "_jdf"):
        return None
    plan = frame._jdf.queryExecution().analyzed()
    found = _within(plan)
    if found is None:
        return None
    node = plan
    while _observed(node) is None:
        below = [child for child in children(node) if child.isStreaming()]
        if keeps_state(node) or len(below) != 1:
            raise UsageError(
                "a part of this DataFrame is adopted already, and what stands on it keeps state too",
                hint="adopt the whole of it once, where it is written; the parts are then read together",
            )
        (node,) = below
    return found


def _within(node: Node) -> AdoptedOf | None:
    return _observed(node) or next(filter(None, map(_within, children(node))), None)


def _observed(node: Node) -> AdoptedOf | None:
    return _noted.get(str(node.name())) if kind(node) == "CollectMetrics" else None
