"""What the values of groups come to, against Python's own, over random rows and batches."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.plan.aggregate import COUNT, AggregateColumn, AggregatePlan
from penstock.plan.plan_reasons import HowGrouped
from penstock.runtime.group.kept_values import KeptValues
from penstock.runtime.group.numbering import grouped


def kept(function: str, *, distinct: bool, merge: bool = False, value: str = "x") -> KeptValues:
    share = 0.5 if function == "median" else None
    column = AggregateColumn("a", "", function, distinct, None, value, None, "BIGINT", share=share)
    plan = AggregatePlan((), (column,), (), (), emits_once=True, tree=None, by_latest=False, how=HowGrouped.NO_JOIN())
    return KeptValues(plan, ("g",), groups_merge=merge)


BY_HAND: dict[tuple[str, bool], Callable[[list[int]], float | None]] = {
    ("median", False): lambda values: statistics.median(values) if values else None,
    ("sum", True): lambda values: sum(set(values)) if values else None,
    ("avg", True): lambda values: statistics.mean(set(values)) if values else None,
    ("count", True): lambda values: len(set(values)),
}


@pytest.mark.parametrize(("function", "distinct"), BY_HAND)
def test_values_come_to_what_they_come_to_by_hand(function: str, distinct: bool) -> None:
    draw = random.Random(function)
    for _ in range(30):
        own, seen = kept(function, distinct=distinct, merge=True), list[tuple[Any, Any]]()
        for batch in range(3):
            rows = [(draw.choice((None, 1, 2)), draw.choice((None, 1, 2, 5))) for _ in range(draw.randint(1, 6))]
            columns = {"g": pa.array([g for g, _ in rows], pa.int64()), "x": pa.array([x for _, x in rows], pa.int64())}
            columns[COUNT] = pa.array(np.full(len(rows), 2))
            fresh = own.add(batch, 0, columns, grouped([columns["g"]], len(rows)))
            before = {(g, x) for g, x in seen if x is not None}
            seen += [row for row in rows for _ in range(2)]
            assert fresh.held.sum() == len({(g, x) for g, x in seen if x is not None} - before)
        groups = list(dict.fromkeys(g for g, _ in seen))
        found = own.shown(0, {"g": pa.array(groups, pa.int64())}, len(groups)).to_pylist()
        for group, value in zip(groups, found, strict=True):
            by_hand = BY_HAND[function, distinct]([x for g, x in seen if g == group and x is not None])
            assert value == pytest.approx(by_hand) if by_hand is not None else value is None


def test_a_value_that_is_grouped_by_is_not_kept() -> None:
    own = kept("count", distinct=True, value="g")
    assert not own.tallies
    (column,) = [AggregateColumn("a", "", "count", True, None, "g", None, "BIGINT")]
    assert own.of_key(column, {"g": pa.array([1, None])}).to_pylist() == [1, 0]


def test_what_different_values_are_is_counted_as_they_come_unless_groups_become_one() -> None:
    column = AggregateColumn("a", "", "count", True, None, "x", None, "BIGINT")
    assert not kept("count", distinct=True).made_when_shown(column)
    assert kept("count", distinct=True, merge=True).made_when_shown(column)
