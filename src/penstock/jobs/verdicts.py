"""Is the state of a job bounded, and what would bound it: `penstock.check` and `penstock.explain`.

A verdict on a DataFrame is that on its script, with what Spark keeps beside it (deduplications, functions with a state
of their own), and with fixes in the words of the job: first what a Spark user knows, then promises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from penstock import compile as scripts
from penstock.analysis.finding import Bounded, Finding, Means, StateFinding, Unbounded, Undecided
from penstock.analysis.reasons import BoundedBy, Notice, WhyOpen
from penstock.errors import PenstockError
from penstock.explain.block_text import of_all_blocks
from penstock.explain.pyspark_code import fix_code
from penstock.explain.shown import Explanation, ShownVerdict
from penstock.frames.job_hints import JobHints
from penstock.jobs.job_scripts import (
    adopted_source,
    greatest_watermark,
    lag_of,
    obstacles,
    read_job,
    require_frame_for,
    require_known,
    script_in,
)
from penstock.model.query import Query
from penstock.model.script import Script

if TYPE_CHECKING:
    from penstock.analysis.finding import Verdict
    from penstock.spark.frames.adopted_frame import ReadFrame
    from penstock.spark.stream import DataFrame

_FROM_BEST = ("bounded", "undecided", "unbounded")


def check(
    job: Script | DataFrame, query: str | None = None, *, mode: str | None = None, **hints: Unpack[JobHints]
) -> Verdict:
    """Is the state of a query bounded? Of a script, or of a streaming DataFrame as it stands in a PySpark job.

    The name of the query may be left out where a script has but one; of a DataFrame it is the name to call it by, and
    the output mode (`append` if it is left out), budgets and other hints are those of `adopt`. What `adopt` would
    refuse is told in the notices.
    """
    require_frame_for(job, hints, mode)
    if isinstance(job, Script):
        return ShownVerdict.of(scripts.check(job, query), job, scripts.query_named(job, query))
    if not hasattr(job, "sparkSession"):
        scripts.query_named(job, query)  # type: ignore[arg-type]  # it says what was passed instead
    require_known(mode := mode or "append")
    source = adopted_source(job)
    if source is not None:
        job, query, hints = source.frame, query or source.query, hints or source.hints
    read = read_job(job, hints)
    asked = script_in(read, query)
    verdict = _with_job_fixes(_without_doubt(scripts.check(asked), read), read, hints)
    verdict = _with_own_state(verdict, read, asked.queries[0])
    # One that is adopted was taken in the mode that it was adopted for, and is written in any.
    found = obstacles(read, asked.queries[0], mode if source is None else None) if read.keeps_state else ()
    told = [f"penstock.adopt refuses it: {one.message}; {one.hint}" for one in found]
    if source is None and not told and (times := read.event_times):
        told.append(
            f"Spark does not start it as it stands: rows carry {' and '.join(times)}, each with a watermark, into one "
            "state (MULTIPLE_EVENT_TIME_COLUMNS); penstock.adopt runs it"
        )
    if (policy := greatest_watermark(read)) is not None:
        told.append(policy)
    verdict = replace(verdict, notices=(*verdict.notices, *told))
    return ShownVerdict.of(verdict, asked, asked.queries[0])


def explain(job: Script | DataFrame, query: str | None = None, **hints: Unpack[JobHints]) -> Explanation:
    """The plan of a query: what is kept, what purges it, what bounds it. Prints as `penstock explain` does."""
    require_frame_for(job, hints)
    if isinstance(job, Script):
        asked, chosen = job, scripts.query_named(job, query)
    else:
        asked = script_in(read_job(job, hints), query)
        chosen = asked.queries[0]
    verdict = scripts.judged(chosen)
    return Explanation(asked, chosen, verdict, scripts.plan_of(chosen, verdict))


def _with_job_fixes(verdict: Verdict, read: ReadFrame, hints: JobHints) -> Verdict:
    """The verdict with what to write in the job: first what Spark users know, then promises."""
    if verdict.verdict == "bounded":
        return verdict
    usual = usual_fix(read, hints)
    found = [usual] if usual else []
    for state in of_all_blocks(verdict).streams:
        offered = () if isinstance(state.finding, Bounded) else state.finding.fixes
        found += [code for fix in offered if (code := fix_code(fix)) not in found]
    return replace(verdict, job_fixes=tuple(found))


def usual_fix(read: ReadFrame, hints: JobHints) -> tuple[str, ...] | None:
    """What a Spark user would write that bounds it."""
    return next((fix.lines for fix in read.usual_fixes() if _is_bounded(read.script_of(fix.relation, hints))), None)


def _is_bounded(text: str) -> bool:
    try:
        return scripts.check(scripts.parse(text, "<job>")).verdict == "bounded"
    except PenstockError:
        return False


def _without_doubt(verdict: Verdict, read: ReadFrame) -> Verdict:
    """The verdict that is not unbounded where a column is of a watermark's, nobody can say how: it may close rows."""
    if not read.job.unsaid:
        return verdict
    why = WhyOpen.OF_A_CLOCK(read.job.unsaid)

    def judged(one: StateFinding) -> StateFinding:
        found = one.finding
        if isinstance(found, Bounded):
            return one
        return replace(one, finding=Undecided((*found.because, why), found.fixes))

    blocks = (replace(one, verdict=_without_doubt(one.verdict, read)) for one in verdict.blocks)
    return replace(
        verdict,
        verdict=min(verdict.verdict, "undecided", key=_FROM_BEST.index),
        streams=tuple(map(judged, verdict.streams)),
        witness=None,
        blocks=tuple(blocks),
    )


def _with_own_state(verdict: Verdict, read: ReadFrame, query: Query) -> Verdict:
    """The verdict with the state that stays Spark's: of deduplications, and of functions of the user's."""
    kept = [(stream, one.columns, one.forgets) for stream, one in read.deduplications]
    if read.deduplicated is not None:
        kept.append(("the answer", read.deduplicated, lag_of(read, query) is not None))
    found: list[StateFinding] = []
    for stream, columns, forgets in kept:
        finding: Finding = Unbounded((WhyOpen.REMEMBERED_FOR_EVER(columns),))
        if forgets:
            finding = Bounded(BoundedBy.FORGOTTEN_BY_SPARK(), Means.PURGE)
        found.append(StateFinding(stream, "(dropDuplicates)", finding))
    for name in read.job.functions:
        found.append(StateFinding(name, f"({name})", Undecided((WhyOpen.KEPT_BY_A_FUNCTION(name),))))
    if not found:
        return verdict
    worst = max((verdict.verdict, *(one.finding.verdict for one in found)), key=_FROM_BEST.index)
    notices = tuple(one for one in verdict.notices if one != Notice.PLAIN_QUERY())
    fixes = _with_forgetting(verdict, [one.fix(stream) for stream, one in read.deduplications if not one.forgets])
    return replace(verdict, verdict=worst, streams=(*verdict.streams, *found), notices=notices, job_fixes=fixes)


def _with_forgetting(verdict: Verdict, forgetting: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """The fixes with what lets Spark forget what it deduplicates below; none where it cannot be said."""
    if not all(forgetting):
        return ()
    lines = [line for fix in forgetting for line in fix]
    others = ((),) if verdict.verdict == "bounded" else verdict.job_fixes or ()
    return tuple(tuple(dict.fromkeys((*fix, *lines))) for fix in others if fix or lines)
