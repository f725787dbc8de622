"""Which synopsis stands for a stream: what is kept apart, what is counted, and the one extreme that matters."""

from __future__ import annotations

from penstock.analysis.memory.failed_conditions import edges_of
from penstock.analysis.memory.order import Order
from penstock.analysis.memory.synopses import is_bag, synopsis_of
from tests.analysis.memory.queries import reading

FEW = "CHECK (b BETWEEN 0 AND 4)"


def synopsis(select: str, alias: str = "s") -> object:
    read = reading(select, FEW, FEW)
    return synopsis_of(read, Order(read), edges_of(read), alias)


def test_duplicates_matter_unless_distinct_or_an_extreme_asks() -> None:
    for select, bag in (
        ("SELECT s.b FROM s", True),
        ("SELECT DISTINCT s.b FROM s", False),
        ("SELECT max(s.b) AS m FROM s", False),
        ("SELECT count(*) AS n FROM s", True),
    ):
        read = reading(select, FEW)
        assert is_bag(read, Order(read)) is bag, select


def test_rows_are_kept_apart_by_what_is_shown_or_compared() -> None:
    found = synopsis("SELECT DISTINCT s.b FROM s, r WHERE s.b = r.b")
    assert [column.column for column in found.columns] == ["b"]  # type: ignore[attr-defined]
    assert not found.counted  # type: ignore[attr-defined]
    assert synopsis("SELECT s.b FROM s, r WHERE s.b = r.b").counted  # type: ignore[attr-defined]


def test_one_extreme_suffices_where_only_an_end_matters() -> None:
    found = synopsis("SELECT DISTINCT s.b FROM s, r WHERE s.a < r.a AND s.b > 0")
    assert [extreme.column for extreme in found.extremes] == ["a"]  # type: ignore[attr-defined]
    assert not found.extremes[0].greatest  # type: ignore[attr-defined]
