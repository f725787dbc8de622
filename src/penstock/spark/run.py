"""`penstock run`: all queries of a script on Spark, or none.

The driver of the run: it starts the queries, follows Spark's progress, writes the metrics, and stops cleanly. What is
computed, and how, is none of its business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TextIO

from pyspark.sql import SparkSession

from penstock.errors import PenstockError, UsageError
from penstock.explain.changed_text import written_lines
from penstock.model.block_tree import streams_read
from penstock.model.query import Query
from penstock.model.script import Script
from penstock.model.stream import Sink
from penstock.plan.plan import Plan
from penstock.runtime.exactness import Exactness
from penstock.spark.apart import require_apart
from penstock.spark.batch_files import BatchFiles
from penstock.spark.cells import CELLS, whole_cells
from penstock.spark.checkpoint import Checkpoint, checkpoint_root
from penstock.spark.cluster import forget_everywhere
from penstock.spark.connectors import require_connector
from penstock.spark.failures import SPARK_ERRORS, failure_of, quiet_errors
from penstock.spark.file_order import LISTS_AT_ONCE, is_local
from penstock.spark.first_look import tell_splits
from penstock.spark.hadoop_path import worker_folder
from penstock.spark.interrupts import Interrupt, ending_of, noted_interrupts
from penstock.spark.jvm_options import jvm_options
from penstock.spark.kafka_topics import KnownTopics
from penstock.spark.known_options import unknown_options
from penstock.spark.late_rows import WatermarkBefore
from penstock.spark.left_to_spark import LeftToSpark
from penstock.spark.pending_batch import require_files
from penstock.spark.quarantine_sinks import drains_of, into_of
from penstock.spark.query_settings import decodes_all, settings_of_its_kind
from penstock.spark.running import Follower, Running, take_progress
from penstock.spark.segment_files import SETTING, least_bytes
from penstock.spark.session import PARTITIONS, spark_log, start_session
from penstock.spark.sinks import may_have, require_fit, require_own_folders
from penstock.spark.starts import Starts, let_go
from penstock.spark.stream import (
    AUDIT,
    NO_CELLS,
    PURGE,
    TRIGGER,
    Assembled,
    assemble,
    audited,
    audited_share,
    named_from_the_start,
    purge_strategy,
    trigger_seconds,
)
from penstock.spark.succession import take_over
from penstock.spark.uncommitted_state import remove_uncommitted
from penstock.spark.under_way import failure, stop, watch
from penstock.spark.who_reads import JSON
from penstock.spark.writers import writer_of


@dataclass(frozen=True)
class RunOptions:
    """What the command line says of a run."""

    checkpoint: str | None = None
    """A path, or a URI of a file system that Spark knows."""
    available_now: bool = False
    metrics: Path | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    final: bool = False
    """Whether the end of what is there is the end of every stream."""


def run_script(
    script: Script,
    plans: Sequence[tuple[Query, Plan]],
    options: RunOptions,
    follow: Follower | None = None,
    say: Callable[[str], None] | None = None,
) -> list[Running]:
    """Run queries until they end, or forever; gives what was seen of each. What is noted before is said."""
    # Without a checkpoint nothing goes on from where JSON was met that only Spark reads.
    reader = {} if options.checkpoint is None else {JSON: "penstock"}
    options = replace(options, conf={**reader, **options.conf})
    conf = dict(options.conf)
    if CELLS in conf:
        whole_cells(conf[CELLS])
    purge_strategy(conf.get(PURGE))
    share = audited_share(conf.get(AUDIT))
    plans = [(query, audited(plan, share)) for query, plan in plans]
    trigger_seconds(conf.get(TRIGGER))
    least_bytes(conf.get(SETTING))
    counted = [query.name for query, plan in plans if options.final and plan.rewriting is not None]
    if counted:
        raise UsageError(
            f"--final cannot end {', '.join(counted)}: its joins are replaced by counts",
            detail="their windows are closed by Spark's watermark, which no end of a stream moves",
            hint="leave out ERROR(…), or --final",
        )
    sinks = {query.name: sink for query, _ in plans if (sink := script.sink(query.sink or "")) is not None}
    kept_out = {query.name: into_of(script, plan) for query, plan in plans}
    quarantines = [(f"{name}, quarantine", sink) for name, into in kept_out.items() for sink in into]
    require_own_folders([*sinks.items(), *quarantines])
    written = [*sinks.values(), *(sink for _, sink in quarantines)]
    require_apart(script, [plan for _, plan in plans], written, options.checkpoint)
    quiet_errors()
    of_jvm = jvm_options(conf, few_rows=decodes_all(script, [plan for _, plan in plans], conf))
    listing = LISTS_AT_ONCE if all(map(is_local, script.streams)) else {}
    spark = start_session("penstock", {**of_jvm, **listing, **conf})
    if PARTITIONS not in conf:
        spark.conf.set(PARTITIONS, str(spark.sparkContext.defaultParallelism))
    if say is not None:
        for note in unknown_options(spark, script):
            say(f"note: {note}")
    with noted_interrupts() as interrupt:
        try:
            return _run(spark, script, plans, options, sinks=sinks, follow=follow, interrupt=interrupt, say=say)
        except (*SPARK_ERRORS, OSError, PenstockError, KeyboardInterrupt) as error:
            ending = ending_of(spark, error, interrupt, resuming=options.checkpoint is not None)
            if ending is error:
                raise
            raise ending from error


def _run(
    spark: SparkSession,
    script: Script,
    plans: Sequence[tuple[Query, Plan]],
    options: RunOptions,
    *,
    sinks: Mapping[str, Sink],
    follow: Follower | None,
    interrupt: Interrupt,
    say: Callable[[str], None] | None,
) -> list[Running]:
    for sink in sinks.values():
        require_connector(spark, f"sink {sink.name}", sink.storage.format)
    for query, _ in plans:
        if (checkpoint := _checkpoint(spark, query, options)) is not None:
            checkpoint.wait_for_the_last_run(spark, say)
    running = [_prepared(spark, script, query, plan, options) for query, plan in plans]
    changed: dict[str, list[str]] = {}
    for one in running:
        if one.checkpoint is not None:
            one.checkpoint.end.require(final=options.final)
            changed[one.query.name] = one.checkpoint.require(
                one.assembled.essence, written_lines(one.query), one.assembled.plans
            )
            require_files(one.query.name, one.checkpoint.spark)
        if one.topics is not None:
            one.topics.require(say)
        if one.query.name in sinks:
            require_fit(spark, sinks[one.query.name], one.checkpoint)
        for drain in one.drains:
            require_fit(spark, drain.sink, drain)
    for one in running:
        if one.checkpoint is not None and (changes := changed[one.query.name]):
            made = one.assembled
            take_over(spark, one.checkpoint, made.essence, written_lines(one.query), made.plans)
            if say is not None:
                say(f"note: {one.query.name} goes on with the state of what it was before: {'; '.join(changes)}")
    running = [
        _prepared(spark, script, one.query, one.plan, options) if changed.get(one.query.name) else one
        for one in running
    ]
    if say is not None:
        tell_splits({one.query.name: one.assembled.essence for one in running if not one.resumes}, say)
    metrics = _opened(options.metrics)
    leaving = LeftToSpark(spark, script, partial(_assembled_anew, spark, script, options), say)
    try:
        for one in running:
            _take(spark, one, sinks.get(one.query.name))

        def go() -> None:
            starts = Starts(running, partial(_begin, spark, script, options), spark.sparkContext.defaultParallelism)
            look = partial(take_progress, metrics=metrics, follow=follow)
            watch(running, starts, interrupt, look, leaving)

        go()
        if options.final:
            _end(running, go)
        for one in running if options.available_now else ():
            _drain(spark, one)
    finally:
        for one, has_stopped in zip(running, stop(running), strict=True):
            if one.handle is not None:
                # What was committed after the last look must be told too.
                take_progress(one, metrics, follow)
            for name in (*one.runs_before, one.assembled.run):
                forget_everywhere(spark, name)
            if one.checkpoint is not None and has_stopped:
                one.checkpoint.release()
            if not has_stopped and say is not None:
                say(f"note: {one.query.name} still waits for its source: it ends with this process")
        if metrics is not None:
            metrics.close()
    # Nobody needs the log of a run that went well.
    spark_log().unlink(missing_ok=True)
    return running


def _take(spark: SparkSession, one: Running, sink: Sink | None) -> None:
    """Hold the checkpoint of a query that is about to start, which may then be written to."""
    if one.checkpoint is None:
        return
    one.checkpoint.hold(spark)
    for drain in one.drains:
        drain.require(spark)
    if one.topics is not None:
        one.topics.keep()
    if sink is not None:
        remove_uncommitted(one.checkpoint.spark, partial(may_have, spark, sink))


def _end(running: Sequence[Running], go: Callable[[], None]) -> None:
    """Say that there is no more, and let each query decide all that waits."""
    ending = [one for one in running if one.checkpoint is not None]
    for one in ending:
        assert one.checkpoint is not None
        one.checkpoint.declare_end()
        let_go(one)
        one.starts = 0
    go()
    for one in ending:
        assert one.checkpoint is not None
        one.checkpoint.confirm_end()


def _drain(spark: SparkSession, one: Running) -> None:
    """Hand on what a query has kept out so far."""
    for drain in one.drains:
        try:
            drain.start(spark, available_now=True).awaitTermination()
        except SPARK_ERRORS as error:
            raise failure_of(f"{one.query.name}, quarantine into {drain.sink.name},", error) from error


def _opened(path: Path | None) -> TextIO | None:
    if path is None:
        return None
    try:
        return path.open("a", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def _checkpoint(spark: SparkSession, query: Query, options: RunOptions) -> Checkpoint | None:
    return None if options.checkpoint is None else Checkpoint(checkpoint_root(spark, options.checkpoint), query.name)


def _prepared(
    spark: SparkSession,
    script: Script,
    query: Query,
    plan: Plan,
    options: RunOptions,
    *,
    left: frozenset[str] = frozenset(),
) -> Running:
    checkpoint = _checkpoint(spark, query, options)
    quarantine = worker_folder(spark, checkpoint.quarantine) if checkpoint is not None else None
    try:
        end = checkpoint.end if checkpoint is not None else None
        named = named_from_the_start if checkpoint is None else checkpoint.named
        cells = NO_CELLS if checkpoint is None else checkpoint.cells()
        is_moved = checkpoint is not None and checkpoint.is_dealt_anew()
        assembled = assemble(
            spark,
            script,
            query,
            plan,
            quarantine=quarantine,
            has_sinks=True,
            end=end,
            named=named,
            cells=cells,
            dealt_anew=worker_folder(spark, checkpoint.dealt_anew) if checkpoint is not None and is_moved else None,
            segments=None if checkpoint is None else checkpoint.segment_files(spark),
            kept=None if checkpoint is None else checkpoint.essence(),
            has_store=checkpoint is not None and checkpoint.has_store,
            left_to_spark=left,
        )
    except SPARK_ERRORS as error:
        raise failure_of(query.name, error) from error
    resumes = checkpoint is not None and not checkpoint.is_new
    clock = WatermarkBefore(checkpoint.spark if checkpoint is not None else None)
    exactness = checkpoint.exactness() if checkpoint is not None else Exactness()
    drains = drains_of(script, query, plan, checkpoint)
    files = _files_of(spark, query, plan, checkpoint)
    one = Running(
        query, plan, assembled, checkpoint, drains, resumes=resumes, clock=clock, exactness=exactness, files=files
    )
    if checkpoint is not None:
        one.topics = KnownTopics(spark, checkpoint.folder, streams_read(query))
    return one


def _assembled_anew(spark: SparkSession, script: Script, options: RunOptions, one: Running) -> Assembled:
    """A query put together again, the streams that are left to Spark read by it."""
    return _prepared(spark, script, one.query, one.plan, options, left=one.left_to_spark).assembled


def _files_of(spark: SparkSession, query: Query, plan: Plan, checkpoint: Checkpoint | None) -> BatchFiles | None:
    if checkpoint is None:
        return None
    return BatchFiles(spark, checkpoint.spark, streams_read(query), is_counted=plan.rewriting is not None)


def _begin(spark: SparkSession, script: Script, options: RunOptions, one: Running) -> None:
    """Start a query, and what hands on the rows that it keeps out."""
    with settings_of_its_kind(spark, script, one, options.conf):
        _start(script, one, options)
    if not options.available_now and not one.draining:
        one.draining = [drain.start(spark, available_now=False) for drain in one.drains]


def _start(script: Script, one: Running, options: RunOptions) -> None:
    sink = script.sink(one.query.sink) if one.query.sink is not None else None
    try:
        writer = writer_of(one.assembled, sink, one.query).queryName(one.query.name).outputMode("append")
    except SPARK_ERRORS as error:
        raise failure_of(one.query.name, error) from error
    if one.checkpoint is not None:
        one.checkpoint.adopt(one.assembled.essence, written_lines(one.query), one.assembled.plans)
        one.checkpoint.keep_named(one.assembled.named)
        writer = writer.option("checkpointLocation", str(one.checkpoint.spark))
    seconds = trigger_seconds(options.conf.get(TRIGGER))
    if options.available_now:
        writer = writer.trigger(availableNow=True)
    elif seconds is not None:
        writer = writer.trigger(processingTime=f"{round(seconds * 1000)} milliseconds")
    one.starts += 1
    try:
        one.handle = writer.start()
    except SPARK_ERRORS as error:
        raise failure(one, error) from error
