"""A query as a tree of blocks, from below: each block once, with the promises of what it reads.

A block that several sources read, by the same name, is one block: it is checked, planned and run once. The blocks come
in an order in which each stands after those that it reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.errors import InternalError
from penstock.model.clauses import Source
from penstock.model.query import Query
from penstock.model.stream import Stream

if TYPE_CHECKING:
    from penstock.analysis.finding import Verdict


def blocks_below(query: Query) -> tuple[Source, ...]:
    """A source for each block below a query, those that a block reads before it; the query itself is none of them."""
    found: dict[str, Source] = {}
    for source in _below(query):
        known = found.setdefault(source.stream.name, source)
        if known.below != source.below or known.stream != source.stream:
            raise InternalError(f"two blocks of query {query.name} are named {source.stream.name}")
    return tuple(found.values())


def _below(query: Query) -> Iterator[Source]:
    for source in query.all_sources:
        if source.below is not None:
            yield from _below(source.below)
            yield source


def is_block(query: Query) -> bool:
    """Whether a query is one block over declared streams."""
    return all(source.below is None for source in query.all_sources)


def each_block(query: Query, verdict: Verdict) -> tuple[tuple[Query, Verdict], ...]:
    """The blocks of a checked query over streams with their promises, from below; the last gives the answer."""
    streams = {block.name: block.derived.stream for block in verdict.blocks}
    return (*((block.query, block.verdict) for block in verdict.blocks), (over(query, streams), verdict))


def over(query: Query, streams: Mapping[str, Stream]) -> Query:
    """The query over streams of which, by name, more is known."""

    def of(source: Source) -> Source:
        return source if source.below is None else replace(source, stream=streams[source.stream.name])

    return (
        query
        if is_block(query)
        else replace(query, sources=tuple(map(of, query.sources)), partners=tuple(map(of, query.partners)))
    )
