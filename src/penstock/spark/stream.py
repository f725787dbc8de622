"""A query as a DataFrame: streaming DataFrames in, a streaming DataFrame out.

The streams of a query come from DataFrames that were bound, or from their storage, and are packed for the exchange.
Files that the packer can decode itself go to it by name (`parquet_files`); everything else is read by Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.errors import UsageError
from penstock.model.clauses import Aggregate, Output, TimeWindow
from penstock.model.expressions import ColumnRef
from penstock.model.names import fold, quoted
from penstock.model.query import Query
from penstock.model.schemes import Policy
from penstock.model.script import Script
from penstock.model.stream import Stream
from penstock.plan.plan import Plan
from penstock.runtime import Patience
from penstock.runtime.counts import Count, second_vocabulary, vocabulary
from penstock.spark.archive_files import archive_of
from penstock.spark.arrow_map import mapped
from penstock.spark.asked_before import in_session_zone, worth_of_absence
from penstock.spark.cache import new_run, sweep
from penstock.spark.checkpoint import ZONE, Essence, digest, essence_of
from penstock.spark.file_heads import has_heads, head_of_file
from penstock.spark.final import End
from penstock.spark.groups import deal, show, with_conditions
from penstock.spark.malformed import answer_to, columns_read, is_text, judged, quarantines
from penstock.spark.operator import (
    ANSWER,
    COUNTS,
    RESULT,
    CellProcessor,
    SecondProcessor,
)
from penstock.spark.pack import PACKED, KeyedGrid, Packer
from penstock.spark.parquet_files import packed_files, reads_files
from penstock.spark.rewritten_query import counted_answer
from penstock.spark.session import ROCKSDB
from penstock.spark.sources import depends_on_order, has_column, read_stream, with_declared_columns, with_filters
from penstock.spark.types import arrow_schema, carried, require_carriable, restored
from penstock.spark.unpack import (
    DEALT,
    TOLD,
    EvaluatedRedealer,
    Redealer,
    ToldUnpacker,
    Unpacker,
    output_columns,
    restored_columns,
)

__all__ = ["Assembled", "DataFrame", "SparkSession", "assemble"]

CELLS = "penstock.cells"
PURGE = "penstock.purge"
"""When stored rows are asked whether they can go: `eager`, after every batch, or `lazy`."""
TRIGGER = "penstock.trigger"
"""The seconds between two batches."""
QUARANTINE = "penstock.quarantine"
"""Where quarantined rows go if no checkpoint says so."""
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"


@dataclass(frozen=True)
class Assembled:
    """A query put together on Spark: its answer, how its counts are observed, and what its state is of."""

    answer: DataFrame
    observation: str
    run: str
    """The name of its warm cache."""
    essence: Essence
    texts: tuple[str, ...] = ()
    """The streams whose malformed rows are observed."""


def assemble(
    spark: SparkSession,
    script: Script,
    query: Query,
    plan: Plan,
    *,
    inputs: Mapping[str, DataFrame] | None = None,
    quarantine: str | None = None,
    has_sinks: bool = False,
    end: End | None = None,
) -> Assembled:
    """Put a query together; nothing is read before the answer is written somewhere.

    `has_sinks` says that the caller writes what QUARANTINE INTO keeps out to its sink; `end` says when streams end.
    """
    script = script.as_read_by(query)
    if plan.rewriting is not None:
        return Assembled(*counted_answer(spark, script, plan, inputs or {}), _texts(script, plan, inputs or {}))
    plan = in_session_zone(spark, plan)
    quarantine = quarantine or spark.conf.get(QUARANTINE, None)
    _require_store(spark)
    _require_runnable(script, plan, quarantine, has_sinks)
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or "200")
    wanted = spark.conf.get(CELLS, None)
    cells = whole_cells(wanted) if wanted is not None else min(partitions, spark.sparkContext.defaultParallelism)
    patience = purge_strategy(spark.conf.get(PURGE, None))
    # A copy takes room of a budget that another row could have.
    grid = KeyedGrid.over(plan, cells, partitions, may_copy=plan.evict is None or wanted is not None)
    run = new_run()
    observation = f"penstock_{run}"
    texts = _texts(script, plan, inputs or {})
    packed = packed_streams(spark, script, plan, grid, inputs or {}, observation=observation)
    if end is not None:
        packed = packed.unionAll(end.stream(spark, grid))
    essence = essence_of(script, query, plan, grid, spark.conf.get(ZONE))
    told = (plan.to_json(), digest(essence), run)
    turn = turn_of(plan, trigger_seconds(spark.conf.get(TRIGGER, None)), grid, spark.sparkContext.defaultParallelism)
    given = packed.groupBy("cell").transformWithState(
        CellProcessor(
            *told,
            quarantine=quarantine,
            patience=patience,
            absent=worth_of_absence(spark, plan),
            keys=grid.keys,
            archive=archive_of(plan),
            turn=turn,
            malformed_into={s.name: answer_to(s).into for s in script.streams if quarantines(s)},
        ),
        RESULT,
        "append",
        "None",
    )
    given = _observed(given, observation, vocabulary(plan))
    evaluated: DataFrame | None = None
    if plan.aggregate is not None:
        groups = deal(given.where(F.col("kind") != COUNTS).select("kind", "payload"), plan, grid.keys)
        processor = SecondProcessor(groups.plan.to_json(), *told[1:], grid.keys)
        given = groups.rows.groupBy("target").transformWithState(processor, RESULT, "append", "None")
        given = _observed(given, second_observation(observation), second_vocabulary("(groups)"))
        answers = given.where(F.col("kind") == ANSWER).select("payload")
        shown = show(answers, query, groups)
        if query.having is not None:
            shown = shown.observe(answer_observation(observation), F.count(F.lit(1)).alias("rows_out"))
        return Assembled(shown, observation, run, essence, texts)
    if query.distinct:
        told_all = given.where(F.col("kind") != COUNTS).select("kind", "payload")
        if plan.distinct_over_expressions:
            evaluated = _evaluated(told_all, query, plan)
            dealt = mapped(_carried(evaluated), EvaluatedRedealer(grid.keys), DEALT)
        else:
            dealt = told_all.mapInArrow(Redealer(grid.keys, arrow_schema(output_columns(plan))), DEALT)
        given = dealt.groupBy("target").transformWithState(SecondProcessor(*told, grid.keys), RESULT, "append", "None")
        given = _observed(given, second_observation(observation), second_vocabulary("(distinct)"))
    answers = given.where(F.col("kind") == ANSWER).select("payload")
    if evaluated is not None:
        final = evaluated.drop(*TOLD)
        carried_schema = _carried(final).schema
        rows = answers.mapInArrow(Unpacker(arrow_schema(carried_schema)), carried_schema)
        answer = rows.selectExpr(*(restored(f.name, f.dataType.simpleString()) for f in final.schema))
        return Assembled(answer, observation, run, essence, texts)
    columns = output_columns(plan)
    rows = answers.mapInArrow(Unpacker(arrow_schema(columns)), columns).selectExpr(*restored_columns(plan))
    return Assembled(_answer(rows, query, plan), observation, run, essence, texts)


def _texts(script: Script, plan: Plan, inputs: Mapping[str, DataFrame]) -> tuple[str, ...]:
    bound = set(map(fold, inputs))
    streams = (stream for name in plan.streams if (stream := script.stream(name)) is not None)
    return tuple(stream.name for stream in streams if is_text(stream) and fold(stream.name) not in bound)


def _evaluated(told_all: DataFrame, query: Query, plan: Plan) -> DataFrame:
    """The rows of SELECT for DISTINCT to compare, and what else the second stage is told, as TOLD has it."""
    columns = f"{output_columns(plan)}, {TOLD[0]} STRING, {TOLD[1]} BINARY"
    rows = told_all.mapInArrow(ToldUnpacker(arrow_schema(columns)), columns).selectExpr(*restored_columns(plan), *TOLD)
    found = _answer(rows, query, plan, beside=TOLD)
    for column in found.schema:
        _require_comparable(column.name, column.dataType.simpleString())
    return found


def _carried(rows: DataFrame) -> DataFrame:
    """The rows as Arrow can carry them."""
    return rows.selectExpr(*(carried(f.name, f.dataType.simpleString()) for f in rows.schema))


def second_observation(observation: str) -> str:
    """How the counts of the second stage are observed."""
    return f"{observation}_distinct"


def answer_observation(observation: str) -> str:
    """How the rows of the answer are counted, where HAVING leaves out some that the second stage gives."""
    return f"{observation}_answer"


def _observed(given: DataFrame, name: str, counts: Iterable[Count]) -> DataFrame:
    measures = []
    for index, count in enumerate(counts):
        value = F.when(F.col("kind") == COUNTS, F.col("counts")[index])
        measures.append((F.max(value) if count.same_everywhere else F.sum(value)).alias(count.name))
    return given.observe(name, *measures)


def trigger_seconds(setting: str | None) -> float | None:
    """The setting of the trigger, which must be a number of seconds; None if there is none."""
    if setting is None:
        return None
    try:
        seconds = float(setting)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise UsageError(f"{TRIGGER} is a number of seconds above 0, not {setting}")
    return seconds


def turn_of(plan: Plan, trigger: float | None, grid: KeyedGrid, slots: int) -> float | None:
    """The seconds that a batch of one cell may take, if rows are shed where it takes longer."""
    if plan.evict is None or not plan.evict.shed_input:
        return None
    if trigger is None:
        raise UsageError(
            f"SHED(INPUT) sheds rows when batches fall behind, and {TRIGGER} does not say behind what",
            hint=f"run with --conf {TRIGGER}=5, for a batch every five seconds",
        )
    return trigger * min(1.0, slots / grid.cells)


def _require_runnable(script: Script, plan: Plan, quarantine: str | None, has_sinks: bool) -> None:
    """Raise, before anything starts, on what would only fail when some row comes."""
    asked = [(p.policy is Policy.QUARANTINE, p.into, f"break {p.constraint}") for p in plan.promises]
    for stream in filter(None, map(script.stream, plan.streams)):
        into = answer_to(stream).into
        asked.append((quarantines(stream), into, f"do not read as stream {stream.name} declares"))
    for is_kept_out, into, what in asked:
        if into is not None and not has_sinks:
            raise UsageError(
                f"QUARANTINE INTO {into} is for `penstock run`: a DataFrame has no sinks",
                hint=f"leave INTO out, and spark.conf.set('{QUARANTINE}', folder)",
            )
        if is_kept_out and quarantine is None:
            raise UsageError(
                f"there is no place for the rows that {what}",
                hint=f"run with --checkpoint DIR; from Python, spark.conf.set('{QUARANTINE}', folder)",
            )
    kinds = {(s.alias, c.name): c.type for s in plan.sources for c in s.read}
    for (alias, column), kind in kinds.items():
        require_carriable(f"{alias}.{column}", kind)
    for output in plan.outputs if plan.distinct and not plan.distinct_over_expressions else ():
        _require_comparable(f"{output.alias}.{output.column}", kinds[output.alias, output.column])


def _require_comparable(column: str, kind: str) -> None:
    if "VARIANT" in kind.upper():
        raise UsageError(f"DISTINCT cannot compare {column}, a {kind}: Spark has no equality for VARIANT")


def whole_cells(text: str) -> int:
    """A number of cells, as a setting gives it."""
    if not text.isdigit() or int(text) < 1:
        raise UsageError(f"{CELLS} is a number of cells, at least 1, not {text}")
    return int(text)


def purge_strategy(text: str | None) -> Patience:
    """The purge strategy, as a setting gives it; eager if it is not set."""
    if text is None:
        return Patience.EAGER
    try:
        return Patience(text.lower())
    except ValueError:
        raise UsageError(f"{PURGE} is {' or '.join(Patience)}, not {text}") from None


def _require_store(spark: SparkSession) -> None:
    """Raise if the session keeps state elsewhere; clear away what runs that are over left on this host."""
    if spark.conf.get(_PROVIDER, "") != ROCKSDB:
        raise UsageError(
            "Penstock keeps its state in Spark's RocksDB store, and this session uses another",
            hint=f'spark.conf.set("{_PROVIDER}", "{ROCKSDB}")',
        )
    sweep()


def answered(rows: DataFrame, query: Query, plan: Plan) -> DataFrame:
    """The columns of SELECT, from result rows of the core."""
    return _answer(rows, query, plan)


def _answer(rows: DataFrame, query: Query, plan: Plan, beside: tuple[str, ...] = ()) -> DataFrame:
    """The columns of SELECT; expressions see each stream as a struct under its alias, so they stand as written.

    With TOLD `beside` them, rows that are no answer are not evaluated.
    """
    names = {c.name: c.output for c in plan.selected if c.output is not None}
    aliases = dict.fromkeys(o.alias for o in plan.outputs)
    structs = [
        F.struct(*(F.col(quoted(o.name)).alias(o.column) for o in plan.outputs if o.alias == alias)).alias(alias)
        for alias in aliases
    ]
    needs_structs = bool(plan.conditions) or any(not isinstance(o.value, ColumnRef) for o in query.outputs)
    shown = rows.select("*", *structs) if needs_structs else rows
    shown = with_conditions(shown, plan, beside)
    found = [_column(output, names) for output in query.outputs]
    if beside:
        is_answer = F.col(TOLD[0]) == ANSWER
        found = [F.when(is_answer, c).alias(o.name) for c, o in zip(found, query.outputs, strict=True)]
    return shown.select(*found, *beside)


def _column(output: Output, names: Mapping[str, str]) -> Column:
    match output.value:
        case ColumnRef():
            return F.col(quoted(names[output.name])).alias(output.name)
        case TimeWindow() | Aggregate():
            raise UsageError(f"{output.value} is for GROUP BY")
        case expression:
            return F.expr(expression.text).alias(output.name)


def packed_streams(
    spark: SparkSession,
    script: Script,
    plan: Plan,
    grid: KeyedGrid,
    inputs: Mapping[str, DataFrame],
    *,
    observation: str,
) -> DataFrame:
    """All streams of the query, as PACKED has it; malformed rows are observed under that name."""
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
        packer = Packer(plan, stream.name, grid, depends_on_order(plan, stream.name))
        part = _packed_stream(spark, stream, packer, by_name.get(fold(name)), observation)
        packed = part if packed is None else packed.unionAll(part)
    assert packed is not None
    return packed


def _packed_stream(
    spark: SparkSession, stream: Stream, packer: Packer, given: DataFrame | None, observation: str
) -> DataFrame:
    if given is not None and not given.isStreaming:
        raise UsageError(f"the input {stream.name} is no streaming DataFrame", hint="use spark.readStream")
    plan, in_order = packer.plan, packer.ordered
    if given is None and reads_files(plan, stream, lambda setting: spark.conf.get(setting, None)):
        # Nothing is read of this; a derived column that Spark cannot make is an error, needed or not.
        with_declared_columns(read_stream(spark, stream, in_order=False), stream, ordered=False)
        return packed_files(spark, stream, packer)
    if given is not None:
        frame, ordered = with_declared_columns(given, stream, in_order, straight=False)
    else:
        frame, kept = judged(read_stream(spark, stream, in_order), stream, columns_read(plan, stream), observation)
        if has_heads(stream) and has_column(frame, "_metadata.row_index"):
            kept = (*kept, head_of_file())
        frame, ordered = with_declared_columns(frame, stream, in_order, beside=kept)
        packer = replace(packer, declared=tuple(c.name for c in stream.carried if c.derived is None))
    frame = with_filters(frame, plan, stream.name, ordered)
    return mapped(frame, replace(packer, ordered=ordered), PACKED)
