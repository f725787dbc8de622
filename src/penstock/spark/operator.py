"""The stateful operator: one cell of the core for each key, its state in Spark's own store (`stored_processor.py`)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Row

from penstock.plan.plan import Plan
from penstock.plan.second_stage_budget import bucket_room
from penstock.runtime import Batch, Cell, GroupStage, Patience, PromiseBroken, StepResult, Truth
from penstock.runtime.counts import counts_of, second_counts_of
from penstock.runtime.group.between_stages import together
from penstock.runtime.join.frontier import answer_frontier
from penstock.runtime.promise.items import Reports
from penstock.runtime.state.store import Entries, from_ipc, to_ipc
from penstock.spark.archive_files import write_archived
from penstock.spark.batch_times import cell_times, now
from penstock.spark.broken_cells import with_other_cells
from penstock.spark.cache import cache_root
from penstock.spark.dealer import Dealer
from penstock.spark.handed_over import BATCH, HandedOver, handed
from penstock.spark.named_parts import NamedParts
from penstock.spark.pack import END, unpack_chunks
from penstock.spark.quarantine import write_malformed, write_quarantined
from penstock.spark.segment_files import SegmentFiles
from penstock.spark.stored_processor import StoredProcessor
from penstock.spark.worker_files import WorkerFolder

RESULT = "kind STRING, payload BINARY, counts ARRAY<BIGINT>"
"""The columns of what an operator gives: packed result rows, what the second stage must know, or the counts."""
DEALT_RESULT = f"{RESULT}, target INT"
"""And of what cells give that deal it out to the second stage: for which bucket a row is."""

ANSWER, FRONTIER, COUNTS, REPORT = "answer", "frontier", "counts", "report "
"""What a row is; a report has the number of its closer behind it."""
PASSED_ON = "passed on to "
"""So is what goes through a block on its way to another, with that block's name behind it (`shared_blocks.py`)."""

NO_NAMED_PARTS = NamedParts()

_MOST_BYTES = 64 << 20
"""Of results in one packed row; Spark's rows hold at most 2 GB."""


class CellProcessor(StoredProcessor[Cell]):
    """The first stage: the join."""

    def __init__(
        self,
        plan: str,
        identity: str,
        run: str,
        *,
        quarantine: WorkerFolder | None,
        writes: frozenset[str],
        patience: Patience,
        absent: Truth,
        keys: tuple[int, ...],
        archive: WorkerFolder | None,
        turn: float | None,
        malformed_into: Mapping[str, str | None],
        owner: str = "",
        named: NamedParts = NO_NAMED_PARTS,
        dealt_anew: WorkerFolder | None = None,
        segments: SegmentFiles | None = None,
        dealer: Dealer | None = None,
        files: HandedOver | None = None,
    ) -> None:
        super().__init__(plan, identity, run, "cell", owner, dealt_anew=dealt_anew, segments=segments)
        self.dealer = dealer
        """What deals out to the second stage what is given; None if there is none, or Spark evaluates something."""
        self.files = files
        """Where large results go; with the rows that are given if None."""
        self.quarantine = quarantine
        self.writes = writes
        """The constraints whose violating rows it writes there; those of others another block writes."""
        self.patience = patience
        self.absent = absent
        self.keys = keys
        self.archive = archive
        self.malformed_into = dict(malformed_into)
        """The sink for malformed rows of a stream, if it names one."""
        self.named = named
        self.turn = turn
        """Under SHED(INPUT), the seconds that a batch of one cell may take."""

    def restore(self, key: int, plan: Plan, entries: Entries) -> Cell:
        """See StoredProcessor."""
        return Cell.restore(plan, entries, self.patience, self.absent, self.keys.index(key))

    def derive_as(self, cell: Cell, known: Cell) -> None:
        """See StoredProcessor."""
        cell.derive_as(known)

    def step(self, key: int, rows: Iterator[Row]) -> Iterator[Row]:
        """See StoredProcessor."""
        began, at = time.monotonic(), now()
        unpacked = unpack_chunks(rows)
        cell, number, before = self.load(key)
        cell.doubted_rows.fetch_by(self._entry)
        # By how long the batch before took, as the store has it: a batch that is replayed sheds the same rows.
        keep = 1.0 if self.turn is None or self.seconds <= self.turn else self.turn / self.seconds
        batch = Batch(number, tuple(unpacked.chunks), keep, unpacked.is_last, unpacked.frontiers, self._named())
        try:
            result = cell.step(batch)
        except PromiseBroken as error:
            place, took = (cache_root(), self.run), time.monotonic() - began
            of, cells = f"{self.owner}{number}", len(self.keys)
            raise with_other_cells(error, place, of, key, cells=cells, took=took) from None
        self.seconds = (time.monotonic() - began) / keep
        name = f"{number:09d}-{self.owner}{key}"
        kept_out = [kept for kept in result.quarantined if kept.constraint in self.writes]
        if kept_out:
            write_quarantined(self.quarantine, kept_out, name)
        if unpacked.malformed:
            write_malformed(self.quarantine, self.malformed_into, unpacked.malformed, name)
        if result.archived is not None and self.archive is not None:
            write_archived(self.archive, self.plan, self.keys.index(key), number, result.archived)
        self.store(key, cell, number, before)
        yield from self._given(result, is_last=unpacked.is_last)
        for turn, (block, packed) in enumerate(unpacked.passed):
            to = None if self.dealer is None else self.dealer.in_turn(turn)
            yield self._row(f"{PASSED_ON}{block}", packed, to)
        told = [*counts_of(self.plan, result.metrics), *cell_times(unpacked.times, at)]
        yield self._row(COUNTS, counts=told)

    def _named(self) -> Mapping[str, tuple[str | None, ...]]:
        """The parts that sources name in the batch that Spark is at, done again or not."""
        context = TaskContext.get() if self.named.since else None
        return {} if context is None else self.named.at(int(context.getLocalProperty(BATCH) or 0))

    def _given(self, result: StepResult, *, is_last: bool) -> Iterator[Row]:
        dealt = [(None, result.rows)] if self.dealer is None else self.dealer.rows(result.rows)
        for target, rows in dealt:
            yield from (self._row(ANSWER, payload, target) for payload in answer_payloads(rows, self.files))
        if self.plan.distinct or self.plan.aggregate is not None:
            yield from self._told(FRONTIER, json.dumps(dict(result.frontier)).encode())
            for number, table in result.reports.items():
                yield from self._told(f"{REPORT}{number}", to_ipc(table))
            if is_last:
                yield from self._told(END, b"")
        elif self.plan.frontiers:
            yield _how_far(self.plan, result.frontier)

    def _told(self, kind: str, payload: bytes) -> Iterator[Row]:
        """What every bucket of the second stage must know."""
        for target in (None,) if self.dealer is None else self.dealer.keys:
            yield self._row(kind, payload, target)

    def _row(
        self, kind: str, payload: bytes | None = None, target: int | None = None, counts: list[int] | None = None
    ) -> Row:
        row = {"kind": kind, "payload": payload, "counts": counts}
        return Row(**row) if self.dealer is None else Row(**row, target=target)


class SecondProcessor(StoredProcessor[GroupStage]):
    """The second stage: takes the rows of a bucket, which are of its groups or DISTINCT, and what all cells say.

    The first bucket has the one group of a query without GROUP BY.
    """

    def __init__(
        self,
        plan: str,
        identity: str,
        run: str,
        keys: tuple[int, ...],
        *,
        owner: str = "",
        dealt_anew: WorkerFolder | None = None,
        segments: SegmentFiles | None = None,
        files: HandedOver | None = None,
    ) -> None:
        super().__init__(plan, identity, run, "second", owner, dealt_anew=dealt_anew, segments=segments)
        self.files = files
        self.keys = keys
        """Of the buckets, which are as many as the cells."""

    def room(self, key: int, plan: Plan) -> int | None:
        """What a bucket may hold of the budget."""
        return bucket_room(plan, self.keys.index(key), len(self.keys))

    def told(
        self, rows: Iterator[Row], passed: list[tuple[str, bytes]]
    ) -> tuple[Any | None, dict[str, int], Reports, bool]:
        """The rows of a batch, None if there are none; the least frontier, none if a cell has not spoken; reports.

        And whether the streams have ended. What is for other blocks is added to `passed`.
        """
        is_last = False
        tables: list[Any] = []
        frontiers: list[dict[str, int]] = []
        reports: dict[int, list[Any]] = {}
        for row in rows:
            if row["kind"] == FRONTIER:
                frontiers.append(json.loads(row["payload"]))
            elif row["kind"].startswith(REPORT):
                number = int(row["kind"].removeprefix(REPORT))
                reports.setdefault(number, []).append(from_ipc(row["payload"]))
            elif row["kind"] == END:
                is_last = True
            elif row["kind"].startswith(PASSED_ON):
                passed.append((row["kind"], row["payload"]))
            else:
                tables.append(from_ipc(handed(row["payload"])))
        least, told = together(frontiers, reports, len(self.keys))
        return pa.concat_tables(tables) if tables else None, least, told, is_last

    def restore(self, key: int, plan: Plan, entries: Entries) -> GroupStage:
        """See StoredProcessor."""
        return GroupStage.restore(plan, entries, self.room(key, plan), is_first=key == self.keys[0])

    def step(self, key: int, rows: Iterator[Row]) -> Iterator[Row]:
        """One batch of one bucket of groups."""
        passed: list[tuple[str, bytes]] = []
        given, frontier, reports, is_last = self.told(rows, passed)
        stage, number, before = self.load(key)
        result = stage.step(number, pa.table({}) if given is None else given, frontier, reports, is_last=is_last)
        self.store(key, stage, number, before)
        yield from (
            Row(kind=ANSWER, payload=payload, counts=None) for payload in answer_payloads(result.rows, self.files)
        )
        if self.plan.frontiers:
            yield _how_far(self.plan, stage.reached)
        for kind, packed in passed:
            yield Row(kind=kind, payload=packed, counts=None)
        told = [*second_counts_of(result.rows.num_rows, result.lost, stage), now()]
        yield Row(kind=COUNTS, payload=None, counts=told)


def _how_far(plan: Plan, reached: Mapping[str, int]) -> Row:
    """What the block above is told."""
    return Row(kind=FRONTIER, payload=json.dumps(answer_frontier(plan, reached)).encode(), counts=None)


def answer_payloads(rows: Any, files: HandedOver | None) -> Iterator[bytes]:
    """Result rows, packed; large ones into a file if there are some."""
    if not rows.num_rows:
        return
    pieces = max(1, -(-rows.nbytes // _MOST_BYTES))
    size = -(-rows.num_rows // pieces)
    for start in range(0, rows.num_rows, size):
        piece = rows.slice(start, size)
        yield to_ipc(piece) if files is None else files.payload(piece)
