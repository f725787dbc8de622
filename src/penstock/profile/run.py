"""`penstock profile`, from a script to what was found: read, measure, replay, rank."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.explain.reason_words import each_told
from penstock.model.names import quoted
from penstock.model.script import Script
from penstock.plan.order_across_streams import by_arrival
from penstock.plan.plan import Plan
from penstock.plan.runnable import obstacles
from penstock.profile.asking import (
    Asked,
    ProfileQuestions,
    asking_of,
    columns_asked,
    declared_questions,
    files_are_counted,
    require_no_blocks,
    streams_of,
)
from penstock.profile.declaring import Declaration
from penstock.profile.findings import AskedConstraint, Profile, ValuesSeen, Verified
from penstock.profile.proposals import ProposalRanking, bounding, candidates_of
from penstock.profile.replay import NOTHING, Replay, conditions_of, plans_of, reads, shared_clock
from penstock.runtime import Truth
from penstock.spark.asked_before import worth_of_absence
from penstock.spark.failures import SPARK_ERRORS, failure_of, quiet_errors, what_it_says
from penstock.spark.profiling.distributions import answers, domains
from penstock.spark.profiling.needs import Answer, NumberMeaning, Question
from penstock.spark.profiling.progress import Progress
from penstock.spark.profiling.reading import ProfiledStream, arrived, first_rows, require_readable
from penstock.spark.session import set_meanwhile, spark_log, start_session
from penstock.sql import parse_constraint

if TYPE_CHECKING:
    from penstock.spark.stream import SparkSession

REPLAYED_ROWS = 100_000
"""Rows, of all streams together, that the core is run over."""
_FEW_VALUES = 1_000
_PARTITIONS = "spark.sql.shuffle.partitions"
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
_COMPILED = "spark.sql.codegen.wholeStage"
_INTERPRETED_ROWS = 5_000_000
"""Up to so many rows Spark compiles no code of its own: dozens of small stages cost more to compile than to run."""


_COUNTED = "not all streams declare ARRIVES BY: FOLLOWS in rows is about the order of reading, a micro-batch an instant"
_NOT_COUNTED = (
    "FOLLOWS in rows is not measured, for nothing says which rows of different streams came first: declare ARRIVES BY "
    "on every stream, or set maxFilesPerTrigger, so that files are read in turn"
)


def profile_script(script: Script, progress: Progress, settings: Mapping[str, str] = NO_SETTINGS) -> Profile:
    """Profile the data that a script names, by a Spark with these settings."""
    streams = streams_of(script)
    if not streams:
        raise UsageError(
            "the script has no query, so no promise would help one", hint="add the SELECT that the streams are for"
        )
    require_no_blocks(script)
    for stream in streams:
        require_readable(stream)
    quiet_errors()
    progress.say("starting Spark")
    spark = start_session("penstock profile", settings)
    if _PARTITIONS not in settings:
        spark.conf.set(_PARTITIONS, str(max(2, spark.sparkContext.defaultParallelism)))
    try:
        found = profile_with(spark, script, progress)
    except SPARK_ERRORS as error:
        raise failure_of("of profile", error) from error
    spark_log().unlink(missing_ok=True)
    return found


def profile_with(spark: SparkSession, script: Script, progress: Progress) -> Profile:
    """Profile the data that a script names, in a session that is there."""
    asking = asking_of(script)
    declared = list(declared_questions(script))
    asked = [
        *(q for fact in asking.facts for q in fact),
        *(question for _, question in declared if question is not None),
    ]
    asked = list(dict.fromkeys(asked))
    read: dict[str, ProfiledStream] = {}
    try:
        for stream in streams_of(script):
            with progress.following(spark, f"reading {stream.name}"):
                read[stream.name] = arrived(spark, stream, columns_asked(asked, asking.domains, stream))
        rows = sum(stream.rows for stream in read.values())
        with set_meanwhile(spark, {_COMPILED: str(rows > _INTERPRETED_ROWS).lower()}):
            with progress.following(spark, f"measuring {len(asked)} questions over {rows:,} rows"):
                told = dict(zip(asked, answers(asked, read), strict=True))
            return _Judging(spark, script, read, _Told(asking, declared, told), progress).profile()
    finally:
        for one in read.values():
            one.forget()


@dataclass(frozen=True)
class _Told:
    """What was asked, and what the data said."""

    asking: ProfileQuestions
    declared: Sequence[tuple[str, Question | None]]
    answers: Mapping[Question, Answer]


@dataclass(frozen=True)
class _Judging:
    """The steps after measuring; what was measured is not lost where one of them fails."""

    spark: SparkSession
    script: Script
    read: Mapping[str, ProfiledStream]
    said: _Told
    progress: Progress

    def profile(self) -> Profile:
        """One step after the other, as far as they go."""
        found = self._measured()
        steps = {
            "counting the values of joined columns": self._with_values,
            "replaying the proposals": self._with_proposals,
            "looking for what bounds the queries": self._with_bounding,
        }
        for name, step in steps.items():
            try:
                found = step(found)
            except SPARK_ERRORS as error:
                return replace(found, failed=f"{name} failed: {what_it_says(error)}")
            except Exception as error:
                # Whatever goes wrong in a later step, minutes of measuring are worth a report.
                if os.environ.get("PENSTOCK_DEBUG"):
                    raise
                return replace(found, failed=f"{name} failed: {type(error).__name__}: {_first_line(error)}")
        return found

    @cached_property
    def _facts(self) -> dict[Asked, AskedConstraint]:
        told = self.said.answers
        return {
            fact: AskedConstraint(fact, tuple(told[question] for question in fact)) for fact in self.said.asking.facts
        }

    def _measured(self) -> Profile:
        declared, told = self.said.declared, self.said.answers
        return Profile(
            rows=tuple((name, stream.rows) for name, stream in self.read.items()),
            notes=(),
            replayed_rows=0,
            replayed_batches=0,
            kept=NOTHING,
            proposals=(),
            facts=tuple(self._facts.values()),
            declared=tuple(_verified(text, q, told[q]) for text, q in declared if q is not None),
            unverified=tuple(text for text, question in declared if question is None),
            domains=(),
            bounding=None,
        )

    def _with_values(self, found: Profile) -> Profile:
        columns: dict[str, list[str]] = {}
        for name, column in self.said.asking.domains:
            columns.setdefault(name, []).append(column)
        with self.progress.following(self.spark, "counting the values of joined columns"):
            values = [d for name, listed in columns.items() for d in _domains(self.script, self.read[name], listed)]
        return replace(found, domains=tuple(values))

    def _with_proposals(self, found: Profile) -> Profile:
        checks = [d.declaration for d in found.domains if d.declaration is not None]
        ideas = [[self._facts[part] for part in idea] for idea in self.said.asking.ideas]
        candidates = candidates_of(self.script, ideas, checks)
        base = plans_of(self.script)
        clock = shared_clock(self.script)
        plans = [base, *(plans for c in candidates for plans in c.plans.values())]
        with self.progress.following(self.spark, "fetching the first rows"):
            absent = partial(worth_of_absence, self.spark)
            replay = _replay(self.read, plans, None if clock is None else clock[1], absent)
        proposals = ProposalRanking(self.script, replay, base, self.progress.say).proposals(candidates)
        how = "in proportion, for they share no clock" if clock is None else f"by {clock[0]}"
        cut = f"in the replay, rows of different streams are cut into batches {how}"
        return replace(
            found,
            notes=(cut, *_notes(self.script, base)),
            replayed_rows=replay.rows,
            replayed_batches=replay.batches,
            kept=replay.kept(base) if base else NOTHING,
            proposals=tuple(proposals),
        )

    def _with_bounding(self, found: Profile) -> Profile:
        return replace(found, bounding=bounding(self.script, found.proposals, found.facts))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _replay(
    read: Mapping[str, ProfiledStream],
    plans: Sequence[Mapping[str, Plan]],
    clock: Mapping[str, str] | None,
    absent: Callable[[Plan], Truth],
) -> Replay:
    """The first rows of each stream, with all that any plan wants to know of them."""
    total = sum(stream.rows for stream in read.values())
    share = min(1.0, REPLAYED_ROWS / total) if total else 1.0
    tables, names = {}, dict[tuple[str | None, str], str]()
    for name, stream in read.items():
        flags = {c for some in plans for plan in some.values() for c in conditions_of(plan, name)}
        own = {flag: names.setdefault(flag, f"__ps_flag_{len(names)}") for flag in sorted(flags, key=str)}
        wanted: dict[str, str] = {}
        for some in plans:
            wanted |= reads(some, name)
        if wanted:
            column = None if clock is None else clock[name]
            tables[name] = first_rows(stream, wanted, own, column, round(stream.rows * share))
    return Replay.of(tables, names, clock is not None, absent)


def _domains(script: Script, stream: ProfiledStream, columns: Sequence[str]) -> list[ValuesSeen]:
    found = []
    for column, (values, nulls, least, greatest) in domains(stream, columns).items():
        kind = stream.stream.type_of(column)
        check: Declaration | None = None
        whole = kind is not None and kind.is_integer
        ends = (least, greatest) if isinstance(least, int) and isinstance(greatest, int) and whole else None
        if ends is not None and ends[1] - ends[0] < _FEW_VALUES and values <= stream.rows // 2:
            text = f"CHECK ({quoted(column)} BETWEEN {ends[0]} AND {ends[1]}) ON {quoted(stream.stream.name)}"
            check = (stream.stream.name, parse_constraint(text, script)[1])
        found.append(ValuesSeen(stream.stream.name, column, values, nulls, least, greatest, check))
    return found


def _verified(text: str, question: Question, answer: Answer) -> Verified:
    has_k = question.need is not NumberMeaning.BROKEN
    unit = "ticks" if question.need is NumberMeaning.TICKS else "rows"
    instants = question.stream.clock is not None and question.stream.clock.is_instant
    return Verified(text, answer.rows, answer.beyond, answer.needs[0] if has_k else None, unit, instants)


def _notes(script: Script, replayed: Collection[str]) -> list[str]:
    notes = []
    for query in script.queries:
        found = () if query.name in replayed else obstacles(query)
        if found:
            notes.append(
                f"{query.name} is not replayed, so nothing is said of its savings: {'; '.join(each_told(found))}"
            )
        elif len(query.all_sources) > 1 and not by_arrival(query):
            streams = [source.stream for source in query.all_sources]
            notes.append(f"{query.name}: {_COUNTED if files_are_counted(*streams) else _NOT_COUNTED}")
    return notes
