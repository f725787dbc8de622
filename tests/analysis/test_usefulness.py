"""Punctuations that can let a row go are of use; of the others it is said why not."""

from __future__ import annotations

import pytest

from penstock.analysis.usefulness import punctuation_uses, remembered_by_items
from penstock.explain.reason_words import told
from tests.analysis.scripts import graph_of

SELECT = "SELECT a.v FROM a, b WHERE a.k = b.k"


@pytest.mark.parametrize(
    ("scheme", "why"),
    [
        ("ON (k) WHEN x", None),
        ("ON (v) WHEN x", "b.v equals no column of another stream"),
        ("ON (k, f) WHEN x", "b.f may be NULL, and a punctuation with a NULL promises nothing"),
        ("ON (k) WHEN k = 3", "only rows with k = 3 are punctuations, so other values of k are never closed"),
        ("ON (k) WHEN v > 3 AND v < 2", "no such punctuation can come: no row of b has v > 3 and v < 2"),
    ],
)
def test_a_scheme_is_of_use_where_its_columns_are_carried(scheme: str, why: str | None) -> None:
    columns = "k BIGINT, v BIGINT, f BOOLEAN, x BOOLEAN"
    (use,) = punctuation_uses(graph_of("a (k BIGINT, v BIGINT)", f"b ({columns}, PUNCTUATED {scheme})", select=SELECT))
    assert (None if use.useless is None else told(use.useless)) == why


def test_what_distinct_remembers_is_closed_by_its_columns_but_not_after_a_lifespan() -> None:
    scheme = "a (k BIGINT, n BIGINT, x BOOLEAN, EVENT TIME n, PUNCTUATED ON (k) WHEN x{})"
    for lifespan, remembered in (("", {("a", "PUNCTUATED ON (k) WHEN x = true ON a")}), (" LIFESPAN 5", set())):
        graph = graph_of(scheme.format(lifespan), select="SELECT DISTINCT a.k FROM a")
        assert remembered_by_items(graph) == remembered
