"""Streams whose rows go to the packer as they are read: Spark evaluates nothing on a row of theirs.

Only of these may somebody else than Spark decode what they are read from (`local_files`, `plain_records`).

Of JSON it is known only line by line whether that may be, and a batch that meets another line is begun again. So it
must not have given anything by then: the rows must go to cells first, all of them, and not to the sink as they are
packed, as those of a query that needs no state do.
"""

from __future__ import annotations

from typing import Any

from penstock.model.names import quoted
from penstock.model.stream import Stream
from penstock.plan.plan import Plan
from penstock.plan.stateless import needs_no_state
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


def may_begin_again(plan: Plan) -> bool:
    """Whether nothing is given of a batch before all of it is packed."""
    return not needs_no_state(plan)


def schema_read(plan: Plan, stream: str) -> Any:
    """What the plan reads of a stream, as Arrow has it; needs a session."""
    return arrow_schema(", ".join(f"{quoted(name)} {kind}" for name, kind in columns_read(plan, stream).items()))


def columns_read(plan: Plan, stream: str) -> dict[str, str]:
    """The columns that the plan reads of a stream, under any alias, and their types."""
    return {c.name: c.type for s in plan.sources if s.stream == stream for c in s.read}
