"""What is known where tuples of some streams stand together, and only there."""

from __future__ import annotations

from penstock.analysis.facts.differences import Limit
from penstock.explain.reason_words import each_told
from penstock.model.expressions import ColumnRef
from tests.analysis.scripts import facts_of

TWO = ("a (k BIGINT, n BIGINT, EVENT TIME n)", "b (k BIGINT, n BIGINT, EVENT TIME n)")


def test_a_condition_of_an_outer_join_holds_only_where_both_sides_stand() -> None:
    facts = facts_of(*TWO, select="SELECT a.k FROM a LEFT JOIN b ON a.k = b.k AND b.n <= a.n + 5")
    own, other = ColumnRef("a", "k"), ColumnRef("b", "k")
    assert facts.of("a", "b").equalities.equal(own, other)
    assert not facts.of("a").equalities.equal(own, other)
    assert facts.of("a", "b").bands.upper(ColumnRef("b", "n"), ColumnRef("a", "n")) == Limit(5)
    assert facts.of("a").bands.upper(ColumnRef("b", "n"), ColumnRef("a", "n")) is None
    assert facts.of("a").present == {"a"}
    assert facts.of("b").present == {"a", "b"}


def test_what_stands_in_every_result_adds_nothing_to_what_is_asked_for() -> None:
    facts = facts_of(*TWO, select="SELECT a.k FROM a, b WHERE a.k = b.k")
    assert facts.of() is facts.of("a") is facts.of("a", "b")


def test_the_event_time_comes_first_of_what_bands_touch() -> None:
    facts = facts_of(*TWO, select="SELECT a.k FROM a, b WHERE a.k < b.k AND a.n < b.n")
    source = facts.query.by_alias["a"]
    assert [ref.column for ref in facts.of().touched(source)] == ["n", "k"]


def test_what_can_never_stand_together_says_why() -> None:
    band = facts_of(*TWO, select="SELECT a.k FROM a, b WHERE a.n < b.n AND b.n < a.n")
    assert each_told(band.of().impossible) == ("these cannot all hold: a.n < b.n; b.n < a.n",)
    values = facts_of(*TWO, select="SELECT a.k FROM a, b WHERE a.k = b.k AND a.k = 1 AND b.k = 2")
    assert each_told(values.of().impossible) == ("a.k = b.k can take no value: a.k = 1 and b.k = 2",)
    assert facts_of(*TWO, select="SELECT a.k FROM a, b WHERE a.k = b.k").of().impossible == ()
