"""A query as a tree of blocks, from below: each block once, with the promises of what it reads.

A block that several sources read, by the same name, is one block: it is checked, planned and run once. The blocks come
in an order in which each stands after those that it reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.errors import InternalError
from penstock.model.clauses import Source, Union
from penstock.model.query import Query
from penstock.model.stream import Stream
from penstock.model.table import as_read


def blocks_below(query: Query | Union) -> tuple[Source, ...]:
    """A source for each block below a query or a union, and for each union of some, after those that it reads."""
    found: dict[str, Source] = {}
    _note_below(query, found)
    return tuple(found.values())


def _note_below(query: Query | Union, found: dict[str, Source]) -> None:
    for source in query.members if isinstance(query, Union) else query.all_sources:
        if source.below is None:
            continue
        known = found.get(source.stream.name)
        if known is None:
            _note_below(source.below, found)
            found[source.stream.name] = replace(source, stream=source.stream.as_declared)
        elif (known.below is not source.below and known.below != source.below) or (
            known.stream != source.stream.as_declared
        ):
            raise InternalError(f"two blocks of a query are named {source.stream.name}")


def is_block(query: Query) -> bool:
    """Whether a query is one block over declared streams."""
    return all(source.below is None for source in query.all_sources)


def over(query: Query, streams: Mapping[str, Stream]) -> Query:
    """The query over streams of which, by name, more is known."""

    def of(source: Source) -> Source:
        if source.below is None:
            return source
        return replace(source, stream=as_read(streams[source.stream.name], source.stream))

    return (
        query
        if is_block(query)
        else replace(query, sources=tuple(map(of, query.sources)), partners=tuple(map(of, query.partners)))
    )


def streams_read(query: Query) -> tuple[Stream, ...]:
    """The declared streams that a query and its blocks read, each as it is read there: with what is derived of it."""
    asked = [query, *(block.below for block in blocks_below(query) if isinstance(block.below, Query))]
    return tuple(dict.fromkeys(s.stream for one in asked for s in one.all_sources if s.below is None))
