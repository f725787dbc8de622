"""Result rows out of their packing, into typed columns; and into packing again once Spark has worked on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.model.names import quoted
from penstock.plan.plan import Plan
from penstock.runtime.group.between_stages import output_types
from penstock.runtime.state.store import from_ipc, to_ipc
from penstock.spark.dealer import Dealer
from penstock.spark.handed_over import handed
from penstock.spark.operator import ANSWER, PASSED_ON
from penstock.spark.types import carried_type, restored
from penstock.spark.worker import settle


def output_columns(plan: Plan) -> str:
    """The columns that the core hands out, as Spark writes a schema."""
    return ", ".join(f"{quoted(name)} {carried_type(kind)}" for name, kind in output_types(plan))


def restored_columns(plan: Plan) -> list[str]:
    """The expressions that give those columns their declared types."""
    return [restored(name, kind) for name, kind in output_types(plan)]


@dataclass(frozen=True)
class Unpacker:
    """From packed rows to typed columns."""

    schema: Any

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For mapInArrow."""
        settle("unpack")
        for batch in batches:
            for payload in batch.column(0):
                table = from_ipc(handed(payload.as_buffer()))
                columns = [as_type(table.column(field.name), field.type) for field in self.schema]
                yield from pa.Table.from_arrays(columns, schema=self.schema).to_batches()


def as_type(column: Any, kind: Any) -> Any:
    """The column in that type."""
    # Arrow refuses some casts of a type to itself: the parts of a VARIANT are never NULL, but the whole may be.
    return column if column.type == kind else column.cast(kind)


TOLD = ("__ps_kind", "__ps_told")
"""Beside the columns of an answer on its way through SELECT: what a row is, and what the second stage must know."""


@dataclass(frozen=True)
class ToldUnpacker:
    """From packed rows to typed columns and TOLD; what is no answer goes along as a row of NULLs."""

    schema: Any

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For mapInArrow: (kind, payload) in."""
        for batch in batches:
            for kind, payload in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
                if kind == ANSWER:
                    table = from_ipc(handed(payload.as_buffer()))
                    columns = [as_type(table.column(f.name), f.type) for f in list(self.schema)[: -len(TOLD)]]
                    told: Any = pa.nulls(table.num_rows, pa.binary())
                else:
                    columns = [pa.nulls(1, f.type) for f in list(self.schema)[: -len(TOLD)]]
                    told = pa.array([payload.as_py()], pa.binary())
                kinds = pa.array([kind] * len(told), pa.string())
                yield from pa.Table.from_arrays([*columns, kinds, told], schema=self.schema).to_batches()


@dataclass(frozen=True)
class EvaluatedRedealer:
    """Deals rows out to the second stage, once Spark has evaluated their expressions."""

    dealer: Dealer

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For mapInArrow: the columns and TOLD in, DEALT out."""
        settle("deal")
        for batch in batches:
            whole = pa.Table.from_batches([batch])
            answers = pc.equal(whole.column(TOLD[0]), ANSWER)
            rows = whole.filter(answers).drop_columns(list(TOLD))
            dealt = [(key, ANSWER, to_ipc(part)) for key, part in self.dealer.rows(rows)]
            told = whole.filter(pc.invert(answers)).select(list(TOLD)).to_pylist()
            dealt += [
                (key, row[TOLD[0]], row[TOLD[1]])
                for number, row in enumerate(told)
                for key in self._told_to(row[TOLD[0]], number)
            ]
            yield _as_dealt(dealt)

    def _told_to(self, kind: str, number: int) -> tuple[int, ...]:
        return (self.dealer.in_turn(number),) if kind.startswith(PASSED_ON) else self.dealer.keys


def _as_dealt(dealt: list[tuple[int, str, bytes]]) -> Any:
    targets, kinds, payloads = zip(*dealt, strict=True) if dealt else ((), (), ())
    return pa.record_batch(
        [pa.array(targets, pa.int32()), pa.array(kinds, pa.string()), pa.array(payloads, pa.binary())],
        names=["target", "kind", "payload"],
    )
