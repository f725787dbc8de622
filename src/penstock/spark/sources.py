"""Streams as DataFrames: read by Spark's own sources, derived columns added, filters evaluated, order of arrival kept.

The place of a row in the order of arrival is (file modification time, path, block) for files; within a block Spark
hands rows over in order. Other sources hand rows over in their own order, partition after partition. A place
costs room in the exchange, so it is added only where an answer depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.errors import DataError, UsageError
from penstock.model.names import quoted
from penstock.model.predicates import conjunction
from penstock.model.stream import SOURCE_PARTS, Stream
from penstock.model.stream import Column as Declared
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import ORDERS, PromiseKind
from penstock.runtime.input.wire_columns import value_columns
from penstock.spark.connectors import require_connector
from penstock.spark.declared_columns import require_columns
from penstock.spark.failures import SPARK_ERRORS, what_it_says
from penstock.spark.file_heads import HEAD, OUTSIDE
from penstock.spark.file_order import each_once, pattern_of, those_in_order
from penstock.spark.kafka import rows_of_records
from penstock.spark.malformed import KEPT
from penstock.spark.pack import PLACE, passes
from penstock.spark.punctuations import conditions
from penstock.spark.readers import read_error, reader_of
from penstock.spark.sinks import FILES
from penstock.spark.table_joins import Filters, all_of, as_query_reads
from penstock.spark.types import carried, spark_type


def read_stream(spark: SparkSession, stream: Stream, in_order: bool) -> DataFrame:
    """The stream as its storage gives it; with its files `in_order` from batch to batch, where that can be had."""
    if stream.storage is None:
        raise UsageError(
            f"stream {stream.name} has no USING, so there is nothing to read",
            hint="add USING format OPTIONS (…), or bind a DataFrame: penstock.stream(spark, script, inputs={…})",
        )
    require_connector(spark, f"stream {stream.name}", stream.storage.format)
    require_columns(spark, stream)
    try:
        if stream.is_kafka:
            return rows_of_records(reader_of(spark.readStream, stream).load(), stream)
        reader = reader_of(spark.readStream, stream)
        pattern = pattern_of(stream) if in_order else None
        if pattern is not None:
            return each_once(stream, those_in_order(spark, stream, reader.option("path", pattern).load()))
        return each_once(stream, reader.load()) if stream.storage.format.lower() in FILES else reader.load()
    except SPARK_ERRORS as error:
        raise read_error(stream, error) from error


def with_declared_columns(
    frame: DataFrame,
    stream: Stream,
    ordered: bool,
    *,
    straight: bool = True,
    beside: Sequence[Column] = (),
    filters: Filters = MappingProxyType({}),
) -> tuple[DataFrame, bool]:
    """The declared columns, derived ones computed, rows outside the stream's WHERE gone; is the order known?

    `straight` says that the rows come straight from the files, and not out of a DataFrame that may have moved them.
    What is `beside` is kept beside the declared columns; the `filters` of a query say of which rows it derives columns.
    """
    named = {name.casefold(): name for name in frame.columns}
    plain = [c for c in stream.carried if c.derived is None]
    missing = [c.name for c in plain if c.name.casefold() not in named]
    if missing:
        raise DataError(
            f"stream {stream.name} has no column {', '.join(missing)} in its data",
            detail=f"there are: {', '.join(frame.columns)}",
        )
    if not straight:
        _require_whole_casts(frame, plain, named, stream)
    columns = [F.col(quoted(named[c.name.casefold()])).cast(spark_type(str(c.type))).alias(c.name) for c in plain]
    columns += [F.col(name) for name in (SOURCE_PARTS,) if name in frame.columns]
    ordered = ordered and (PLACE in frame.columns or tells(frame, "file_path"))
    if ordered and PLACE in frame.columns:
        columns.append(F.col(PLACE))
    elif ordered:
        columns.append(_place(frame, once_a_file=straight and not stream.where and not stream.tables))
    try:
        frame = frame.select(*columns, *beside)
    except AnalysisException as error:
        raise DataError(
            f"the data of stream {stream.name} is not of the declared types", detail=what_it_says(error)
        ) from error
    for column in stream.carried:
        if column.derived is not None and not column.of_query:
            frame = frame.withColumn(column.name, F.expr(column.derived.text).cast(spark_type(str(column.type))))
    if stream.where:
        condition = F.expr(conjunction(stream.where))
        # A malformed row is in quarantine whatever its values say.
        passed = condition | F.col(KEPT[1]).isNotNull() if KEPT[1] in frame.columns else condition
        if HEAD in frame.columns:
            # The head of a file goes on as far as the packer, which looks at the file.
            frame = frame.withColumn(OUTSIDE, ~F.coalesce(passed, F.lit(False)))
            passed = passed | F.col(HEAD).isNotNull()
        frame = frame.where(passed)
    return as_query_reads(frame, stream, filters), ordered


def _require_whole_casts(frame: DataFrame, plain: list[Declared], named: dict[str, str], stream: Stream) -> None:
    """Raise DataError where Spark would cast a value to another, or to NULL, without a word: with ANSI off."""
    spark = frame.sparkSession
    if str(spark.conf.get("spark.sql.ansi.enabled")).lower() == "true":
        return  # It ends the query instead.
    jvm: Any = spark._jvm
    types = jvm.org.apache.spark.sql.types.DataType
    for column in plain:
        given = frame.schema[named[column.name.casefold()]].dataType.simpleString()
        there, wanted = (types.fromDDL(text) for text in (given, spark_type(str(column.type))))
        if not jvm.org.apache.spark.sql.catalyst.expressions.Cast.canUpCast(there, wanted):
            raise DataError(
                f"the input {stream.name} has {quoted(column.name)} as {given.upper()}, declared as {column.type}",
                detail="with spark.sql.ansi.enabled off, Spark gives NULL or another value for one that does not fit",
                hint="cast it in the DataFrame, declare the type that it has, or turn spark.sql.ansi.enabled on",
            )


def _place(frame: DataFrame, once_a_file: bool) -> Column:
    """A row's place. It costs more than the row's data, so where it can be it stands only at the head of a file.

    Row 0 always comes, and first, where no WHERE drops it; in the later blocks of a file that is read in several, the
    first row is not known by its number, so every row there has its place.
    """
    block = F.col("_metadata.file_block_start")
    time = F.unix_micros("_metadata.file_modification_time")
    place = F.concat_ws("/", time.cast("string"), block.cast("string"), F.col("_metadata.file_path"))
    if once_a_file and tells(frame, "row_index"):
        place = F.when((F.col("_metadata.row_index") == 0) | (block > 0), place)
    return place.alias(PLACE)


def tells(frame: DataFrame, field: str) -> bool:
    """Whether a frame has a field of `_metadata`, the hidden column in which a source tells where a row is from.

    Its plan is asked: PySpark writes an error to the log of whoever selects a column that is not there. A stream that
    was joined with a table has also that of the table, which tells nothing of its rows, or has that alone.
    """
    jdf: Any = frame._jdf
    plan = jdf.queryExecution().analyzed()
    told = [column for column in _listed(plan.metadataOutput()) if column.name() == "_metadata"]
    if len(told) != 1 or field not in told[0].dataType().fieldNames():
        return False
    sources = [leaf for leaf in _listed(plan.collectLeaves()) if leaf.isStreaming() or not plan.isStreaming()]
    own = {column.exprId().id() for leaf in sources for column in _listed(leaf.metadataOutput())}
    return told[0].exprId().id() in own


def _listed(found: Any) -> list[Any]:
    """The members of a sequence of the JVM's."""
    return [found.apply(number) for number in range(found.size())]


def with_filters(frame: DataFrame, plan: Plan, stream: str, ordered: bool, beside: tuple[str, ...] = ()) -> DataFrame:
    """Only the columns that the plan reads, and booleans: what each alias's filters and each WHEN say of a row.

    What is `beside` is kept beside them.
    """
    frame, shown = filtered_columns(frame, plan, stream, ordered)
    return frame.selectExpr(*shown, *beside)


def filtered_columns(frame: DataFrame, plan: Plan, stream: str, ordered: bool) -> tuple[DataFrame, list[str]]:
    """The frame with these beside its own columns, and what they are of it."""
    wanted = {c.name: c.type for source in plan.sources if source.stream == stream for c in source.read}
    shown = [carried(name, wanted[name]) for name in frame.columns if name in wanted]
    shown += [PLACE] if ordered else []
    shown += [name for name in (*KEPT, HEAD, OUTSIDE) if name in frame.columns]
    filters = filters_of(plan, stream)
    for passed, texts in filters.items():
        frame = frame.alias(passed).selectExpr("*", f"({all_of(texts)}) AS {quoted(passes(passed))}")
        shown.append(quoted(passes(passed)))
    for test in plan.tree.tests:
        if plan.by_alias[test.alias].stream == stream:
            # Of rows that are kept out nothing is asked: it may end the query for them.
            asked = f"CASE WHEN {quoted(passes(test.alias))} THEN {test.text} END"
            asked = asked if test.alias in filters else f"({test.text})"
            frame = frame.alias(test.alias).selectExpr("*", f"{asked} AS {quoted(test.column)}")
            shown.append(quoted(test.column))
    for source in plan.sources:
        for name in value_columns(plan, source.alias) if source.stream == stream else ():
            assert plan.evict is not None
            (text,) = (value.text for value in plan.evict.values if value.alias == source.alias)
            value = f"CAST({text} AS DOUBLE) AS {quoted(name)}"
            frame = frame.alias(source.alias).selectExpr("*", value)
            shown.append(quoted(name))
    for alias, name, condition in conditions(plan, stream):
        frame = (frame if alias is None else frame.alias(alias)).selectExpr("*", f"({condition}) AS {quoted(name)}")
        shown.append(quoted(name))
    return frame, shown


def filters_of(plan: Plan, stream: str) -> dict[str, tuple[str, ...]]:
    """By alias of a stream, what must hold of a row as it arrives; of an alias that takes every row nothing."""
    own = [source for source in plan.sources if source.stream == stream and source.filters]
    return {source.alias: tuple(source.filters) for source in own}


def depends_on_order(plan: Plan, stream: str) -> bool:
    """Whether an answer, a purge or a violation depends on the order of that stream's rows within a batch."""
    aliases = {s.alias for s in plan.sources if s.stream == stream}
    if plan.rows_windowed or plan.in_arrival_order or plan.evict is not None:
        return True
    for promise in plan.promises:
        if promise.alias in aliases and promise.kind in (*ORDERS, PromiseKind.PUNCTUATED, PromiseKind.CLUSTERED):
            return True
        counts = promise.kind is PromiseKind.FOLLOWS_ROWS and promise.rows != 0
        if counts and {promise.alias, promise.partner} & aliases:
            return True
    return False
