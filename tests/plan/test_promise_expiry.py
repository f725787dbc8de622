"""What ends the need for a promise about values."""

from __future__ import annotations

import pytest

from penstock.plan.closer_plans import CloserKind
from penstock.plan.promise_expiry import closed_by_values_alone, ending, is_closed_otherwise
from tests.runtime.driving import plan_of

PUNCTUATED = ", PUNCTUATED ON (k) WHEN kind = 1"


@pytest.mark.parametrize(
    ("other", "kinds"),
    [
        ("", []),
        (PUNCTUATED, [CloserKind.PUNCTUATION]),
        (", PRIMARY KEY (k)", [CloserKind.KEY]),
        (", CLUSTERED BY k WITHIN 2 ROWS", [CloserKind.CLUSTER]),
        (", ORDERED BY k", [CloserKind.BAND]),
        (", ORDERED BY kind", []),
    ],
)
def test_what_closes_the_value_on_the_other_stream_ends_it(other: str, kinds: list[CloserKind]) -> None:
    plan = plan_of(
        f"CREATE STREAM a (k BIGINT, kind BIGINT{PUNCTUATED}); CREATE STREAM b (k BIGINT, kind BIGINT{other}); "
        "SELECT a.k FROM a, b WHERE a.k = b.k;"
    )
    assert [closer.kind for closer in ending(plan, "a", "b", ("k",))] == kinds


@pytest.mark.parametrize(
    ("follows", "window", "closed"),
    [("", "", False), (", FOLLOWS a (k) ON (k) WITHIN 3 ROWS", "", True), ("", " [ROWS 4]", True)],
)
def test_rows_that_leave_without_it_need_it_no_more(follows: str, window: str, closed: bool) -> None:
    plan = plan_of(
        f"CREATE STREAM a (k BIGINT, kind BIGINT{PUNCTUATED}); CREATE STREAM b (k BIGINT, kind BIGINT{follows}); "
        f"SELECT a.k FROM a, b{window} WHERE a.k = b.k;"
    )
    assert is_closed_otherwise(plan, "b", "a") == closed


@pytest.mark.parametrize(("more", "beyond_keys"), [("", False), (" AND a.kind < b.kind", True)])
def test_an_outer_join_may_wait_for_what_only_values_close(more: str, beyond_keys: bool) -> None:
    plan = plan_of(
        f"CREATE STREAM a (k BIGINT, kind BIGINT); CREATE STREAM b (k BIGINT, kind BIGINT{PUNCTUATED}); "
        f"SELECT a.k FROM a LEFT JOIN b ON a.k = b.k{more};"
    )
    assert [*closed_by_values_alone(plan)] == [("b", beyond_keys)]
