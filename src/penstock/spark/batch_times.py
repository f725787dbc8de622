"""Where the time of a batch goes: what each step of its way took, on the clock on the wall.

Packing notes when it began and ended in each task, and how much of that it waited for rows to be read; cells note when
they began and ended. The notes of packing ride along to the first cell, those of the cells among the counts, where the
earliest beginning and the latest end of all tasks are taken. Between these lie the parts of a batch:

- planning: until the first task packs: Spark finds out what came, plans, starts tasks;
- scan and pack: until the last task has packed, by the shares of waiting for rows and of packing them;
- shuffle: until the first cell begins;
- core: until the last cell, or the second stage, is done: the join, its state, what lies between blocks;
- sink: the rest of what Spark calls addBatch: what is written;
- committing: the logs of the checkpoint.

They add up to the batch. Preconditions: hosts of a cluster agree on the time; where they do not, a part may come out as
0. Nothing depends on any of it. A batch without rows has no such parts, and only planning and committing are told.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar

from penstock.runtime.counts import Count

T = TypeVar("T")

PARTS = ("planning", "scan", "pack", "shuffle", "core", "sink", "committing")

CELL_TIMES = (
    Count("packing", "first", True),
    Count("packing", "last", True),
    Count("packing", "scan", False),
    Count("packing", "pack", False),
    Count("cells", "first", True),
    Count("cells", "last", True),
)
"""What a cell adds to its counts; what came first is negative, so that the largest is the earliest. Microseconds."""

STAGE_TIMES = (Count("cells", "last", True),)
"""What the second stage adds."""

_BEFORE = ("latestOffset", "getBatch", "queryPlanning", "walCommit")
_AFTER = ("commitOffsets", "commitBatch")
_SECOND = 1_000_000


def now() -> int:
    """The time on the wall."""
    return time.time_ns() // 1000


class PackTimer:
    """Notes how long a task of packing waits for its rows, and how long it takes in all."""

    def __init__(self) -> None:
        self.began = now()
        self.waited = 0

    def waiting_for(self, rows: Iterable[T]) -> Iterator[T]:
        """The same rows; the time until each is there is noted."""
        source = iter(rows)
        while True:
            asked = now()
            try:
                row = next(source)
            except StopIteration:
                return
            finally:
                self.waited += now() - asked
            yield row

    def note(self) -> bytes:
        """What it found, for a packed row."""
        ended = now()
        return json.dumps([self.began, ended, self.waited, ended - self.began - self.waited]).encode()


def cell_times(notes: Iterable[bytes], began: int) -> list[int]:
    """The numbers of CELL_TIMES of a cell that began then and is done now."""
    found = [json.loads(note) for note in notes]
    packing = [
        max((-began_packing for began_packing, *_ in found), default=-began),
        max((ended for _, ended, *_ in found), default=0),
        sum(scanned for *_, scanned, _ in found),
        sum(packed for *_, packed in found),
    ]
    return [*packing, -began, now()]


def split(progress: Mapping[str, Any], observed: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The parts of a batch in seconds, from Spark's progress and what was observed of its blocks and stages."""
    spent = progress["durationMs"]
    before, after = (sum(spent.get(name, 0) for name in names) / 1000 for names in (_BEFORE, _AFTER))
    running = spent.get("addBatch", 0) / 1000
    marks = _Marks()
    for one in observed:
        marks.take(one)
    if not marks.is_whole:
        return {"planning": before, "running": running, "committing": after}
    start = _moment(progress["timestamp"])
    # What Spark did before it ran the batch ends where the running begins; each mark lies between that and its end.
    begin, end = start + before, start + before + running
    places = [begin]
    for mark in (-marks.packing_first, marks.packing_last, -marks.cells_first, marks.cells_last):
        places.append(min(end, max(places[-1], mark / _SECOND)))
    packing = places[2] - places[1]
    share = marks.scan / max(1, marks.scan + marks.pack)
    return {
        "planning": before + places[1] - begin,
        "scan": packing * share,
        "pack": packing * (1 - share),
        "shuffle": places[3] - places[2],
        "core": places[4] - places[3],
        "sink": end - places[4],
        "committing": after,
    }


class _Marks:
    """The earliest beginnings and the latest ends over all blocks of a query."""

    def __init__(self) -> None:
        self.packing_first = self.packing_last = self.cells_first = self.cells_last = -(2**63)
        self.scan = self.pack = 0

    def take(self, observed: Mapping[str, Any]) -> None:
        """Take note of what one block, or its second stage, says; packing is of those that begin first."""
        told = {count.name: observed.get(count.name) for count in CELL_TIMES}
        known = {name: int(value) for name, value in told.items() if value is not None}
        begins = known.get("packing:first", -(2**63))
        if known.get("packing:last") and begins >= self.packing_first:
            self.packing_first, self.packing_last = begins, known["packing:last"]
            self.scan, self.pack = known["packing:scan"], known["packing:pack"]
        self.cells_first = max(self.cells_first, known.get("cells:first", self.cells_first))
        self.cells_last = max(self.cells_last, known.get("cells:last", self.cells_last))

    @property
    def is_whole(self) -> bool:
        """Whether rows were packed and cells have spoken."""
        return self.packing_last > 0 and self.cells_last > 0


def _moment(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
