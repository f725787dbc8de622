"""A stream that stands twice in a query, and is joined with tables or taken to elements in one of its places only.

One reading of a stream serves all its places in a query, so that what Spark makes of its rows before they meet others
is the same in all of them. A place where more is made of them reads a block instead, which stores nothing:

    FROM s AS a JOIN s AS b ON c JOIN t ON b.k = t.k
      = FROM s AS a JOIN (SELECT … FROM s JOIN t ON s.k = t.k) AS b ON c

The block gives the columns that the query names and the event time; its answer has what the join leaves of the promises
of the stream (`model.table`). Not so under [ROWS n], which counts the rows of the stream itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.model.clauses import Output, RowsWindow, Source
from penstock.model.expressions import ColumnRef
from penstock.model.query import Query
from penstock.model.relation import Block, Leaf
from penstock.model.stream import Stream
from penstock.sql.from_parts import appending


def read_apart(
    sources: tuple[Source, ...],
    block: Block,
    free_name: Callable[[str], str],
    stream_of: Callable[[Query], Stream | None],
) -> tuple[tuple[Source, ...], Block] | None:
    """The same over blocks, where a stream stands twice and is not read alike; None, and mistakes, if it cannot be."""
    every = (*sources, *(existence.source for existence in block.existences))
    made: dict[str, Source] = {}
    for source in every:
        if not _differs(source, every):
            continue
        below = _block(source, block, free_name)
        stream = stream_of(below)
        if stream is None:
            return None
        made[source.alias] = appending(replace(source, stream=stream, below=below))
    if not made:
        return sources, block
    existences = tuple(replace(e, source=made.get(e.source.alias, e.source)) for e in block.existences)
    return tuple(made.get(s.alias, s) for s in sources), replace(block, existences=existences)


def _differs(source: Source, every: tuple[Source, ...]) -> bool:
    """Whether more is made of its rows than of those of the same stream in another place."""
    if source.below is not None or not source.stream.tables or isinstance(source.window, RowsWindow):
        return False
    kin = (s for s in every if s.below is None and s.stream.name == source.stream.name)
    return any(s.stream.tables != source.stream.tables for s in kin)


def _block(source: Source, block: Block, free_name: Callable[[str], str]) -> Query:
    """`SELECT` the columns that are named `FROM` the stream, joined with its tables."""
    named = {ref.column for ref in block.columns if ref.alias == source.alias}
    named |= {ref.column for predicate in source.where for ref in predicate.columns}
    named |= {source.stream.event_time} if source.stream.event_time is not None else set()
    columns = [column for column in source.stream.columns if column.name in named] or source.stream.columns[:1]
    outputs = tuple(Output(column.name, ColumnRef(source.alias, column.name)) for column in columns)
    name = free_name("_".join((source.stream.name, *(join.alias for join in source.stream.tables))))
    return Query.select(name, (replace(source, window=None, where=()),), Block(Leaf(source.alias), outputs))
