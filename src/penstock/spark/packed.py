"""The streams of a query, packed for the exchange: from DataFrames that were bound, or from their storage.

Files that the packer can decode itself go to it by name (`parquet_files`); everything else is read by Spark.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import UsageError
from penstock.model.names import fold
from penstock.model.script import Script
from penstock.model.stream import Stream
from penstock.plan.plan import Plan
from penstock.spark.grid import KeyedGrid
from penstock.spark.pack import PACKED, Packer
from penstock.spark.parquet_files import packed_files, reads_files
from penstock.spark.sources import depends_on_order, read_stream, with_declared_columns, with_filters


def packed_streams(
    spark: SparkSession, script: Script, plan: Plan, grid: KeyedGrid, inputs: Mapping[str, DataFrame]
) -> DataFrame:
    """All streams of the query, as PACKED has it."""
    by_name = {fold(name): frame for name, frame in inputs.items()}
    read = {fold(name) for name in plan.streams}
    for name in inputs:
        if fold(name) not in read:
            raise UsageError(
                f"query {plan.query} reads no stream {name}", detail=f"it reads: {', '.join(plan.streams)}"
            )
    packed: DataFrame | None = None
    for name in plan.streams:
        stream = script.stream(name)
        assert stream is not None
        part = _packed_stream(spark, stream, plan, grid, by_name.get(fold(name)))
        packed = part if packed is None else packed.unionAll(part)
    assert packed is not None
    return packed


def _packed_stream(
    spark: SparkSession, stream: Stream, plan: Plan, grid: KeyedGrid, given: DataFrame | None
) -> DataFrame:
    if given is not None and not given.isStreaming:
        raise UsageError(f"the input {stream.name} is no streaming DataFrame", hint="use spark.readStream")
    in_order = depends_on_order(plan, stream.name)
    if given is None and reads_files(plan, stream, lambda setting: spark.conf.get(setting, None)):
        # Nothing is read of this; a derived column that Spark cannot make is an error, needed or not.
        with_declared_columns(read_stream(spark, stream), stream, ordered=False)
        return packed_files(spark, stream, Packer(plan, stream.name, grid, in_order))
    frame = given if given is not None else read_stream(spark, stream)
    frame, ordered = with_declared_columns(frame, stream, in_order, straight=given is None)
    frame = with_filters(frame, plan, stream.name, ordered)
    return frame.mapInArrow(Packer(plan, stream.name, grid, ordered), PACKED)
