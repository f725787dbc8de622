"""The way from text to verdict and plan, on one screen.

    file --load--> Script --check--> Verdict --plan--> Plan

Each step is a function of the one before; nothing here decides, prints or remembers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.analysis.check import check_query
from penstock.analysis.contradictions import contradictions
from penstock.analysis.finding import Strategy, Verdict, each_block
from penstock.analysis.fixes_of_nulls import fixes_of_nulls
from penstock.analysis.fixes_together import fixes_together
from penstock.analysis.near_in_time import near_in_time
from penstock.analysis.reasons import Notice, Reason, Told
from penstock.analysis.writable_fixes import with_writable_fixes
from penstock.errors import NotSupportedYet, UsageError
from penstock.extras import needing
from penstock.model.clauses import Source
from penstock.model.names import fold, nearest
from penstock.model.problem import Problem, Subject
from penstock.model.query import Query
from penstock.model.script import Script
from penstock.model.stream import Stream
from penstock.sql import parse_script

if TYPE_CHECKING:
    from penstock.plan.plan import Plan
    from penstock.spark.stream import DataFrame, SparkSession


def parse(text: str, file: str = "<script>", *, own_functions: Collection[str] | None = None) -> Script:
    """The script that a text declares; raises ScriptErrors with every mistake in it.

    `own_functions` are those that are registered in its session beside Spark's own, so that others are mistakes; left
    out, there may be any.
    """
    return parse_script(text, file, own_functions, _contradicted)


def _contradicted(view: Source, others: tuple[Stream, ...]) -> Iterator[Problem]:
    """The declarations of a view that no input could keep together with what holds of its rows."""
    from penstock.explain.reason_words import each_told  # noqa: PLC0415 - only where there is something to say

    assert view.below is not None
    for found in contradictions(view.stream, view.below, others):
        text, name = view.stream.schemes[found.place].text, view.stream.name
        beside = "; ".join(each_told(found.because))
        subject = Subject("scheme", index=found.place)
        if found.other is None:
            yield Problem(subject, f"no row of {name} could keep {text}: {beside}", "leave out what is not so")
            continue
        message = f"no row of {name} that meets one of {found.other} could keep {text} beside {beside}"
        yield Problem(subject, message, "leave out what is not so")


def load(path: str | Path, *, own_functions: Collection[str] | None = None) -> Script:
    """The script in a file."""
    return parse(read_text(path), str(path), own_functions=own_functions)


def check(script: Script, query: str | None = None) -> Verdict:
    """Is the state of a query bounded? The name may be left out where there is but one query."""
    return judged(query_named(script, query))


def judged(query: Query) -> Verdict:
    """The verdict on a query, with notices of what this version cannot run of it, and of promises that pile up."""
    from penstock.plan.endless_promises import endless_promises  # noqa: PLC0415 - with the planner
    from penstock.plan.runnable import asks_for_plan, obstacles_of_blocks, unkept_bounds  # noqa: PLC0415
    from penstock.plan.stateless import needs_no_state  # noqa: PLC0415

    verdict = check_query(query)
    if verdict.strategy is Strategy.REWRITE:
        return verdict
    said: tuple[Told, ...] = ()
    if found := obstacles_of_blocks(query, verdict):
        said = (Notice.CANNOT_RUN(found),)
    elif verdict.verdict == "bounded" and any(asks_for_plan(*block) for block in each_block(query, verdict)):
        made = plan_of(query, verdict).all_blocks
        said = tuple(told for block in made for told in endless_promises(block))
        if unkept := tuple(why for block in made for why in unkept_bounds(block)):
            said = (*said, Notice.ONLY_UNBOUNDED(unkept))
        if all(map(needs_no_state, made)):
            said = (*said, Notice.PLAIN_QUERY())
    verdict = replace(verdict, notices=(*verdict.notices, *said))
    if verdict.verdict == "bounded":
        return verdict
    verdict = with_writable_fixes(query, verdict)
    together = fixes_together(query, verdict) or fixes_of_nulls(query)
    # Where a stream may be absent its time is no bound of the others.
    is_merged = any(isinstance(n, Reason) and n.kind is Notice.MERGED_COLUMN_COMPARED for n in verdict.notices)
    return replace(verdict, near=None if is_merged else near_in_time(query, verdict), together=together)


def plan(script: Script, query: str | None = None) -> Plan:
    """What is kept of each stream, what purges it, what bounds it."""
    chosen = query_named(script, query)
    return plan_of(chosen, check_query(chosen))


def stream(
    spark: SparkSession,
    script: Script,
    inputs: Mapping[str, DataFrame] | None = None,
    query: str | None = None,
    *,
    allow_unbounded: bool = False,
    trust_script: bool = False,
) -> DataFrame:
    """A query as a streaming DataFrame; streams that `inputs` leaves out are read as their USING says.

    With `trust_script` the script may do more than read its sources and write its sinks: docs/security.md.
    """
    with needing("spark"):
        from penstock.spark.stream import assemble  # noqa: PLC0415 - the only way in that needs Spark

    if not trust_script:
        require_tame(script, "trust_script=True allows it")
    chosen = query_named(script, query)
    verdict = check_query(chosen)
    made = runnable_plan(chosen, verdict, allow_unbounded=allow_unbounded)
    return assemble(spark, script, chosen, made, inputs=inputs or {}).answer


def require_tame(script: Script, allowing: str) -> None:
    """Raise UsageError if a script does more than read what its sources name and write what its sinks name."""
    from penstock.sql.trust import beyond  # noqa: PLC0415 - only where something is run

    if found := beyond(script):
        raise UsageError(
            f"the script does more than read its sources and write its sinks: {'; '.join(found)}",
            hint=f"if you trust whoever wrote it, {allowing}; see docs/security.md",
        )


def runnable_plan(query: Query, verdict: Verdict, *, allow_unbounded: bool) -> Plan:
    """The plan, if this version can run it and keep its bound; else an error that says what is missing."""
    from penstock.explain.reason_words import each_told  # noqa: PLC0415 - as in plan_of
    from penstock.plan.runnable import obstacles_of_blocks, unkept_bounds  # noqa: PLC0415

    if verdict.strategy is Strategy.REWRITE:
        return plan_of(query, verdict)
    if found := obstacles_of_blocks(query, verdict):
        raise NotSupportedYet(
            f"query {query.name}: {'; '.join(each_told(found))}", hint="check and explain take this query"
        )
    if verdict.verdict != "bounded" and not allow_unbounded:
        raise UsageError(
            f"the state of query {query.name} is {verdict.verdict}",
            hint="penstock.check says what to declare; or allow_unbounded=True",
        )
    made = plan_of(query, verdict)
    unkept = tuple(why for block in made.all_blocks for why in unkept_bounds(block))
    if unkept and not allow_unbounded:
        raise NotSupportedYet(
            f"query {query.name}: {'; '.join(each_told(unkept))}",
            hint="--allow-unbounded runs it; its state may then grow",
        )
    return made


def plan_of(query: Query, verdict: Verdict) -> Plan:
    """The plan of a query that was checked already."""
    # Loaded here, so that a `check` of what has no bound does not pay for the planner.
    from penstock.plan.planner import make_plan  # noqa: PLC0415

    return make_plan(query, verdict)


def query_named(script: Script, name: str | None) -> Query:
    """The query of that name, whatever its case; the only one if there is no name."""
    if not isinstance(script, Script):
        raise UsageError(
            f"a script is wanted, and this is of type {type(script).__name__}",
            hint="pass what penstock.parse(text) gives; check, explain and adopt take a streaming DataFrame too",
        )
    names = [q.name for q in script.queries]
    if not names:
        raise UsageError("the script has no query", hint="add a SELECT, or INSERT INTO sink SELECT …")
    if name is None:
        if len(names) > 1:
            raise UsageError(f"the script has {len(names)} queries: {', '.join(names)}", hint="say which: query='…'")
        return script.queries[0]
    for query in script.queries:
        if fold(query.name) == fold(name):
            return query
    close = nearest(name, names)
    raise UsageError(
        f"the script has no query {name}",
        detail=f"its queries are: {', '.join(names)}",
        hint=f"did you mean {close}?" if close else None,
    )


def read_text(path: str | Path) -> str:
    """The text of a script file, which must be UTF-8 and not empty; a byte order mark is passed over."""
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a directory, not a script", hint=f"name a file in it: {path}/….sql") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(f"cannot read {path!r}: {error}") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{path} is not UTF-8: line {line} holds the byte 0x{raw[error.start]:02x}",
            hint="save the script as UTF-8",
        ) from None
    if not text.strip():
        raise UsageError(f"{path} is empty", hint="a script declares streams and queries: CREATE STREAM …; SELECT …;")
    return text
