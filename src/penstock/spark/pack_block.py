"""From block to block within one streaming query: what one emits is packed for the cells of the next.

A block below gives rows of its answer, evaluated by Spark where SELECT has expressions, and beside them what each of
its cells, or buckets of its second stage, says of how far its answer has come (TOLD). Rows are packed as those of any
stream; what is told goes to every cell above, which takes the least once all have spoken (`unpack_chunks`). So all
blocks take the same batch, commit together, and share one checkpoint.

The columns must come out in the types by which the block above was planned: a type that differs is an error, never
cast away.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.model.stream import Stream
from penstock.spark.arrow_map import mapped
from penstock.spark.operator import ANSWER, FRONTIER
from penstock.spark.pack import FRONTIERS, PACKED, Packer, portions
from penstock.spark.sources import filters_of, with_filters
from penstock.spark.table_joins import as_query_reads, require_types
from penstock.spark.unpack import TOLD
from penstock.spark.worker import settle


def packed_block(answer: DataFrame, stream: Stream, reading: Stream, packer: Packer, speakers: int) -> DataFrame:
    """The answer of a block with TOLD beside it, as PACKED has it for the block above; so many speak of a batch.

    `reading` is the stream as the block above reads it: joined with tables, with columns derived.
    """
    require_types(answer, [(column.name, str(column.type)) for column in stream.carried], stream.name)
    filters = filters_of(packer.plan, packer.stream)
    read = as_query_reads(answer, reading, filters, among=F.col(TOLD[0]) == ANSWER)
    filtered = with_filters(read, packer.plan, packer.stream, ordered=False, beside=TOLD)
    return mapped(filtered, BlockPacker(packer, speakers), PACKED)


@dataclass(frozen=True)
class BlockPacker:
    """Packs the answers of a block as rows of a stream, and hands on what its cells tell."""

    packer: Packer
    speakers: int
    """How many cells or buckets tell how far the answer has come."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For mapInArrow: columns, filters and TOLD in, PACKED out."""
        settle("pack")
        told: list[bytes] = []
        yield from self.packer.packed(self.packer.pieces(self._answers(batches, told)))
        if told:
            yield self.packer.to_every_cell(FRONTIERS, [self.spoken(payload) for payload in told])

    def _answers(self, batches: Iterable[Any], told: list[bytes]) -> Iterator[Any]:
        """The rows that are answers; what is told is set aside."""
        for table in portions(batches):
            kinds = table.column(TOLD[0])
            told += table.filter(pc.equal(kinds, FRONTIER)).column(TOLD[1]).to_pylist()
            rows = table.filter(pc.equal(kinds, ANSWER)).drop_columns(list(TOLD))
            if rows.num_rows:
                yield rows

    def spoken(self, payload: bytes) -> bytes:
        """What one of them told, with how many tell."""
        return json.dumps({"of": self.speakers, "frontier": json.loads(payload)}).encode()
