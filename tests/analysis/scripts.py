"""The query of a script, and what is derived of it: for tests of one module of the analysis each."""

from __future__ import annotations

import penstock
from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.facts.together import Facts
from penstock.model.query import Query

CLOCK = "k BIGINT, n BIGINT, EVENT TIME n, ORDERED BY n"


def query_of(*streams: str, select: str) -> Query:
    """The only query of a script; a stream is given as `a (k BIGINT)`."""
    declared = "".join(f"CREATE STREAM {stream};\n" for stream in streams)
    return penstock.parse(f"{declared}{select};").queries[0]


def facts_of(*streams: str, select: str) -> Facts:
    """What is known of it."""
    return Facts(query_of(*streams, select=select))


def graph_of(*streams: str, select: str) -> ClosingGraph:
    """What closes what in it."""
    return ClosingGraph(facts_of(*streams, select=select))
