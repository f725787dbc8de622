"""A script with other declarations: what `replay` runs, nothing of the text touched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.model.query import Query
from penstock.model.schemes import Clustered, Cooccurs, Follows, ForeignKey, Ordered, PrimaryKey, Scheme
from penstock.model.script import Script
from penstock.model.spans import Span
from penstock.model.stream import Stream

Declaration = tuple[str, Scheme]
"""The stream's name, and the scheme."""


def text_of(declaration: Declaration) -> str:
    """As `penstock implies` reads it; without ` ON stream` it is what CREATE STREAM takes."""
    return declaration[1].on(declaration[0])


def subject_of(scheme: Scheme) -> tuple[object, ...]:
    """What a scheme is about, whatever its k: a declaration replaces one with the same subject."""
    match scheme:
        case Ordered() | Clustered():
            return (type(scheme), scheme.column, isinstance(scheme.slack, Span))
        case Follows():
            return (
                Follows,
                scheme.parent,
                _pairs(scheme.columns, scheme.parent_columns),
                isinstance(scheme.slack, Span),
            )
        case ForeignKey():
            return (ForeignKey, scheme.parent, _pairs(scheme.columns, scheme.parent_columns))
        case Cooccurs():
            return (Cooccurs, scheme.other, _pairs(scheme.columns, scheme.other_columns))
        case PrimaryKey():
            return (PrimaryKey, frozenset(scheme.columns))
        case _:
            return (type(scheme), scheme.text)


def _pairs(own: tuple[str, ...], other: tuple[str, ...]) -> frozenset[tuple[str, str]]:
    return frozenset((a, b) for a, b in zip(own, other, strict=True))


def declares(stream: Stream, scheme: Scheme) -> bool:
    """Whether a stream declares exactly that already; a policy plays no part."""
    return any(subject_of(s) == subject_of(scheme) and s.text == scheme.text for s in stream.schemes)


def declaring(script: Script, declarations: Iterable[Declaration]) -> Script:
    """The script with these declared, each in place of what it says more of; of two about one subject the later one."""
    new: dict[str, list[Scheme]] = {}
    for name, scheme in declarations:
        new.setdefault(name, []).append(scheme)
    streams = {s.name: _with(s, new.get(s.name, [])) for s in script.streams}
    queries = tuple(over_streams(query, streams) for query in script.queries)
    return Script(tuple(streams.values()), script.sinks, queries, views=script.views)


def _with(stream: Stream, new: list[Scheme]) -> Stream:
    added = {subject_of(scheme): scheme for scheme in new}
    kept = [scheme for scheme in stream.schemes if subject_of(scheme) not in added]
    return replace(stream, schemes=(*kept, *added.values()))


def over_streams(query: Query, streams: Mapping[str, Stream]) -> Query:
    """The query over other declarations of its streams."""
    sources = tuple(replace(s, stream=streams[s.stream.name]) for s in query.sources)
    partners = tuple(replace(s, stream=streams[s.stream.name]) for s in query.partners)
    return replace(query, sources=sources, partners=partners)
