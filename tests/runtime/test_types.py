"""Keys of every type that can join, payloads of every type, NULLs, and values at the ends of their ranges."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.runtime import Batch, Cell, Chunk
from tests.runtime.driving import plan_of, rows_of

UTC = dt.UTC
KEYS: list[tuple[str, Any, list[Any]]] = [
    ("TINYINT", pa.int8(), [-128, 0, 127]),
    ("INT", pa.int32(), [-(2**31), 0, 2**31 - 1]),
    ("BIGINT", pa.int64(), [-(2**63), 0, 2**63 - 1]),
    ("BOOLEAN", pa.bool_(), [True, False]),
    ("FLOAT", pa.float32(), [0.0, float("nan"), float("inf")]),
    ("DOUBLE", pa.float64(), [0.0, float("nan"), -1.5]),
    ("DECIMAL(10,2)", pa.decimal128(10, 2), [Decimal("0.00"), Decimal("-1.25")]),
    ("DECIMAL(38,5)", pa.decimal128(38, 5), [Decimal("0.00000"), Decimal(10) ** 30, -(Decimal(10) ** 30)]),
    ("STRING", pa.string(), ["", "a", "aa", "ä", "a\0"]),
    ("BINARY", pa.binary(), [b"", b"\0", b"\0\0", b"a"]),
    ("DATE", pa.date32(), [dt.date(1, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31)]),
    ("TIMESTAMP", pa.timestamp("us", "UTC"), [dt.datetime(1, 1, 1, tzinfo=UTC), dt.datetime(9999, 1, 1, tzinfo=UTC)]),
    ("TIMESTAMP_NTZ", pa.timestamp("us"), [dt.datetime(1970, 1, 1), dt.datetime(2024, 1, 1, 0, 0, 0, 1)]),
]


def same(a: Any, b: Any) -> bool:
    """Equality as Spark has it: NaN equals itself, NULL nothing."""
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    return a is not None and bool(a == b)


@pytest.mark.parametrize(("name", "kind", "values"), KEYS, ids=[name for name, _, _ in KEYS])
@pytest.mark.parametrize("composite", [False, True])
def test_rows_meet_iff_their_keys_are_equal(name: str, kind: Any, values: list[Any], composite: bool) -> None:
    also = " AND s.j = t.j" if composite else ""
    plan = plan_of(
        f"CREATE STREAM s (k {name}, j BIGINT, n BIGINT); CREATE STREAM t (k {name}, j BIGINT, n BIGINT);"
        f"SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k{also};"
    )
    keys = [*values, None, values[0]]

    def table(shift: int) -> Any:
        count = len(keys)
        columns = {
            "k": pa.array(keys, kind),
            "j": pa.array([n % 2 for n in range(count)]),
            "n": range(shift, shift + count),
        }
        return pa.table(columns)

    cell = Cell(plan)
    first = cell.step(Batch(0, (Chunk.of(plan, "s", 0, table(0)),)))
    second = cell.step(Batch(1, (Chunk.of(plan, "t", 0, table(100)),)))
    expected = [
        (i, 100 + j)
        for i, a in enumerate(keys)
        for j, b in enumerate(keys)
        if same(a, b) and (not composite or i % 2 == j % 2)
    ]
    assert rows_of(first) == []
    assert rows_of(second) == sorted(expected)


def test_minus_zero_equals_zero_and_integers_of_all_widths_compare() -> None:
    plan = plan_of(
        "CREATE STREAM s (k DOUBLE, i TINYINT, n BIGINT); CREATE STREAM t (k DOUBLE, i BIGINT, n BIGINT);"
        "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k AND s.i = t.i;"
    )
    cell = Cell(plan)
    left = pa.table({"k": [-0.0], "i": pa.array([-5], pa.int8()), "n": [1]})
    right = pa.table({"k": [0.0], "i": pa.array([-5], pa.int64()), "n": [2]})
    result = cell.step(Batch(0, (Chunk.of(plan, "s", 0, left), Chunk.of(plan, "t", 0, right))))
    assert rows_of(result) == [(1, 2)]


def test_payloads_of_nested_types_come_out_as_they_went_in() -> None:
    plan = plan_of(
        "CREATE STREAM s (k BIGINT, v ARRAY<STRUCT<a: INT, b: STRING>>, m MAP<STRING, INT>);"
        "CREATE STREAM t (k BIGINT, n BIGINT); SELECT s.v, s.m, t.n FROM s, t WHERE s.k = t.k;"
    )
    shape = pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())]))
    values = [[{"a": 1, "b": "x"}], None, []]
    maps: list[Any] = [[("q", 1)], [], None]
    left = pa.table(
        {"k": [1, 2, 3], "v": pa.array(values, shape), "m": pa.array(maps, pa.map_(pa.string(), pa.int32()))}
    )
    cell = Cell(plan)
    cell.step(Batch(0, (Chunk.of(plan, "s", 0, left),)))
    saved = cell.save()
    cell = Cell.restore(plan, saved.put)
    result = cell.step(Batch(1, (Chunk.of(plan, "t", 0, pa.table({"k": [3, 2, 1], "n": [30, 20, 10]})),)))
    found = {row["t_n"]: (row["s_v"], row["s_m"]) for row in result.rows.to_pylist()}
    assert found == {10: (values[0], maps[0]), 20: (None, []), 30: ([], None)}


def test_event_times_at_the_ends_of_the_range_do_not_wrap_round() -> None:
    plan = plan_of(
        "CREATE STREAM s (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 5 ON VIOLATION TRUST);"
        "CREATE STREAM t (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 5 ON VIOLATION TRUST);"
        "SELECT s.ts, t.ts AS tts FROM s, t WHERE s.k = t.k AND t.ts - s.ts BETWEEN -5 AND 5;"
    )
    low, high = -(2**63), 2**63 - 1
    cell = Cell(plan)
    rows = pa.table({"k": [1, 1, 1], "ts": [low, 0, high]})
    result = cell.step(Batch(0, (Chunk.of(plan, "s", 0, rows), Chunk.of(plan, "t", 0, rows))))
    assert rows_of(result) == [(low, low), (0, 0), (high, high)]


@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
def test_strings_and_wide_decimals_compare_in_order(op: str) -> None:
    plan = plan_of(
        "CREATE STREAM s (a STRING, d DECIMAL(30,2)); CREATE STREAM t (a STRING, d DECIMAL(30,2));"
        f"SELECT s.a, t.a AS ta FROM s, t WHERE s.a {op} t.a AND s.d {op} t.d;"
    )
    texts, numbers = ["", "a", "b"], [Decimal("-1"), Decimal("0"), Decimal(10) ** 20]
    rows = pa.table({"a": texts, "d": pa.array(numbers, pa.decimal128(30, 2))})
    cell = Cell(plan)
    result = cell.step(Batch(0, (Chunk.of(plan, "s", 0, rows), Chunk.of(plan, "t", 0, rows))))
    holds = {"<": str.__lt__, "<=": str.__le__, ">": str.__gt__, ">=": str.__ge__}[op]
    assert rows_of(result) == sorted((a, b) for a in texts for b in texts if holds(a, b))
