"""The marks of rows: one for each promise about values that the plan wants marked, and how they stand in joins."""

from __future__ import annotations

from penstock.runtime.promise.marks import DOUBTED, LEFT, MATCHED, TWICE, mark_name, mark_names, of_account
from tests.runtime.driving import plan_of

STREAMS = (
    "CREATE STREAM s (k BIGINT, n BIGINT, PUNCTUATED ON (k) WHEN n < 0);"
    "CREATE STREAM t (k BIGINT, n BIGINT, PRIMARY KEY (k), CLUSTERED BY k WITHIN 3 ROWS);"
)
INNER = "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
OUTER = "SELECT {} s.n, t.n AS tn FROM s LEFT JOIN t ON s.k = t.k;"


def test_a_row_carries_a_mark_for_each_promise_that_may_close_it() -> None:
    plan = plan_of(STREAMS + INNER)
    assert mark_names(plan, "t") == ("t>s!(k)",)
    assert set(mark_names(plan, "s")) <= {"s>t(k)", "s>t~(k)"}
    assert len(mark_names(plan, "s")) >= 1


def test_marks_of_different_promises_have_different_names() -> None:
    plan = plan_of(STREAMS + INNER)
    named = [mark_name(closer) for closer in plan.closers if closer.is_marked]
    assert len(named) == len(set(named)) > 1


def test_outer_joins_and_budgets_add_their_own() -> None:
    inner, outer = plan_of(STREAMS + INNER), plan_of(STREAMS + OUTER.format(""))
    assert {MATCHED, LEFT} <= set(mark_names(outer, "s"))
    assert not {MATCHED, LEFT} & set(mark_names(inner, "s"))
    held = plan_of(STREAMS + OUTER.format("/*+ BUDGET(9 ROWS) */"))
    assert {DOUBTED, *map(of_account, TWICE)} <= set(mark_names(held, "s"))
    assert not {DOUBTED, *map(of_account, TWICE)} & set(mark_names(outer, "s"))
