"""DataFrames that were adopted, known again by the observation in their plans, and what each was made of.

So a job whose one line is changed can be checked as before: what is asked about the adopted DataFrame is asked about
the one that it was made of. Something that keeps state on top of it, or beside it, and did not when it was adopted, is
not part of that, and refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    on_top: tuple[str, ...] = ()
    """What keeps state on top of the answer, as a part of the same job."""


def note_adopted_of(observation: str, source: AdoptedOf, answer: DataFrame) -> None:
    """Note what the answer with an observation was made of."""
    _noted[observation] = source
    on_top = _kept_above(answer._jdf.queryExecution().analyzed())
    _noted[observation] = replace(source, on_top=on_top or ())


def adopted_of(frame: object) -> AdoptedOf | None:
    """What a DataFrame was adopted of; None if it was not. Raises UsageError if only a part of it was."""
    # A Column has an attribute of every name.
    if not isinstance(frame, DataFrame) or not hasattr(frame, "_jdf"):
        return None
    plan = frame._jdf.queryExecution().analyzed()
    found = _within(plan)
    if found is not None and _kept_above(plan) != found.on_top:
        raise UsageError(
            "a part of this DataFrame is adopted already, and what stands on it keeps state too",
            hint="adopt the whole of it once, where it is written; the parts are then read together",
        )
    return found


def _kept_above(plan: Node) -> tuple[str, ...] | None:
    """What keeps state above an observation, from the top down; None if the way to it divides."""
    kept, node = [], plan
    while _observed(node) is None:
        below = [child for child in children(node) if child.isStreaming()]
        if len(below) != 1:
            return None
        kept += [kind(node)] if keeps_state(node) else []
        (node,) = below
    return tuple(kept)


def _within(node: Node) -> AdoptedOf | None:
    return _observed(node) or next(filter(None, map(_within, children(node))), None)


def _observed(node: Node) -> AdoptedOf | None:
    return _noted.get(str(node.name())) if kind(node) == "CollectMetrics" else None
