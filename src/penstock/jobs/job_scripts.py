"""A DataFrame's plan as a script, and what a job may ask of it.

The plan is read in `spark/frames`; of a DataFrame that was adopted, that of the one it was made of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from penstock import compile as scripts
from penstock.analysis.answer_lag import answer_lag
from penstock.analysis.check import check_query
from penstock.analysis.finding import each_block
from penstock.errors import NotSupportedYet, PenstockError, ScriptErrors, UsageError
from penstock.explain.pyspark_code import script_code
from penstock.frames.job_hints import NO_HINTS, JobHints
from penstock.frames.job_relations import leaves_of
from penstock.model.closed_groups import emits_once
from penstock.model.names import nearest
from penstock.model.query import Query
from penstock.model.script import Script

if TYPE_CHECKING:
    from penstock.spark.frames.adopted_before import AdoptedOf
    from penstock.spark.frames.adopted_frame import ReadFrame
    from penstock.spark.stream import DataFrame

_MODES = ("append", "update")
_WATERMARK_POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
_BY_COLUMN = (
    "make it a column of its stream before the streams meet (withColumn), of a plain type, and compare that; of "
    "structs compare the fields: a.k.x <=> b.k.x"
)
"""What a job writes where a script would declare something of a stream."""


def to_sql(frame: DataFrame, **hints: Unpack[JobHints]) -> str:
    """The script that says what a DataFrame's plan, and what is promised of it, says."""
    return read_job(frame, hints).script.text


def to_pyspark(script: Script, query: str | None = None) -> str:
    """The PySpark code that says what a query of a script, and what its streams declare, says."""
    return script_code(script, scripts.query_named(script, query))


def read_job(frame: DataFrame, hints: JobHints = NO_HINTS) -> ReadFrame:
    """What a DataFrame says; of one that was adopted, what the one says that it was made of."""
    from penstock.spark.frames.adopted_frame import read_frame  # noqa: PLC0415 - with Spark

    source = adopted_source(frame)
    return read_frame(frame, hints) if source is None else read_frame(source.frame, hints or source.hints)


def adopted_source(frame: DataFrame) -> AdoptedOf | None:
    """What a DataFrame was adopted of; None if it was not."""
    from penstock.spark.frames.adopted_before import adopted_of  # noqa: PLC0415 - with Spark

    return adopted_of(frame)


def script_in(read: ReadFrame, query: str | None) -> Script:
    """The script of what was read, whose query has that name."""
    read_script = parsed(read)
    # Groups that are closed are given once, as in Spark's append mode.
    named = tuple(replace(one, name=query or one.name, appends=True) for one in read_script.queries)
    return replace(read_script, queries=named)


def parsed(read: ReadFrame, written: str | None = None) -> Script:
    """The script of what was read, or another of it; raises NotSupportedYet where the language lacks what is asked."""
    try:
        return scripts.parse(read.script.text if written is None else written, "<job>")
    except ScriptErrors as errors:
        first = errors.mistakes[0]
        raise NotSupportedYet(
            f"what this job asks for is not in Penstock's language: {first.message}",
            detail="; ".join([first.place.text.strip(), *(f"in the job: {place}" for place in read.job.places)]),
            hint=_BY_COLUMN
            if "CREATE STREAM" in (first.hint or "")
            else first.hint or "leave this query to Spark as it is",
        ) from None


def lag_of(read: ReadFrame, query: Query) -> int | None:
    """The milliseconds by which rows of the answer may come late to what deduplicates it; None if none are known."""
    ticks = None if read.forgetting is None else answer_lag(query, read.forgetting)
    return None if ticks is None else -(-ticks // 1000)


def remembered_for_ever(read: ReadFrame, query: Query) -> tuple[str, ...] | None:
    """The columns by which Spark deduplicates without an end, below or on top; None if it does not."""
    if read.deduplicated is not None and lag_of(read, query) is None:
        return read.deduplicated
    return next((one.columns for _, one in read.deduplications if not one.forgets), None)


def require_frame_for(job: Script | DataFrame, hints: JobHints, mode: str | None = None) -> None:
    """Raise UsageError for hints or an output mode that are given with a script."""
    if isinstance(job, Script) and mode is not None:
        raise UsageError("mode is for a DataFrame", hint="of a script the sink says how it is written")
    if isinstance(job, Script) and hints:
        raise UsageError(f"{next(iter(hints))} is for a DataFrame", hint="a script has hints of its own: /*+ … */")


def require_known(mode: str) -> None:
    """Raise UsageError for an output mode that Penstock has not."""
    asked = str(mode).lower()
    if asked not in _MODES:
        close = nearest(asked, _MODES)
        raise UsageError(
            f"Penstock knows the output modes {' and '.join(_MODES)}, not {mode}",
            hint="complete mode gives all groups in every batch: write those that changed, in update mode, by key"
            if asked == "complete"
            else f"did you mean {close}?"
            if close
            else "append is what a job has that sets none",
        )


def obstacles(read: ReadFrame, query: Query, mode: str | None) -> Iterator[PenstockError]:
    """Why `adopt` refuses what it could read, bounded or not; of one that is adopted the mode is None."""
    from penstock.spark.calendar_days import calendar_obstacle  # noqa: PLC0415 - with Spark

    found = (None if mode is None else mode_obstacle(query, mode.lower()), calendar_obstacle(read.session, query))
    yield from (one for one in found if one is not None)
    if times := read.event_times_below:
        yield UsageError(
            f"Spark does not start it: rows carry {' and '.join(times)} into what it keeps below the joins",
            detail="MULTIPLE_EVENT_TIME_COLUMNS: each of these columns has a watermark",
            hint="leave all but one of them out before dropDuplicates",
        )


def greatest_watermark(read: ReadFrame) -> str | None:
    """What is told where Spark drops rows by the greatest watermark of several streams, not by the least."""
    marked = {leaf.source for leaf in leaves_of(read.job.relation) if any(c.delay is not None for c in leaf.columns)}
    if len(marked) < 2 or str(read.session.conf.get(_WATERMARK_POLICY, "min")).lower() != "max":
        return None
    return (
        f"{_WATERMARK_POLICY} is max: Spark drops the rows of a stream that lags behind the others, and "
        "penstock.adopt joins them, since each stream has a clock of its own"
    )


def mode_obstacle(query: Query, mode: str) -> UsageError | None:
    """What is said where Spark gives other rows of a group in that mode than Penstock does."""
    # What closes groups of groups is promised of the answer below, which follows as the query is checked.
    once = query.is_grouped and emits_once(each_block(query, check_query(query))[-1][0])
    if query.is_grouped and mode == "append" and not once:
        return UsageError(
            "the groups of this query change, and no watermark closes them, so they cannot be appended",
            hint="group by a window of a column with a watermark as well, or adopt(…, mode='update')",
        )
    if query.is_grouped and mode == "update" and once:
        return UsageError(
            "the groups of this query are closed by watermarks, and each is emitted once, when it is complete",
            hint="write it in append mode: adopt(…), and leave outputMode out",
        )
    return None
