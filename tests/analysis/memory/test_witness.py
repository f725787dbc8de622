"""A growing input: as many rows as asked for, each of which passes every condition and is asked for by others."""

from __future__ import annotations

import pytest

import penstock
from penstock.analysis.memory.constant_memory import growing_copies, memory_finding, memory_witness
from tests.analysis.memory.queries import query


@pytest.mark.parametrize(
    "select",
    [
        "SELECT DISTINCT s.a FROM s",
        "SELECT s.b FROM s, r WHERE s.a = r.a",
        "SELECT DISTINCT s.b FROM s, r WHERE s.b > 3 AND s.b < 9 AND s.a < r.a AND r.b < s.a",
        "SELECT s.t FROM s, r WHERE s.t = r.t AND s.t > 'm'",
    ],
)
def test_it_grows_as_far_as_it_is_asked_to(select: str) -> None:
    asked = query(select)
    assert memory_finding(asked).bounded is False
    for count in (3, 20):
        found = memory_witness(asked, count)
        assert found is not None
        assert len(set(found.rows)) == len(found.rows) >= count
        copies = growing_copies(asked, count)
        assert copies is not None


def test_there_is_none_where_constant_memory_suffices() -> None:
    asked = query("SELECT DISTINCT s.b FROM s WHERE s.b > 0 AND s.b < 5")
    assert memory_finding(asked).bounded is True
    assert memory_witness(asked, 5) is None


@pytest.mark.parametrize("condition", ["x < 1.5", "x = 2.5", "x IN (1.5, 2.5)", "x <> 2", "n <> 'a'"])
def test_a_check_of_a_column_that_the_query_does_not_read_stands_in_no_way(condition: str) -> None:
    declared = f"CREATE STREAM s (k BIGINT, x DOUBLE, n STRING, CHECK ({condition})); CREATE STREAM t (k BIGINT);"
    found = penstock.check(penstock.parse(f"{declared} SELECT s.k FROM s, t WHERE s.k = t.k;"))
    assert found.verdict != "bounded"


@pytest.mark.parametrize("days", ["DATE '2024-02-28'", "DATE '2024-02-28', DATE '2024-02-29'"])
def test_a_column_beside_a_list_of_days_that_are_one(days: str) -> None:
    declared = "CREATE STREAM a (k BIGINT, ts DATE); CREATE STREAM b (k BIGINT, ts DATE);"
    select = f"SELECT a.k FROM b, a WHERE b.ts IN ({days}, DATE '2024-02-28') AND a.ts <> DATE '2024-02-28';"
    assert penstock.check(penstock.parse(declared + select)).verdict == "unbounded"
