"""Values for the rows of a growing input: new in each block where they can be, equal where they must be."""

from __future__ import annotations

import pytest

from penstock.analysis.witness.witness_values import CannotLayOut, Layout
from penstock.explain.reason_words import told
from penstock.model.expressions import ColumnRef
from tests.analysis.scripts import facts_of


def layout_of(own: str, other: str, where: str = "a.k = b.k") -> Layout:
    return Layout(facts_of(f"a ({own})", f"b ({other})", select=f"SELECT a.k FROM a, b WHERE {where}"))


def test_equal_columns_have_one_value_in_a_block_and_another_in_the_next() -> None:
    layout = layout_of("k BIGINT", "k BIGINT")
    assert layout.row("a", 1)["k"] == layout.row("b", 1)["k"] != layout.row("b", 2)["k"]
    assert layout.row("b", 1, half=True)["k"] not in (layout.row("b", n)["k"] for n in range(5))


def test_differences_are_kept_in_every_block() -> None:
    layout = layout_of("k BIGINT, n BIGINT", "k BIGINT, n BIGINT", "a.k = b.k AND b.n > a.n + 7")
    for block in (0, 1, 1000):
        later, earlier = layout.row("b", block)["n"], layout.row("a", block)["n"]
        assert isinstance(later, int)
        assert isinstance(earlier, int)
        assert later > earlier + 7


def test_a_column_of_few_values_stays_where_it_is() -> None:
    layout = layout_of("k BIGINT, x BOOLEAN", "k BIGINT", "a.k = b.k AND a.x")
    assert not layout.shifts(ColumnRef("a", "x"))
    assert layout.row("a", 1)["x"] is layout.row("a", 9)["x"] is True


def test_values_beside_the_largest_constant_are_as_wide_as_they_must_be() -> None:
    layout = layout_of("k BINARY, n BIGINT, CHECK (n >= 9223372036854775806)", "k BINARY")
    values = [layout.row("b", block, half)["k"] for block in range(3) for half in (False, True)]
    assert len(set(values)) == 6


@pytest.mark.parametrize(
    ("own", "where", "why"),
    [
        (
            "k BIGINT, t TIMESTAMP",
            "a.k = b.k AND a.t > TIMESTAMP '2024-01-01'",
            "a.t is TIMESTAMP and compared with a constant",
        ),
        ("k BIGINT, d BIGINT AS (k * k)", "a.d = b.k", "a.d is derived, so only Spark knows its values"),
        ("k BIGINT, v VARCHAR(3)", "a.k = b.k", "a.v is VARCHAR(3), which has finitely many values"),
    ],
)
def test_what_cannot_be_laid_out_says_why(own: str, where: str, why: str) -> None:
    with pytest.raises(CannotLayOut) as doubt:
        _ = layout_of(own, "k BIGINT", where).places
    assert told(doubt.value.reason) == why
