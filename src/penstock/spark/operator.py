"""The stateful operator: one cell of the core for each key, its state in Spark's own store.

Spark's state store holds the entries of a cell and, beside them, the number of its last batch and a random tag. What
a batch changes is written to the store, which commits or forgets it with the batch; the warm cache only follows. This
class must be importable by the workers: pickled by value, its module's cache would be new in every task.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from penstock.plan.plan import Plan
from penstock.runtime import Batch, Cell, Changes, Distinct, StepResult
from penstock.runtime.store import Entries, from_ipc, to_ipc
from penstock.spark.cache import WarmCache
from penstock.spark.counts import counts_of
from penstock.spark.pack import unpack_chunks
from penstock.spark.quarantine import write_quarantined

RESULT = "kind STRING, target INT, payload BINARY, counts ARRAY<BIGINT>"
"""The columns of what an operator gives: packed result rows, or the counts of the batch."""

ANSWER, COUNTS = "answer", "counts"


class Stored(Protocol):
    """What a cell of either stage can do."""

    def save(self) -> Changes:
        """What changed since the last save."""


S = TypeVar("S", bound=Stored)

_LIVE: dict[str, tuple[str, Any]] = {}
"""By cell, the tag and the object this worker last committed."""


class StoredProcessor(StatefulProcessor, Generic[S]):
    """Loads a cell, lets it take a step, writes back what changed."""

    def __init__(self, plan: str, run: str, stage: str) -> None:
        self.plan_text = plan
        self.run = run
        self.stage = stage

    def restore(self, plan: Plan, entries: Entries) -> S:
        """The cell that the entries hold."""
        raise NotImplementedError

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state; called by Spark in each task."""
        self.plan = Plan.from_json(self.plan_text)
        self.entries = handle.getMapState("entries", "key STRING", "value BINARY")
        self.commit = handle.getValueState("commit", "batch BIGINT, tag STRING")

    def close(self) -> None:
        """Nothing is held beyond the batch that Spark's store or the cache does not know."""

    def load(self, key: int) -> tuple[S, int]:
        """The cell as the store has it, and the number of this batch."""
        committed = self.commit.get()
        if committed is None:
            return self.restore(self.plan, {}), 0
        number, tag = committed[0], committed[1]
        known = _LIVE.pop(self._owner(key), None)
        if known is not None and known[0] == tag:
            return known[1], number + 1
        cache = WarmCache(self.run, self._owner(key))
        entries: Entries | None = cache.load(tag)
        if entries is None:
            entries = {name[0]: value[0] for name, value in self.entries.iterator()}
            cache.refill(tag, entries)
        return self.restore(self.plan, entries), number + 1

    def store(self, key: int, cell: S, number: int) -> None:
        """Write what the step changed."""
        changes = cell.save()
        for name in changes.delete:
            self.entries.removeKey((name,))
        for name, value in changes.put.items():
            self.entries.updateValue((name,), (value,))
        tag = uuid.uuid4().hex
        self.commit.update((number, tag))
        WarmCache(self.run, self._owner(key)).store(tag, changes)
        _LIVE[self._owner(key)] = (tag, cell)

    def _owner(self, key: int) -> str:
        return f"{self.run}-{self.stage}-{key}"


class CellProcessor(StoredProcessor[Cell]):
    """The first stage: the join."""

    def __init__(self, plan: str, run: str, quarantine: str | None) -> None:
        super().__init__(plan, run, "cell")
        self.quarantine = quarantine

    def restore(self, plan: Plan, entries: Entries) -> Cell:
        """See StoredProcessor."""
        return Cell.restore(plan, entries)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803, ARG002
        """One batch of one cell; called by Spark."""
        chunks = unpack_chunks(rows)
        cell, number = self.load(key[0])
        result = cell.step(Batch(number, tuple(chunks)))
        if result.quarantined:
            write_quarantined(self.quarantine, result.quarantined, f"{number:09d}-{key[0]}")
        self.store(key[0], cell, number)
        yield from self._given(result)

    def _given(self, result: StepResult) -> Iterator[Row]:
        if result.rows.num_rows:
            yield Row(kind=ANSWER, target=0, payload=to_ipc(result.rows), counts=None)
        yield Row(kind=COUNTS, target=0, payload=None, counts=counts_of(self.plan, result.metrics))


class DistinctProcessor(StoredProcessor[Distinct]):
    """The second stage: each output row once."""

    def restore(self, plan: Plan, entries: Entries) -> Distinct:
        """See StoredProcessor."""
        return Distinct.restore(plan, entries)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803, ARG002
        """One batch of one bucket of output rows; called by Spark."""
        given = [from_ipc(row["payload"]) for row in rows]
        stage, number = self.load(key[0])
        for table in given:
            new = stage.step(number, table, {})
            if new.num_rows:
                yield Row(kind=ANSWER, target=0, payload=to_ipc(new), counts=None)
        self.store(key[0], stage, number)
