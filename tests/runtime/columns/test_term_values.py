"""Expressions evaluated by the core; that Spark says the same is asked in tests/spark/test_core_terms.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import DataError
from penstock.model.clauses import TimeWindow
from penstock.model.core_terms import core_term
from penstock.model.expressions import ColumnRef
from penstock.model.spans import span_of_ticks
from penstock.model.types import DataType, Kind
from penstock.model.window_columns import window_end
from penstock.runtime.columns.term_values import holds, term_values
from tests.analysis.build import derived_column

TABLE = pa.table({"a": pa.array([1, None, -3, 2**62], pa.int64()), "b": pa.array([2, 5, 0, 2**62], pa.int64())})


def values(text: str, places: list[int] | None = None) -> list[Any]:
    term = core_term(derived_column(text, "a", "b").term, lambda _: DataType.of(Kind.BIGINT))
    assert term is not None
    wanted = np.array(range(4) if places is None else places)

    def read(ref: ColumnRef, asked: Any) -> Any:
        return TABLE[ref.column].take(pa.array(asked))

    found: list[Any] = term_values(term, read, wanted).to_pylist()
    return found


def test_null_makes_a_comparison_unknown_and_the_rest_follows() -> None:
    assert values("a < b") == [True, None, True, False]
    assert values("a < b OR b = 5") == [True, True, True, False]
    assert values("a < b AND b = 5") == [False, None, False, False]
    assert values("coalesce(a, b)") == [1, 5, -3, 2**62]


def test_what_is_decided_already_is_not_evaluated() -> None:
    assert values("b = 0 OR a % b = 1", [0, 2]) == [True, True]
    assert values("CASE WHEN b <> 0 THEN a div b ELSE -1 END", [0, 1, 2]) == [0, None, -1]
    assert values("coalesce(a, a + b)", [0, 3]) == [1, 2**62]


@pytest.mark.parametrize(
    ("text", "told"), [("a + b", "too large"), ("a * 4", "too large"), ("a % b", "divides by zero")]
)
def test_overflow_and_division_by_zero_end_the_query(text: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        values(text)


def test_only_what_is_true_holds() -> None:
    term = core_term(derived_column("a < b", "a", "b").term, lambda _: DataType.of(Kind.BIGINT))
    assert term is not None
    found = holds(term, lambda ref, asked: TABLE[ref.column].take(pa.array(asked)), 4)
    assert found.tolist() == [True, False, True, False]


@pytest.mark.parametrize(("shift", "starts"), [(0, [-10, 0, 0, 10]), (3, [-7, -7, 3, 3])])
def test_a_time_is_in_the_window_that_begins_at_it_or_less_than_its_length_before(
    shift: int, starts: list[int]
) -> None:
    times = pa.array([-1, 0, 9, 12, None], pa.timestamp("us", "UTC"))
    offset = None if not shift else span_of_ticks(shift, True)
    window = TimeWindow(ColumnRef("", "t"), span_of_ticks(10, True), offset=offset)
    for end, later in (("start", 0), ("end", 10)):
        term = core_term(window_end(window, end).term, lambda _: DataType.of(Kind.TIMESTAMP))
        assert term is not None
        found = term_values(term, lambda _, asked: times.take(pa.array(asked)), np.arange(5))
        assert found.cast(pa.int64()).to_pylist() == [*(start + later for start in starts), None]
