"""A query that needs no state (`plan/stateless.py`), on Spark: what is packed is answered where it was packed.

Each task takes its packed rows through a cell that is as new and leaves nothing behind. So nothing is shuffled and no
state store is opened, and there are as many tasks as Spark reads by. What a cell does for malformed rows and counts is
done here as there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from penstock.plan.plan import Plan
from penstock.runtime import Batch, Cell, Patience, Truth
from penstock.runtime.counts import Count, counts_of, vocabulary
from penstock.spark.batch_times import CELL_TIMES, cell_times, now
from penstock.spark.handed_over import BATCH, HandedOver
from penstock.spark.operator import ANSWER, COUNTS, answer_payloads
from penstock.spark.pack import unpack_chunks
from penstock.spark.quarantine import write_malformed
from penstock.spark.worker import settle
from penstock.spark.worker_files import WorkerFolder

_RESULT = pa.schema([("kind", pa.string()), ("payload", pa.binary()), ("counts", pa.list_(pa.int64()))])


def counts_of_tasks(plan: Plan) -> tuple[Count, ...]:
    """The counts of a plan where each task has rows of its own, and none has seen all headers."""
    return tuple(
        replace(c, same_everywhere=False) if c.field == "rows_in" else c for c in (*vocabulary(plan), *CELL_TIMES)
    )


@dataclass(frozen=True)
class Passing:
    """Answers packed rows, for mapInArrow: PACKED in, RESULT out."""

    plan: Plan
    patience: Patience
    absent: Truth
    quarantine: WorkerFolder | None
    malformed_into: Mapping[str, str | None]
    files: HandedOver | None = None

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The rows of one task."""
        settle("cell")
        context = TaskContext.get()
        assert context is not None
        number = int(context.getLocalProperty(BATCH) or 0)
        for piece, packed in enumerate(batches):
            began = now()
            unpacked = unpack_chunks(packed.to_pylist())
            cell = Cell.restore(self.plan, {}, self.patience, self.absent)
            result = cell.step(Batch(number, tuple(unpacked.chunks), is_last=unpacked.is_last))
            if unpacked.malformed:
                # Done again, a batch has the same tasks, and each the same pieces.
                name = f"{number:09d}-{context.partitionId()}-{piece}"
                write_malformed(self.quarantine, self.malformed_into, unpacked.malformed, name)
            payloads = list(answer_payloads(result.rows, self.files))
            told = [*counts_of(self.plan, result.metrics), *cell_times(unpacked.times, began)]
            rows = [{"kind": ANSWER, "payload": payload} for payload in payloads]
            yield pa.RecordBatch.from_pylist([*rows, {"kind": COUNTS, "counts": told}], _RESULT)
