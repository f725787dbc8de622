"""Queries that are trees of blocks, for tests: views by name, each a SELECT over streams and the views before it."""

from __future__ import annotations

from dataclasses import replace

import penstock
from penstock.model.clauses import Source
from penstock.model.lineage import kept_event_time
from penstock.model.query import Query
from penstock.model.script import Script
from penstock.model.stream import Column, Stream
from penstock.model.term_types import output_type


def with_views(streams: str, views: dict[str, str], query: str) -> Script:
    """The script whose query reads views; a view may be declared further by `name (declarations)`."""
    known: dict[str, tuple[Stream, Query]] = {}
    texts: list[str] = []
    for name, select in views.items():
        inner = _over(penstock.parse(f"{streams} {' '.join(texts)} {select};").queries[0], known)
        stream = stream_of(name, inner)
        known[name] = stream, inner
        columns = ", ".join(f"{c.name} {c.type}" for c in stream.columns)
        time = f", EVENT TIME {stream.event_time}" if stream.event_time else ""
        texts.append(f"CREATE STREAM {name} ({columns}{time});")
    parsed = penstock.parse(f"{streams} {' '.join(texts)} {query};")
    declared = tuple(s for s in parsed.streams if s.name not in known)
    return Script(declared, parsed.sinks, tuple(_over(q, known) for q in parsed.queries))


def _over(query: Query, known: dict[str, tuple[Stream, Query]]) -> Query:
    def of(source: Source) -> Source:
        if source.stream.name not in known:
            return source
        stream, below = known[source.stream.name]
        return replace(source, stream=stream, below=below)

    # Groups that are closed are given once, as they are to a block above.
    return replace(query, sources=tuple(map(of, query.sources)), partners=tuple(map(of, query.partners)), appends=True)


def stream_of(name: str, query: Query) -> Stream:
    """The stream that a query's answer is, without any promise."""
    columns = tuple(Column(shown.name, output_type(shown, query.type_of)) for shown in query.answer)
    return Stream(name, columns, kept_event_time(query))
