"""A query whose joins are replaced by counts, as Spark's own windowed aggregation: no join, no state but counts.

The rows of all counted streams stand under each other, each with the name of its source, and one aggregation counts
them by window and group; a stream without a row in a window counts 0 there. Each stream has its own watermark, before
its filters, and Spark gives a window once the slowest of them has passed it.

WITH BOUNDS counts over windows that overlap: each reaches over its neighbours by the longest lag (the paper's windows
that are offset from one another). So what may have crossed an end is counted on both of its sides, and the smaller
number is a limit that no adversary at the edge can stretch:

    rows of V counted here whose root is in the last window <= the root's rows in the h before, V's in the first h
    rows of V counted in the next window, root here         <= the root's rows in the last h, V's in the h after

A sample of entities shows the lags and violations that there are (`input/lag_sample.py`). The limits widen by the
rows that are so seen to break a declaration, each of which changes the count by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.errors import UsageError
from penstock.model.names import fold, quoted
from penstock.model.query import Query
from penstock.model.script import Script
from penstock.plan.codec import encode
from penstock.plan.counting import BOUNDS, SOURCE, TIME, WINDOW, CountedSource, Observed, Rewriting, literal
from penstock.plan.plan import Plan
from penstock.spark.cache import new_run
from penstock.spark.essence import Essence, stream_text
from penstock.spark.lags import KEY, LIMITS, MEASURED, Measurer, sampled_rows
from penstock.spark.late_rows import WINDOWS, WatermarkBefore, late_rows, order_broken, windows_of
from penstock.spark.malformed import judged
from penstock.spark.sources import read_stream, with_declared_columns

SAMPLE = "penstock.sample"
"""One in so many entities is looked at, WITH BOUNDS."""
_ONE_IN = 64
_POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
_CLOCK = "__penstock_clock"
"""The event time beside the declared columns, none of which it may hide."""


def counted_answer(
    spark: SparkSession, script: Script, plan: Plan, inputs: Mapping[str, DataFrame], observation: str
) -> tuple[DataFrame, str, str, Essence]:
    """The answer as a streaming DataFrame, the name of its counts, of its run, and what its checkpoint is of."""
    made = plan.rewriting
    assert made is not None
    if (policy := spark.conf.get(_POLICY, "min")) != "min":
        raise UsageError(
            f"{_POLICY} is {policy}: windows would be emitted before the slower streams have passed them",
            hint="leave it at min",
        )
    run = new_run()
    by_name = _bound_inputs(plan, inputs)
    parts = []
    for source in made.sources:
        stream = script.stream(source.stream)
        assert stream is not None
        given = by_name.get(fold(source.stream))
        if given is None:
            read = read_stream(spark, stream, in_order=True)
            given, _ = judged(read, stream, observation)
        frame, _ = with_declared_columns(given, stream, False)
        parts.append(_rows(frame, made, source, input_observation(observation, source.alias)))
    rows = reduce(DataFrame.unionAll, parts)
    answer = _with_bounds(spark, rows, made) if made.with_bounds else _plain(rows, made)
    measures = [F.count(F.lit(1)).alias("rows_out")]
    if made.with_bounds:
        measures += [F.max(name).alias(name) for name in BOUNDS[1:4]]
        measures += [F.sum(F.col(name).cast("int")).alias(name) for name in BOUNDS[4:]]
    return answer.observe(observation, *measures), observation, run, _essence(script, plan)


def input_observation(observation: str, alias: str) -> str:
    """How the rows that are read of a source are observed."""
    return f"{observation}_{alias}"


def _bound_inputs(plan: Plan, inputs: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    for name, frame in inputs.items():
        if fold(name) not in map(fold, plan.streams):
            raise UsageError(
                f"query {plan.query} reads no stream {name}", detail=f"it reads: {', '.join(plan.streams)}"
            )
        if not frame.isStreaming:
            raise UsageError(f"the input {name} is no streaming DataFrame", hint="use spark.readStream")
    return {fold(name): frame for name, frame in inputs.items()}


def _rows(frame: DataFrame, made: Rewriting, source: CountedSource, observation: str) -> DataFrame:
    """The rows of a source that are counted."""
    # The clock is that of all rows, so it stands before the filters.
    frame = frame.withColumn(_CLOCK, F.col(quoted(source.event_time)))
    # Spark's watermarks are of whole milliseconds, and a part of one would be dropped from the delay.
    frame = frame.withWatermark(_CLOCK, f"{-(-source.slack // 1000)} milliseconds")
    frame = frame.alias(source.alias)
    conditions = [F.expr(condition) for condition in source.conditions]
    # One observation for what is read and what is counted: each is a pass over the rows that Spark does not compile.
    counted = reduce(lambda time, condition: F.when(condition, time), conditions, F.col(_CLOCK))
    frame = frame.observe(observation, F.count(F.lit(1)).alias("rows"), windows_of(counted, made))
    for condition in conditions:
        frame = frame.where(condition)
    groups = [F.col(quoted(c)).alias(n) for c, n in zip(source.groups, made.group_names, strict=True)]
    key = [F.xxhash64(*(F.col(quoted(c)) for c in source.keys)).alias(KEY)] if made.with_bounds else []
    return frame.select(F.lit(source.alias).alias(SOURCE), F.col(_CLOCK).alias(TIME), *groups, *key)


def _plain(rows: DataFrame, made: Rewriting) -> DataFrame:
    keys = [F.expr(made.window).alias(WINDOW), *(F.col(name) for name in made.group_names)]
    counted = rows.groupBy(*keys).agg(F.expr(made.count).alias("counted"))
    return counted.where("counted > 0").select(*_outputs(made, "counted"))


def _outputs(made: Rewriting, count: str) -> list[Column]:
    return [F.expr(o.of(count) if o.kind == "count" else made.value(o)).alias(o.name) for o in made.outputs]


def _with_bounds(spark: SparkSession, rows: DataFrame, made: Rewriting) -> DataFrame:
    margin, period = made.sight, made.period
    wide = F.window(
        TIME,
        f"{period + 2 * margin} microseconds",
        f"{period} microseconds",
        f"{(period - margin) % period} microseconds",
    )
    one_in = _one_in(spark.conf.get(SAMPLE, None))
    rows = rows.withColumn("wide", wide)
    at = f"(unix_micros({TIME}) - unix_micros(wide.start) - {margin})"
    counts = [F.expr(f"count_if({condition})").alias(name) for name, condition in _edges(made, at)]
    sample = F.expr(
        f"collect_list(struct({SOURCE} AS source, {KEY} AS entity, unix_micros({TIME}) AS at)) "
        f"FILTER (WHERE pmod({KEY}, {one_in}) = 0)"
    ).alias("sample")
    names = list(made.group_names)
    counted = rows.groupBy("wide", *names).agg(*counts, sample)
    begin = f"unix_micros(wide.start) + {margin}"
    shown = counted.selectExpr(
        f"struct(timestamp_micros({begin}) AS start, timestamp_micros({begin} + {period}) AS end) AS {WINDOW}",
        *names,
        f"greatest({_answer(made)}, 0) AS counted",
        f"{_low(made)} AS low",
        f"{_high(made)} AS high",
        f"inside_{_place(made, made.root)} AS rows",
        f"{begin} AS begin",
        "sample",
    ).where("high > 0 OR size(sample) > 0")
    types = {field.name: field.dataType.simpleString() for field in shown.schema}
    kept = [WINDOW, *names, "counted"]
    schema = ", ".join([*(f"{quoted(name)} {types[name]}" for name in kept), LIMITS, MEASURED])
    given = shown.select(*kept, "low", "high", "rows", "begin", sampled_rows())
    measured = given.mapInArrow(Measurer(made, tuple(kept), one_in), schema).where("high > 0")
    limits = [F.expr(end).alias(name) for name, end in made.limits]
    return measured.select(*_outputs(made, "counted"), *limits, *(F.col(name) for name in BOUNDS))


def _one_in(text: str | None) -> int:
    if text is None:
        return _ONE_IN
    if not text.isdigit() or int(text) < 1:
        raise UsageError(f"{SAMPLE} is a number, at least 1: one in so many entities is looked at; not {text}")
    return int(text)


def _edges(made: Rewriting, at: str) -> list[tuple[str, str]]:
    """The counts of a wide window: by source those inside, and those on either side of its two ends."""
    period = made.period
    found = []
    for number, source in enumerate(made.sources):
        own, root = f"{SOURCE} = {literal(source.alias)}", f"{SOURCE} = {literal(made.root)}"
        late, early = max(source.high, 0), max(-source.low, 0)
        found.append((f"inside_{number}", f"{own} AND {at} >= 0 AND {at} < {period}"))
        for name, who, begin, end in (
            ("root_before", root, -late, 0),
            ("own_first", own, 0, late),
            ("root_last", root, period - late, period),
            ("own_after", own, period, period + late),
            ("root_first", root, 0, early),
            ("own_before", own, -early, 0),
            ("root_after", root, period, period + early),
            ("own_last", own, period - early, period),
        ):
            if begin < end:
                found.append((f"{name}_{number}", f"{who} AND {at} >= {begin} AND {at} < {end}"))
    return found


def _entered(made: Rewriting, alias: str) -> str:
    """The most rows counted here whose root is in a neighbouring window."""
    return _crossed(made, alias, ("root_before", "own_first"), ("root_after", "own_last"))


def _left(made: Rewriting, alias: str) -> str:
    """The most rows counted in a neighbouring window whose root is here."""
    return _crossed(made, alias, ("root_last", "own_after"), ("root_first", "own_before"))


def _crossed(made: Rewriting, alias: str, late: tuple[str, str], early: tuple[str, str]) -> str:
    source, number = made.source(alias), _place(made, alias)
    ends = [late] if source.high > 0 else []
    ends += [early] if source.low < 0 else []
    return " + ".join(f"least({one}_{number}, {other}_{number})" for one, other in ends) or "0"


def _place(made: Rewriting, alias: str) -> int:
    return next(number for number, source in enumerate(made.sources) if source.alias == alias)


def _answer(made: Rewriting) -> str:
    root, counted = _place(made, made.root), _place(made, made.counted)
    found = f"least(inside_{root}, inside_{counted})"
    return found if made.removed is None else f"{found} - inside_{_place(made, made.removed)}"


def _low(made: Rewriting) -> str:
    found = f"inside_{_place(made, made.counted)} - ({_entered(made, made.counted)})"
    if made.removed is not None:
        found += f" - inside_{_place(made, made.removed)} - ({_left(made, made.removed)})"
    return f"greatest({found}, 0)"


def _high(made: Rewriting) -> str:
    root, counted = _place(made, made.root), _place(made, made.counted)
    found = f"least(inside_{root}, inside_{counted} + {_left(made, made.counted)})"
    if made.removed is not None:
        found += f" - greatest(inside_{_place(made, made.removed)} - ({_entered(made, made.removed)}), 0)"
    return f"greatest({found}, 0)"


def _essence(script: Script, plan: Plan) -> Essence:
    streams = {name: stream_text(script, name) for name in plan.streams}
    return {
        "format": plan.format,
        "query": plan.query,
        "strategy": plan.strategy,
        "rewriting": encode(plan.rewriting),
        "streams": streams,
    }


GROUPS = "(groups)"
"""The name of the counts where aliases stand in the metrics."""


def counting_metrics(
    query: Query, made: Rewriting, observation: str, progress: Any, clock: WatermarkBefore
) -> dict[str, Any]:
    """What Spark's progress of a batch says of the counts, in the fields of `run --metrics`."""
    observed = progress["observedMetrics"]
    rows_in, windows = {}, {}
    for source in made.sources:
        seen = observed.get(input_observation(observation, source.alias))
        rows_in[source.alias] = int(seen["rows"] or 0) if seen is not None else 0
        windows[source.alias] = seen[WINDOWS] if seen is not None else None
    violations: Counter[str] = Counter()
    for alias, rows in late_rows(made, windows, clock.before(progress)).items():
        violations[order_broken(query.by_alias[alias].stream)] += rows
    operators = progress["stateOperators"]
    groups = sum(int(operator["numRowsTotal"]) for operator in operators)
    return {
        "rows_in": rows_in,
        "rows_out": int(observed[observation]["rows_out"] or 0),
        "state_rows": {GROUPS: groups},
        "state_tuples": {GROUPS: groups},
        "state_bytes": sum(int(operator["memoryUsedBytes"]) for operator in operators),
        "violations": dict(violations),
        # Counts watch nothing else: no constraint is in force with a k of its own.
        "k": {},
    }


def seen_in(made: Rewriting, observation: str, progress: Any) -> Observed | None:
    """What the samples of a batch show; None where nothing is sampled, or no window was given."""
    shown = progress["observedMetrics"][observation]
    if not made.with_bounds or not shown["rows_out"]:
        return None
    return Observed(
        int(shown["rows_out"]),
        float(shown["error_observed"] or 0),
        float(shown["error_violations"] or 0),
        int(shown["exceeded"] or 0),
        float(shown["error_answer"] or 0),
        int(shown["broken"] or 0),
    )
