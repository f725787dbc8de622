"""The values of types, beside lists of them: steps there and back, limits, and which steps meet a comparison."""

from __future__ import annotations

import datetime as dt
import operator
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.analysis.facts.values import FAR, Interval, is_small, meeting, step_of, steps_of, value_at
from penstock.model.expressions import Constant
from penstock.model.predicates import Op
from penstock.model.types import DataType, Kind

COMPARE = {Op.EQ: operator.eq, Op.LT: operator.lt, Op.LE: operator.le, Op.GT: operator.gt, Op.GE: operator.ge}
STEPPED = [DataType.of(kind) for kind in (Kind.BOOLEAN, Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.DATE)]
STEPPED += [DataType.decimal(4, 2), DataType.decimal(18, 0)]


@given(st.sampled_from(STEPPED), st.data())
def test_a_value_lies_at_the_step_that_it_is_the_value_of(kind: DataType, data: st.DataObject) -> None:
    limits = steps_of(kind)
    step = data.draw(st.integers(limits.low, limits.high))
    value = value_at(step, kind)
    assert step_of(Constant(str(value), value), kind) == step


@given(st.sampled_from(list(Op)), st.fractions(-20, 20, max_denominator=4), st.integers(-30, 30))
def test_the_steps_that_meet_a_comparison_are_those_of_which_it_is_true(op: Op, at: Fraction, step: int) -> None:
    found = meeting(op, at)
    assert (found.low <= step <= found.high) == COMPARE[op](step, at)
    assert found.low >= -FAR
    assert found.high <= FAR


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        (DataType.of(Kind.BOOLEAN), 2),
        (DataType.of(Kind.TINYINT), 256),
        (DataType.of(Kind.SMALLINT), 65536),
        (DataType.decimal(2, 1), 199),
        (DataType.decimal(4, 0), 19999),
    ],
)
def test_small_types_have_as_many_values_as_can_be_written(kind: DataType, size: int) -> None:
    assert is_small(kind)
    assert steps_of(kind).size == size


@pytest.mark.parametrize("kind", [DataType.of(Kind.INT), DataType.of(Kind.DATE), DataType.decimal(5, 1)])
def test_others_are_not_small(kind: DataType) -> None:
    assert not is_small(kind)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, Kind.BOOLEAN),
        (True, Kind.INT),
        (dt.datetime(2024, 1, 1), Kind.DATE),
        ("1", Kind.INT),
        (Decimal("NaN"), Kind.INT),
        (1, Kind.STRING),
    ],
)
def test_what_is_no_value_of_a_type_has_no_step_there(value: object, kind: Kind) -> None:
    assert step_of(Constant(str(value), value), DataType.of(kind)) is None  # type: ignore[arg-type]


def test_an_interval_whose_ends_cross_is_empty() -> None:
    assert Interval(3, 1).size == 0
    assert Interval(0, 5).within(Interval(6, 9)).size == 0
