"""What is read of a query, what binds its tuples, and what is outside the language."""

from __future__ import annotations

import pytest

from tests.analysis.memory.queries import reading, ref


def test_conditions_of_the_query_and_of_declarations() -> None:
    found = reading("SELECT s.a FROM s WHERE s.b > 3", s="CHECK (a IN (1, 2))")
    assert {c.text for c in found.binding} >= {"s.b > 3"}
    assert ref("s.a") in found.read
    assert found.outside == ()


def test_a_join_is_between_two_sources() -> None:
    found = reading("SELECT s.a FROM s, r WHERE s.a = r.a AND s.b < r.b AND s.a > 1")
    assert [text for _, text in found.joins] == ["s.a = r.a", "s.b < r.b"]


@pytest.mark.parametrize(
    "select",
    ["SELECT s.a FROM s LEFT JOIN r ON s.a = r.a", "SELECT s.a FROM s WHERE EXISTS (SELECT 1 FROM r WHERE r.a = s.a)"],
)
def test_what_is_outside_the_language(select: str) -> None:
    assert reading(select).outside


def test_what_only_spark_reads_is_not_read() -> None:
    assert reading("SELECT s.a FROM s, r WHERE s.a = r.a AND length(s.t) > 3").unread
    assert not reading("SELECT s.a FROM s, r WHERE s.a = r.a").unread


def test_a_check_does_not_bind_a_column_that_may_be_null() -> None:
    checked = reading("SELECT s.b FROM s", s="CHECK (a > 5)")
    assert ref("s.a") not in checked.given
    assert ref("s.a") in reading("SELECT s.b FROM s WHERE s.a > 0", s="CHECK (a > 5)").given
