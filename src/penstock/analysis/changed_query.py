"""A query whose streams declare more: what a fix would make of it, for whoever asks whether that suffices.

Every source of a stream that the fix names declares it, in every block below too; a view is the stream of its block.
Nothing is decided here, and no text is changed: the model is, and whoever asks checks it again.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.analysis.finding import Fix
from penstock.model.clauses import Source, Union
from penstock.model.never_null import with_sure_pairs
from penstock.model.query import Query
from penstock.model.schemes import NamedTime
from penstock.model.stream import Stream


def declaring(query: Query, fix: Fix) -> Query:
    """The query over streams that declare more; InvalidModel where one of them cannot."""
    return _Declaring(fix).query(query)


class _Declaring:
    def __init__(self, fix: Fix) -> None:
        self.more = fix.by_stream
        self.made: dict[str, Query | Union] = {}
        """Blocks by name: one that several sources read stays one."""

    def query(self, query: Query) -> Query:
        sources, partners = (tuple(map(self.source, some)) for some in (query.sources, query.partners))
        return with_sure_pairs(replace(query, sources=sources, partners=partners))

    def source(self, source: Source) -> Source:
        stream = self.stream(source.stream)
        if source.below is None:
            return replace(source, stream=stream)
        name = source.stream.name
        if name not in self.made:
            self.made[name] = self.below(source.below)
        return replace(source, stream=stream, below=self.made[name])

    def below(self, below: Query | Union) -> Query | Union:
        if isinstance(below, Union):
            return Union(tuple(map(self.source, below.members)))
        return self.query(below)

    def stream(self, stream: Stream) -> Stream:
        added = self.more.get(stream.name, [])
        for one in added:
            if isinstance(one, NamedTime):
                stream = replace(stream, event_time=one.column)
        schemes = tuple(one for one in added if not isinstance(one, NamedTime))
        return replace(stream, schemes=(*stream.schemes, *schemes)) if schemes else stream
