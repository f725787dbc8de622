"""All needs of all questions, summed up in one job: how many rows need how much, and the k that so many rows keep.

Exact: the k of a level is the least need that at least that part of the rows do not exceed, counted in whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.model.names import quoted
from penstock.spark.profiling.needs import LEVELS, NEED, NOTHING_SEEN, Answer, Question, needs
from penstock.spark.profiling.reading import ProfiledStream


def answers(questions: Sequence[Question], streams: Mapping[str, ProfiledStream]) -> list[Answer]:
    """The answer to each question."""
    if not questions:
        return []
    asked = [
        needs(question, streams).select(
            F.lit(number).alias("q"), F.lit(question.limit).cast("bigint").alias("limit"), F.col(NEED).cast("bigint")
        )
        for number, question in enumerate(questions)
    ]
    found = {row["q"]: row for row in _summed(reduce(DataFrame.unionByName, asked)).collect()}
    return [_answer(found[n].asDict()) if n in found else NOTHING_SEEN for n in range(len(questions))]


def _summed(asked: DataFrame) -> DataFrame:
    counted = asked.groupBy("q", "limit", NEED).agg(F.count("*").alias("n"))
    of_question = Window.partitionBy("q")
    upto = of_question.orderBy(NEED).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    known = counted.withColumns({"upto": F.sum("n").over(upto), "rows": F.sum("n").over(of_question)})
    kept = {level: F.col("upto") * LEVELS[0] >= F.col("rows") * level for level in LEVELS}
    return known.groupBy("q").agg(
        F.max("rows").alias("rows"),
        F.sum(F.when(F.col(NEED) > F.col("limit"), F.col("n")).otherwise(0)).alias("beyond"),
        *(F.min(F.when(is_kept, F.col(NEED))).alias(f"k{level}") for level, is_kept in kept.items()),
        *(F.min(F.when(is_kept, F.col("upto"))).alias(f"upto{level}") for level, is_kept in kept.items()),
    )


def _answer(row: Mapping[str, int]) -> Answer:
    rows = row["rows"]
    return Answer(
        rows,
        tuple(row[f"k{level}"] for level in LEVELS),
        tuple(rows - row[f"upto{level}"] for level in LEVELS),
        row["beyond"],
    )


def domains(arrived: ProfiledStream, columns: Sequence[str]) -> dict[str, tuple[int, int, object, object]]:
    """Of each column: how many values it takes, how many rows have NULL, the least and the greatest value."""
    if not columns:
        return {}
    asked = []
    for number, column in enumerate(columns):
        value = F.col(quoted(column))
        asked += [
            F.count_distinct(value).alias(f"values{number}"),
            F.count_if(value.isNull()).alias(f"nulls{number}"),
            F.min(value).alias(f"least{number}"),
            F.max(value).alias(f"most{number}"),
        ]
    found = arrived.data.agg(*asked)
    try:
        row = found.collect()[0]
    except (ValueError, OverflowError):
        # Spark's clock goes on where Python's ends: there values are told as Spark writes them.
        ends = [c for c in found.columns if c.startswith(("least", "most"))]
        row = found.withColumns({c: F.col(c).cast("string") for c in ends}).collect()[0]
    return {
        column: (row[f"values{n}"], row[f"nulls{n}"], row[f"least{n}"], row[f"most{n}"])
        for n, column in enumerate(columns)
    }
