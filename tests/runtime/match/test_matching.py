"""The matcher of a block against two loops: keys, comparisons, bands at the ends of the range, cross products."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Op
from penstock.plan.parts import KeyAxis, PairPredicate
from penstock.runtime.match.matching import Matcher, PartTies
from penstock.runtime.promise.marks import LEFT
from penstock.runtime.state.synopsis import ALL
from tests.runtime.stored import stored

LEAST, MOST = -(2**63), 2**63 - 1
VALUES = st.one_of(st.integers(-2, 3), st.sampled_from([LEAST, LEAST + 1, MOST, MOST - 1]))
ROWS = st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=6)
HOLDS = {
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.GT: lambda a, b: a > b,
    Op.GE: lambda a, b: a >= b,
}
KEY = KeyAxis((ColumnRef("s", "k"), ColumnRef("t", "k")))


def predicate(op: Op, ticks: int | None) -> PairPredicate:
    return PairPredicate(ColumnRef("t", "ts"), op, ColumnRef("s", "ts"), ticks, "")


def matcher_of(own: list[tuple[int, int]], others: list[tuple[int, int]], ties: PartTies) -> Matcher:
    sides = {"s": own, "t": others}
    synopses = {
        alias: stored({"k": [k for k, _ in rows], "ts": [ts for _, ts in rows]}, marks=[LEFT])
        for alias, rows in sides.items()
    }
    return Matcher(ties, synopses, frozenset({"t"}))


@given(ROWS, ROWS, st.booleans(), st.lists(st.tuples(st.sampled_from(list(HOLDS)), st.integers(-4, 4) | st.none())))
def test_pairs_are_those_of_two_loops(
    own: list[tuple[int, int]],
    others: list[tuple[int, int]],
    keyed: bool,
    asked: list[tuple[Op, int | None]],
) -> None:
    ties = PartTies(("s", "t"), (KEY,) if keyed else (), tuple(predicate(op, ticks) for op, ticks in asked))
    matcher = matcher_of(own, others, ties)
    left, right = matcher.pairs({"s": np.arange(len(own))}, "t", ALL)
    expected = sorted(
        (a, b)
        for a, (k, ts) in enumerate(own)
        for b, (their_k, their_ts) in enumerate(others)
        if (not keyed or k == their_k) and all(HOLDS[op](their_ts - ts, ticks or 0) for op, ticks in asked)
    )
    assert sorted(zip(left.tolist(), right.tolist(), strict=True)) == expected
    given_rows = {"s": np.arange(len(own))}, {"t": np.arange(len(others))}
    first, second = matcher.between(*given_rows)
    assert sorted(zip(first.tolist(), second.tolist(), strict=True)) == expected
    back = matcher.between(given_rows[1], given_rows[0])
    assert sorted(zip(back[1].tolist(), back[0].tolist(), strict=True)) == expected
    met = [any(a == place for place, _ in expected) for a in range(len(own))]
    assert matcher.meeting("s", np.arange(len(own)), "t").tolist() == met


def test_a_tuple_that_is_done_here_meets_nothing() -> None:
    matcher = matcher_of([(1, 0)], [(1, 0), (1, 1)], PartTies(("s", "t"), (KEY,), ()))
    matcher.synopses["t"].mark(LEFT, np.array([0]))
    assert matcher.pairs({"s": np.array([0])}, "t", ALL)[1].tolist() == [1]
    matcher.synopses["t"].mark(LEFT, np.array([1]))
    assert matcher.meeting("s", np.array([0]), "t").tolist() == [False]


def test_no_rows_are_between_nothing() -> None:
    matcher = matcher_of([(1, 0)], [(1, 0)], PartTies(("s", "t"), (KEY,), (predicate(Op.LT, 3),)))
    none = np.zeros(0, np.int64)
    for left, right in (({"s": none}, {"t": np.array([0])}), ({"s": np.array([0])}, {"t": none})):
        first, second = matcher.between(left, right)
        assert len(first) == len(second) == 0
    assert matcher.ties_any({"s": none}, {"t": none})
    assert not matcher.ties_any({"s": none}, {"u": none})


def test_what_is_implied_is_asked_too() -> None:
    matcher = matcher_of([(1, 0)], [(1, 0), (1, 9)], PartTies(("s", "t"), (KEY,), ()))
    implied = (predicate(Op.LE, 5),)
    assert matcher.pairs({"s": np.array([0])}, "t", ALL, implied)[1].tolist() == [0]


@pytest.mark.parametrize("bound", [frozenset[str](), frozenset({"t"})])
def test_ties_are_those_of_the_bound_streams(bound: frozenset[str]) -> None:
    matcher = matcher_of([(1, 0)], [(1, 0)], PartTies(("s", "t"), (KEY,), (predicate(Op.LT, 3),)))
    assert matcher.shared_axes(bound, "s") == ((("t", "k", "k"),) if bound else ())
    turned = matcher.predicates(bound, "s")
    assert [(p.left.alias, p.op, p.ticks) for p in turned] == ([("s", Op.GT, -3)] if bound else [])


def test_a_condition_on_no_rows_holds_of_none() -> None:
    matcher = matcher_of([(1, 0)], [(1, 0)], PartTies(("s", "t"), (), ()))
    none = np.zeros(0, np.int64)
    assert not len(matcher.holds(predicate(Op.LT, 1), {"s": none, "t": none}))


def test_columns_that_equal_one_column_equal_each_other() -> None:
    own, middle, other = (ColumnRef(alias, "k") for alias in "stu")
    same = PairPredicate(middle, Op.EQ, other, None, "")
    apart = PairPredicate(middle, Op.EQ, other, 0, "")
    ties = PartTies(("s", "t", "u"), (KEY,), (same,))
    assert ties.closed().axes == (KEY, KeyAxis((own, middle, other)))
    assert PartTies(("s", "t", "u"), (KEY,), (apart,)).closed().axes == (KEY,)
    assert ties.closed().predicates == ties.predicates
