"""The first rows of a script's own sources, read once and not as streams, for whoever wants to try a plan on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.errors import DataError, UsageError
from penstock.model.names import quoted
from penstock.model.script import Script
from penstock.model.stream import Stream
from penstock.plan.plan import Plan
from penstock.runtime import Chunk
from penstock.spark.failures import SPARK_ERRORS, what_it_says
from penstock.spark.option_values import option_values
from penstock.spark.pack import passes
from penstock.spark.punctuations import take_out
from penstock.spark.sinks import FILES
from penstock.spark.sources import filters_of, with_declared_columns, with_filters
from penstock.spark.types import spark_type


def first_rows(spark: SparkSession, script: Script, plan: Plan, count: int) -> dict[str, Any]:
    """So many rows of each stream that the plan reads, in order of arrival, as the packer would be given them."""
    found: dict[str, Any] = {}
    for name in plan.streams:
        stream = script.stream(name)
        assert stream is not None
        try:
            raw, filters = _raw(spark, stream, count), filters_of(plan, name)
            frame, _ = with_declared_columns(raw, stream, ordered=False, filters=filters)
            found[name] = with_filters(frame, plan, name, ordered=False).toArrow()
        except SPARK_ERRORS as error:
            raise DataError(f"cannot read stream {name}", detail=what_it_says(error)) from error
    return found


def _raw(spark: SparkSession, stream: Stream, count: int) -> DataFrame:
    if stream.storage is None or stream.storage.format.lower() not in FILES:
        raise UsageError(
            f"stream {stream.name} is not kept in files, so there is nothing to look at",
            hint=f"a curve is drawn from data that can be read again: {', '.join(sorted(FILES))}",
        )
    columns = ", ".join(f"{quoted(c.name)} {spark_type(str(c.type))}" for c in stream.carried if c.derived is None)
    reader = spark.read.format(stream.storage.format).schema(columns).options(**dict(option_values(stream.storage)))
    rows = reader.load()
    order = ("_metadata.file_modification_time", "_metadata.file_path", F.monotonically_increasing_id())
    return rows.orderBy(*order).limit(count)


def chunk_of(plan: Plan, stream: str, piece: Any) -> Chunk:
    """A piece of those rows as a single cell is given it."""
    data, punctuations = take_out(plan, stream, piece)
    chosen = {s.alias: data.column(passes(s.alias)) for s in plan.sources if s.stream == stream and s.filters}
    return replace(Chunk.of(plan, stream, 0, data, chosen), punctuations=punctuations)
