"""What a run tells whoever watches it: notes at its start, a live line for each batch, sentences at its end.

Of broken promises it says each constraint once, when its first row breaks it (DESIGN section 3, policies). A promise
that breaks under ADAPT is widened, or no longer closes the values that broke it. Where a bound rested on it, that bound
is lost, and somebody who only watches the run must hear of it. How often a promise broke stands in the metrics; what
cannot be seen to break is said at the start, where the policy is FAIL.

A budget that is less than one batch needs is held all the same, and most of each batch is lost. A batch is joined whole
before anything is evicted, so such a budget makes no wrong answer; but of what the batch brought little is there when
the next one comes. What a batch needs is known when it has been read: the rows that purging left of it, and for a
budget in bytes the statistics beside them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TextIO

from penstock.errors import visible
from penstock.explain.exactness_words import exactness_told, unseen_told
from penstock.explain.parts_text import held_back
from penstock.explain.reason_words import told
from penstock.explain.undecided import many
from penstock.model.block_tree import blocks_below, streams_read
from penstock.model.query import Query
from penstock.model.schemes import Policy
from penstock.model.script import Script
from penstock.model.shown_names import ShownNames, shown_names
from penstock.plan.doubting import counts_losses
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromiseKind
from penstock.plan.second_stage_budget import second_room
from penstock.plan.watching import rests_on_unseen, unseen
from penstock.runtime.counts import TIMED, is_timed, second_stage_of
from penstock.runtime.input.split_keys import may_be_spread
from penstock.spark.file_heads import passes_unseen, says_its_columns
from penstock.spark.file_order import is_local, unheld
from penstock.spark.file_questions import asked_of_lines
from penstock.spark.kafka import misspelt_columns, passes_over_losses
from penstock.spark.running import Running
from penstock.spark.sources import depends_on_order


def opening_lines(script: Script, plans: Sequence[tuple[Query, Plan]], *, has_checkpoint: bool) -> list[str]:
    """What to know of the plans before the first batch; a note for each."""
    return [
        f"note: {query.name}: {why}"
        for query, plan in plans
        for why in (
            *unwatched_failures(query, plan),
            *unordered_files(script, plan),
            *unasked_files(script, plan),
            *records_of_kafka(script, plan),
            *(() if has_checkpoint else unlooked_files(query, plan)),
        )
    ]


def unordered_files(script: Script, plan: Plan) -> Iterator[str]:
    """The streams whose order matters and whose files may come out of it."""
    for stream in map(script.stream, plan.read_streams):
        if stream is not None and (plan.rewriting is not None or depends_on_order(plan, stream.name)):
            why = unheld(stream)
            yield from () if why is None else (why,)


def unasked_files(script: Script, plan: Plan) -> Iterator[str]:
    """The streams of which a file may lack a declared column, or be read in part, unseen."""
    for stream in map(script.stream, plan.read_streams):
        if stream is not None and passes_unseen(stream):
            yield (
                f"files of {stream.name} that come later lie on no local disk, and are not asked for their columns: "
                "Spark gives NULL for one that a file lacks"
            )
        elif stream is not None and asked_of_lines(stream) is not None and not is_local(stream):
            yield (
                f"files of {stream.name} lie on no local disk, and are not searched for lines of more than one value: "
                "of a line of JSON Spark reads the first"
            )


def records_of_kafka(script: Script, plan: Plan) -> Iterator[str]:
    """What is passed over of streams of Kafka without a count, and what is looked for where it does not stand."""
    for stream in map(script.stream, plan.read_streams):
        if stream is None or not stream.is_kafka:
            continue
        for name, meant in misspelt_columns(stream).items():
            yield f"{stream.name}.{name} is read from the value of a record; did you mean {meant}, which is its own?"
        if passes_over_losses(stream):
            yield (
                f"records of {stream.name} that are gone before they are read are passed over, and nobody counts them "
                "(failOnDataLoss 'false'): what is called exact is so of the records that were read"
            )


def unlooked_files(query: Query, plan: Plan) -> Iterator[str]:
    """The streams whose files are looked at once a batch is done (`batch_files`), for which there is no checkpoint."""
    for stream in streams_read(query):
        is_asked = is_local(stream) and (says_its_columns(stream) or asked_of_lines(stream) is not None)
        if is_asked and (stream.tables or plan.rewriting is not None):
            yield (
                f"without --checkpoint nobody looks at files of {stream.name} that come later: Spark gives NULL for a "
                "column that one lacks, and reads the first value of a line of JSON"
            )


def last_lines(ran: Sequence[Running]) -> list[str]:
    """Of each query whether its answer is exact, and if not why; the last that a run says."""
    unseen = {one.query.name: rests_on_unseen(one.query, one.plan) for one in ran if one.exactness.is_exact}
    notes = [f"note: {name}: {unseen_told(rests_on)}" for name, rests_on in unseen.items() if rests_on]
    return [*notes, *(f"{one.query.name}: {exactness_told(one.exactness)}" for one in ran)]


def waiting_lines(ran: Sequence[Running], undecided: Mapping[str, Iterable[str]]) -> list[str]:
    """What was read and still waits, for what, and what was worse than declared; a sentence for each.

    `undecided` says, by query, what of it may still be emitted.
    """
    found = []
    for one in ran:
        if one.resumes and not one.batches:
            found.append(f"{one.query.name}: nothing new to read; the answer stands as the last run left it")
        count = one.batches[-1]["pending_rows"] if one.batches else 0
        kept = "is kept in the checkpoint" if one.checkpoint is not None else "is lost, for there is no checkpoint"
        if count:
            found.append(f"{one.query.name}: {many(count, 'row')} read ahead of the slowest stream; what waits {kept}")
        found += [f"{one.query.name}: {what}; it {kept}" for what in undecided[one.query.name]]
        late = sum(sum(line["violations"].values()) for line in one.batches) if one.plan.rewriting is not None else 0
        if late:
            rows, are = (f"{late:,} rows", "are") if late > 1 else ("1 row", "is")
            found.append(f"{one.query.name}: {rows} came for windows that were emitted already, and {are} not counted")
        if (uneven := _uneven(one)) is not None:
            found.append(f"{one.query.name}: {uneven}")
        if one.observed is not None and one.observed.broken:
            windows = f"{one.observed.broken:,} of {one.observed.windows:,} windows"
            found.append(
                f"{one.query.name}: in {windows} rows break what was declared; by what was measured the counts may be "
                f"off by up to {one.observed.error_answer:.1%} of the answer; see `error_answer`, and the limits"
            )
        if one.observed is not None and one.observed.exceeded:
            windows = f"{one.observed.exceeded:,} of {one.observed.windows:,} windows"
            found.append(f"{one.query.name}: in {windows} what was measured exceeds what was declared; see `exceeded`")
    return found


_UNEVEN = 2.0
_FEW_ROWS = 10_000
"""Of which nobody minds where they lie."""


def _uneven(one: Running) -> str | None:
    """That one cell holds much more than the others, and what to do, where its keys may be split."""
    cells = one.assembled.cells
    if cells < 2 or not one.batches or one.plan.blocks or not may_be_spread(one.plan):
        return None
    full, stored = (
        one.batches[-1]["fullest_cell"],
        sum(one.batches[-1]["state_rows"].get(a, 0) for a in one.plan.aliases),
    )
    if stored < _FEW_ROWS or full * cells <= _UNEVEN * stored:
        return None
    return (
        f"the fullest of its {cells} cells keeps {full * cells / stored:.1f} times the mean; where keys have that many "
        f"rows, `penstock rescale CHECKPOINT --cells {cells}` splits them"
    )


class ProgressLine:
    """The live line of a run: rows a second, state beside its bound, the time of the batch."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.live = out.isatty()
        self._noted: set[str] = set()
        self._broken = BrokenPromises()

    def begin(self) -> None:
        """Say what the first seconds go into; only to somebody who watches."""
        if self.live:
            self.out.write("starting Spark and its workers; the first batch takes some ten seconds …")
            self.out.flush()

    def __call__(self, one: Running, line: dict[str, Any]) -> None:
        """Show a batch."""
        names = shown_names(one.query)
        rows = rows_read(one.plan, names, line["rows_in"])
        rate = rows / line["seconds"] if line["seconds"] else 0.0
        state = _stored(one.plan, names, line["state_tuples"])
        text = (
            f"{line['query']} batch {line['batch']}: {rows:,} rows in, {line['rows_out']:,} out, {rate:,.0f} rows/s, "
            f"{line['seconds']:.2f} s; state {state}; promises {line['promise_rows']:,}"
        )
        if line["recall"] is not None:
            text += f"; recall {line['recall']:.1%} ± {line['recall_error']:.1%}"
        self.out.write(f"\r\x1b[2K{visible(text)}" if self.live else f"{visible(text)}\n")
        notes = list(self._broken.notes(one.plan, line))
        if (note := too_small(one.plan, one.needed)) is not None and line["query"] not in self._noted:
            self._noted.add(line["query"])
            notes.append(note)
        for note in notes:
            shown = visible(f"note: {line['query']}: {note}")
            self.out.write(f"\n{shown}\n" if self.live else f"{shown}\n")
        self.out.flush()

    def close(self) -> None:
        """Leave the line; once."""
        if self.live:
            self.live = False
            self.out.write("\n")
            self.out.flush()


def rows_read(plan: Plan, shown: ShownNames, rows_in: Mapping[str, int]) -> int:
    """The rows that came, each once, though its stream may have several aliases; what a block gives came before."""
    read: dict[str, int] = {}
    for block in plan.all_blocks:
        for source in (s for s in block.sources if s.block is None and not s.members):
            rows = rows_in.get(shown.of(block.query, source.alias) or "", 0)
            read[source.stream] = max(rows, read.get(source.stream, 0))
    return sum(read.values())


def _stored(plan: Plan, shown: ShownNames, tuples: Mapping[str, int]) -> str:
    """What is stored, beside its bound; a budget is one for all."""
    if plan.evict is not None and plan.evict.rows is not None:
        each = "  ".join(f"{alias} {count:,}" for alias, count in tuples.items())
        return f"{each}, of at most {plan.evict.rows:,} in all"
    bounds = _bounds(plan, shown)
    return "  ".join(f"{name} {count:,}{bounds.get(name, '')}" for name, count in tuples.items())


def _bounds(plan: Plan, shown: ShownNames) -> Mapping[str, str]:
    """By name, the bound of what is stored under it; in the cases of a query each stores its own."""
    found: dict[str, list[int | None]] = {}
    for block in plan.all_blocks:
        states = [(source.alias, source.state.rows) for source in block.sources]
        stage = second_stage_of(block)
        states += [(stage, block.second_stage[0].rows)] if stage is not None and block.second_stage else []
        for alias, rows in states:
            if (name := shown.of(block.query, alias)) is not None:
                found.setdefault(name, []).append(rows)
    sums = {name: None if None in rows else sum(filter(None, rows)) for name, rows in found.items()}
    return {name: f" of at most {rows:,}" for name, rows in sums.items() if rows is not None}


def _declaring(plan: Plan, constraint: str) -> Plan:
    """The block that watches a constraint."""
    return next((b for b in plan.all_blocks if any(p.constraint == constraint for p in b.promises)), plan)


def show_progress() -> ProgressLine:
    """The live line on the terminal's error stream, so that a console sink's output stays apart."""
    return ProgressLine(sys.stderr)


_LOST = "lost"
_WAITED = 10
"""For how many batches a part may give nothing, while others do, before it is told."""


class BrokenPromises:
    """What was said already, by query."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def notes(self, plan: Plan, line: dict[str, Any]) -> Iterator[str]:
        """What a batch's metrics show that was not yet said, a sentence for each."""
        for constraint, count in line["violations"].items():
            if count and self._is_new(plan, constraint):
                told_by = _answer(_declaring(plan, constraint), constraint, line["k"])
                yield f"{_rows(count)} {constraint}; {told_by}"
        for stream, count in line["malformed"].items():
            if count and self._is_new(plan, f"malformed {stream}"):
                does = "1 row of {} does" if count == 1 else f"{count:,} rows of {{}} do"
                yield f"{does.format(stream)} not read as declared; `malformed` in --metrics counts them"
        for stream, parts in line.get("parts", {}).items():
            if parts["waited"] >= _WAITED and self._is_new(plan, f"parts {stream}"):
                yield held_back(stream, parts)
        if line["lost"] and self._is_new(plan, _LOST):
            yield f"results are known to be lost, {line['lost']:,} in this batch; `lost` in --metrics counts them"

    def _is_new(self, plan: Plan, what: str) -> bool:
        is_new = (plan.query, what) not in self._told
        self._told.add((plan.query, what))
        return is_new


def unwatched_failures(query: Query, plan: Plan) -> Iterator[str]:
    """The declarations ON VIOLATION FAIL that may break without being seen, and why; and those that nobody watches."""
    below = {source.stream.name: source.below for source in blocks_below(query)}
    members = {name: block for name, block in below.items() if isinstance(block, Query)}
    for block in plan.blocks:
        yield from unwatched_failures(members[block.query], block)
    failing = {p.constraint for p in plan.promises if p.policy is Policy.FAIL}
    for source in plan.sources:
        for reason in unseen(query, plan, source.alias):
            if reason.about[0] in failing:
                yield f"FAIL sees what is still remembered; {told(reason)}"
    watched = {p.constraint for p in plan.promises}
    for stream in dict.fromkeys(source.stream for source in query.all_sources if source.below is None):
        for scheme in (*stream.schemes, *((stream.arrival,) if stream.arrival is not None else ())):
            asked = scheme.on_violation.policy if scheme.on_violation is not None else Policy.ADAPT
            constraint = scheme.on(stream.name)
            if asked in (Policy.FAIL, Policy.QUARANTINE) and constraint not in watched:
                yield (
                    f"{constraint} is not watched, though it says ON VIOLATION {asked}: nothing in this query rests on "
                    "it, and rows that break it are joined like any other"
                )


def _rows(count: int) -> str:
    return "1 row breaks" if count == 1 else f"{count:,} rows break"


def _answer(plan: Plan, constraint: str, k: dict[str, Any]) -> str:
    policy = next((p.policy for p in plan.promises if p.constraint == constraint), Policy.ADAPT)
    match policy:
        case Policy.QUARANTINE:
            return "QUARANTINE keeps what breaks it out of the query"
        case Policy.TRUST:
            return "TRUST goes on as if it held"
        case Policy.RECOVER:
            return "RECOVER finds what was set aside"
        case _ if any(p.constraint == constraint and p.kind is PromiseKind.CHECK for p in plan.promises):
            return "such rows are joined with what is there; what was concluded of it may lose results of theirs"
        case _:
            widened = (
                f"ADAPT widens its k to {_length(plan, constraint, k[constraint])}"
                if k.get(constraint) is not None
                else None
            )
            adapted = widened or "ADAPT no longer closes values by it that broke it"
            resting = bounds_resting_on(plan, constraint)
            lost = f"; the stated bound of {' and '.join(resting)} is lost by it" if resting else ""
            return f"{adapted}{lost}{_uncounted(plan, constraint)}"


def widened_by(plan: Plan, constraint: str) -> bool:
    """Whether rows that break a constraint widen it, or take values from it."""
    policies = {p.policy for block in plan.all_blocks for p in block.promises if p.constraint == constraint}
    return Policy.ADAPT in policies


def _length(plan: Plan, constraint: str, k: float) -> str:
    """A k of the metrics with its unit; on a clock of integers it has none."""
    kinds = {p.kind for p in plan.promises if p.constraint == constraint}
    if not kinds & set(TIMED):
        return f"{k:,} ROWS"
    return f"{k:,g} SECONDS" if is_timed(plan, constraint) else f"{k:,}"


def _uncounted(plan: Plan, constraint: str) -> str:
    """That the results which a broken promise may have lost are not counted, if MONITOR would count them."""
    monitored = replace(plan, monitor=replace(plan.monitor, declared=True))
    if counts_losses(plan, constraint) or not counts_losses(monitored, constraint):
        return ""
    return "; results that this may lose are counted with MONITOR"


def bounds_resting_on(plan: Plan, constraint: str) -> list[str]:
    """The streams whose bound is a chain of closes that this constraint makes one of."""
    closing = {c.source for c in plan.closers if c.certain and constraint in c.constraints}
    closing |= {r.alias for c in plan.joint_closers if constraint == c.constraint for refs in c.partners for r in refs}
    return [s.alias for s in plan.sources if s.alias in closing and s.state.verdict == "bounded"]


_KB = 1 << 10


def too_small(plan: Plan, needed: int) -> str | None:
    """The sentence for a batch that needs so much, in the unit of the budget; None where the budget suffices."""
    if plan.evict is None:
        return None
    in_rows = plan.evict.rows is not None
    if not in_rows:
        # A fifth is for statistics.
        needed = -(-needed * 5 // 4)
    if (second := second_room(plan)) > 0:
        # DISTINCT or GROUP BY has what it is bound to, or else as much as the rows of the join.
        needed += second if 2 * second < plan.evict.limit - 1 else needed
    if needed <= plan.evict.limit:
        return None
    asked = f"{plan.evict.limit} ROWS" if in_rows else f"{plan.evict.limit // _KB} KB"
    enough = f"{needed} ROWS" if in_rows else f"{-(-needed // _KB)} KB"
    return (
        f"BUDGET({asked}) is less than one batch needs: this one was joined whole and then mostly evicted; "
        f"BUDGET({enough}) would hold it, or read less in a batch (maxFilesPerTrigger)"
    )
