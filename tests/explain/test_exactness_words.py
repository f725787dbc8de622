"""What stands against an exact answer, in words: one and many, and nothing where nothing does."""

from __future__ import annotations

from penstock.explain.exactness_words import exactness_told, inexact_because, unseen_told
from penstock.runtime.exactness import Exactness


def test_an_exact_answer_is_told_in_a_word() -> None:
    assert exactness_told(Exactness()) == "exact"
    assert list(inexact_because(Exactness())) == []


def test_a_promise_whose_break_may_go_unseen_is_named() -> None:
    unseen = ("PRIMARY KEY (x) ON p", "FOLLOWS p (x) ON (x) WITHIN 3 ROWS ON c")
    assert unseen_told(unseen) == (
        "exact as far as is seen: rows that break PRIMARY KEY (x) ON p or FOLLOWS p (x) ON (x) WITHIN 3 ROWS ON c "
        "are not all found (see explain)"
    )
    many = unseen_told((*unseen, "PRIMARY KEY (y) ON p", "CLUSTERED BY y ON p"))
    assert "WITHIN 3 ROWS ON c or 2 others are not all found" in many


def test_where_nobody_counts_what_is_lost_that_is_said() -> None:
    known = Exactness(since=2, broken={"PRIMARY KEY (x) ON p": 1}, uncounted=True)
    assert list(inexact_because(known))[1] == "0 results known to be lost (how many in all is not known)"


def test_each_number_has_its_phrase() -> None:
    known = Exactness(9, 3, {"ORDERED BY ts ON s": 1_200}, 1, 2, 1, 1, 0.05)
    assert exactness_told(known) == (
        "INEXACT: 1,200 rows broke ORDERED BY ts ON s, 1 result known to be lost, 2 rows evicted by the BUDGET, "
        "1 row emitted as unmatched that a late match contradicts, counts stand for joins, and may be off by 5.0%, "
        "what 1 batch broke is not known: the run was killed before it was told, answers may be wrong since batch 3"
    )
