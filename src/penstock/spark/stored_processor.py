"""What both stages of the operator do alike: load a cell, and write back what its step changed.

Spark's state store holds the entries of a cell and, beside them, its commit (`cell_commit.py`); large segments lie in
files that the commit names (`segment_files.py`). What a batch changes is written to the store, which commits or forgets
it with the batch; the warm cache only follows. Spark is handed these classes by `stateful_stage.py`. They must be
importable by the workers: pickled by value, their module's cache would be new in every task.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import quote

from pyspark.sql import Row

from penstock.errors import DataError, InternalError
from penstock.plan.plan import Plan
from penstock.runtime import Changes
from penstock.runtime.state.store import COLD, Entries, from_ipc
from penstock.spark.cache import WarmCache
from penstock.spark.cell_commit import COMMIT, Committed
from penstock.spark.cells import CELLS
from penstock.spark.entry_places import placed, whole_store
from penstock.spark.segment_copies import SegmentCopies
from penstock.spark.segment_files import LEAST_BYTES, SegmentFile, SegmentFiles
from penstock.spark.stored_entries import StoredEntries
from penstock.spark.worker import settle
from penstock.spark.worker_files import WorkerFolder


@cache
def _plan(text: str) -> Plan:
    """A plan, which every task of every batch is handed as text."""
    return Plan.from_json(text)


class Stored(Protocol):
    """What a cell of either stage can do."""

    def save(self) -> Changes:
        """What changed since the last save."""

    def rest_on(self, entries: Entries) -> None:
        """Hold the rows that were just saved where these entries are."""


S = TypeVar("S", bound=Stored)

_LIVE: dict[str, tuple[str, Any]] = {}
"""By cell, the tag and the object this worker last committed; the eldest first."""
_MOST_LIVE = 64


class StoredProcessor(Generic[S]):
    """Loads a cell, lets it take a step, writes back what changed."""

    def __init__(
        self,
        plan: str,
        identity: str,
        run: str,
        stage: str,
        owner: str,
        *,
        dealt_anew: WorkerFolder | None = None,
        segments: SegmentFiles | None = None,
    ) -> None:
        self.segments = None if segments is None else replace(segments, copies=SegmentCopies(run))
        """Where large segments lie; None where all is in Spark's store."""
        self.plan_text = plan
        self.identity = identity
        self.dealt_anew = dealt_anew
        """Where the state lies that `penstock rescale` has dealt to other cells, until each has taken its own."""
        self.run = run
        self.stage = stage
        self.owner = owner
        """What sets the blocks of a query apart, where it has several."""
        self.seconds = 0.0
        """What the last batch took, or would have taken if no row of it had been shed."""

    def restore(self, key: int, plan: Plan, entries: Entries) -> S:
        """The cell that the entries hold."""
        raise NotImplementedError

    def open(self, state: Any) -> None:
        """Take the state that Spark has for this stage; in each task, before its first row."""
        settle(self.stage)
        self.plan = _plan(self.plan_text)
        self.entries = StoredEntries(state)

    def step(self, key: int, rows: Iterator[Row]) -> Iterator[Row]:
        """One batch of one cell."""
        raise NotImplementedError

    def load(self, key: int) -> tuple[S, int, Committed | None]:
        """The cell as the store has it, the number of this batch, and the commit before."""
        committed = self.entries.getValue((COMMIT,))
        self.seconds = 0.0
        before = None if committed is None else Committed.read(committed[0])
        if self.dealt_anew is not None and (before is None or before.identity != self.identity):
            before = self._take_dealt(key, self.dealt_anew)
        if before is None:
            return self.restore(key, self.plan, {}), 0, None
        number, self.seconds = before.number + 1, before.seconds
        if before.identity != self.identity:
            raise _other_state(before.identity, self.identity)
        known = _LIVE.pop(self._owner(key), None)
        if known is not None and known[0] == before.tag:
            return known[1], number, before
        cell = self.restore(key, self.plan, self._entries(key, before))
        if known is not None:
            # Spark gave the cell to another worker in between.
            self.derive_as(cell, known[1])
        return cell, number, before

    def _entries(self, key: int, committed: Committed) -> Entries:
        """What a commit left: from the host's cache if it has that, else from Spark's store."""
        host = WarmCache(self.run, self._owner(key))
        if self.segments is not None:
            named = [file.name for file in committed.files.values()]
            self.segments.sweep_copies(self._part(key), named)
            if committed.run != self.run:
                named += [name for _, name in committed.dropped]
                self.segments.sweep(self._part(key), committed.number, named)
        warm: Entries | None = {} if not committed.in_store else host.load(committed.in_store)
        if warm is not None:
            return whole_store(warm, committed, self.segments)
        entries = {
            name[0]: value[0]
            for name, value in self.entries.iterator()
            if name[0] != COMMIT and not name[0].startswith(COLD)
        }
        host.refill(committed.in_store, entries)
        return whole_store(entries, committed, self.segments)

    def derive_as(self, cell: S, known: S) -> None:
        """Let a cell take over what this worker derived when it last had it."""

    def _take_dealt(self, key: int, folder: WorkerFolder) -> Committed:
        """Let the store hold what the state that was dealt anew has for this cell, and nothing else."""
        entries = from_ipc(folder.read(dealt_name(self.plan.query, self.stage, key)))
        found = dict(zip(entries.column("name").to_pylist(), entries.column("value").to_pylist(), strict=True))
        self.entries.clear()
        for name, value in found.items():
            self.entries.updateValue((name,), (value,))
        return Committed.read(found[COMMIT])

    def store(self, key: int, cell: S, number: int, before: Committed | None) -> None:
        """Write what the step changed."""
        places = placed(cell.save(), number, before, self.segments, self._part(key))
        self._let_rest(cell, places.files, {} if before is None else before.files)
        changes, tag, since = places.in_store, uuid.uuid4().hex, "" if before is None else before.in_store
        for name in changes.delete:
            self.entries.removeKey((name,))
        for name, value in changes.put.items():
            self.entries.updateValue((name,), (value,))
        in_store = tag if changes.put or changes.delete else since
        whose = (self.identity, self.seconds, self.plan.query, self.stage)
        least = LEAST_BYTES if self.segments is None else self.segments.least
        now = Committed(number, tag, *whose, in_store, places.files, places.dropped, places.small, self.run, least)
        self.entries.updateValue((COMMIT,), (now.written(),))
        if in_store != since:
            warm = {name: value for name, value in changes.put.items() if not name.startswith(COLD)}
            WarmCache(self.run, self._owner(key)).store(since or None, tag, replace(changes, put=warm))
        _LIVE[self._owner(key)] = (tag, cell)
        if len(_LIVE) > _MOST_LIVE:
            del _LIVE[next(iter(_LIVE))]

    def _let_rest(self, cell: S, files: Mapping[str, SegmentFile], before: Mapping[str, SegmentFile]) -> None:
        """Have a cell hold what it has just written where that is mapped: what nobody asks for is in no memory."""
        if self.segments is not None:
            fresh = {name: self.segments.copy(file) for name, file in files.items() if name not in before}
            cell.rest_on({name: copy for name, copy in fresh.items() if copy is not None})

    def _entry(self, name: str) -> Any:
        """One entry, read from the store when it is asked for."""
        found = self.entries.getValue((name,))
        if found is None:
            raise InternalError(f"the store has no entry {name}")
        return found[0]

    def _owner(self, key: int) -> str:
        return f"{self.run}-{self._part(key)}"

    def _part(self, key: int) -> str:
        """What tells a cell from all others of the query."""
        return f"{self.owner}{self.stage}-{key}"


def dealt_name(block: str, stage: str, key: int) -> str:
    """The file that holds the state of a cell that was dealt anew."""
    return f"{quote(block, safe='')}-{stage}-{key}.arrow"


def _other_state(then: str, now: str) -> DataError:
    """The state is another query's, or lies in other cells (`essence.identity_of`)."""
    query, _, cells = then.partition("/")
    if query == now.partition("/")[0]:
        return DataError(
            f"the checkpoint was made with {CELLS}={cells}, and the query now has {now.partition('/')[2]} cells",
            hint=f'spark.conf.set("{CELLS}", "{cells}") goes on with it on any number of cores',
        )
    return DataError(
        "the checkpoint was made by another query or by another version of Penstock",
        hint="run what it was made for, or use another checkpoint",
    )
