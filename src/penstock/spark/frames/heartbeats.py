"""The clock of a leaf whose rows do not all come through: what Spark's watermark saw, told beside them.

Spark takes a watermark where the job puts it; what is dropped above (a join with a table, deduplication, a filter that
asks for the event time) has moved it all the same. Other filters Spark itself asks before it takes the watermark, those
by a function of the user's among them. A leaf gives only what is left, whose times may stand still. So beside its rows
come a few that carry nothing but the latest time of each stretch of the rows that Spark's watermark sees; a flag tells
them apart, and the script has them as rows that a condition keeps out, which move the clock as such rows do.

The source is then read twice in a batch, the second time for its times alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.spark.frames.catalyst import Node, children, conjuncts, items, kind, number_of, output
from penstock.spark.frames.given_clocks import given_clocks

PASSES = "passes"
"""The name of the flag, if no column has it."""
_KEEPS_ROWS = (
    "Project",
    "SubqueryAlias",
    "View",
    "ResolvedHint",
    "Repartition",
    "RepartitionByExpression",
    "RebalancePartitions",
)


def hidden_clock(leaf: Node) -> Node | None:
    """The watermark of a leaf that saw rows which the leaf does not give; None if there is none."""
    if not given_clocks(leaf):
        return None
    node, above = leaf, []
    while kind(node) != "EventTimeWatermark":
        below = [child for child in children(node) if child.isStreaming()]
        if len(below) != 1:
            return None
        above.append((node, below[0]))
        node = below[0]
    hides = any(
        not (kind(one) in _KEEPS_ROWS or _keeps_stream(one, child) or _is_below(one, node)) for one, child in above
    )
    return node if hides else None


def _is_below(node: Node, mark: Node) -> bool:
    """Whether a node is a filter that Spark asks before it takes the watermark, or of rows without a time."""
    if kind(node) != "Filter":
        return False
    time = number_of(mark.eventTime())
    known = {number_of(attribute) for attribute in output(mark)} - {time}
    for condition in conjuncts(node.condition()):
        named = {number_of(attribute) for attribute in items(condition.references().toSeq())}
        if kind(condition) == "IsNotNull" and named == {time}:
            continue
        if not named <= known or not condition.deterministic():
            return False
    return True


def _keeps_stream(node: Node, stream: Node) -> bool:
    """Whether a node is a join with a table that leaves no row of the stream out."""
    if kind(node) != "Join":
        return False
    is_left = children(node)[0].equals(stream)
    return str(node.joinType().sql()) == ("LEFT OUTER" if is_left else "RIGHT OUTER")


def with_heartbeats(rows: DataFrame, clock: DataFrame, place: int) -> DataFrame:
    """Rows with a flag that is true of them, and the latest of the clock's one column, with one that is false.

    The times of the rows are in the column of that place.
    """
    (time,) = clock.schema.fields
    beats = clock.mapInArrow(_latest, clock.schema)
    told = [
        (F.col(time.name) if number == place else F.lit(None).cast(field.dataType)).alias(field.name)
        for number, field in enumerate(rows.schema.fields)
    ]
    return rows.select("*", F.lit(True).alias(PASSES)).unionAll(beats.select(*told, F.lit(False).alias(PASSES)))


def _latest(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        column = batch.column(0)
        latest = pc.max(column)
        if latest.is_valid:
            yield pa.RecordBatch.from_arrays([pa.array([latest.as_py()], column.type)], names=batch.schema.names)
