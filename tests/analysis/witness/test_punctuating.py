"""The punctuations of a growing input: what could be closed of a block is closed."""

from __future__ import annotations

import pytest

from penstock.analysis.witness.punctuating import punctuations
from penstock.analysis.witness.witness_values import Layout
from tests.analysis.scripts import facts_of


def made(declared: str, met: tuple[str, ...], *, block: int = 1) -> list[dict[str, object]]:
    facts = facts_of("a (k BIGINT)", f"b ({declared})", select="SELECT a.k FROM a, b WHERE a.k = b.k")
    layout = Layout(facts)
    carried = frozenset(layout.node(ref) for alias in met for ref in layout.of(alias))
    return [dict(row.values) for row in punctuations(layout, "b", met, carried, block)]


def test_a_stream_without_schemes_makes_none() -> None:
    assert made("k BIGINT", ("a",)) == []


def test_what_the_block_carries_is_closed_for_the_stream_that_is_waited_for() -> None:
    (row,) = made("k BIGINT, kind STRING, PUNCTUATED ON (k) WHEN kind = 'end'", ("b",))
    again, other = (
        made("k BIGINT, kind STRING, PUNCTUATED ON (k) WHEN kind = 'end'", ("b",), block=n)[0] for n in (1, 2)
    )
    assert row["kind"] == "end"
    assert row == again
    assert row["k"] != other["k"]


def test_columns_that_the_block_does_not_carry_are_those_of_a_row_that_matches_nothing() -> None:
    declared = "k BIGINT, m BIGINT, kind STRING, PUNCTUATED ON (m) WHEN kind = 'end'"
    (waited,), (own,) = made(declared, ("a",)), made(declared, ("a", "b"))
    assert waited["m"] != own["m"]


@pytest.mark.parametrize("when", ["kind <> 'end'", "length(kind) = 3", "kind > 'end'"])
def test_a_when_that_is_no_equality_is_not_met(when: str) -> None:
    assert made(f"k BIGINT, kind STRING, PUNCTUATED ON (k) WHEN {when}", ("a",)) == []


def test_one_of_several_values_will_do() -> None:
    (row,) = made("k BIGINT, kind STRING, PUNCTUATED ON (k) WHEN kind IN ('x', 'y')", ("a",))
    assert row["kind"] == "x"
