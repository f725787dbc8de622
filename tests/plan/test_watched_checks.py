"""Which CHECKs are watched, and by what; and that a row that breaks one is never lost without a word."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import penstock
from penstock.compile import plan
from penstock.plan.promise_plans import PromiseKind
from penstock.plan.watched_checks import CheckedRow, conditions_in, with_values, written
from penstock.plan.watching import rests_on_unseen
from penstock.testing import Run

T = "CREATE STREAM t (k BIGINT, CHECK (k > 20));"


def checks(declared: str, query: str = "SELECT s.k FROM s, t WHERE s.k = t.k") -> dict[str, tuple[CheckedRow, ...]]:
    columns = "k BIGINT, a BIGINT, b BIGINT, n STRING, x DOUBLE, ts TIMESTAMP, us TIMESTAMP, EVENT TIME ts"
    script = penstock.parse(f"CREATE STREAM s ({columns}, {declared}); CREATE STREAM t (k BIGINT); {query};")
    made = plan(script)
    return {
        p.constraint.removesuffix(" ON s"): conditions_in(p.when)
        for p in made.promises
        if p.kind is PromiseKind.CHECK and p.when is not None
    }


@pytest.mark.parametrize(
    ("declared", "compared"),
    [
        ("CHECK (k < 10)", [CheckedRow("k", "<", ("10",))]),
        ("CHECK (k NOT IN (1, 2))", [CheckedRow("k", "=", ("1", "2"), is_negated=True)]),
        ("CHECK (k IS NOT NULL)", [CheckedRow("k", None, is_negated=True)]),
        ("CHECK (k >= a)", [CheckedRow("k", ">=", other="a")]),
        ("CHECK (us >= ts)", [CheckedRow("us", ">=", other="ts")]),
        ("CHECK (k < 10 AND x < 1.5)", [CheckedRow("k", "<", ("10",)), CheckedRow("x", "<", ("1.5",))]),
        ("CHECK (ts > TIMESTAMP '2024-01-01')", [CheckedRow("ts", ">", ("2024-01-01 00:00:00",))]),
        ("CHECK (k < 10 AND ts > TIMESTAMP '2024-01-01 00:00:00+02:00')", [CheckedRow("k", "<", ("10",))]),
    ],
)
def test_what_is_compared(declared: str, compared: list[CheckedRow]) -> None:
    (found,) = checks(declared).values()
    assert sorted(found, key=str) == sorted(compared, key=str)
    assert conditions_in(written(found)) == found


@pytest.mark.parametrize(
    "declared",
    [
        "CHECK (a < 10)",  # of no column that anything names
        "CHECK (a < b)",
        "CHECK (k % 2 = 0)",
        "CHECK (us - ts <= INTERVAL 1 SECOND)",
        "CHECK (ts > TIMESTAMP '2024-01-01 00:00:00+02:00')",
        "CHECK (x < 1.5)",  # of no column that anything names
    ],
)
def test_what_is_not_watched(declared: str) -> None:
    assert checks(declared) == {}


def test_a_check_that_another_ties_to_a_column_of_the_query_is_watched_too() -> None:
    assert list(checks("CHECK (k <= a), CHECK (a <= b), CHECK (n = 'x')")) == ["CHECK (k <= a)", "CHECK (a <= b)"]


@pytest.mark.parametrize(
    ("declared", "unseen"),
    [
        ("CHECK (c = 'abc')", True),
        ("CHECK (ts > TIMESTAMP '2024-01-01 00:00:00')", False),
        ("CHECK (k < 10)", False),
        ("CHECK (k % 2 = 0)", False),
        ("CHECK (x < 1.5)", False),
    ],
)
def test_what_may_break_unseen_is_named_where_the_answer_rests_on_it(declared: str, unseen: bool) -> None:
    columns = f"k BIGINT, x DOUBLE, c CHAR(3), ts TIMESTAMP, EVENT TIME ts, {declared}"
    script = penstock.parse(f"CREATE STREAM s ({columns}); {T} SELECT s.k, s.c FROM s, t WHERE s.k = t.k AND s.k > 1;")
    found = rests_on_unseen(script.queries[0], plan(script))
    assert found == ((f"{declared} ON s",) if unseen else ())


def test_other_texts_take_the_place_of_constants_by_column() -> None:
    when = written((CheckedRow("ts", "<", ("one", "two")), CheckedRow("k", "=", ("one",), is_negated=True)))
    placed = with_values(when, lambda column, text: f"{column}:{text}")
    assert [c.values for c in conditions_in(placed)] == [("ts:one", "ts:two"), ("k:one",)]


def table(rows: dict[str, list[int | None]]) -> Any:
    return pa.table({name: pa.array(values, pa.int64()) for name, values in rows.items()})


BAND = "EVENT TIME ts, ORDERED BY ts, CHECK (k IS NOT NULL)"


@pytest.mark.parametrize(
    ("script", "steps", "due"),
    [
        ("CREATE STREAM s (k BIGINT, CHECK (k < 10)); SELECT s.k FROM s, t WHERE s.k = t.k AND s.k > 20", "st", 1),
        ("CREATE STREAM s (k BIGINT, CHECK (k < 10)); SELECT s.k FROM s, t WHERE s.k = t.k", "st", 1),
        (
            "CREATE STREAM s (k BIGINT, CHECK (k < 10)); "
            "SELECT s.k FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = s.k)",
            "ts",
            0,
        ),
        ("CREATE STREAM s (k BIGINT, CHECK (k < 10)); SELECT s.k, t.k AS o FROM s LEFT JOIN t ON t.k = s.k", "ts", 1),
        ("CREATE STREAM s (k BIGINT, CHECK (k < k)); SELECT s.k FROM s, t WHERE s.k = t.k", "st", 1),
    ],
)
def test_an_answer_that_a_broken_check_makes_wrong_is_not_called_exact(script: str, steps: str, due: int) -> None:
    run = Run(T + script + ";")
    got: list[Any] = []
    for name in steps:
        step = run.step({name: table({"k": [30]})})
        got += step.rows.to_pylist()
    matched = [row for row in got if row.get("o", 0) is not None]
    assert len(matched) != due, "what was concluded of the CHECK makes the answer wrong"
    assert not step.metrics["exact"]


def test_a_null_that_not_in_would_have_met_is_counted() -> None:
    declared = f"CREATE STREAM s (k BIGINT, ts BIGINT, {BAND}); CREATE STREAM t (k BIGINT, ts BIGINT, {BAND});"
    run = Run(f"{declared} SELECT s.k FROM s WHERE s.k NOT IN (SELECT t.k FROM t WHERE t.ts - s.ts BETWEEN 0 AND 3);")
    run.step({"s": table({"k": [5], "ts": [1]})})
    step = run.step({"t": table({"k": [None], "ts": [2]})})
    assert step.metrics["violations"] == {"CHECK (k IS NOT NULL) ON t": 1}
    assert not step.metrics["exact"]


def test_what_a_view_declares_is_watched_and_what_follows_from_below_is_watched_there() -> None:
    streams = "CREATE STREAM s (k BIGINT, v BIGINT, CHECK (k < 10)); CREATE STREAM t (k BIGINT, v BIGINT);"
    view = "CREATE VIEW d (CHECK (v BETWEEN 0 AND 1)) AS SELECT DISTINCT k, v FROM s;"
    run = Run(f"{streams} {view} SELECT DISTINCT d.v, t.v AS tv FROM d JOIN t ON d.k = t.k AND d.v < t.v;")
    kept = run.step({"s": table({"k": [1], "v": [1]})})
    assert kept.metrics["violations"] == {}
    assert kept.metrics["exact"]
    broken = run.step({"s": table({"k": [30], "v": [-5]})})
    assert broken.metrics["violations"] == {"CHECK (k < 10) ON s": 1, "CHECK (v >= 0 AND v <= 1) ON d": 1}
    assert not broken.metrics["exact"]


def test_a_value_that_a_view_declares_is_one_for_not_in_and_a_null_is_counted() -> None:
    declared = f"CREATE STREAM s (k BIGINT, ts BIGINT, {BAND}); "
    declared += "CREATE STREAM t (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);"
    view = "CREATE VIEW d (CHECK (k IS NOT NULL)) AS SELECT DISTINCT k, ts FROM t;"
    asked = "SELECT s.k FROM s WHERE s.k NOT IN (SELECT d.k FROM d WHERE d.ts - s.ts BETWEEN 0 AND 3);"
    run = Run(f"{declared} {view} {asked}")
    run.step({"s": table({"k": [5], "ts": [1]})})
    step = run.step({"t": table({"k": [None], "ts": [2]})})
    assert step.metrics["violations"] == {"CHECK (k IS NOT NULL) ON d": 1}
    assert not step.metrics["exact"]
