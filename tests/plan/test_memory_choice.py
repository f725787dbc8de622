"""Keys and clusters are remembered where it is cheaper, or nothing else would do."""

from __future__ import annotations

import pytest

from penstock.plan.memory_choice import cluster_memories, clusters_pay, keeping_is_cheaper, key_memories
from tests.runtime.driving import plan_of


def _kept(more: str, back: str = "", window: str = "") -> list[bool]:
    streams = f"CREATE STREAM p (k BIGINT, PRIMARY KEY (k){back}); CREATE STREAM c (k BIGINT{more});"
    return [m.kept for m in key_memories(plan_of(f"{streams} SELECT c.k FROM c{window}, p WHERE c.k = p.k;"))]


@pytest.mark.parametrize(
    ("child", "parent", "window", "kept"),
    [
        (", FOREIGN KEY (k) REFERENCES p (k)", "", "", True),
        (", FOREIGN KEY (k) REFERENCES p (k)", "", " [ROWS 3]", False),
        (", FOLLOWS p (k) ON (k) WITHIN 50 ROWS", "", "", False),
        (", FOLLOWS p (k) ON (k) WITHIN 50 ROWS", ", FOLLOWS c (k) ON (k) WITHIN 5 ROWS", "", True),
        (", FOLLOWS p (k) ON (k) WITHIN 5 ROWS", ", FOLLOWS c (k) ON (k) WITHIN 50 ROWS", "", False),
        (", FOLLOWS p (k) ON (k) WITHIN AUTO", ", FOLLOWS c (k) ON (k) WITHIN 5 ROWS", "", False),
    ],
)
def test_keys_that_left_are_remembered_where_they_cost_less_than_the_rows_that_wait(
    child: str, parent: str, window: str, kept: bool
) -> None:
    assert _kept(child, parent, window) == [kept]


@pytest.mark.parametrize("asked", ["p.n, c.k", "p.n, count(*) AS of_it"])
def test_keys_that_nothing_ends_are_forgotten_where_the_streams_are_bounded_whatever_groups_are(asked: str) -> None:
    """A group that is kept for ever is no reason to remember keys for ever too."""
    plan = plan_of(
        "CREATE STREAM p (k BIGINT, n BIGINT, ts BIGINT, EVENT TIME ts, PRIMARY KEY (k), PUNCTUATED ON (k) WHEN n < 0);"
        "CREATE STREAM c (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);"
        f"SELECT {asked} FROM p LEFT JOIN c ON c.k = p.k AND c.ts <= p.ts + 4"
        + (" GROUP BY p.n;" if "count" in asked else ";")
    )
    assert [m.kept for m in key_memories(plan)] == [False]


@pytest.mark.parametrize(("waits", "kept"), [(50, True), (2, False)])
def test_clusters_are_used_where_they_let_rows_go_earlier_than_follows(waits: int, kept: bool) -> None:
    plan = plan_of(
        "CREATE STREAM p (k BIGINT, CLUSTERED BY k WITHIN 5 ROWS, FOLLOWS c (k) ON (k) WITHIN 3 ROWS); "
        f"CREATE STREAM c (k BIGINT, FOLLOWS p (k) ON (k) WITHIN {waits} ROWS); SELECT c.k FROM c, p WHERE c.k = p.k;"
    )
    assert [m.kept for m in cluster_memories(plan)] == [kept]


def test_the_choice_is_the_smaller_number_and_a_tie_forgets() -> None:
    assert keeping_is_cheaper(5, 4)
    assert not keeping_is_cheaper(4, 4)
    assert clusters_pay(5, 4)
    assert not clusters_pay(4, 4)
