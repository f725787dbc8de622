"""Which promises are in doubt, and where RECOVER can be kept."""

from __future__ import annotations

import pytest

import penstock
from penstock.explain.reason_words import each_told
from penstock.plan.doubting import (
    has_k,
    has_shadows,
    is_learned,
    may_contradict,
    recovers,
    recovery_obstacles,
    remembers_past_clusters,
    remembers_past_followers,
    sets_aside,
)
from penstock.plan.promise_plans import PromiseKind
from tests.runtime.driving import plan_of

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts{1});"
INNER, LEFT = "r.n FROM r, s WHERE r.k = s.k", "r.n FROM r LEFT JOIN s ON r.k = s.k"
THREE = f"{LEFT} LEFT JOIN s AS t ON t.k = r.k"


def script(select: str, s: str) -> str:
    return f"{STREAM.format('r', '')}{STREAM.format('s', f', {s}')} SELECT {select};"


RECOVERING = "ORDERED BY ts ON VIOLATION RECOVER"


@pytest.mark.parametrize(
    ("select", "s", "aside", "contradicts"),
    [
        (INNER, RECOVERING, True, False),
        (LEFT, RECOVERING, True, True),
        (THREE, "ORDERED BY ts", False, False),
        (LEFT, "ORDERED BY ts", True, False),
        (LEFT, "ORDERED BY ts WITHIN AUTO", True, True),
        (INNER, "ORDERED BY ts WITHIN AUTO", True, False),
        (f"/*+ BUDGET(9 ROWS) */ {LEFT}", "ORDERED BY ts", False, False),
    ],
)
def test_what_may_be_set_aside_and_then_contradict(select: str, s: str, aside: bool, contradicts: bool) -> None:
    plan = plan_of(script(select, s))
    assert sets_aside(plan) is aside
    assert may_contradict(plan) is contradicts
    assert recovers(plan) is ("RECOVER" in s)


@pytest.mark.parametrize(
    ("select", "says"),
    [
        (INNER, None),
        (LEFT, None),
        ("r.n FROM r WHERE EXISTS (SELECT 1 FROM s WHERE r.k = s.k)", None),
        (THREE, None),
        (f"/*+ BUDGET(9 ROWS) */ {INNER}", "a BUDGET is there to lose rows"),
        ("count(*) AS c FROM r, s WHERE r.k = s.k GROUP BY window(s.ts, 5)", "emitted once"),
        ("s.k, count(*) AS c FROM r, s WHERE r.k = s.k GROUP BY s.k", None),
    ],
)
def test_recover_is_refused_where_results_would_be_lost(select: str, says: str | None) -> None:
    (query,) = penstock.parse(script(select, RECOVERING)).queries
    found = each_told(recovery_obstacles(query))
    assert len(found) == (says is not None)
    assert says is None or says in found[0]


def test_a_stream_that_asks_for_nothing_has_no_obstacles() -> None:
    (query,) = penstock.parse(script(THREE, "ORDERED BY ts ON VIOLATION TRUST")).queries
    assert list(recovery_obstacles(query)) == []


@pytest.mark.parametrize(
    ("s", "hint", "shadows"),
    [
        ("ORDERED BY ts WITHIN 3 ROWS", "", False),
        ("ORDERED BY ts WITHIN 3 ROWS", "/*+ MONITOR(2, 0.5, 100) */", True),
        ("ORDERED BY ts WITHIN 3 ROWS ON VIOLATION TRUST", "/*+ MONITOR(2, 0.5, 100) */", False),
        ("ORDERED BY ts WITHIN AUTO", "", True),
        ("PRIMARY KEY (k)", "/*+ MONITOR(2, 0.5, 100) */", False),
    ],
)
def test_shadows_are_of_what_is_monitored_or_learned(s: str, hint: str, shadows: bool) -> None:
    plan = plan_of(script(f"{hint} {INNER}", s))
    assert any(has_shadows(plan, promise) for promise in plan.promises) is shadows
    for promise in plan.promises:
        assert is_learned(promise) is ("AUTO" in s and has_k(promise))


@pytest.mark.parametrize(("policy", "remembers"), [("ADAPT", True), ("TRUST", False), ("RECOVER", True)])
def test_ends_of_clusters_and_followers_are_remembered_but_not_by_those_who_trust(policy: str, remembers: bool) -> None:
    schemes = "CLUSTERED BY k WITHIN 3 ROWS ON VIOLATION {0}, FOLLOWS r (k) ON (k) WITHIN 3 ROWS ON VIOLATION {0}"
    plan = plan_of(script(INNER, schemes.format(policy)))
    by_kind = {promise.kind: promise for promise in plan.promises}
    clustered, follows = by_kind[PromiseKind.CLUSTERED], by_kind[PromiseKind.FOLLOWS_ROWS]
    assert remembers_past_clusters(plan, clustered) is remembers
    assert remembers_past_followers(plan, follows) is (remembers and policy != "RECOVER")
