"""DISTINCT gives each row once, across batches, restarts and equal rows of one batch; time lets it forget."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from penstock.runtime import GroupStage
from tests.runtime.driving import Driver, plan_of

SCRIPT = (
    "CREATE STREAM s (k BIGINT, ts BIGINT, v DOUBLE, EVENT TIME ts, ORDERED BY ts WITHIN 1);"
    "CREATE STREAM t (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 1);"
    "SELECT DISTINCT s.k, s.ts, s.v FROM s, t WHERE s.k = t.k AND t.ts - s.ts BETWEEN 0 AND 2;"
)


def rows(*given: tuple[Any, Any, Any]) -> Any:
    names = ("s_k", "s_ts", "s_v")
    kinds = (pa.int64(), pa.int64(), pa.float64())
    return pa.table({n: pa.array([g[i] for g in given], kinds[i]) for i, n in enumerate(names)})


def test_a_row_is_given_once_with_null_and_nan_equal_to_themselves() -> None:
    stage = GroupStage(plan_of(SCRIPT))
    nan = float("nan")
    first = stage.step(0, rows((1, 1, nan), (1, 1, nan), (None, 1, 0.5), (1, 2, None)), {})
    assert first.rows.num_rows == 3
    assert stage.step(1, rows((1, 1, nan), (None, 1, 0.5), (1, 2, None), (1, 2, 0.0)), {}).rows.num_rows == 1


NESTED: list[tuple[Any, Any, Any, bool]] = [
    (pa.list_(pa.float64()), [1.0, None], [1.0, None], True),
    (pa.list_(pa.float64()), [float("nan"), -0.0], [float("nan"), 0.0], True),
    (pa.list_(pa.float64()), [1.0, 2.0], [2.0, 1.0], False),
    (pa.list_(pa.float64()), [], None, False),
    (pa.list_(pa.list_(pa.string())), [["a"], ["b"]], [["a", "b"]], False),
    (pa.struct([("x", pa.int32()), ("y", pa.string())]), {"x": 1, "y": None}, {"x": 1, "y": None}, True),
    (pa.struct([("x", pa.int32()), ("y", pa.string())]), {"x": None, "y": None}, None, False),
    (pa.map_(pa.string(), pa.int32()), [("a", 1), ("b", 2)], [("b", 2), ("a", 1)], True),
    (pa.map_(pa.string(), pa.int32()), [("a", 1), ("b", 2)], [("a", 2), ("b", 1)], False),
    (pa.decimal128(38, 2), None, None, True),
]


@pytest.mark.parametrize(("kind", "one", "other", "same"), NESTED)
def test_nested_values_are_compared_as_spark_does(kind: Any, one: Any, other: Any, same: bool) -> None:
    stage = GroupStage(plan_of(SCRIPT))

    def given(*values: Any) -> Any:
        count = len(values)
        return pa.table({"s_k": [1] * count, "s_ts": [1] * count, "s_v": pa.array(values, kind)})

    assert stage.step(0, given(one), {}).rows.num_rows == 1
    assert stage.step(1, given(one, other), {}).rows.num_rows == (0 if same else 1), "against what is remembered"
    fresh = GroupStage(plan_of(SCRIPT))
    assert fresh.step(0, given(other, one), {}).rows.num_rows == (1 if same else 2), "within a batch"


def test_a_restored_stage_remembers() -> None:
    plan = plan_of(SCRIPT)
    stage = GroupStage(plan)
    stage.step(0, rows((1, 1, 1.0)), {})
    stage = GroupStage.restore(plan, stage.save().put)
    assert stage.step(1, rows((1, 1, 1.0), (2, 1, 1.0)), {}).rows.to_pylist() == [{"s_k": 2, "s_ts": 1, "s_v": 1.0}]


def test_what_lies_before_the_frontier_is_forgotten() -> None:
    stage = GroupStage(plan_of(SCRIPT))
    stage.step(0, rows((1, 1, 1.0), (1, 5, 1.0), (1, None, 1.0)), {"s.ts": 3})
    assert stage.live == 2


def test_the_frontier_of_a_cell_is_its_low_or_the_oldest_row_it_stores() -> None:
    driver = Driver(SCRIPT.replace("v DOUBLE", "v BIGINT"), "k ts v")
    result = driver.step(s=[(1, 5, 0), (2, 9, 0)], t=[(9, 4, 0)])
    assert dict(result.frontier) == {"s.ts": 5, "t.ts": 3}
    assert dict(driver.step(t=[(9, 20, 0)]).frontier) == {"s.ts": 8, "t.ts": 19}
