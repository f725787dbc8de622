"""The paper's queries in two lines: streams by their attributes, schemes as `(+, -)` patterns, equality predicates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.model.query import Query
from penstock.model.schemes import Punctuated
from tests.analysis.build import one_of, query, source, stream, where

CLOSES = (one_of("kind", "closed"),)


def cjq(streams: Mapping[str, str], predicates: Iterable[str], schemes: Iterable[tuple[str, str]]) -> Query:
    """`{"S1": "AB"}`, `["S1.B = S2.B"]`, `[("S1", "-+")]`: the paper's CJQ with its punctuation scheme set."""
    made = list(schemes)
    sources = []
    for name, attributes in streams.items():
        own = []
        for stream_name, pattern in made:
            if stream_name == name:
                columns = tuple(a for a, mark in zip(attributes, pattern, strict=True) if mark == "+")
                own.append(Punctuated(columns, CLOSES))
        declared = ", ".join([*(f"{a} BIGINT" for a in attributes), "kind STRING"])
        sources.append(source(stream(name, declared, *dict.fromkeys(own))))
    return query(sources, *(where(p) for p in predicates))
