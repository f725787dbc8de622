"""Values as a person reads them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.runtime.columns.readable import rows_read, value_read

NOON = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("scalar", "read"),
    [
        (pa.scalar(None, pa.int64()), "NULL"),
        (pa.scalar(-7), "-7"),
        (pa.scalar(True), "true"),
        (pa.scalar(1.5), "1.5"),
        (pa.scalar(Decimal("1.50")), "1.50"),
        (pa.scalar("it's"), "'it''s'"),
        (pa.scalar(b"\x00\xff"), "X'00FF'"),
        (pa.array([b"a\xff"]).view(pa.string())[0], "'a\\xff'"),
        (pa.scalar(NOON, pa.timestamp("us", "UTC")), "2024-05-01 12:00:00 UTC"),
        (pa.scalar(1_500_000, pa.timestamp("us")), "1970-01-01 00:00:01.5"),
        (pa.scalar(-(2**63), pa.timestamp("us", "UTC")), f"{-(2**63)} us since 1970"),
        (pa.scalar(NOON.date()), "2024-05-01"),
        (pa.scalar(dt.timedelta(minutes=2)), "120 SECONDS"),
        (pa.scalar([1, None], pa.list_(pa.int64())), "[1, NULL]"),
        (pa.scalar({"a": "x", "b": None}), "{a: 'x', b: NULL}"),
        (pa.scalar("x" * 500), "'" + "x" * 98 + "…"),
    ],
)
def test_a_value_is_written_as_sql_writes_it(scalar: Any, read: str) -> None:
    assert value_read(scalar) == read


def test_a_row_names_its_columns() -> None:
    assert list(rows_read(pa.table({"k": [1, None], "s": ["x", "y"]}))) == ["k = 1, s = 'x'", "k = NULL, s = 'y'"]
