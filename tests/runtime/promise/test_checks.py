"""A row outside a CHECK on which a bucket rests is a violation, answered by its policy (DESIGN sections 3 and 7)."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.plan.promise_plans import PromiseKind
from penstock.runtime import PromiseBroken, StepResult
from penstock.testing import Run
from tests.runtime.driving import Driver, plan_of, rows_of

FIELDS = "k BIGINT, ts BIGINT, n BIGINT"
CHECK = "CHECK (k >= 1 AND k < 5)"


def merged(policy: str = "") -> Driver:
    """Both sources are merged, because a CHECK leaves k four values on s, and so on t."""
    answer = policy and f" ON VIOLATION {policy}"
    driver = Driver(
        f"CREATE STREAM s ({FIELDS}, {CHECK}{answer}); CREATE STREAM t ({FIELDS});SELECT s.k FROM s, t WHERE s.k = t.k;"
    )
    assert all(source.merge is not None for source in driver.plan.sources)
    return driver


def broken(driver: Driver) -> StepResult:
    driver.step(t=[(2, 0, 0), (2, 0, 1)])
    return driver.step(s=[(2, 0, 0), (7, 0, 0), (0, 0, 0), (None, 0, 0)], t=[(7, 0, 0)])


def test_fail_stops_and_names_the_row() -> None:
    with pytest.raises(PromiseBroken) as caught:
        broken(merged("FAIL"))
    assert caught.value.constraint == f"{CHECK} ON s"
    assert caught.value.rows.to_pylist()[0]["k"] == 7


def test_quarantine_keeps_the_rows_out_and_hands_them_over_whole() -> None:
    result = broken(merged("QUARANTINE"))
    assert rows_of(result) == [(2,), (2,)]
    assert [row for held in result.quarantined for row in held.rows.to_pylist()] == [
        {"k": 7, "ts": 0, "n": 0},
        {"k": 0, "ts": 0, "n": 0},
    ]
    assert result.metrics.violations == {f"{CHECK} ON s": 2}


@pytest.mark.parametrize("policy", ["", "ADAPT", "TRUST", "RECOVER"])
def test_others_count_the_rows_and_join_them_with_what_is_there(policy: str) -> None:
    driver = merged(policy)
    result = broken(driver)
    assert rows_of(result) == [(2,), (2,), (7,)]
    assert result.metrics.violations == {f"{CHECK} ON s": 2}, "NULL makes no CHECK false"
    driver.restart()
    assert driver.step(s=[(4, 0, 0)]).metrics.violations == {}
    assert driver.stored("s") == 2, "what breaks a CHECK has no bucket to stay in"


def test_recover_finds_what_has_no_bucket_when_its_partner_comes() -> None:
    driver = merged("RECOVER")
    broken(driver)
    driver.step(s=[(7, 0, 0)])
    driver.restart()
    assert rows_of(driver.step(t=[(7, 0, 1), (0, 0, 0)])) == [(0,), (7,), (7,)]


def test_values_of_every_exact_type_are_watched() -> None:
    def columns(condition: str, kind: str) -> list[tuple[str, ...]]:
        plan = plan_of(
            f"CREATE STREAM s (x {kind}, CHECK ({condition})); CREATE STREAM t (y {kind});"
            "SELECT s.x FROM s, t WHERE s.x = t.y;"
        )
        return [p.columns for p in plan.promises if p.kind is PromiseKind.CHECK]

    assert columns("x IN ('a', 'b')", "STRING") == [("x",)]
    assert columns("x >= DATE '2024-01-01' AND x < DATE '2024-02-01'", "DATE") == [("x",)]
    assert columns("x > 0 AND x <= 9", "SMALLINT") == [("x",)]
    for kind in ("DECIMAL(9,2)", "DECIMAL(30,2)", "DOUBLE", "FLOAT", "BIGINT"):
        assert columns("x >= 0.505 AND x <= 9.5", kind) == [("x",)], "a constant may lie between two values of the type"
    assert columns("x >= TIMESTAMP '2024-01-01'", "TIMESTAMP") == [("x",)]
    assert columns("x >= TIMESTAMP_NTZ '2024-01-01'", "TIMESTAMP_NTZ") == [("x",)]


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT", "DECIMAL(5,2)", "DECIMAL(38,2)"])
def test_a_fraction_outside_a_check_makes_no_answer_that_is_called_exact(kind: str) -> None:
    """Two streams that never meet, by what is declared, and do."""
    script = "CREATE STREAM {0} (x " + kind + ", CHECK ({1}));"
    select = "SELECT a.x FROM a, b WHERE a.x = b.x;"
    run = Run(script.format("a", "x < 1.5") + script.format("b", "x > 2.5") + select)
    three = pa.table({"x": pa.array([Decimal(3)]).cast(arrow_type_of(kind))})
    assert run.step({"a": three}).metrics["violations"] == {"CHECK (x < 1.5) ON a": 1}
    assert not run.step({"b": three}).metrics["exact"]


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP_NTZ"])
@pytest.mark.parametrize("condition", ["x < {0} '2024-02-01'", "x IN ({0} '2024-01-01', {0} '2024-01-02')"])
def test_a_moment_outside_a_check_is_counted(kind: str, condition: str) -> None:
    script = f"CREATE STREAM a (x {kind}, CHECK ({condition.format(kind)})); CREATE STREAM b (x {kind});"
    run = Run(script + "SELECT a.x FROM a, b WHERE a.x = b.x;")
    zone = "UTC" if kind == "TIMESTAMP" else None
    moments = pa.array([datetime(2024, month, 1) for month in (1, 2)], pa.timestamp("us")).cast(
        pa.timestamp("us", zone)
    )
    step = run.step({name: pa.table({"x": moments}) for name in "ab"})
    assert list(step.metrics["violations"].values()) == [1]
    assert step.rows.num_rows == 2


def arrow_type_of(kind: str) -> Any:
    name, _, sizes = kind.partition("(")
    if name == "DECIMAL":
        return pa.decimal128(*map(int, sizes.strip(")").split(",")))
    return {"DOUBLE": pa.float64(), "FLOAT": pa.float32()}[name]


@pytest.mark.parametrize("values", ["IN", "="])
def test_lists_and_equalities_are_watched(values: str) -> None:
    condition = "n IN (1, 3) AND k = 2" if values == "IN" else "n = 1 AND k = 2"
    driver = Driver(
        f"CREATE STREAM s ({FIELDS}, CHECK ({condition})); CREATE STREAM t ({FIELDS});"
        "SELECT s.n FROM s, t WHERE s.k = t.k;"
    )
    result = driver.step(s=[(2, 0, 1), (2, 0, 3), (2, 0, 2), (3, 0, 1), (2, 0, None)])
    assert list(result.metrics.violations.values()) == [2 if values == "IN" else 3]
