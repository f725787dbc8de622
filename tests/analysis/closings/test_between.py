"""Closings between two sources as values: who, whom, on which columns, by which declaration, for certain or not."""

from __future__ import annotations

import pytest

import penstock
from penstock.analysis.closings.between import PairClosing, Way, closings_between
from penstock.analysis.facts.together import Facts
from penstock.explain.reason_words import told

Shown = tuple[Way, tuple[str, ...], tuple[str, ...], bool]


def _closings(script: str, own: str, target: str, starts: tuple[str, ...]) -> list[PairClosing]:
    (query,) = penstock.parse(script).queries
    return list(closings_between(Facts(query), query.by_alias[own], query.by_alias[target], starts))


def _shown(script: str, own: str, target: str, starts: tuple[str, ...] = ("k", "n")) -> list[Shown]:
    return [(c.way, c.columns, c.target_columns, c.certain) for c in _closings(script, own, target, starts)]


S = "CREATE STREAM s (k BIGINT, n BIGINT, EVENT TIME n"
T = "CREATE STREAM t (k BIGINT, n BIGINT, EVENT TIME n"
JOIN = "SELECT s.k FROM s, t WHERE s.k = t.k"


def test_an_order_closes_by_every_column_that_it_lies_only_so_far_above() -> None:
    script = f"{S}); {T}, ORDERED BY n); {JOIN} AND t.n - s.n <= 5 AND t.n <= s.k;"
    assert _shown(script, "s", "t") == [(Way.CLOCK, ("k",), ("n",), True), (Way.CLOCK, ("n",), ("n",), True)]
    assert _shown(script, "s", "t", starts=("n",)) == [(Way.CLOCK, ("n",), ("n",), True)]
    assert not _shown(script, "t", "s")


def test_an_order_of_a_column_that_has_a_largest_value_is_not_certain() -> None:
    script = f"{S}); {T}, ORDERED BY n, CHECK (n < 9)); {JOIN} AND t.n - s.n <= 5;"
    assert _shown(script, "s", "t") == [(Way.CLOCK, ("n",), ("n",), False)]


@pytest.mark.parametrize(("within", "rows"), [("WITHIN 7 ROWS", 7), ("", 0), ("WITHIN AUTO", None)])
def test_follows_in_rows_closes_what_it_refers_to(within: str, rows: int | None) -> None:
    script = f"{S}, FOLLOWS t (k) ON (k) {within}); {T}); {JOIN};"
    (closing,) = _closings(script, "s", "t", ("k", "n"))
    assert (closing.way, closing.columns, closing.target_columns) == (Way.FOLLOWS, ("k",), ("k",))
    assert closing.certain
    assert closing.rows == rows
    assert not _closings(script, "t", "s", ("k", "n"))


def test_follows_in_time_is_a_band_and_closes_by_the_clock() -> None:
    script = f"{S}, FOLLOWS t (k) ON (k) WITHIN 7); {T}, ORDERED BY n); {JOIN};"
    (closing,) = _closings(script, "s", "t", ("k", "n"))
    assert closing.way is Way.CLOCK
    assert closing.passage is not None
    assert told(closing.passage.wait) == "t.n has passed s.n + 7"
    assert closing.passage.excess.is_declared


def test_keys_and_clusters_are_certain_only_where_the_value_is_sure_to_come() -> None:
    declared = f"{T}, PRIMARY KEY (k), CLUSTERED BY k WITHIN 3 ROWS); {JOIN};"
    loose = f"{S}); {declared}"
    assert _shown(loose, "s", "t") == [(Way.KEY, ("k",), ("k",), False), (Way.CLUSTER, ("k",), ("k",), False)]
    sure = f"{S}, FOREIGN KEY (k) REFERENCES t (k)); {declared}"
    assert _shown(sure, "s", "t") == [(Way.KEY, ("k",), ("k",), True), (Way.CLUSTER, ("k",), ("k",), True)]
    assert [c.sure is not None for c in _closings(sure, "s", "t", ())] == [True, True]


def test_a_cluster_over_finitely_many_values_never_moves_on_for_certain() -> None:
    few = f"{T}, CLUSTERED BY k, CHECK (k BETWEEN 1 AND 9))"
    script = f"{S}, FOREIGN KEY (k) REFERENCES t (k)); {few}; {JOIN};"
    assert (Way.CLUSTER, ("k",), ("k",), False) in _shown(script, "s", "t")


def test_what_the_query_does_not_tie_closes_nothing() -> None:
    script = f"{S}, FOLLOWS t (k) ON (k)); {T}, PRIMARY KEY (k), ORDERED BY n); SELECT s.k FROM s, t WHERE s.n = t.k;"
    assert _shown(script, "s", "t") == [(Way.KEY, ("n",), ("k",), False)]
