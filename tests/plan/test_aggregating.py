"""What of a grouped query is worked out below the join."""

from __future__ import annotations

import pytest

import penstock
from penstock.explain.reason_words import each_told
from penstock.plan.aggregate import Fold
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
