"""The first rows of a stream, on the driver: what the core is replayed over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.model.names import quoted
from penstock.spark.profiling.reading import BLOCK, FILE, FILE_TIME, IS_DATA, ROW, ProfiledStream, ticks
from penstock.spark.types import carried

INSTANT = "__instant"
"""When a row came, on a clock that the streams share, if there is one."""


def first_rows(
    arrived: ProfiledStream,
    columns: Mapping[str, str],
    flags: Mapping[tuple[str | None, str], str],
    clock: str | None,
    rows: int,
) -> Any:
    """So many rows in the order of arrival, punctuations included, as an Arrow table.

    It has the columns, by name and type; a boolean for each flag, by the alias that its condition names columns by and
    the condition; IS_DATA; and INSTANT, the ticks of the column `clock`.
    """
    frame = arrived.every.orderBy(FILE_TIME, FILE, BLOCK, ROW).limit(rows)
    instant = F.lit(0).cast("bigint") if clock is None else ticks(arrived.stream, clock)
    frame = frame.withColumn(INSTANT, instant)
    for (alias, condition), name in flags.items():
        frame = (frame if alias is None else frame.alias(alias)).selectExpr("*", f"({condition}) AS {quoted(name)}")
    shown = [carried(name, kind) for name, kind in columns.items()]
    return frame.selectExpr(*shown, *map(quoted, flags.values()), IS_DATA, INSTANT).toArrow()
