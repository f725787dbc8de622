"""Streams whose rows go to the packer as they are read: Spark evaluates nothing on a row of theirs.

Only of these may somebody else than Spark decode what they are read from (`local_files`, `plain_records`).
"""

from __future__ import annotations

from typing import Any

from penstock.model.names import quoted
from penstock.model.stream import Stream
from penstock.plan.plan import Plan
from penstock.runtime.input.wire_columns import value_columns
from penstock.spark.types import arrow_schema


def goes_as_read(plan: Plan, stream: Stream) -> bool:
    """Whether no derived column, WHERE, filter, test, WHEN or VALUE that Spark evaluates is asked of its rows."""
    derived = {c.name for c in stream.carried if c.derived is not None}
    own = [source for source in plan.sources if source.stream == stream.name]
    return (
        not stream.where
        and not stream.tables
        and not derived & columns_read(plan, stream.name).keys()
        and not any(source.filters or plan.tree.tests_of(source.alias) for source in own)
        and not any(rows.stream == stream.name for rows in plan.punctuations)
        and not any(value_columns(plan, source.alias) for source in own)
    )


def schema_read(plan: Plan, stream: str) -> Any:
    """What the plan reads of a stream, as Arrow has it; needs a session."""
    return arrow_schema(", ".join(f"{quoted(name)} {kind}" for name, kind in columns_read(plan, stream).items()))


def columns_read(plan: Plan, stream: str) -> dict[str, str]:
    """The columns that the plan reads of a stream, under any alias, and their types."""
    return {c.name: c.type for s in plan.sources if s.stream == stream for c in s.read}
