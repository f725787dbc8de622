"""Headers against loops over the rows: what a column reached, where it climbed, who was late and by how much."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.input.headers import Header, header_of, plain, read_header, spell, unplain
from tests.runtime.driving import plan_of

IN_ROWS = """CREATE STREAM s (k BIGINT, a BIGINT, ORDERED BY a WITHIN 2 ROWS);
CREATE STREAM t (k BIGINT, a BIGINT, ORDERED BY a WITHIN 2 ROWS);
SELECT s.k FROM s, t WHERE s.k = t.k AND s.a = t.a;"""
IN_TIME = """CREATE STREAM s (k BIGINT, a BIGINT, EVENT TIME a, ORDERED BY a WITHIN 3);
CREATE STREAM t (k BIGINT, a BIGINT, EVENT TIME a, ORDERED BY a);
SELECT s.k FROM s, t WHERE s.k = t.k AND s.a = t.a;"""
LEARNED = IN_ROWS.replace(
    "s (k BIGINT, a BIGINT, ORDERED BY a WITHIN 2 ROWS)", "s (k BIGINT, a BIGINT, ORDERED BY a WITHIN AUTO)"
)


def header(script: str, values: list[int | None]) -> Header:
    column = pa.array(values, pa.int64())
    return header_of(plan_of(script), "s", 4, pa.table({"k": column, "a": column}))


VALUES = st.lists(st.none() | st.integers(-9, 9), max_size=25)


@given(VALUES)
def test_the_largest_and_the_late_of_a_chunk_by_rows(values: list[int | None]) -> None:
    found = header(IN_ROWS, values)
    known = [v for v in values if v is not None]
    assert found.rows == len(values)
    assert found.maxima == ({"a": max(known)} if known else {})
    late = {}
    for n, value in enumerate(values):
        higher = [m for m in range(n) if value is not None and values[m] is not None and values[m] > value]  # type: ignore[operator]
        if higher and n - higher[0] > 2:
            late[n] = n - higher[0]
    told = [dict(zip(one.index, one.needed, strict=True)) for one in found.late.values()]
    assert told == ([late] if late else [])


@given(VALUES)
def test_the_late_of_a_chunk_by_time(values: list[int | None]) -> None:
    found = header(IN_TIME, values)
    late, top = {}, None
    for n, value in enumerate(values):
        if value is not None:
            top = value if top is None else max(top, value)
            if top - value > 3:
                late[n] = top - value
    told = [dict(zip(one.index, one.needed, strict=True)) for one in found.late.values()]
    assert told == ([late] if late else [])


@given(VALUES)
def test_climbs_tell_the_largest_before_each_of_the_last_rows(values: list[int | None]) -> None:
    found = header(IN_ROWS, values)
    if not found.climbs:
        assert all(value is None for value in values)
        return
    climbs = found.climbs["a"].told()
    assert climbs == sorted(climbs)
    for n in range(max(0, len(values) - 2), len(values)):
        before = [v for v in values[: n + 1] if v is not None]
        told = [value for value, row in climbs if row <= n]
        assert (max(told) if told else None) == (max(before) if before else None)


@given(VALUES)
def test_what_is_learned_is_what_the_rows_need_among_themselves(values: list[int | None]) -> None:
    found = header(LEARNED, values)
    needed = 0
    for n, value in enumerate(values):
        higher = [m for m in range(n) if value is not None and values[m] is not None and values[m] > value]  # type: ignore[operator]
        needed = max(needed, n - higher[0] if higher else 0)
    assert max(found.swings.values(), default=0) == needed


@given(st.sampled_from([IN_ROWS, IN_TIME, LEARNED]), VALUES)
def test_a_header_travels_whole(script: str, values: list[int | None]) -> None:
    sent = replace(header(script, values), by_cell=(3, 0), by_key={"s": (1, 2)})
    assert read_header("s", 4, spell(sent)) == sent


def test_no_rows_tell_nothing() -> None:
    assert header(IN_ROWS, []) == Header("s", 4, 0)


@pytest.mark.parametrize("value", [3, "é", b"\x00\xff", Decimal("12345678901234567890.5")])
def test_ordinals_of_every_kind_travel(value: object) -> None:
    assert unplain(plain(value)) == value  # type: ignore[arg-type]
