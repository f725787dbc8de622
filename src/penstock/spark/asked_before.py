"""What Spark is asked once, before a query starts, so that the core need not know its semantics.

TIMESTAMP constants of merged sources and of CHECKs are instants by the session's time zone (MEMORY, section 7): the
filters of a query are read by Spark, and rows must be merged, and watched, by the same instants. And what a condition
on a stream is worth where the stream is absent: its value on a row of NULLs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.plan.aggregate import GroupKey
from penstock.plan.merge_plan import is_code
from penstock.plan.plan import FrontierColumn, Plan, SelectedColumn, SourcePlan
from penstock.plan.promise_plans import PromiseKind, PromisePlan
from penstock.plan.watched_checks import with_values
from penstock.runtime import Truth
from penstock.spark.types import spark_type

Cut = TypeVar("Cut", FrontierColumn, GroupKey, SelectedColumn)
"""What may be a cut of a clock."""


def in_session_zone(spark: SparkSession, plan: Plan) -> Plan:
    """The plan with a code for each TIMESTAMP by which rows are merged or watched; the zone in which groups are cut."""
    plan = _cut_in(plan, spark.conf.get("spark.sql.session.timeZone") or "UTC")
    written = dict.fromkeys(text for source in plan.sources for text in _moments(source, plan.promises))
    if not written:
        return plan
    row = spark.range(1).selectExpr(*(f"unix_micros(TIMESTAMP '{text}')" for text in written)).first()
    assert row is not None
    instants = {text: str(micros) for text, micros in zip(written, row, strict=True)}
    sources = tuple(_placed(source, instants) for source in plan.sources)
    return replace(plan, sources=sources, promises=tuple(_watched(plan, p, instants) for p in plan.promises))


def _cut_in(plan: Plan, zone: str) -> Plan:
    def placed(parts: tuple[Cut, ...]) -> tuple[Cut, ...]:
        return tuple(
            replace(part, cut=replace(part.cut, zone=zone)) if part.cut is not None and part.cut.zone is None else part
            for part in parts
        )

    plan = replace(plan, frontiers=placed(plan.frontiers), selected=placed(plan.selected))
    if plan.aggregate is None:
        return plan
    return replace(plan, aggregate=replace(plan.aggregate, keys=placed(plan.aggregate.keys)))


def _timestamps(source: SourcePlan) -> set[str]:
    return {column.name for column in source.read if column.type.upper().startswith("TIMESTAMP")}


def _moments(source: SourcePlan, promises: tuple[PromisePlan, ...]) -> list[str]:
    """The TIMESTAMPs by which rows of a source are merged, or that its CHECKs name, as they are written."""
    found: list[str] = []
    columns = _timestamps(source)

    def note(column: str, text: str) -> str:
        if column in columns and text not in found and not is_code(text):
            found.append(text)
        return text

    if source.merge is not None:
        source.merge.with_values(note)
    for promise in promises:
        if promise.kind is PromiseKind.CHECK and promise.alias == source.alias and promise.when is not None:
            with_values(promise.when, note)
    return found


def _watched(plan: Plan, promise: PromisePlan, instants: Mapping[str, str]) -> PromisePlan:
    if promise.kind is not PromiseKind.CHECK or promise.when is None:
        return promise
    columns = _timestamps(plan.by_alias[promise.alias])
    when = with_values(promise.when, lambda column, text: instants.get(text, text) if column in columns else text)
    return replace(promise, when=when)


def _placed(source: SourcePlan, instants: Mapping[str, str]) -> SourcePlan:
    if source.merge is None:
        return source
    columns = _timestamps(source)
    merge = source.merge.with_values(lambda column, text: instants.get(text, text) if column in columns else text)
    return replace(source, merge=merge)


def worth_of_absence(spark: SparkSession, plan: Plan) -> Truth:
    """By test, whether it holds of NULLs; unknown counts as no."""
    found: dict[str, bool] = {}
    for test in plan.tree.tests:
        if test.rejects_absent:
            found[test.column] = False
            continue
        columns = plan.by_alias[test.alias].read
        absent = spark.range(1).select(*(F.lit(None).cast(spark_type(c.type)).alias(c.name) for c in columns))
        (row,) = absent.alias(test.alias).selectExpr(f"({test.text}) AS worth").collect()
        found[test.column] = bool(row["worth"])
    return found
