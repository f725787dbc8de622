"""A job's DataFrame run by Penstock, and what it counts meanwhile: `penstock.adopt` and `penstock.metrics`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Unpack

from penstock import compile as scripts
from penstock.analysis.check import check_query
from penstock.analysis.reasons import WhyOpen
from penstock.errors import NotSupportedYet, UsageError
from penstock.explain.reason_words import told
from penstock.frames.job_hints import NO_HINTS, JobHints
from penstock.jobs.job_scripts import (
    adopted_source,
    greatest_watermark,
    lag_of,
    obstacles,
    read_job,
    remembered_for_ever,
    require_known,
    script_in,
)
from penstock.jobs.verdicts import usual_fix

if TYPE_CHECKING:
    from penstock.spark.frames.adopted_frame import ReadFrame
    from penstock.spark.frames.adopted_metrics import MetricsTable, StreamingQuery
    from penstock.spark.stream import DataFrame


def adopt(
    frame: DataFrame,
    *,
    query: str | None = None,
    mode: str = "append",
    allow_unbounded: bool = False,
    **hints: Unpack[JobHints],
) -> DataFrame:
    """The same DataFrame, run by Penstock: joins, groups and distinct rows in it keep the least state.

    Its answer at the end of the input is that of Spark's own plan where every stream keeps the delay of its watermark.
    A DataFrame whose plan keeps no state is given back as it is. `query` is the name of the query in verdicts and
    metrics; `mode` the output mode that the job writes it in, `append` or `update`. Hints of the language are
    arguments: `budget="100000 rows"`, `evict`, `value`, `archive`, `shed_input`, `error`, `monitor`; and `on_violation`
    is what happens to rows that are later than their watermark allows.
    """
    require_known(mode)
    if adopted_source(frame) is not None:
        return frame
    read = read_job(frame, hints)
    if not read.keeps_state:
        return frame
    from penstock.spark.frames.adopted_before import AdoptedOf, note_adopted_of  # noqa: PLC0415 - with Spark
    from penstock.spark.frames.dry_job import is_dry  # noqa: PLC0415

    answer, observation = put_together(read, query, mode, allow_unbounded=allow_unbounded or is_dry())
    if (policy := greatest_watermark(read)) is not None and not is_dry():
        sys.stderr.write(f"penstock: {policy}\n")
    note_adopted_of(observation, AdoptedOf(frame, query, hints), answer)
    return answer


def put_together(
    read: ReadFrame,
    query: str | None,
    mode: str,
    *,
    allow_unbounded: bool,
    read_as: Callable[[Any], Any] = lambda leaf: leaf,
) -> tuple[DataFrame, str]:
    """The answer of what was read, in its place, and how its counts are observed.

    With `read_as` its leaves are read by other plans.
    """
    from penstock.spark.frames.adopted_metrics import note_adopted  # noqa: PLC0415 - with Spark
    from penstock.spark.frames.catalyst import no_log_of_errors  # noqa: PLC0415
    from penstock.spark.session import make_ready  # noqa: PLC0415
    from penstock.spark.stream import assemble  # noqa: PLC0415

    script = script_in(read, query)
    chosen = script.queries[0]
    endless = remembered_for_ever(read, chosen)
    if endless is not None and not allow_unbounded:
        raise UsageError(told(WhyOpen.REMEMBERED_FOR_EVER(endless)), hint="or allow_unbounded=True, as Spark does")
    for obstacle in obstacles(read, chosen, mode):
        raise obstacle
    try:
        plan = scripts.runnable_plan(chosen, check_query(chosen), allow_unbounded=allow_unbounded).over_batches
    except (NotSupportedYet, UsageError) as error:
        usual = usual_fix(read, NO_HINTS)
        if usual is None:
            raise
        raise type(error)(error.message, hint=f"write, in the job: {'; '.join(usual)}") from None
    # Inputs may go through functions of ours, and each notes as it is put there which Python runs it.
    make_ready(read.session)
    with no_log_of_errors(), read.tables():
        lag = lag_of(read, chosen)
        inputs = read.inputs(read_as, marked=read.deduplicated is None)
        assembled = assemble(read.session, script, chosen, plan, inputs=inputs)
    note_adopted(chosen, plan, assembled)
    return read.over(assembled.answer, lag), assembled.observation


def metrics(query: StreamingQuery) -> MetricsTable:
    """What Penstock counted in each batch of a query that writes an adopted DataFrame, as far as Spark remembers."""
    from penstock.spark.frames.adopted_metrics import metrics_of_query  # noqa: PLC0415 - with Spark

    return metrics_of_query(query)
