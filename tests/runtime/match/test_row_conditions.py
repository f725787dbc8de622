"""Conditions asked of rows that have met: of those whose streams are there, in pieces, an absent stream as NULL."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.model.core_terms import core_term
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Residual
from penstock.model.types import DataType, Kind
from penstock.plan.parts import ConditionPlan
from penstock.runtime.join.rows import ABSENT
from penstock.runtime.match import row_conditions
from penstock.runtime.match.row_conditions import RowConditions
from penstock.sql import parse_script
from tests.runtime.stored import stored

SYNOPSES = {"a": stored({"x": [1, 2, 3, 4]}), "b": stored({"x": [4, 3, 2, 1]}), "c": stored({"x": [1, 1]})}


def condition(text: str) -> ConditionPlan:
    script = "".join(f"CREATE STREAM {s} (x BIGINT);" for s in "abc")
    (found,) = parse_script(f"{script} SELECT a.x FROM a, b, c WHERE {text};").queries[0].where
    assert isinstance(found, Residual)
    term = core_term(found.expression.term, lambda _: DataType.of(Kind.BIGINT))
    assert term is not None
    return ConditionPlan(text, term)


def rows(**ids: list[int]) -> dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    return {alias: np.array(found, np.int64) for alias, found in ids.items()}


def test_only_conditions_whose_streams_are_there_are_asked_and_each_once() -> None:
    asked = RowConditions((condition("a.x <> b.x"), condition("b.x <> c.x OR a.x = 4")), SYNOPSES)
    met = rows(a=[0, 1, 3], b=[3, 1, 3])
    assert asked.passing(rows(a=[0])) is None
    found = asked.passing(met)
    assert found is not None
    assert found.tolist() == [False, True, True]
    assert asked.passing(met, frozenset("ab")) is None
    longer = asked.passing({**met, **rows(c=[0, 1, 0])}, frozenset("ab"))
    assert longer is not None
    assert longer.tolist() == [False, True, True]


def test_an_absent_stream_is_null() -> None:
    asked = RowConditions((condition("coalesce(b.x, 0) < a.x"),), SYNOPSES)
    found = asked.passing(rows(a=[0, 0], b=[ABSENT, 3]))
    assert found is not None
    assert found.tolist() == [True, False]


def test_pieces_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = RowConditions((condition("a.x <> b.x"), condition("a.x + b.x = 5 OR a.x = 1")), SYNOPSES)
    pairs = rows(a=[n // 4 for n in range(16)], b=[n % 4 for n in range(16)])
    whole = asked.passing(pairs)
    monkeypatch.setattr(row_conditions, "MANY", 3)
    cut = asked.passing(pairs)
    assert whole is not None
    assert cut is not None
    assert whole.tolist() == cut.tolist()
    assert 0 < whole.sum() < 16
    assert condition("a.x <> b.x").columns == (ColumnRef("a", "x"), ColumnRef("b", "x"))
