"""A PySpark job, unchanged: its DataFrames checked, and run by Penstock.

    DataFrame --read--> script --check--> Verdict
                               --adopt--> the same DataFrame, run by Penstock

What is promised of a DataFrame goes into that script.

Nothing here decides: what a plan says is read in `spark/frames`, and the script that it becomes goes the way of every
script (`compile`).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from penstock import compile as scripts
from penstock.analysis.check import check_query
from penstock.analysis.finding import Bounded, Finding, Means, StateFinding, Unbounded, Undecided
from penstock.analysis.reasons import BoundedBy, WhyOpen
from penstock.errors import NotSupportedYet, PenstockError, ScriptErrors, UsageError
from penstock.explain.block_text import of_all_blocks
from penstock.explain.comparison import JobComparison
from penstock.explain.pyspark_code import fix_code, script_code
from penstock.explain.reason_words import told
from penstock.explain.shown import Explanation, ShownVerdict
from penstock.frames.frame_promises import FramePromise
from penstock.frames.job_hints import NO_HINTS, JobHints
from penstock.frames.written_promises import require_written
from penstock.model.closed_groups import emits_once
from penstock.model.names import fold, nearest
from penstock.model.query import Query
from penstock.model.script import Script

if TYPE_CHECKING:
    from penstock.analysis.finding import Verdict
    from penstock.profile.job_profile import JobProfile
    from penstock.spark.frames.adopted_before import AdoptedOf
    from penstock.spark.frames.adopted_frame import ReadFrame
    from penstock.spark.frames.adopted_metrics import MetricsTable, StreamingQuery
    from penstock.spark.stream import DataFrame

_MODES = ("append", "update")
_FROM_BEST = ("bounded", "undecided", "unbounded")
_PROFILED_BATCHES = 20


def check(job: Script | DataFrame, query: str | None = None, **hints: Unpack[JobHints]) -> Verdict:
    """Is the state of a query bounded? Of a script, or of a streaming DataFrame as it stands in a PySpark job.

    The name of the query may be left out where a script has but one; of a DataFrame it is the name to call it by, and
    budgets and other hints are those of `adopt`.
    """
    _require_frame_for(job, hints)
    if isinstance(job, Script):
        return ShownVerdict.of(scripts.check(job, query), job, scripts.query_named(job, query))
    if not hasattr(job, "sparkSession"):
        scripts.query_named(job, query)  # type: ignore[arg-type]  # it says what was passed instead
    source = _adopted_of(job)
    if source is not None:
        job, query, hints = source.frame, query or source.query, hints or source.hints
    read = _read(job, hints)
    asked = _script(read, query)
    verdict = _with_own_state(_with_job_fixes(scripts.check(asked), read, hints), read)
    from penstock.spark.calendar_days import calendar_obstacle  # noqa: PLC0415 - with Spark

    if (obstacle := calendar_obstacle(read.session, asked.queries[0])) is not None:
        refused = f"penstock.adopt refuses it: {obstacle.message}; {obstacle.hint}"
        verdict = replace(verdict, notices=(*verdict.notices, refused))
    return ShownVerdict.of(verdict, asked, asked.queries[0])


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
    if _adopted_of(frame) is not None:
        return frame
    read = _read(frame, hints)
    if not read.keeps_state:
        return frame
    from penstock.spark.frames.adopted_before import AdoptedOf, note_adopted_of  # noqa: PLC0415 - with Spark

    answer, observation = _adopted(read, query, mode, allow_unbounded=allow_unbounded)
    note_adopted_of(observation, AdoptedOf(frame, query, hints))
    return answer


def compare(
    frame: DataFrame, *, rows: int = 100_000, batches: int = 10, mode: str = "append", allow_unbounded: bool = False
) -> JobComparison:
    """The job both ways, by Spark's own plan and adopted, on the first rows of its sources: speed, state, answers.

    At most `rows` rows of each source are taken, and given to both in so many batches. The value prints as a table, and
    shows itself in a notebook with a plot of the rows that are stored.
    """
    require_known(mode)
    read = _read(frame)
    if not read.keeps_state:
        raise UsageError("this DataFrame keeps no state, so both ways are the same", hint="pass one with a join")
    for name, given in (("rows", rows), ("batches", batches)):
        if given < 1:
            raise UsageError(f"{name} is a number above 0, not {given}")
    from penstock.spark.frames.both_ways import compare_answers, run_way  # noqa: PLC0415 - with Spark
    from penstock.spark.frames.catalyst import Catalyst  # noqa: PLC0415
    from penstock.spark.frames.sampled_sources import SampledSources  # noqa: PLC0415
    from penstock.spark.session import own_store  # noqa: PLC0415

    catalyst = Catalyst(read.session)
    with tempfile.TemporaryDirectory(prefix="penstock-compare-") as folder:
        home = Path(folder)
        sample = SampledSources(catalyst, home / "sample", rows, batches)
        own = catalyst.frame(sample.streaming(read.job.plan))
        counted = sample.rows_of_batches
        adopted, _ = _adopted(read, None, mode, allow_unbounded=allow_unbounded, read_as=sample.streaming)
        with own_store(read.session):
            spark_way, _ = run_way(own, home / "spark", counted, mode=mode, is_adopted=False)
        adopted_way, late = run_way(adopted, home / "adopted", counted, mode=mode, is_adopted=True)
        at_rest = catalyst.frame(sample.at_rest(read.job.plan))
        answers = compare_answers(home / "spark", home / "adopted", at_rest, late)
    return JobComparison(sum(counted), spark_way, adopted_way, answers)


def profile(frame: DataFrame, *, rows: int = 100_000) -> JobProfile:
    """Which promises the first rows of a job's sources keep, what they would save, and how to write them in the job."""
    read = _read(frame)
    if rows < 1:
        raise UsageError(f"rows is a number above 0, not {rows}")
    from penstock.profile.job_profile import JobProfile  # noqa: PLC0415 - with Spark
    from penstock.profile.run import profile_with  # noqa: PLC0415
    from penstock.spark.frames.catalyst import Catalyst  # noqa: PLC0415
    from penstock.spark.frames.sampled_sources import SampledSources, written_leaf  # noqa: PLC0415
    from penstock.spark.profiling.progress import Progress  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="penstock-profile-") as folder:
        home = Path(folder)
        sample = SampledSources(Catalyst(read.session), home / "sample", rows, _PROFILED_BATCHES)
        made = read.profiled_script(home)
        script = _parsed(made.text)
        given = read.inputs(sample.streaming, made)
        for stream in made.streams:
            written_leaf(given[stream.name], home / f"stream_{stream.source}", rows, _PROFILED_BATCHES)
        progress = Progress(sys.stderr)
        try:
            found = profile_with(read.session, script, progress)
        finally:
            progress.close()
    return JobProfile(found, sum(count for _, count in found.rows))


def _adopted(
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
    from penstock.spark.calendar_days import refuse_calendar_days  # noqa: PLC0415 - with Spark
    from penstock.spark.frames.adopted_metrics import note_adopted  # noqa: PLC0415
    from penstock.spark.frames.catalyst import no_log_of_errors  # noqa: PLC0415
    from penstock.spark.stream import assemble  # noqa: PLC0415

    endless = [one for _, one in read.deduplications if not one.forgets]
    if endless and not allow_unbounded:
        raise UsageError(
            told(WhyOpen.REMEMBERED_FOR_EVER(endless[0].columns)), hint="or allow_unbounded=True, as Spark does"
        )
    script = _script(read, query)
    _require_mode(script.queries[0], mode)
    chosen = script.queries[0]
    refuse_calendar_days(read.session, chosen)
    try:
        plan = scripts.runnable_plan(chosen, check_query(chosen), allow_unbounded=allow_unbounded).over_batches
    except (NotSupportedYet, UsageError) as error:
        usual = _usual_fix(read, NO_HINTS)
        if usual is None:
            raise
        raise type(error)(error.message, hint=f"write, in the job: {'; '.join(usual)}") from None
    with no_log_of_errors():
        assembled = assemble(read.session, script, chosen, plan, inputs=read.inputs(read_as))
    note_adopted(chosen, plan, assembled)
    return read.over(assembled.answer), assembled.observation


def metrics(query: StreamingQuery) -> MetricsTable:
    """What Penstock counted in each batch of a query that writes an adopted DataFrame, as far as Spark remembers."""
    from penstock.spark.frames.adopted_metrics import metrics_of_query  # noqa: PLC0415 - with Spark

    return metrics_of_query(query)


@dataclass(frozen=True)
class JobReport:
    """What a job's file would start."""

    verdicts: tuple[Verdict, ...]
    unread: tuple[tuple[str, PenstockError], ...]
    """The queries that cannot be read, each with the line of the job that starts it, and why."""
    left_out: tuple[str, ...]
    """What did not run, beside the queries."""
    failure: PenstockError | None = None
    """What ended the job before its time, with whatever it would have started then."""


def check_file(path: Path, arguments: Sequence[str] = ()) -> JobReport:
    """Run a job's file, with arguments, and no query started: the verdict on each query that it would start."""
    from penstock.spark.frames.dry_job import WouldStart, run_dry  # noqa: PLC0415 - with Spark

    verdicts: list[Verdict] = []
    unread: list[tuple[str, PenstockError]] = []

    def ask(query: WouldStart) -> None:
        try:
            require_known(query.mode)
            verdicts.append(check(query.frame, query.name))
        except PenstockError as error:
            unread.append((query.name if query.line is None else f"{path}:{query.line}: {query.name}", error))

    found = run_dry(path, ask, arguments)
    return JobReport(tuple(verdicts), tuple(unread), tuple(found.left_out), found.failure)


def promise(frame: DataFrame, *declarations: FramePromise) -> DataFrame:
    """The DataFrame, of which so much is promised: jobs that read it are checked and run with it.

    Each declaration is a value: `penstock.PrimaryKey("id")`, `penstock.Ordered("ts", within="3 seconds")` and so on.
    They are about the rows of this very DataFrame; what is made of it afterwards is worked out from them.
    """
    from penstock.spark.frames.adopted_frame import require_frame  # noqa: PLC0415 - with Spark
    from penstock.spark.frames.promised_plans import note  # noqa: PLC0415

    require_frame(frame)
    given: Sequence[object] = declarations
    wrong = [type(one).__name__ for one in given if not isinstance(one, FramePromise)]
    if wrong:
        raise UsageError(
            f"a promise is wanted, and this is of type {wrong[0]}",
            hint="e.g. penstock.promise(orders, penstock.PrimaryKey('id'))",
        )
    for declaration in declarations:
        virtual = (name for one in declarations for name in one.virtual)
        known = {*map(fold, frame.columns), *map(fold, virtual)}
        named = declaration.columns if not declaration.is_condition else ()
        if missing := [name for name in named if fold(name) not in known]:
            close = nearest(missing[0], frame.columns)
            raise UsageError(
                f"{declaration}: the DataFrame has no column {missing[0]}",
                hint=f"did you mean {close}?" if close else f"there are: {', '.join(frame.columns)}",
            )
        columns = ((field.name, field.dataType.simpleString()) for field in frame.schema)
        require_written(declaration, columns, scripts.parse)
        if declaration.other is not None:
            require_frame(declaration.other)
    note(frame, declarations)
    return frame


def explain(job: Script | DataFrame, query: str | None = None, **hints: Unpack[JobHints]) -> Explanation:
    """The plan of a query: what is kept, what purges it, what bounds it. Prints as `penstock explain` does."""
    _require_frame_for(job, hints)
    if isinstance(job, Script):
        asked, chosen = job, scripts.query_named(job, query)
    else:
        asked = _script(_read(job, hints), query)
        chosen = asked.queries[0]
    verdict = scripts.judged(chosen)
    return Explanation(asked, chosen, verdict, scripts.plan_of(chosen, verdict))


def _with_job_fixes(verdict: Verdict, read: ReadFrame, hints: JobHints) -> Verdict:
    """The verdict with what to write in the job: first what Spark users know, then promises."""
    if verdict.verdict == "bounded":
        return verdict
    usual = _usual_fix(read, hints)
    found = [usual] if usual else []
    for state in of_all_blocks(verdict).streams:
        offered = () if isinstance(state.finding, Bounded) else state.finding.fixes
        found += [code for fix in offered if (code := fix_code(fix)) not in found]
    return replace(verdict, job_fixes=tuple(found))


def _usual_fix(read: ReadFrame, hints: JobHints) -> tuple[str, ...] | None:
    """What a Spark user would write that bounds it."""
    return next((fix.lines for fix in read.usual_fixes() if _is_bounded(read.script_of(fix.relation, hints))), None)


def _is_bounded(text: str) -> bool:
    try:
        return scripts.check(scripts.parse(text, "<job>")).verdict == "bounded"
    except PenstockError:
        return False


def _with_own_state(verdict: Verdict, read: ReadFrame) -> Verdict:
    """The verdict with the state that stays Spark's: of deduplications, and of functions of the user's."""
    found: list[StateFinding] = []
    for stream, one in read.deduplications:
        finding: Finding = Unbounded((WhyOpen.REMEMBERED_FOR_EVER(one.columns),))
        if one.forgets:
            finding = Bounded(BoundedBy.FORGOTTEN_BY_SPARK(), Means.PURGE)
        found.append(StateFinding(stream, "(dropDuplicates)", finding))
    for name in read.job.functions:
        found.append(StateFinding(name, f"({name})", Undecided((WhyOpen.KEPT_BY_A_FUNCTION(name),))))
    worst = max((verdict.verdict, *(one.finding.verdict for one in found)), key=_FROM_BEST.index)
    return replace(verdict, verdict=worst, streams=(*verdict.streams, *found))


def to_sql(frame: DataFrame, **hints: Unpack[JobHints]) -> str:
    """The script that says what a DataFrame's plan, and what is promised of it, says."""
    return _read(frame, hints).script.text


def to_pyspark(script: Script, query: str | None = None) -> str:
    """The PySpark code that says what a query of a script, and what its streams declare, says."""
    return script_code(script, scripts.query_named(script, query))


def _require_frame_for(job: Script | DataFrame, hints: JobHints) -> None:
    if isinstance(job, Script) and hints:
        raise UsageError(f"{next(iter(hints))} is for a DataFrame", hint="a script has hints of its own: /*+ … */")


def _adopted_of(frame: DataFrame) -> AdoptedOf | None:
    from penstock.spark.frames.adopted_before import adopted_of  # noqa: PLC0415 - with Spark

    return adopted_of(frame)


def _read(frame: DataFrame, hints: JobHints = NO_HINTS) -> ReadFrame:
    """What a DataFrame says; of one that was adopted, what the one says that it was made of."""
    from penstock.spark.frames.adopted_frame import read_frame  # noqa: PLC0415 - with Spark

    source = _adopted_of(frame)
    return read_frame(frame, hints) if source is None else read_frame(source.frame, hints or source.hints)


def _script(read: ReadFrame, query: str | None) -> Script:
    parsed = _parsed(read.script.text)
    # Groups that are closed are given once, as in Spark's append mode.
    named = tuple(replace(one, name=query or one.name, appends=True) for one in parsed.queries)
    return replace(parsed, queries=named)


def _parsed(text: str) -> Script:
    try:
        return scripts.parse(text, "<job>")
    except ScriptErrors as errors:
        first = errors.mistakes[0]
        raise NotSupportedYet(
            f"what this job asks for is not in Penstock's language: {first.message}",
            detail=first.place.text.strip(),
            hint=first.hint or "leave this query to Spark as it is",
        ) from None


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
            "the groups of this query are closed by watermarks, and each is emitted once, when it is complete",
            hint="write it in append mode: adopt(…), and leave outputMode out",
        )
