"""What Spark is handed as a stateful stage: a processor that is unpacked where it has rows to take.

As a query starts, Spark starts a Python process for each of its stateful stages, one after the other, and asks it for
one thing: which states the stage has. That is the same for every stage here, and takes nothing of the core; but to
unpickle a processor imports all of it, a second and more of a core, for each stage, at each start. So the processor
goes as bytes, and the process that is only asked never opens them. This module imports nothing that is heavy.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

if TYPE_CHECKING:
    from penstock.spark.stored_processor import StoredProcessor


class StatefulStage(StatefulProcessor):
    """A stage, packed until a task has rows for it."""

    def __init__(self, processor: StoredProcessor[Any]) -> None:
        self.packed: bytes = cloudpickle.dumps(processor)  # type: ignore[no-untyped-call]  # as pyspark has it
        self.opened: StoredProcessor[Any] | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Say which state there is; called by Spark in each task, and as a query starts."""
        self.entries = handle.getMapState("entries", "key STRING", "value BINARY")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803, ARG002
        """One batch of one cell; called by Spark."""
        if self.opened is None:
            self.opened = pickle.loads(self.packed)
            self.opened.open(self.entries)
        return self.opened.step(key[0], rows)

    def close(self) -> None:
        """Nothing is held beyond the batch that Spark's store or the cache does not know."""
