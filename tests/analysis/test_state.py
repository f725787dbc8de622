"""What bounds the state of one source, in the order in which it is tried."""

from __future__ import annotations

import pytest

from penstock.analysis.finding import Bounded, Means, Undecided
from penstock.analysis.state import needed_columns, source_findings
from penstock.explain.reason_words import each_told, told
from tests.analysis.scripts import graph_of, query_of

TWO = ("a (k BIGINT, v BIGINT)", "b (k BIGINT, w BIGINT)")


@pytest.mark.parametrize(
    ("streams", "select", "means", "bound", "rows"),
    [
        (TWO[:1], "SELECT a.k FROM a", Means.STATELESS, "nothing is stored", 0),
        (TWO, "SELECT a.k FROM a [ROWS 1], b WHERE a.k = b.k", Means.WINDOW, "the last row", 1),
        (
            ("a (k BIGINT, FOLLOWS b (k) ON (k) WITHIN 9 ROWS)", TWO[1]),
            "SELECT a.k FROM a, b WHERE a.k = b.k",
            Means.PURGE,
            "a row is kept until 9 more rows of b have arrived",
            None,
        ),
        (TWO, "SELECT b.w FROM a, b WHERE a.k = b.k AND a.k IN (1, 2, 3)", Means.SYNOPSIS, "3 distinct rows", 3),
        (TWO, "SELECT b.w FROM a, b WHERE a.k < 3 AND a.k > 3 AND a.k = b.k", Means.STATELESS, "nothing is stored", 0),
    ],
)
def test_the_first_that_bounds_it_counts(
    streams: tuple[str, ...], select: str, means: Means, bound: str, rows: int | None
) -> None:
    graph = graph_of(*streams, select=select)
    found = source_findings(graph.facts, graph)["a"]
    assert isinstance(found, Bounded)
    assert (found.means, told(found.bound), found.rows) == (means, bound, rows)


def test_what_nothing_bounds_is_undecided_and_says_what_is_missing() -> None:
    graph = graph_of(*TWO, select="SELECT a.v FROM a, b WHERE a.k = b.k")
    found = source_findings(graph.facts, graph)["a"]
    assert isinstance(found, Undecided)
    first, *_, last = each_told(found.because)
    assert first == (
        "a row of a waits for rows of b still to come: they match on a.k = b.k, and nothing says when no more of one "
        "value will come"
    )
    assert last == "a window would bound it too: a [ROWS n]"
    assert found.fixes


def test_needed_are_outputs_and_what_other_streams_are_compared_with() -> None:
    query = query_of(*TWO, select="SELECT a.v + 1 AS x FROM a, b WHERE a.k = b.k AND b.w > 3")
    assert [ref.column for ref in needed_columns(query, query.by_alias["a"])] == ["v", "k"]
    assert [ref.column for ref in needed_columns(query, query.by_alias["b"])] == ["k"]
