"""What a cell must be told of each stream follows from the plan, and nothing else is sent."""

from __future__ import annotations

from penstock.runtime.input.wire_columns import (
    ORDER,
    clustered_columns,
    counted_streams,
    hidden_columns,
    key_columns,
    keys_of,
    matching_columns,
    promise_columns,
    punctuation_columns,
    punctuation_promises,
    value_columns,
)
from tests.runtime.driving import plan_of

KEYED = """CREATE STREAM a (k BIGINT, j BIGINT, x STRING, ts TIMESTAMP, EVENT TIME ts, PRIMARY KEY (k), CLUSTERED BY j);
CREATE STREAM b (k BIGINT, j BIGINT, ts TIMESTAMP, EVENT TIME ts,
  PUNCTUATED ON (k) WHEN j = 0, PUNCTUATED ON (j) WHEN j < 0 LIFESPAN 1 HOUR);
SELECT a.x FROM a, b WHERE a.k = b.k AND a.j = b.j;"""
ARRIVING = """CREATE STREAM a (k BIGINT, ts TIMESTAMP, ARRIVES BY ts);
CREATE STREAM b (k BIGINT, ts TIMESTAMP, ARRIVES BY ts);
SELECT a.k FROM a [ROWS 9], b WHERE a.k = b.k AND b.ts = a.ts;"""


def test_key_promises_carry_their_keys() -> None:
    plan = plan_of(KEYED)
    assert keys_of(plan, "a") == (("k",), ("j",))
    assert key_columns(plan, "a") == ("k", "j")
    assert clustered_columns(plan, "a") == ("j",)
    assert promise_columns(plan, "a")[:2] == ("k", "j")
    assert promise_columns(plan, "b") == ()


def test_a_punctuation_carries_its_time_only_if_it_ends() -> None:
    plan = plan_of(KEYED)
    columns = [punctuation_columns(plan, promise) for _, promise in punctuation_promises(plan, "b")]
    assert columns == [("k",), ("j", "ts")]
    assert punctuation_promises(plan, "a") == ()


def test_what_only_the_result_has_a_use_for_does_not_say_what_a_row_meets() -> None:
    plan = plan_of(KEYED)
    stored = plan.by_alias["a"].shipped
    assert "x" in stored
    assert set(matching_columns(plan, "a", stored)) >= {"k", "j"}
    assert "x" not in matching_columns(plan, "a", stored)


def test_rows_carry_their_place_where_rows_are_counted_across_streams() -> None:
    plan = plan_of(ARRIVING)
    assert hidden_columns(plan, "a") == hidden_columns(plan, "b") == (ORDER,)
    assert counted_streams(plan) == {"a"}
    assert counted_streams(plan_of(KEYED)) == frozenset()
    assert hidden_columns(plan_of(KEYED), "a") == ()


def test_the_value_of_a_row_travels_under_a_budget_that_asks_for_it() -> None:
    script = KEYED.replace("SELECT a.x", "SELECT /*+ BUDGET(10 ROWS), VALUE(a.k) */ a.x")
    assert value_columns(plan_of(script), "a") == ("__ps_value_a",)
    assert value_columns(plan_of(script), "b") == ()
    assert value_columns(plan_of(KEYED), "a") == ()
