"""Which rows are merged: those that the query cannot tell apart, unless a promise watches them."""

from __future__ import annotations

import pytest

from tests.runtime.driving import plan_of


@pytest.mark.parametrize(
    ("a", "merged"),
    [("k BOOLEAN", True), ("k BOOLEAN, v BIGINT", True), ("k BIGINT, CHECK (k BETWEEN 1 AND 5)", True)],
)
def test_rows_of_few_values_become_one_with_a_count(a: str, merged: bool) -> None:
    kind = a.split(",", maxsplit=1)[0]
    plan = plan_of(f"CREATE STREAM a ({a}); CREATE STREAM b ({kind}); SELECT a.k FROM a, b WHERE a.k = b.k;")
    found = plan.by_alias["a"].merge
    assert (found is not None) == merged
    assert found is not None
    assert found.counted
    assert [part.column for part in found.parts] == ["k"]


def test_a_stream_whose_rows_leave_by_promises_is_not_merged() -> None:
    plan = plan_of(
        "CREATE STREAM a (k BOOLEAN, FOLLOWS b (k) ON (k) WITHIN 3 ROWS); CREATE STREAM b (k BOOLEAN); "
        "SELECT a.k FROM a, b WHERE a.k = b.k;"
    )
    assert plan.by_alias["a"].merge is None
    assert plan.by_alias["b"].merge is not None


def test_grouped_rows_that_differ_in_nothing_but_what_is_summed_up_become_one() -> None:
    plan = plan_of(
        "CREATE STREAM a (k BIGINT, v BIGINT); CREATE STREAM b (k BIGINT); "
        "SELECT a.k, sum(a.v) AS s FROM a, b WHERE a.k = b.k GROUP BY a.k;"
    )
    assert plan.by_alias["a"].merge is not None
