"""What a checkpoint keeps, in words: by stream how much, for whose sake, when it may go, and rows as they are stored.

What was found comes as numbers (`runtime/kept.py`); the rules by which a row may go are the plan's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from penstock.explain.closing_text import closed_once
from penstock.explain.ink import Ink
from penstock.explain.undecided import many
from penstock.plan.plan import Plan
from penstock.plan.stateless import needs_no_state

_KB = 1 << 10


class StoredRow(Protocol):
    """One stored row."""

    @property
    def values(self) -> Mapping[str, str]:
        """Its columns."""

    @property
    def batch(self) -> int:
        """The batch that it came with."""

    @property
    def waits_for(self) -> Sequence[str]:
        """The streams that may still bring what it meets."""


class StoredStream(Protocol):
    """What is stored of one stream."""

    @property
    def alias(self) -> str:
        """Its name in the query."""

    @property
    def rows(self) -> int:
        """Copies counted."""

    @property
    def tuples(self) -> int:
        """Copies counted once."""

    @property
    def waiting(self) -> Mapping[str, int]:
        """By other stream, the rows that wait for it."""

    @property
    def settled(self) -> int:
        """The rows for which every other stream is closed."""

    @property
    def oldest(self) -> Sequence[StoredRow]:
        """Some of them."""


class StoredBlock(Protocol):
    """What one block of a query keeps."""

    @property
    def plan(self) -> Plan:
        """What it was made by."""

    @property
    def cells(self) -> int:
        """How many cells hold it."""

    @property
    def batches(self) -> int:
        """How many were done."""

    @property
    def bytes(self) -> int:
        """Of all entries."""

    @property
    def streams(self) -> Sequence[StoredStream]:
        """By stream."""

    @property
    def second_stage(self) -> int | None:
        """The bytes that DISTINCT or GROUP BY remembers."""


def state_report(query: str, blocks: Sequence[StoredBlock], ink: Ink) -> list[str]:
    """What a query keeps, line by line."""
    lines: list[str] = []
    if not blocks:
        return [f"{ink.strong(query)}: has no cells, for counts stand for its joins; Spark keeps them"]
    for block in blocks:
        name = query if block.plan.query == query else f"{query}, block {block.plan.query}"
        if not block.cells and needs_no_state(block.plan):
            lines.append(f"{ink.strong(name)}: needs no state, and keeps none")
            continue
        size = f"{-(-block.bytes // _KB):,} KB"
        cells = many(block.cells, "cell")
        batches = "1 batch" if block.batches == 1 else f"{block.batches:,} batches"
        lines.append(f"{ink.strong(name)}: {size} in {cells} after {batches}")
        for stream in block.streams:
            lines += _stream(block.plan, stream, ink)
        if block.second_stage is not None:
            stage = "DISTINCT" if block.plan.aggregate is None else "GROUP BY"
            lines.append(f"  {stage} remembers {-(-block.second_stage // _KB):,} KB")
    return lines


def _stream(plan: Plan, stored: StoredStream, ink: Ink) -> Iterator[str]:
    source = plan.by_alias[stored.alias]
    name = stored.alias if stored.alias == source.stream else f"{stored.alias} ({source.stream})"
    copies = f", {stored.rows:,} with copies" if stored.rows != stored.tuples else ""
    bound = "" if source.state.rows is None else f" of at most {source.state.rows:,}"
    yield f"  {ink.strong(name)}: {many(stored.tuples, 'row')}{bound}{copies}"
    for other, count in stored.waiting.items():
        if count:
            yield f"    {many(count, 'row')} may still meet rows of {other} to come{_until(plan, stored.alias, other)}"
    if stored.settled:
        yield (
            f"    {many(stored.settled, 'row')} for which every other stream is closed: such rows stand with rows that "
            "wait, or go with a later batch"
        )
    for row in stored.oldest:
        values = ", ".join(f"{column} = {value}" for column, value in row.values.items())
        waits = f"; waits for {' and '.join(row.waits_for)}" if row.waits_for else ""
        yield f"    {ink.faint(f'batch {row.batch}:')} {values or 'no column'}{ink.faint(waits)}"


def _until(plan: Plan, alias: str, other: str) -> str:
    once = closed_once(plan, alias).get(other)
    return "; nothing says when none will come" if once is None else f", until {once}"
