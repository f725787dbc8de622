"""`penstock run`: all queries of a script started on Spark, or none, and what is said before, meanwhile and after."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli.judging import load_quickly, print_report, verdicts_of
from penstock.cli.outcome import DONE, INEXACT, INTERRUPTED, complain, exit_code, say
from penstock.cli.settings import ARCHIVE, RECALL
from penstock.compile import require_tame, runnable_plan
from penstock.errors import UsageError
from penstock.explain.reason_words import told
from penstock.explain.undecided import undecided
from penstock.live.about import about, write_about
from penstock.live.server import served
from penstock.plan.runnable import may_have_budget

if TYPE_CHECKING:
    from penstock.analysis.finding import Verdict
    from penstock.model.query import Query
    from penstock.model.script import Script
    from penstock.plan.plan import Plan

_PASSING_SINKS = ("console", "memory", "noop")
"""Formats that keep nothing once the query stops; any other sink lasts, and needs a checkpoint to be exactly once."""


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What `run` was asked for."""

    file: Path
    settings: dict[str, str]
    checkpoint: str | None
    available_now: bool
    metrics: Path | None
    allow_unbounded: bool
    final: bool
    strict: bool
    trust_script: bool
    prometheus: str | None
    hook: str | None
    log: str
    port: int | None
    functions: list[str]


def run_file(asked: RunRequest) -> int:
    """Judge the script, and run it if its state is bounded or that does not matter."""
    script = load_quickly(asked.file, asked.functions)
    if not script.queries:
        raise UsageError(f"{asked.file} has no query to run", hint="add a SELECT, or INSERT INTO sink SELECT …")
    if not asked.trust_script:
        require_tame(script, "--trust-script runs it")
    _require_checkpoint(script, asked.checkpoint)
    verdicts = verdicts_of(script)
    code = exit_code(verdicts)
    if code != DONE and not asked.allow_unbounded:
        print_report(verdicts, as_json=False, witness=None)
        budget = ", give the query a BUDGET" if all(map(may_have_budget, script.queries)) else ""
        complain(
            "error: not started: some state has no bound\n"
            f"  hint: declare what the report says{budget}, or run with --allow-unbounded"
        )
        return code
    plans = [
        (query, runnable_plan(query, verdict, allow_unbounded=asked.allow_unbounded))
        for query, verdict in zip(script.queries, verdicts, strict=True)
    ]
    if (wanted := asked.settings.pop(ARCHIVE, None)) is not None:
        from penstock.spark.join_archive import run_quiet_hour  # noqa: PLC0415

        say(run_quiet_hour(plans, asked.settings, wanted, complain))
        return DONE
    return _run_plans(asked, script, plans, verdicts)


def _run_plans(asked: RunRequest, script: Script, plans: list[tuple[Query, Plan]], verdicts: Sequence[Verdict]) -> int:
    """Run what was planned until it ends or is stopped, and say how it went."""
    from penstock.spark.following import following  # noqa: PLC0415
    from penstock.spark.run import RunOptions, run_script  # noqa: PLC0415
    from penstock.spark.told import last_lines, opening_lines, show_progress, waiting_lines  # noqa: PLC0415

    notices = [f"note: {verdict.query}: {told(notice)}" for verdict in verdicts for notice in verdict.notices]
    for line in (*notices, *opening_lines(script, plans, has_checkpoint=asked.checkpoint is not None)):
        complain(line)
    shown = {query.name: about(query, v, plan) for (query, plan), v in zip(plans, verdicts, strict=True)}
    write_about(asked.metrics, shown)
    progress = show_progress()
    recall = asked.settings.pop(RECALL, None)
    watching = following(progress, complain, log=asked.log, prometheus=asked.prometheus, hook=asked.hook, recall=recall)
    if asked.log == "text":
        progress.begin()
    try:
        with (
            watching as tell,
            served(shown.values(), asked.file.name, asked.port, complain, tell) as follow,
            _kept_or_temporary(asked.checkpoint, needed=asked.final) as kept,
        ):
            is_ending = asked.available_now or asked.final
            options = RunOptions(kept, is_ending, asked.metrics, asked.settings, asked.final)
            ran = run_script(script, plans, options, follow, complain)
    except KeyboardInterrupt:
        progress.close()
        again = (
            "there is no --checkpoint to go on from"
            if asked.checkpoint is None
            else "the same command goes on from there"
        )
        complain(f"stopped: batches that were committed stay, the one under way was given up; {again}")
        return INTERRUPTED
    finally:
        progress.close()
    waiting = {one.query.name: undecided(one.plan, v, one.held) for one, v in zip(ran, verdicts, strict=True)}
    for line in (*waiting_lines(ran, waiting), *last_lines(ran)):
        complain(line)
    return INEXACT if asked.strict and not all(one.exactness.is_exact for one in ran) else DONE


def _require_checkpoint(script: Script, checkpoint: str | None) -> None:
    for query in script.queries:
        sink = script.sink(query.sink) if query.sink is not None else None
        if checkpoint is None and sink is not None and sink.storage.format.lower() not in _PASSING_SINKS:
            raise UsageError(
                f"query {query.name} writes to {sink.name}, which lasts, without a checkpoint",
                detail=f"{sink.storage.format} keeps its rows; after a stop they would be written again",
                hint="add --checkpoint DIR",
            )


@contextlib.contextmanager
def _kept_or_temporary(checkpoint: str | None, *, needed: bool) -> Iterator[str | None]:
    """The checkpoint; where there is none and one is needed, one for the time of the run."""
    if checkpoint is not None or not needed:
        yield checkpoint
        return
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        yield folder
