"""A job run as Spark runs it and as Penstock does, over the same sample: how fast, with how much stored, and what came.

Each way runs until no more files are there, in a checkpoint of its own. Spark's own plan keeps its state in the store
that the session has, or in its default one; the number of partitions is the same for both, since it is a setting and
no merit of either. What Spark stores is what its operators count; of the adopted job what Penstock counts, and
what Spark deduplicates below it. Floating-point numbers are compared to nine digits: sums come in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.types import DataType, DoubleType, FloatType, NullType

from penstock.explain.comparison import AnswersCompared, WayRun
from penstock.spark.failures import SPARK_ERRORS
from penstock.spark.frames.adopted_metrics import metrics_of_query

_BELOW = ("dedupe", "dedupeWithinWatermark")
"""What Spark's own operators below an adopted job are called."""


def run_way(frame: DataFrame, home: Path, rows: Sequence[int], *, mode: str, is_adopted: bool) -> tuple[WayRun, int]:
    """Run a DataFrame over a sample of so many rows a batch and write what it gives: how it went, what was late."""

    def keep(batch: DataFrame, _: int) -> None:
        comparable(batch).write.mode("append").parquet(str(answer_in(home)))

    writer = frame.writeStream.foreachBatch(keep).outputMode(mode).option("checkpointLocation", str(home / "kept"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    progress: list[Any] = list(query.recentProgress)
    read = tuple(rows[p["batchId"]] if p["batchId"] < len(rows) else 0 for p in progress)
    seconds = tuple(p["durationMs"].get("triggerExecution", 0) / 1000 for p in progress)
    if not is_adopted:
        return WayRun(read, seconds, tuple(_stored_by_spark(p) for p in progress)), 0
    counted = {line["batch"]: line for line in metrics_of_query(query)}
    stored = [
        _stored_by_spark(p, _BELOW) + (_stored(counted[p["batchId"]]) if p["batchId"] in counted else 0)
        for p in progress
    ]
    late = sum(sum(line["violations"].values()) for line in counted.values())
    return WayRun(read, seconds, tuple(stored)), late


def answer_in(home: Path) -> Path:
    """Where the rows of a way are."""
    return home / "rows"


def compare_answers(
    spark_way: Path, adopted_way: Path, at_rest: DataFrame, late: int, by: Sequence[int] = ()
) -> AnswersCompared:
    """The bags that both ways gave, and that of the same rows at rest; with `by`, of the columns in these places."""
    compared = [f"column_{place}" for place in by or range(len(at_rest.columns))]
    whole = comparable(at_rest)
    wanted, session = whole.select(*compared), at_rest.sparkSession

    def given(home: Path) -> DataFrame:
        if not answer_in(home).exists():
            return session.createDataFrame([], wanted.schema)
        return session.read.schema(whole.schema).parquet(str(answer_in(home))).select(*compared)

    theirs, ours = given(spark_way), given(adopted_way)
    more = ours.exceptAll(theirs)
    extra, wrong = more.count(), None
    if extra:
        try:
            wrong = ours.exceptAll(wanted).count()
        except SPARK_ERRORS:
            wrong = None  # Some plans run as streams alone.
    names = tuple(at_rest.columns[place] for place in by)
    return AnswersCompared(ours.count(), theirs.exceptAll(ours).count(), extra, wrong, late, names)


def comparable(frame: DataFrame) -> DataFrame:
    """The rows of a DataFrame with columns that can be written and compared, named by their places."""
    named = frame.toDF(*(f"column_{place}" for place in range(len(frame.columns))))
    return named.select(*(_comparable(F.col(f.name), f.dataType).alias(f.name) for f in named.schema.fields))


def _comparable(column: Column, kind: DataType) -> Column:
    if isinstance(kind, DoubleType | FloatType):
        return F.format_string("%.8e", column.cast("double"))
    if isinstance(kind, NullType):
        return column.cast("string")
    return F.to_json(F.struct(column)) if _holds_map(kind) else column


def _holds_map(kind: DataType) -> bool:
    """Whether Spark would not compare its values, or compare numbers in it to their last digit."""
    text = kind.simpleString()
    return any(word in text for word in ("map<", "variant", "double", "float"))


def _stored(line: Any) -> int:
    return int(sum(line["state_rows"].values()) + line["pending_rows"])


def _stored_by_spark(progress: Any, named: Sequence[str] | None = None) -> int:
    operators = progress["stateOperators"]
    return sum(int(one["numRowsTotal"]) for one in operators if named is None or one["operatorName"] in named)
