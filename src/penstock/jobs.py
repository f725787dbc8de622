"""A PySpark job, unchanged: its DataFrames checked, and run by Penstock.

    DataFrame --read--> script --check--> Verdict
                               --adopt--> the same DataFrame, run by Penstock

What is promised of a DataFrame goes into that script.

Nothing here decides: what a plan says is read in `spark/frames`, and the script that it becomes goes the way of every
script (`compile`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import compile as scripts
from penstock.analysis.check import check_query
from penstock.analysis.finding import Bounded, Finding, Means, StateFinding, Unbounded
from penstock.analysis.reasons import BoundedBy, WhyOpen
from penstock.errors import NotSupportedYet, PenstockError, ScriptErrors, UsageError
from penstock.explain.reason_words import told
from penstock.explain.shown import Explanation, ShownVerdict
from penstock.frames.frame_promises import FramePromise
from penstock.model.closed_groups import emits_once
from penstock.model.names import fold, nearest
from penstock.model.query import Query
from penstock.model.script import Script

if TYPE_CHECKING:
    from penstock.analysis.finding import Verdict
    from penstock.spark.frames.adopted_frame import ReadFrame
    from penstock.spark.frames.adopted_metrics import MetricsTable, StreamingQuery
    from penstock.spark.stream import DataFrame

_MODES = ("append", "update")


def check(job: Script | DataFrame, query: str | None = None) -> Verdict:
    """Is the state of a query bounded? Of a script, or of a streaming DataFrame as it stands in a PySpark job.

    The name of the query may be left out where a script has but one; of a DataFrame it is the name to call it by.
    """
    if isinstance(job, Script):
        return ShownVerdict.of(scripts.check(job, query), job, scripts.query_named(job, query))
    if not hasattr(job, "sparkSession"):
        scripts.query_named(job, query)  # type: ignore[arg-type]  # it says what was passed instead
    read = _read(job)
    asked = _script(read, query)
    return ShownVerdict.of(_with_deduplications(scripts.check(asked), read), asked, asked.queries[0])


def adopt(
    frame: DataFrame, *, query: str | None = None, mode: str = "append", allow_unbounded: bool = False
) -> DataFrame:
    """The same DataFrame, run by Penstock: joins, groups and distinct rows in it keep the least state.

    Its answer at the end of the input is that of Spark's own plan where every stream keeps the delay of its watermark.
    A DataFrame whose plan keeps no state is given back as it is. `query` is the name of the query in verdicts and
    metrics; `mode` the output mode that the job writes it in, `append` or `update`.
    """
    require_known(mode)
    from penstock.spark.frames.adopted_metrics import note_adopted  # noqa: PLC0415 - with Spark
    from penstock.spark.frames.catalyst import no_log_of_errors  # noqa: PLC0415
    from penstock.spark.stream import assemble  # noqa: PLC0415

    read = _read(frame)
    if not read.keeps_state:
        return frame
    endless = [one for _, one in read.deduplications if not one.forgets]
    if endless and not allow_unbounded:
        raise UsageError(
            told(WhyOpen.REMEMBERED_FOR_EVER(endless[0].columns)), hint="or allow_unbounded=True, as Spark does"
        )
    script = _script(read, query)
    _require_mode(script.queries[0], mode)
    chosen = script.queries[0]
    plan = scripts.runnable_plan(chosen, check_query(chosen), allow_unbounded=allow_unbounded)
    with no_log_of_errors():
        assembled = assemble(read.session, script, chosen, plan, inputs=read.inputs)
    note_adopted(chosen, plan, assembled)
    return read.over(assembled.answer)


def metrics(query: StreamingQuery) -> MetricsTable:
    """What Penstock counted in each batch of a query that writes an adopted DataFrame, as far as Spark remembers."""
    from penstock.spark.frames.adopted_metrics import metrics_of_query  # noqa: PLC0415 - with Spark

    return metrics_of_query(query)


@dataclass(frozen=True)
class JobReport:
    """What a job's file would start."""

    verdicts: tuple[Verdict, ...]
    unread: tuple[tuple[str, PenstockError], ...]
    """The queries that cannot be read, and why."""
    left_out: tuple[str, ...]
    """What did not run, beside the queries."""


def check_file(path: Path) -> JobReport:
    """Run a job's file with no query started: the verdict on each query that it would start."""
    from penstock.spark.frames.dry_job import WouldStart, run_dry  # noqa: PLC0415 - with Spark

    verdicts: list[Verdict] = []
    unread: list[tuple[str, PenstockError]] = []

    def ask(query: WouldStart) -> None:
        try:
            require_known(query.mode)
            verdicts.append(check(query.frame, query.name))
        except PenstockError as error:
            unread.append((query.name, error))

    found = run_dry(path, ask)
    return JobReport(tuple(verdicts), tuple(unread), tuple(found.left_out))


def promise(frame: DataFrame, *declarations: FramePromise) -> DataFrame:
    """The DataFrame, of which so much is promised: jobs that read it are checked and run with it.

    Each declaration is a value: `penstock.PrimaryKey("id")`, `penstock.Ordered("ts", within="3 seconds")` and so on.
    They are about the rows of this very DataFrame; what is made of it afterwards is worked out from them.
    """
    from penstock.spark.frames.adopted_frame import require_frame  # noqa: PLC0415 - with Spark
    from penstock.spark.frames.promised_plans import note  # noqa: PLC0415

    require_frame(frame)
    for declaration in declarations:
        if not isinstance(declaration, FramePromise):
            raise UsageError(
                f"a promise is wanted, and this is of type {type(declaration).__name__}",
                hint="e.g. penstock.promise(orders, penstock.PrimaryKey('id'))",
            )
        known = set(map(fold, frame.columns))
        named = declaration.columns if not declaration.is_condition else ()
        if missing := [name for name in named if fold(name) not in known]:
            close = nearest(missing[0], frame.columns)
            raise UsageError(
                f"{declaration}: the DataFrame has no column {missing[0]}",
                hint=f"did you mean {close}?" if close else f"there are: {', '.join(frame.columns)}",
            )
        if declaration.other is not None:
            require_frame(declaration.other)
    note(frame, declarations)
    return frame


def explain(job: Script | DataFrame, query: str | None = None) -> Explanation:
    """The plan of a query: what is kept, what purges it, what bounds it. Prints as `penstock explain` does."""
    if isinstance(job, Script):
        asked, chosen = job, scripts.query_named(job, query)
    else:
        asked = _script(_read(job), query)
        chosen = asked.queries[0]
    verdict = scripts.judged(chosen)
    return Explanation(asked, chosen, verdict, scripts.plan_of(chosen, verdict))


def _with_deduplications(verdict: Verdict, read: ReadFrame) -> Verdict:
    """The verdict with the state of the deduplications that Spark does."""
    found: list[StateFinding] = []
    for stream, one in read.deduplications:
        finding: Finding = Unbounded((WhyOpen.REMEMBERED_FOR_EVER(one.columns),))
        if one.forgets:
            finding = Bounded(BoundedBy.FORGOTTEN_BY_SPARK(), Means.PURGE)
        found.append(StateFinding(stream, "(dropDuplicates)", finding))
    if not found:
        return verdict
    worst = verdict.verdict if all(one.forgets for _, one in read.deduplications) else "unbounded"
    return replace(verdict, verdict=worst, streams=(*verdict.streams, *found))


def script(frame: DataFrame) -> str:
    """The script that says what a DataFrame's plan says."""
    return _read(frame).script.text


def _read(frame: DataFrame) -> ReadFrame:
    from penstock.spark.frames.adopted_frame import read_frame  # noqa: PLC0415 - with Spark

    return read_frame(frame)


def _script(read: ReadFrame, query: str | None) -> Script:
    try:
        parsed = scripts.parse(read.script.text, "<job>")
    except ScriptErrors as errors:
        first = errors.mistakes[0]
        raise NotSupportedYet(
            f"what this job asks for is not in Penstock's language: {first.message}",
            detail=first.place.text.strip(),
            hint=first.hint or "leave this query to Spark as it is",
        ) from None
    # Groups that are closed are given once, as in Spark's append mode.
    named = tuple(replace(one, name=query or one.name, appends=True) for one in parsed.queries)
    return replace(parsed, queries=named)


def require_known(mode: str) -> None:
    """Raise UsageError for an output mode that Penstock has not."""
    if mode.lower() not in _MODES:
        raise UsageError(
            f"Penstock knows the output modes {' and '.join(_MODES)}, not {mode}",
            hint="complete mode gives all groups in every batch: write those that changed, in update mode, by key",
        )


def _require_mode(query: Query, mode: str) -> None:
    """Raise UsageError where Spark gives other rows of a group in that mode than Penstock does."""
    once = emits_once(query)
    if query.is_grouped and mode == "append" and not once:
        raise UsageError(
            "the groups of this query change, and no watermark closes them, so they cannot be appended",
            hint="group by a window of a column with a watermark as well, or adopt(…, mode='update')",
        )
    if query.is_grouped and mode == "update" and once:
        raise UsageError(
            "the groups of this query are closed by watermarks, and each is given once, when it is complete",
            hint="write it in append mode: adopt(…), and leave outputMode out",
        )
