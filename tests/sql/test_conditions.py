"""What a condition over two streams is read as: a bound, where it is a length on a clock; else it is tested on rows."""

from __future__ import annotations

import pytest

from penstock.model.predicates import Difference, Residual
from penstock.model.query import Query
from penstock.sql import parse_script

_STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, i INT, x DOUBLE, m DECIMAL(9,2), d DATE, n TIMESTAMP_NTZ, ts TIMESTAMP, "
    "EVENT TIME ts);\n"
    for name in "ab"
)


def _query(condition: str, join: str = "JOIN") -> Query:
    (query,) = parse_script(f"{_STREAMS}SELECT a.k FROM a {join} b ON a.k = b.k AND {condition}").queries
    return query


@pytest.mark.parametrize(
    "condition",
    [
        *("a.x < b.x + 1", "a.x - b.x < 1", "a.m - b.m <= 2", "a.m < b.m + 5", "a.m < b.k + 1", "b.x - 1 > a.k"),
        *("a.m BETWEEN b.m - 1 AND b.m + 1", "b.ts - a.d < INTERVAL 3 DAYS", "a.d + INTERVAL 1 DAY > b.ts"),
        *("a.n - b.ts < INTERVAL 1 HOUR", "a.d < b.n - INTERVAL 1 DAY"),
    ],
)
def test_a_difference_that_is_no_length_on_a_clock_is_tested_as_any_condition(condition: str) -> None:
    found = [p for p in _query(condition).predicates if not isinstance(p, Residual)]
    assert [str(p) for p in found] == ["a.k = b.k"]


@pytest.mark.parametrize(
    ("condition", "ticks"),
    [
        ("b.ts < a.ts + INTERVAL 1 HOUR * 2", 7_200_000_000),
        ("b.ts - a.ts < 3 * (2 * INTERVAL '10' MINUTE)", 3_600_000_000),
        ("b.ts - a.ts < -2 * INTERVAL 1 SECOND", -2_000_000),
        ("b.i < a.k + 60 * 60 * 24", 86_400),
    ],
)
def test_a_length_taken_several_times_is_a_bound(condition: str, ticks: int) -> None:
    (found,) = (p for p in _query(condition).predicates if isinstance(p, Difference))
    assert found.span.ticks == ticks


@pytest.mark.parametrize("condition", ["b.k < a.k + 2147483647 * 2", "b.ts < a.ts + INTERVAL 1 SECOND * 0.0000001"])
def test_a_product_that_spark_would_refuse_or_round_is_none(condition: str) -> None:
    assert not any(isinstance(p, Difference) for p in _query(condition).predicates)


@pytest.mark.parametrize(
    "condition",
    ["a.i IS DISTINCT FROM b.i", "(a.i = b.i) IS NOT TRUE", "(a.x < b.x) IS FALSE", "(isnull(a.i) OR isnotnull(b.i))"],
)
def test_tests_of_a_truth_value_decide_matches(condition: str) -> None:
    assert any(isinstance(p, Residual) for p in _query(condition, "FULL JOIN").predicates)


def test_each_of_several_expressions_before_in_is_compared_by_itself() -> None:
    text = "SELECT a.k FROM a WHERE ((a.k + 1), (coalesce(a.i, 0))) IN (SELECT b.k, b.i FROM b WHERE b.ts = a.ts)"
    (query,) = parse_script(_STREAMS + text).queries
    (existence,) = query.existences
    assert [str(p) for p in existence.condition][1:] == ["a.`(a.k + 1)` = b.k", "a.`(coalesce(a.i, 0))` = b.i"]
