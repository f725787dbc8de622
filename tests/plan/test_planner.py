"""The plan as a whole: what is read, what is kept, what the query is run as."""

from __future__ import annotations

import penstock
from penstock.analysis.check import check_query
from penstock.plan.plan import Plan
from penstock.plan.planner import as_run, closings_of, make_plan
from tests.runtime.driving import plan_of

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);"
STREAMS = STREAM.format("a") + STREAM.format("b")
BAND = "a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 9"


def test_no_column_is_read_that_nothing_asks_for() -> None:
    plan = plan_of(f"{STREAMS} SELECT a.n FROM a, b WHERE {BAND};")
    assert {s.alias: [c.name for c in s.read] for s in plan.sources} == {"a": ["k", "ts", "n"], "b": ["k", "ts"]}
    assert plan.by_alias["b"].kept == ("k", "ts")


def test_an_outer_join_that_a_condition_makes_inner_is_run_as_one() -> None:
    (query,) = penstock.parse(f"{STREAMS} SELECT a.n FROM a LEFT JOIN b ON {BAND} WHERE b.n > 3;").queries
    assert as_run(query, check_query(query)).is_inner
    assert plan_of(f"{STREAMS} SELECT a.n FROM a LEFT JOIN b ON {BAND} WHERE b.n > 3;").inner


def test_what_the_verdict_derived_is_not_derived_again() -> None:
    (query,) = penstock.parse(f"{STREAMS} SELECT a.n FROM a, b WHERE {BAND};").queries
    verdict = check_query(query)
    assert closings_of(query, verdict) is verdict.graph


def test_a_plan_is_read_back_from_its_text() -> None:
    plan = plan_of(f"{STREAMS} SELECT a.n, count(*) AS c FROM a FULL JOIN b ON {BAND} GROUP BY a.n;")
    assert Plan.from_json(plan.to_json()) == plan


def test_the_same_query_has_the_same_plan() -> None:
    (query,) = penstock.parse(f"{STREAMS} SELECT a.n FROM a, b WHERE {BAND};").queries
    assert make_plan(query, check_query(query)) == make_plan(query, check_query(query))
