"""What a closer says by itself: which members of a partial result close a target together, and whether it is exact."""

from __future__ import annotations

from penstock.model.expressions import ColumnRef
from penstock.plan.closer_plans import CloserKind, JointCloser
from tests.runtime.driving import plan_of

JOINT = JointCloser(
    "c",
    True,
    ("x", "y"),
    ((ColumnRef("a", "x"), ColumnRef("b", "x")), (ColumnRef("b", "y"),)),
    "PUNCTUATED ON (x, y) ON c",
)


def test_members_close_a_target_together_if_they_carry_each_of_its_columns() -> None:
    assert JOINT.within(frozenset("ab")) == (ColumnRef("a", "x"), ColumnRef("b", "y"))
    assert JOINT.within(frozenset("b")) == (ColumnRef("b", "x"), ColumnRef("b", "y"))
    assert JOINT.within(frozenset("a")) is None


def test_a_band_looks_at_the_very_value_only_where_the_columns_are_equal() -> None:
    def is_exact(condition: str) -> bool:
        plan = plan_of(
            "CREATE STREAM s (ts BIGINT, n BIGINT, ORDERED BY ts);"
            "CREATE STREAM t (ts BIGINT, n BIGINT, ORDERED BY ts);"
            f"SELECT s.n, t.n AS tn FROM s, t WHERE {condition};"
        )
        (closer,) = plan.closers_between("s", "t")
        assert closer.kind is CloserKind.BAND
        return closer.is_exact

    assert is_exact("s.ts = t.ts")
    assert not is_exact("t.ts BETWEEN s.ts AND s.ts + 5")
