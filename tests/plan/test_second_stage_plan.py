"""The second stage: groups, or each row once; by which names they come, and what lets them go."""

from __future__ import annotations

from penstock.plan.second_stage_plan import grouping, names_of_outputs
from tests.runtime.driving import plan_of

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts{1});"
JOINED = "FROM a, b WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 9"


def test_distinct_is_a_group_of_all_columns_without_measures() -> None:
    plan = plan_of(STREAM.format("a", "") + STREAM.format("b", "") + f"SELECT DISTINCT a.ts, a.k AS key {JOINED};")
    found = grouping(plan)
    assert [key.name for key in found.keys] == ["a_ts", "a_k"]
    assert not found.columns
    assert not found.measures
    assert names_of_outputs(plan) == {"a_ts": "a_ts", "a_k": "a_k"}


def test_a_grouped_query_has_its_own() -> None:
    plan = plan_of(
        STREAM.format("a", "") + STREAM.format("b", "") + f"SELECT a.k, sum(b.n) AS s {JOINED} GROUP BY a.k;"
    )
    assert grouping(plan) == plan.aggregate


def test_punctuations_of_the_grouped_column_let_groups_go() -> None:
    punctuated = ", PUNCTUATED ON (k) WHEN n = -1"
    plan = plan_of(
        STREAM.format("a", punctuated) + STREAM.format("b", "") + f"SELECT a.k, sum(b.n) AS s {JOINED} GROUP BY a.k;"
    )
    assert [closer.alias for closer in plan.item_closers] == ["a"]
    bare = plan_of(
        STREAM.format("a", "") + STREAM.format("b", "") + f"SELECT a.k, sum(b.n) AS s {JOINED} GROUP BY a.k;"
    )
    assert bare.item_closers == ()
