"""What of a grouped query is worked out below the join."""

from __future__ import annotations

import pytest

import penstock
from penstock.explain.reason_words import each_told
from penstock.plan.aggregate import SET, Fold
from penstock.plan.aggregating import asked_ends, grouping_obstacles, told_apart
from tests.runtime.driving import plan_of

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);"
STREAMS = STREAM.format("a") + STREAM.format("b")
JOINED = "FROM a, b WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 9"


@pytest.mark.parametrize(
    ("value", "folds", "apart", "ends"),
    [
        ("count(*)", [], ["a.k"], []),
        ("sum(b.n)", [Fold.SUM], ["a.k"], []),
        ("min(b.n)", [Fold.MIN], ["a.k"], [("n", False)]),
        ("max(b.n)", [Fold.MAX], ["a.k"], [("n", True)]),
        ("median(b.n)", [], ["a.k", "b.n"], []),
    ],
)
def test_sums_and_extremes_are_folded_and_a_median_tells_values_apart(
    value: str, folds: list[Fold], apart: list[str], ends: list[tuple[str, bool]]
) -> None:
    text = f"{STREAMS} SELECT a.k, {value} AS v {JOINED} GROUP BY a.k;"
    (query,) = penstock.parse(text).queries
    assert [*map(str, told_apart(query))] == apart
    assert [*asked_ends(query, "b")] == ends
    assert each_told(grouping_obstacles(query)) == ()
    aggregate = plan_of(text).aggregate
    assert aggregate is not None
    assert [measure.fold for measure in aggregate.measures] == folds
    assert [key.name for key in aggregate.keys] == ["a_k"]


def test_a_group_by_the_event_time_names_the_clock_that_closes_it() -> None:
    aggregate = plan_of(f"{STREAMS} SELECT a.ts, a.k, count(*) AS c {JOINED} GROUP BY a.ts, a.k;").aggregate
    assert aggregate is not None
    assert [[str(clock) for clock in key.clocks] for key in aggregate.keys] == [["a.ts"], []]


def test_what_is_not_grouped_has_no_aggregate() -> None:
    assert plan_of(f"{STREAMS} SELECT a.k {JOINED};").aggregate is None


def test_keys_that_a_set_leaves_out_have_names_of_their_own_and_close_nothing() -> None:
    text = f"{STREAMS} SELECT a.k, a.n, count(*) AS c FROM a GROUP BY window(a.ts, 5), ROLLUP (a.k, a.ts, a.n);"
    aggregate = plan_of(text).aggregate
    assert aggregate is not None
    assert [(key.name, key.column) for key in aggregate.keys] == [
        ("__ps_k0", "__ps_w0"),
        ("__ps_k1", "a_k"),
        ("__ps_k2", "a_ts"),
        ("__ps_k3", "a_n"),
    ]
    assert [[*map(str, key.clocks)] for key in aggregate.keys] == [["a.ts"], [], [], []]
    assert [one.columns.count(None) for one in aggregate.sets] == [0, 1, 2, 3]
    assert aggregate.dealt_by[-1] == SET


@pytest.mark.parametrize("by", ["ROLLUP (k)", "session_window(ts, 5)"])
def test_what_no_budget_can_be_held_for_is_said(by: str) -> None:
    (query,) = penstock.parse(f"{STREAMS} SELECT /*+ BUDGET(5 ROWS) */ count(*) AS n FROM a GROUP BY {by};").queries
    assert len([*grouping_obstacles(query)]) == 1


def test_which_keys_a_group_leaves_out_is_known_by_its_set() -> None:
    shown = "grouping(a.k) AS k, grouping(a.n) AS n, grouping_id() AS i"
    aggregate = plan_of(f"{STREAMS} SELECT {shown} FROM a GROUP BY a.ts, CUBE (a.k, a.n);").aggregate
    assert aggregate is not None
    assert [column.by_set for column in aggregate.columns] == [(0, 0, 1, 1), (0, 1, 0, 1), (0, 1, 2, 3)]
