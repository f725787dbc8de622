"""A run: the blocks of a query, each with its cells and what they have saved, moved on step by step.

A step is all or nothing, as on Spark: what it changed is saved when it is done, and if it raises (a promise broken that
is declared ON VIOLATION FAIL) the run goes on from what was saved before it. Blocks take their step from below: what
one emits, and how far its answer has come, goes to those that read it in the same step.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from penstock.analysis.check import check_query
from penstock.analysis.finding import each_block
from penstock.compile import parse, query_named, runnable_plan
from penstock.errors import UsageError
from penstock.explain.exactness_words import inexact_because
from penstock.model.names import fold, nearest
from penstock.model.script import Script
from penstock.model.shown_names import shown_names
from penstock.model.stream import SOURCE_PARTS
from penstock.runtime import Patience, Quarantined
from penstock.runtime.block_counts import with_blocks
from penstock.runtime.counts import metrics_line
from penstock.runtime.exactness import Exactness
from penstock.runtime.input.clock import NO_PARTS
from penstock.runtime.input.part_rises import part_names
from penstock.runtime.join.frontier import least_of
from penstock.testing.arrow_types import arrow_type
from penstock.testing.block_run import BlockRun, BlockStep


@dataclass(frozen=True)
class Step:
    """What one batch gave."""

    rows: Any
    """An Arrow table: what the batch emits, columns as in SELECT."""
    metrics: dict[str, Any]
    """The fields of a line of `run --metrics`."""
    quarantined: tuple[Quarantined, ...] = ()
    """Rows that ON VIOLATION QUARANTINE kept out."""


class Run:
    """A query under way. It is run whether its state is bounded or not: that is for `penstock.check` to say."""

    patience: Patience = Patience.EAGER
    """When stored rows are asked whether they can go."""
    audit: float = 0.0
    """The share of the keys of which rows that promises let go are kept, to see whether anything would meet them."""

    def __init__(self, script: str | Script, query: str | None = None, cells: int = 1) -> None:
        if cells < 1:
            raise UsageError(f"a query runs on at least 1 cell, not on {cells}")
        self.query = query_named(parse(script) if isinstance(script, str) else script, query)
        verdict = check_query(self.query)
        self.plan = runnable_plan(self.query, verdict, allow_unbounded=True)
        self.blocks = [
            BlockRun(block, known, replace(plan, audit=self.audit), cells, self.patience)
            for (block, known), plan in zip(each_block(self.query, verdict), self.plan.all_blocks, strict=True)
        ]
        """From below; the last gives the answer."""
        self._streams = tuple(
            dict.fromkeys(s.stream for plan in self.plan.all_blocks for s in plan.sources if s.block is None)
        )
        self._shown = shown_names(self.query)
        self._number = 0
        self._exactness = Exactness()
        self.steps: list[BlockStep] = []
        """What each block gave in the last step."""

    @property
    def top(self) -> BlockRun:
        """The block that gives the answer."""
        return self.blocks[-1]

    def step(self, tables: Mapping[str, Any], parts: Mapping[str, Sequence[Any]] = NO_PARTS) -> Step:
        """One batch: Arrow tables by stream, with the columns that the stream declares; streams left out bring nothing.

        The rows of a table arrive in its order. `parts` are, by stream with PARTS BY, values of that column that the
        source names, as Kafka does its partitions: the clock of the stream waits for them, with rows or without.
        """
        return self._step(tables, is_last=False, parts=parts)

    def end(self) -> Step:
        """The end of every stream, as `run --final`: what waits is decided, and no more is taken in."""
        return self._step({}, is_last=True)

    def restart(self) -> None:
        """Forget everything but what was saved, and go on from that."""
        for block in self.blocks:
            block.patience = self.patience
            block.restart()

    def rescale(self, cells: int) -> None:
        """Deal the state to another number of cells, as `penstock rescale`; raises where that cannot be done."""
        for block in self.blocks:
            block.patience = self.patience
            block.rescale(cells)

    def _step(self, tables: Mapping[str, Any], *, is_last: bool, parts: Mapping[str, Sequence[Any]] = NO_PARTS) -> Step:
        began = time.perf_counter()
        brought = self._named(tables)
        named_parts = {stream: self._parts(stream, values) for stream, values in self._named(parts).items()}
        frontiers: dict[str, Mapping[str, int]] = {}
        steps: list[BlockStep] = []
        try:
            for block in self.blocks:
                for source in (s for s in block.plan.sources if s.members):
                    brought[source.stream] = pa.concat_tables([brought[name] for name in source.members])
                    frontiers[source.stream] = least_of([frontiers[name] for name in source.members])
                own = {stream: brought[stream] for stream in block.plan.streams if stream in brought}
                told = {stream: frontiers[stream] for stream in block.plan.streams if stream in frontiers}
                made = block.step(self._number, own, told, parts=named_parts, is_last=is_last)
                brought[block.plan.query], frontiers[block.plan.query] = made.rows, made.frontier
                steps.append(made)
        except Exception:
            self.restart()
            raise
        for block in self.blocks:
            block.save()
        self.steps = steps
        each = {block.plan.query: made.known for block, made in zip(self.blocks, steps, strict=True)}
        known = with_blocks(self.query.name, each, self._shown)
        line = metrics_line(self.query.name, self._number, known, time.perf_counter() - began)
        self._exactness = self._exactness.then(self.plan, line)
        line |= {"exact": self._exactness.is_exact, "inexact_because": list(inexact_because(self._exactness))}
        self._number += 1
        return Step(steps[-1].rows, line, _kept_out(steps))

    def _parts(self, stream: str, values: Sequence[Any]) -> tuple[str | None, ...]:
        """Parts by their names, as the core knows them."""
        source = next(s for plan in self.plan.all_blocks for s in plan.sources if s.stream == stream)
        kinds = {column.name: column.type for column in source.read}
        if source.parts is None:
            raise UsageError(f"stream {stream} has no parts", hint="declare PARTS BY column")
        if source.parts == SOURCE_PARTS:
            return tuple(map(str, values))
        kind = arrow_type(source.parts, kinds[source.parts])
        return tuple(part_names(pa.array(list(values), kind)).to_pylist())

    def _named(self, tables: Mapping[str, Any]) -> dict[str, Any]:
        """The tables by the streams' own names."""
        named: dict[str, Any] = {}
        for name, table in tables.items():
            known = next((stream for stream in self._streams if fold(stream) == fold(name)), None)
            if known is None:
                close = nearest(name, list(self._streams))
                raise UsageError(
                    f"query {self.query.name} reads no stream {name}",
                    detail=f"it reads: {', '.join(self._streams)}",
                    hint=f"did you mean {close}?" if close else None,
                )
            named[known] = table
        return named


def _kept_out(steps: Sequence[BlockStep]) -> tuple[Quarantined, ...]:
    """What blocks kept out of a step; of a constraint that several watch, what the first did."""
    found: list[Quarantined] = []
    for made in steps:
        known = {kept.constraint for kept in found}
        found += [kept for result in made.given for kept in result.quarantined if kept.constraint not in known]
    return tuple(found)
