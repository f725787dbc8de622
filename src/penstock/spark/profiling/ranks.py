"""Where would a value stand among the rows of a stream? Windows over stretches of rows, never over all in one task.

`running` gives each row the largest value up to it, so that rows rise in the order of arrival. `counted_below` says for
each of some values how many rows of a risen stream lie below it. Both cut the stream into stretches by row number, so
that a task sorts one stretch; what lies between stretches is a table of one row for each.
The first row above a value is the number of rows that are not: OA(k) and the count of one stream's arrivals before
another's are one question.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.spark.profiling.reading import POS

STRETCH, RISEN, VALUE, COUNT = "__ps_stretch", "__ps_risen", "__ps_value", "__ps_count"
_TOP, _BELOW, _IS_QUERY = "__ps_top", "__ps_below", "__ps_is_query"
ROWS_A_STRETCH = 250_000
"""Rows that one task sorts."""


def running(frame: DataFrame, column: str, rows: int) -> DataFrame:
    """The rows, so many, with RISEN: the largest value of the column up to each; NULL before the first."""
    if rows <= ROWS_A_STRETCH:
        whole = Window.orderBy(POS).rowsBetween(Window.unboundedPreceding, 0)
        return frame.withColumn(RISEN, F.max(column).over(whole))
    stretched = _stretched(frame)
    tops = stretched.groupBy(STRETCH).agg(F.max(column).alias(_TOP))
    before = Window.orderBy(STRETCH).rowsBetween(Window.unboundedPreceding, -1)
    tops = tops.select(STRETCH, F.max(_TOP).over(before).alias(_TOP))
    inside = Window.partitionBy(STRETCH).orderBy(POS).rowsBetween(Window.unboundedPreceding, 0)
    risen = stretched.withColumn(RISEN, F.max(column).over(inside)).join(F.broadcast(tops), STRETCH)
    return risen.withColumn(RISEN, F.greatest(RISEN, _TOP)).drop(_TOP, STRETCH)


def counted_below(risen: DataFrame, asked: DataFrame, rows: int, inclusive: bool) -> DataFrame:
    """`asked`, its VALUE replaced by COUNT: how many of so many rows with RISEN lie below, or not above, the value.

    VALUE must not be NULL.
    """
    targets = _stretched(risen.select(POS, RISEN))
    shown = [column for column in asked.columns if column != VALUE]
    if rows <= ROWS_A_STRETCH:
        return _counted(targets, asked.withColumn(STRETCH, F.lit(0).cast("bigint")), inclusive).select(*shown, COUNT)
    tops = targets.groupBy(STRETCH).agg(F.max(RISEN).alias(_TOP))
    tops = tops.withColumn(_BELOW, F.lag(_TOP).over(Window.orderBy(STRETCH)))
    below, top, value = F.col(_BELOW), F.col(_TOP), F.col(VALUE)
    # The one stretch where the stream passes the value; rows before the first value lie below everything.
    if inclusive:
        passing = (below.isNull() | (below <= value)) & (value < top)
    else:
        passing = (below.isNull() | (below < value)) & (value <= top)
    placed = asked.join(F.broadcast(tops), passing, "left").drop(_TOP, _BELOW)
    beyond = placed.where(F.col(STRETCH).isNull()).withColumn(COUNT, F.lit(rows).cast("bigint"))
    counted = _counted(targets, placed.where(F.col(STRETCH).isNotNull()), inclusive)
    return counted.select(*shown, COUNT).unionByName(beyond.select(*shown, COUNT))


def _counted(targets: DataFrame, placed: DataFrame, inclusive: bool) -> DataFrame:
    """COUNT for values whose stretch is known."""
    among = placed.withColumn(_IS_QUERY, F.lit(1 if inclusive else -1))
    rows = targets.select(STRETCH, F.col(RISEN).alias(VALUE), F.lit(0).alias(_IS_QUERY))
    ordered = (
        Window.partitionBy(STRETCH).orderBy(VALUE, _IS_QUERY).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    both = among.unionByName(rows, allowMissingColumns=True)
    counted = both.withColumn(COUNT, F.count_if(F.col(_IS_QUERY) == 0).over(ordered))
    return counted.where(F.col(_IS_QUERY) != 0).withColumn(COUNT, F.col(COUNT) + F.col(STRETCH) * ROWS_A_STRETCH)


def _stretched(frame: DataFrame) -> DataFrame:
    return frame.withColumn(STRETCH, F.floor(F.col(POS) / ROWS_A_STRETCH))
