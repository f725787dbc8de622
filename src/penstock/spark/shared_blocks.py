"""A block that several blocks read is run once: the blocks from it up to the top one stand in a row.

    shared -> cells -> packed for all who read it -> cells of the next, which hands on what is for others -> …

A plan of Spark's is a tree: what two branches read is run twice, with its state. So the blocks that are shared, or read
(directly or not) what is, are put one after another, each after those that it reads. What a block gives is packed for
each of its readers at once. What is not for the next block of the row goes through its cells and its second stage as it
is, beside what the cells tell (PASSED_ON), and is unpacked where it is asked for. All other blocks stay branches.

Theorem: each reader gets the packed rows that it would get of a branch of its own. They are packed by its own packer,
filters and tables, with what every cell says of how far the answer has come, and nothing in between looks at them.

Rows that go through cost their bytes once for each block that they pass; their state is kept once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.model.names import quoted
from penstock.model.stream import Stream
from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import flat
from penstock.runtime.state.store import from_ipc, to_ipc
from penstock.spark.arrow_map import mapped
from penstock.spark.operator import ANSWER, FRONTIER, PASSED_ON
from penstock.spark.pack import FRONTIERS, PACKED, Packer, portions
from penstock.spark.pack_block import BlockPacker
from penstock.spark.sources import filtered_columns, filters_of
from penstock.spark.table_joins import as_query_reads, require_types
from penstock.spark.unpack import TOLD
from penstock.spark.worker import settle

_FOR = "__ps_for"
"""Where readers join tables: the number of the reader that a copy of a row is for."""
_ROW = "__ps_row"


def blocks_in_a_row(plans: Mapping[str, Plan]) -> tuple[str, ...]:
    """The blocks that are shared or read what is, each after those that it reads; none where nothing is shared."""
    found: list[str] = []
    for name, plan in plans.items():
        if len(readers_of(name, plans)) > 1 or any(below in found for below in blocks_read(plan)):
            found.append(name)
    return tuple(found)


def blocks_read(plan: Plan) -> tuple[str, ...]:
    """The blocks that a block reads, once for each stream that they are, or are of, there."""
    streams = {source.stream: source for source in plan.sources if source.block is not None}
    return tuple(member for name, source in streams.items() for member in source.members or (name,))


def readers_of(name: str, plans: Mapping[str, Plan]) -> list[tuple[str, str]]:
    """The blocks that read a block, each with the name of the stream that it is, or is of, there."""
    return [
        (reader, source.stream)
        for reader, plan in plans.items()
        for source in {source.stream: source for source in plan.sources if source.block is not None}.values()
        if name in (source.members or (source.stream,))
    ]


@dataclass(frozen=True)
class Reader:
    """Who reads a block: its name, the stream as it reads it, and how rows are packed for its cells."""

    block: str
    reading: Stream
    packer: Packer
    speakers: int


def packed_for_readers(
    answer: DataFrame, stream: Stream, readers: Sequence[Reader], after: str, to_next: Packer
) -> DataFrame:
    """The answer of a block with TOLD beside it, as PACKED has it for the next of the row (`after`)."""
    require_types(answer, [(column.name, str(column.type)) for column in stream.carried], stream.name)
    kept = [quoted(name) for name in answer.columns]
    is_answer = F.col(TOLD[0]) == ANSWER
    copies = any(reader.reading.tables for reader in readers)
    if copies:
        # A table may repeat rows or leave some out, for one reader and not for the others.
        every = F.array(*(F.lit(number) for number in range(len(readers))))
        answer = answer.withColumn(_FOR, F.explode(F.when(is_answer, every).otherwise(F.array(F.lit(0)))))
        kept.append(_FOR)
    for number, reader in enumerate(readers):
        among = is_answer & (F.col(_FOR) == number) if copies else is_answer
        filters = filters_of(reader.packer.plan, reader.packer.stream)
        read = as_query_reads(answer, reader.reading, filters, among=among)
        read, shown = filtered_columns(read, reader.packer.plan, reader.packer.stream, ordered=False)
        answer = read.selectExpr(*kept, f"struct({', '.join(shown or [f'TRUE AS {_ROW}'])}) AS {_own(number)}")
        kept.append(_own(number))
    answer = answer.selectExpr(*TOLD, *([_FOR] if copies else []), *map(_own, range(len(readers))))
    return mapped(answer, RowPacker(stream.name, tuple(readers), after, to_next), PACKED)


def _own(number: int) -> str:
    return f"__ps_reader_{number}"


@dataclass(frozen=True)
class RowPacker:
    """Packs the answers of a block for all who read it; what is not for the next of the row is handed on by it."""

    block: str
    """Whose answers they are: several may be parts of one stream, packed in tasks of the same numbers."""
    readers: tuple[Reader, ...]
    after: str
    """The next block of the row."""
    to_next: Packer

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For mapInArrow: a struct of columns and filters for each reader, and TOLD in, PACKED out."""
        settle("pack")
        told: list[bytes] = []
        turn = 0
        for number, table in enumerate(portions(batches)):
            kinds = table.column(TOLD[0])
            told += table.filter(pc.equal(kinds, FRONTIER)).column(TOLD[1]).to_pylist()
            passed = table.filter(pc.starts_with(kinds, PASSED_ON)).select(list(TOLD)).to_pylist()
            for row in passed:
                turn += 1
                yield from self._to(row[TOLD[0]].removeprefix(PASSED_ON), row[TOLD[1]], turn)
            answers = table.filter(pc.equal(kinds, ANSWER))
            for place, reader in enumerate(self.readers):
                rows = _rows_for(answers, place)
                pieces = reader.packer.numbered(self.block, number, rows) if rows.num_rows else ()
                for batch in reader.packer.packed(pieces):
                    turn += 1
                    yield from self._given(reader.block, batch, turn)
        for reader in self.readers if told else ():
            speaking = BlockPacker(reader.packer, reader.speakers)
            spoken = reader.packer.to_every_cell(FRONTIERS, [speaking.spoken(payload) for payload in told])
            yield from self._given(reader.block, spoken, turn)

    def _given(self, block: str, batch: Any, turn: int) -> Iterator[Any]:
        if block == self.after:
            yield batch
        else:
            yield self.to_next.handed_on(turn, block, to_ipc(pa.Table.from_batches([batch])))

    def _to(self, block: str, packed: bytes, turn: int) -> Iterator[Any]:
        """Packed rows that came through."""
        if block == self.after:
            yield from from_ipc(packed).to_batches()
        else:
            yield self.to_next.handed_on(turn, block, packed)


def _rows_for(answers: Any, place: int) -> Any:
    """The rows that one reader gets, as it reads them."""
    if _FOR in answers.column_names:
        answers = answers.filter(pc.equal(answers.column(_FOR), place))
    structs = flat(answers.column(_own(place)))
    names = [field.name for field in structs.type]
    return pa.Table.from_arrays(structs.flatten(), names=names)
