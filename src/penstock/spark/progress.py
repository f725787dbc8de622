"""What a run tells whoever watches it: notes at its start, a live line for each batch, sentences at its end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TextIO

from penstock.model.query import Query
from penstock.plan.plan import Plan
from penstock.spark.broken import BrokenPromises, unwatched_failures
from penstock.spark.run import Running
from penstock.spark.small_budget import too_small


def opening_lines(plans: Sequence[tuple[Query, Plan]]) -> list[str]:
    """What to know of the plans before the first batch; a note for each."""
    return [f"note: {query.name}: {why}" for query, plan in plans for why in unwatched_failures(query, plan)]


def waiting_lines(ran: Sequence[Running]) -> list[str]:
    """What was read and still waits for the slowest stream, and what was worse than declared; a sentence for each."""
    found = []
    for one in ran:
        count = one.batches[-1]["pending_rows"] if one.batches else 0
        if count:
            kept = "is kept in the checkpoint" if one.checkpoint is not None else "is lost, for there is no checkpoint"
            rows = f"{count:,} rows" if count > 1 else "1 row"
            found.append(f"{one.query.name}: {rows} read ahead of the slowest stream; what waits for it {kept}")
        late = sum(sum(line["violations"].values()) for line in one.batches) if one.plan.rewriting is not None else 0
        if late:
            rows, are = (f"{late:,} rows", "are") if late > 1 else ("1 row", "is")
            found.append(f"{one.query.name}: {rows} came for windows that were given already, and {are} not counted")
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
        rows = sum(line["rows_in"].values())
        rate = rows / line["seconds"] if line["seconds"] else 0.0
        state = "  ".join(
            f"{alias} {count:,}{_bound(one.plan, alias)}" for alias, count in line["state_tuples"].items()
        )
        text = (
            f"{line['query']} batch {line['batch']}: {rows:,} rows in, {line['rows_out']:,} out, {rate:,.0f} rows/s, "
            f"{line['seconds']:.2f} s; state {state}; promises {line['promise_rows']:,}"
        )
        if line["recall"] is not None:
            text += f"; recall {line['recall']:.1%} ± {line['recall_error']:.1%}"
        self.out.write(f"\r\x1b[2K{text}" if self.live else f"{text}\n")
        notes = list(self._broken.notes(one.plan, line))
        if (note := too_small(one.plan, one.needed)) is not None and line["query"] not in self._noted:
            self._noted.add(line["query"])
            notes.append(note)
        for note in notes:
            self.out.write(f"\nnote: {line['query']}: {note}\n" if self.live else f"note: {line['query']}: {note}\n")
        self.out.flush()

    def close(self) -> None:
        """Leave the line."""
        if self.live:
            self.out.write("\n")
            self.out.flush()


def _bound(plan: Plan, alias: str) -> str:
    state = plan.by_alias[alias].state if alias in plan.by_alias else plan.second_stage[0]
    rows = state.rows
    return "" if rows is None else f" of at most {rows:,}"


def show_progress() -> ProgressLine:
    """The live line on the terminal's error stream, so that a console sink's output stays apart."""
    return ProgressLine(sys.stderr)
