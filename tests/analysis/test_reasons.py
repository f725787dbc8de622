"""A reason is a kind and what it is about: plain values, compared by value."""

from __future__ import annotations

from penstock.analysis.decider_reasons import CountReason, MemoryReason, ProofStep
from penstock.analysis.reasons import Because, BoundedBy, Reason, ReasonKind, WaitsUntil
from penstock.model.expressions import ColumnRef
from penstock.plan.codec import decode, encode


def test_what_a_reason_is_about_is_made_plain() -> None:
    reason = Because.TAKES_VALUES(ColumnRef("a", "k"), 3, [ColumnRef("a", "k"), Because.MAY_BE_NULL()])
    assert reason.about == ("a.k", 3, ("a.k", Because.MAY_BE_NULL()))
    assert Because.IS_OF_TYPE(True, None, 1.5).about == ("True", "None", "1.5")


def test_reasons_are_equal_by_kind_and_by_what_they_are_about() -> None:
    assert WaitsUntil.PASSED("b.n", "a.n") == WaitsUntil.PASSED("b.n", "a.n")
    assert WaitsUntil.PASSED("b.n", "a.n") != WaitsUntil.PASSED("a.n", "b.n")
    assert BoundedBy.DISTINCT_ROWS(1) != BoundedBy.LAST_ROWS(1)
    assert len({MemoryReason.OUTSIDE("x"), CountReason.BY_ARRIVAL("x"), ProofStep.DECLARED("x")}) == 3


def test_every_kind_can_be_written_down_and_read_again() -> None:
    for kinds in ReasonKind.__subclasses__():
        for kind in kinds:
            assert decode(Reason, encode(kind("x", 1, ["y"]))) == kind("x", 1, ["y"])
