"""Which declarations rise, which are clocks, which a match breaks: no kind is two of what excludes each other."""

from __future__ import annotations

from penstock.plan.promise_plans import CLOCKS, MATCHES, ORDERS, PromiseKind
from tests.runtime.driving import plan_of


def test_a_match_breaks_no_order_and_the_order_of_a_block_is_a_clock_that_nobody_declared() -> None:
    assert not set(MATCHES) & set(CLOCKS)
    assert set(CLOCKS) - set(ORDERS) == {PromiseKind.FRONTIER}


def test_a_declaration_is_one_record_for_each_alias_and_partner() -> None:
    plan = plan_of(
        "CREATE STREAM s (k BIGINT, ts BIGINT, ORDERED BY ts, FOLLOWS t (k) ON (k) WITHIN 3 ROWS);"
        "CREATE STREAM t (k BIGINT, n BIGINT);"
        "SELECT s.ts, a.n, b.n AS m FROM s, t AS a, t AS b WHERE s.k = a.k AND s.k = b.k;"
    )
    follows = [(p.alias, p.partner, p.rows) for p in plan.promises if p.kind is PromiseKind.FOLLOWS_ROWS]
    assert sorted(follows) == [("s", "a", 3), ("s", "b", 3)]
