"""How rows are merged, as records: into parts of columns, with extremes."""

from __future__ import annotations

import pytest

from penstock.plan.merge_plan import is_code
from tests.runtime.driving import plan_of


@pytest.mark.parametrize(
    ("text", "code"), [("17", True), ("-3", True), ("2024-01-01", False), ("x", False), ("", False)]
)
def test_the_code_of_a_moment_is_a_whole_number(text: str, code: bool) -> None:
    assert is_code(text) == code


def test_a_column_below_and_above_a_constant_has_parts_and_extremes_where_order_is_asked() -> None:
    plan = plan_of(
        "CREATE STREAM a (k BIGINT); CREATE STREAM b (k BIGINT); "
        "SELECT DISTINCT 1 AS one FROM a, b WHERE a.k < b.k AND a.k > 3 AND b.k > 3;"
    )
    merged = [source.merge for source in plan.sources]
    assert all(merge is not None for merge in merged)
    assert any(merge.extremes for merge in merged if merge is not None)
