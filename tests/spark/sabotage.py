"""Spark's Python daemon, with faults put in: for `spark.python.daemon.module`, and for tests alone.

The first attempt at each step of a cell fails, in turn by an error before its state is written, by an error after it,
and by the death of the worker after it; so does the first attempt at packing a piece, by an error. A folder named by
SABOTAGE remembers what failed, so that the second attempt goes through.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pyspark import TaskContext, daemon

from penstock.spark.cell_commit import Committed
from penstock.spark.pack import Packer
from penstock.spark.stored_processor import StoredProcessor

MARKS = Path(os.environ.get("SABOTAGE", "."))


def first_time(name: str) -> bool:
    """Whether this has not failed before."""
    try:
        (MARKS / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def sabotage() -> None:
    """Put the faults in."""
    store, pack = StoredProcessor.store, Packer.__call__

    def failing_store(self: Any, key: int, cell: Any, number: int, before: Committed | None) -> None:
        fails = first_time(f"{self.stage}-{key}-{number}")
        if fails and number % 3 == 0:
            raise RuntimeError("sabotage before the state is written")
        store(self, key, cell, number, before)
        if fails and number % 3 == 1:
            raise RuntimeError("sabotage after the state is written")
        if fails:
            os.kill(os.getpid(), signal.SIGKILL)

    def failing_pack(self: Packer, batches: Iterable[Any]) -> Iterator[Any]:
        context = TaskContext.get()
        assert context is not None
        if first_time(f"pack-{self.stream}-{context.stageId()}-{context.partitionId()}"):
            raise RuntimeError("sabotage while packing")
        yield from pack(self, batches)

    StoredProcessor.store = failing_store  # type: ignore[method-assign]
    Packer.__call__ = failing_pack  # type: ignore[method-assign]


if __name__ == "__main__":
    sabotage()
    daemon.manager()
