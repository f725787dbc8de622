"""What follows of the rows that a query can use: keys, partners, agreement, distance."""

from __future__ import annotations

from penstock.analysis.implication.rules import Reach
from tests.analysis.rewriting.section_2 import known
from tests.analysis.test_implication_paper import SECTION_2, without

SECOND = 1_000_000
ID = (("id", "id"),)


def test_keys_and_partners_follow_or_do_not() -> None:
    found = known()
    assert found.is_key("s", ("id",))
    assert not found.is_key("s", ("ip",))
    assert found.refers("sa", "s", ID)
    assert found.refers("f", "s", ID)
    assert not found.refers("s", "sa", ID)


def test_a_filter_that_a_tie_hands_on_leaves_the_partner() -> None:
    filtered = SECTION_2.replace("WHERE ", "WHERE s.ip = '10.0.0.1' AND ", 1)
    assert filtered != SECTION_2
    found = known(filtered)
    assert found.is_key("s", ("id",))
    # What ties sa to s makes the same condition hold of both, so the partner is one that is counted.
    assert found.refers("sa", "s", ID)


def test_rows_of_one_identity_agree_and_lie_near() -> None:
    found = known()
    assert found.agree("s", "sa", ID, Reach(), (("ip", "ip"),))
    assert found.apart("s", "sa", ID, Reach(0, 5 * SECOND))
    assert not found.apart("s", "sa", ID, Reach(0, 4 * SECOND))
    assert found.agree("s", "sa", (("ip", "ip"),), Reach(0, 15 * SECOND), ID)
    assert not found.agree("s", "sa", (("ip", "ip"),), Reach(0, 16 * SECOND), ID)


def test_without_the_declaration_it_does_not_follow() -> None:
    assert not known(without("ix")).refers("sa", "s", ID)
    assert not known(without("i")).is_key("s", ("id",))


def test_the_ends_of_windows_that_are_declared() -> None:
    assert {5 * SECOND, 10 * SECOND, 15 * SECOND} <= {abs(end) for end in known().ends()}
