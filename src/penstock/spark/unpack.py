"""Result rows out of their packing: typed columns again, or dealt out to the buckets of the second stage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from penstock.model.names import quoted
from penstock.plan.plan import Plan
from penstock.runtime import hash_rows
from penstock.runtime.store import from_ipc, to_ipc
from penstock.spark.operator import ANSWER
from penstock.spark.pack import split_by_cell
from penstock.spark.types import carried_type, restored
from penstock.spark.worker import settle

DEALT = "target INT, kind STRING, payload BINARY"
"""The columns of what is dealt to the second stage."""


def output_columns(plan: Plan) -> str:
    """The columns that the core hands out, as Spark writes a schema."""
    kinds = {(s.alias, c.name): c.type for s in plan.sources for c in s.read}
    return ", ".join(f"{quoted(o.name)} {carried_type(kinds[o.alias, o.column])}" for o in plan.outputs)


def restored_columns(plan: Plan) -> list[str]:
    """The expressions that give those columns their declared types."""
    kinds = {(s.alias, c.name): c.type for s in plan.sources for c in s.read}
    return [restored(o.name, kinds[o.alias, o.column]) for o in plan.outputs]


def arrow_schema(columns: str) -> Any:
    """The same as Arrow has it; needs a session, so it is made before the workers start."""
    schema = StructType.fromDDL(columns)
    assert isinstance(schema, StructType)
    return to_arrow_schema(schema, timezone="UTC")


@dataclass(frozen=True)
class Unpacker:
    """From packed rows to typed columns."""

    schema: Any

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For mapInArrow."""
        settle("unpack")
        for batch in batches:
            for payload in batch.column(0):
                table = from_ipc(payload.as_buffer())
                columns = [_as(table.column(field.name), field.type) for field in self.schema]
                yield from pa.Table.from_arrays(columns, schema=self.schema).to_batches()


def _as(column: Any, kind: Any) -> Any:
    # Arrow refuses some casts of a type to itself: the parts of a VARIANT are never NULL, but the whole may be.
    return column if column.type == kind else column.cast(kind)


@dataclass(frozen=True)
class Redealer:
    """Deals result rows out by their own hash, so that equal rows meet in one bucket; all else goes to every bucket."""

    keys: tuple[int, ...]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For mapInArrow: (kind, payload) in, DEALT out."""
        settle("deal")
        for batch in batches:
            dealt: list[tuple[int, str, bytes]] = []
            for kind, payload in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
                if kind == ANSWER:
                    dealt += ((key, kind, to_ipc(rows)) for key, rows in self._deal(from_ipc(payload.as_buffer())))
                else:
                    dealt += ((key, kind, payload.as_py()) for key in self.keys)
            targets, kinds, payloads = zip(*dealt, strict=True) if dealt else ((), (), ())
            yield pa.record_batch(
                [pa.array(targets, pa.int32()), pa.array(kinds, pa.string()), pa.array(payloads, pa.binary())],
                names=["target", "kind", "payload"],
            )

    def _deal(self, table: Any) -> Iterator[tuple[int, Any]]:
        hashed = hash_rows(table, table.column_names)
        buckets = (hashed % np.uint64(len(self.keys))).astype(np.int64)
        for bucket, rows in split_by_cell(table, buckets):
            yield self.keys[bucket], rows
