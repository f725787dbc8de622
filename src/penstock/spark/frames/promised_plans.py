"""Which plans something is promised of: found again wherever they stand in the plan of a job.

A promise is noted with the analyzed plan of its DataFrame, beside the session, and nothing is added to the DataFrame:
whatever is made of it stands on top of that plan, unchanged, so that whoever walks down meets it again, and knows it by
`sameResult`, Spark's own test of whether two plans are the same but for names, and by its names. No mark in the plan
could be dropped by a rule of Spark's, change how columns are named, or reach a sink. Two DataFrames with the same plan
have the same rows: what is promised of one holds of the other.

A DataFrame that a promise names is noted too, with nothing promised of it, so that it is a stream of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession

from penstock.frames.frame_promises import FramePromise
from penstock.spark.frames.catalyst import Catalyst, Node, output

_noted: WeakKeyDictionary[SparkSession, list[PromisedPlan]] = WeakKeyDictionary()


@dataclass(frozen=True)
class PromisedPlan:
    """A plan, and what is promised of it."""

    plan: Node
    promises: tuple[FramePromise, ...]


def is_same(plan: Node, other: Node) -> bool:
    """Whether two plans give the same columns under the same names: to Spark a plan renamed is the same."""
    return bool(plan.sameResult(other)) and _names(plan) == _names(other)


def _names(plan: Node) -> list[str]:
    return [str(attribute.name()) for attribute in output(plan)]


def note(frame: DataFrame, promises: Sequence[FramePromise]) -> None:
    """Note what is promised of a DataFrame; of what was noted before of the same subject, this takes the place."""
    catalyst = Catalyst(frame.sparkSession)
    plan = catalyst.analyzed(frame)

    def is_about(one: FramePromise, other: FramePromise) -> bool:
        if one.other is None or other.other is None or one.subject != other.subject:
            return one.subject == other.subject
        return bool(catalyst.analyzed(one.other).sameResult(catalyst.analyzed(other.other)))

    noted = _noted.setdefault(frame.sparkSession, [])
    for place, one in enumerate(noted):
        if is_same(one.plan, plan):
            kept = tuple(old for old in one.promises if not any(is_about(old, new) for new in promises))
            noted[place] = PromisedPlan(one.plan, kept)
    noted.append(PromisedPlan(plan, tuple(promises)))
    for promise in promises:
        if promise.other is not None:
            noted.append(PromisedPlan(catalyst.analyzed(promise.other), ()))


def promised_in(session: SparkSession) -> tuple[PromisedPlan, ...]:
    """What was noted in a session."""
    return tuple(_noted.get(session, ()))
