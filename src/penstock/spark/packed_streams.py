"""A declared stream as PACKED has it: of a DataFrame that was bound, or read as its USING says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.errors import UsageError
from penstock.model.names import fold, quoted
from penstock.model.stream import SOURCE_PARTS, Stream
from penstock.spark.arrow_map import mapped
from penstock.spark.file_heads import head_of_file
from penstock.spark.file_questions import asked_of_files
from penstock.spark.local_files import decoder_of, packed_files
from penstock.spark.malformed import judged
from penstock.spark.pack import PACKED, Packer
from penstock.spark.plain_records import columns_of_records, packed_records
from penstock.spark.sources import filters_of, read_stream, with_declared_columns, with_filters
from penstock.spark.who_reads import JSON


def packed_stream(
    spark: SparkSession,
    stream: Stream,
    packer: Packer,
    given: DataFrame | None,
    observation: str,
    *,
    left: frozenset[str] = frozenset(),
) -> DataFrame:
    """The rows of a stream, packed for the cells of a block.

    Files that the packer can decode itself go to it by name (`local_files`), values of Kafka's that it can read as
    bytes (`plain_records`); everything else is read by Spark, and so are streams that are `left` to it.
    """
    if given is not None and not given.isStreaming:
        raise UsageError(f"the input {stream.name} is no streaming DataFrame", hint="use spark.readStream")
    plan, in_order = packer.plan, packer.ordered
    if given is None and (packs := _packs_as_read(spark, stream, packer, left)) is not None:
        # Nothing is read of this; a path that is not there, or a derived column that Spark cannot make, is an error.
        with_declared_columns(read_stream(spark, stream, in_order=False), stream, ordered=False)
        return packs()
    filters = filters_of(plan, stream.name)
    if given is not None:
        given = _with_source_parts(given, stream)
        frame, ordered = with_declared_columns(given, stream, in_order, straight=False, filters=filters)
    else:
        frame, kept = judged(read_stream(spark, stream, in_order), stream, observation)
        question = None if stream.tables else asked_of_files(stream)
        if question is not None and (stream.where or not in_order):
            # Else the place of a row tells its file.
            kept = (*kept, head_of_file(stream))
        packer = replace(packer, question=question)
        frame, ordered = with_declared_columns(frame, stream, in_order, beside=kept, filters=filters)
    frame = with_filters(frame, plan, stream.name, ordered)
    return mapped(frame, replace(packer, ordered=ordered), PACKED)


def _packs_as_read(
    spark: SparkSession, stream: Stream, packer: Packer, left: frozenset[str]
) -> Callable[[], DataFrame] | None:
    """What packs a stream that Spark need not decode; None of others."""

    def conf(setting: str) -> str | None:
        return "spark" if setting == JSON and stream.name in left else spark.conf.get(setting, None)

    if (decoder := decoder_of(packer.plan, stream, conf)) is not None:
        return partial(packed_files, spark, stream, packer, decoder)
    if (columns := columns_of_records(packer.plan, stream, conf)) is not None:
        return partial(packed_records, spark, stream, packer, columns)
    return None


def _with_source_parts(given: DataFrame, stream: Stream) -> DataFrame:
    """A DataFrame that is bound to a stream of Kafka's, with the partition of each row."""
    if stream.parts != SOURCE_PARTS:
        return given
    named = {fold(name): name for name in given.columns}
    which = next((named[name] for name in ("_partition", "partition") if name in named), None)
    if which is None:
        raise UsageError(
            f"the input {stream.name} has no column partition, and order holds within the partitions of a topic",
            hint="keep Kafka's partition in the DataFrame, or declare PARTS BY another column",
        )
    return given.withColumn(SOURCE_PARTS, F.col(quoted(which)).cast("string"))
