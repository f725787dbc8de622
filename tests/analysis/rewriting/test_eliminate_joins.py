"""Which source counts the join, and which is taken off: by keys and partners that follow."""

from __future__ import annotations

from penstock.analysis.rewriting.eliminate_joins import (
    counted_source,
    no_counted_source,
    no_removed_source,
    not_keyed,
    removed_sources,
    under,
)
from penstock.model.expressions import ColumnRef, Constant
from penstock.model.predicates import Bound, NullTest, Op
from tests.analysis.rewriting.section_2 import identity, known
from tests.analysis.test_implication_paper import SECTION_2, without


def test_the_join_has_as_many_rows_as_the_source_from_which_partners_lead_to_all() -> None:
    assert counted_source(known(), identity()) == "sa"
    assert counted_source(known(without("ix")), identity()) is None
    assert str(no_counted_source(known(without("ix"))))


def test_an_identity_that_is_no_key_of_a_source_is_named() -> None:
    assert not_keyed(known(), identity(), ("s", "sa", "f")) is None
    assert not_keyed(known(without("ii")), identity(without("ii")), ("s", "sa", "f")) is not None


def test_what_has_a_match_is_as_many_as_the_source_that_is_taken_off() -> None:
    assert removed_sources(known(), identity(), "sa") == ("f",)
    assert removed_sources(known(without("viii")), identity(), "sa") == ()
    assert no_removed_source(known(without("viii")), identity(), "sa") is not None


def test_where_the_root_has_all_partners_it_counts_itself() -> None:
    both = SECTION_2.replace(
        "PRIMARY KEY (id)", "PRIMARY KEY (id), FOREIGN KEY (id, ip) REFERENCES synack (id, ip) WINDOW [0, 5 SECONDS]", 1
    )
    assert counted_source(known(both), identity(both)) == "s"


def test_a_condition_is_put_under_another_alias_if_it_can_be() -> None:
    own = Bound(ColumnRef("f", "kind"), Op.EQ, Constant("1", 1))
    moved = under("g", own)
    assert isinstance(moved, Bound)
    assert moved.column == ColumnRef("g", "kind")
    assert under("g", NullTest(ColumnRef("f", "kind"), is_null=True)) is None
