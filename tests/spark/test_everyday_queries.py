"""Everyday queries over streams give what Spark's batch engine gives on the same files: rows, names and types.

`everyday.sql` has them. Some run with the thorough tests, all of them at full size (PENSTOCK_MEASURE=full).
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock
from penstock.analysis.check import check_query
from tests.measure import FULL
from tests.spark.conftest import Bench

DECLARED, *_QUERIES = re.split(r"^-- (?=\w+$)", Path(__file__).with_name("everyday.sql").read_text(), flags=re.M)
QUERIES = {name: text.strip().rstrip(";") for name, _, text in (one.partition("\n") for one in _QUERIES)}
CHOSEN = """view_twice having_window_join in_grouped_window qualify_hidden2 qualify_view rownum_win_shown values_types
values_union_table pct_desc listagg_desc distinct_window natural intersect_hours cut_meets_time
struct_view top_joined""".split()  # noqa: SIM905 - a list would be a page
STREAMS, TABLES = ("orders", "payments", "clicks"), ("customers", "items")
START = datetime(2026, 1, 1, tzinfo=UTC)
FILES = 4
_MONEY, _TIME = pa.decimal128(10, 2), pa.timestamp("us", "UTC")
SCHEMAS = {
    "orders": pa.schema(
        [
            *(("id", pa.int64()), ("customer", pa.int64()), ("item", pa.string()), ("qty", pa.int32())),
            *(("price", _MONEY), ("status", pa.string()), ("tags", pa.list_(pa.string()))),
            ("addr", pa.struct([("city", pa.string()), ("zip", pa.string())])),
            *(("attrs", pa.map_(pa.string(), pa.string())), ("payload", pa.string()), ("day", pa.date32())),
            *(("local", pa.timestamp("us")), ("ts", _TIME)),
        ]
    ),
    "payments": pa.schema([("order_id", pa.int64()), ("amount", _MONEY), ("method", pa.string()), ("ts", _TIME)]),
    "clicks": pa.schema([("customer", pa.int64()), ("page", pa.string()), ("ms", pa.int64()), ("ts", _TIME)]),
    "customers": pa.schema(
        [
            *(("id", pa.int64()), ("name", pa.string()), ("country", pa.string())),
            *(("vip", pa.bool_()), ("since", pa.date32())),
        ]
    ),
    "items": pa.schema([("item", pa.string()), ("category", pa.string()), ("cost", _MONEY)]),
}


def write(bench: Bench, draw: random.Random) -> None:
    """Some files of each stream, ten minutes of rows each, and the tables."""
    bench.write(
        "customers",
        [{"id": n, "name": f"n{n}", "vip": (None, True, False)[n % 3]} for n in (1, 2, 3)],
        SCHEMAS["customers"],
    )
    items = (("apple", "food", 3), ("bread", "food", 25), ("acorn", None, 1), (None, "home", 2))
    bench.write("items", [{"item": i, "category": c, "cost": Decimal(v)} for i, c, v in items], SCHEMAS["items"])
    for file in range(FILES):
        last = 12 * (file + 1)
        for name, rows in (
            ("orders", [_order(draw, n, _time(draw, file)) for n in range(last - 11, last + 1)]),
            ("payments", [_payment(draw, last, _time(draw, file)) for _ in range(12)]),
            ("clicks", [_click(draw, _time(draw, file)) for _ in range(16)]),
        ):
            bench.write(name, sorted(rows, key=lambda row: row["ts"]), SCHEMAS[name])


def _time(draw: random.Random, file: int) -> datetime:
    return START + timedelta(seconds=600 * file + draw.randint(0, 620), milliseconds=draw.choice((0, 0, 500)))


def _maybe(draw: random.Random, value: Any) -> Any:
    return None if draw.random() < 0.1 else value


def _price(draw: random.Random) -> Decimal | None:
    price: Decimal | None = _maybe(draw, Decimal(draw.randint(100, 9000)) / 100)
    return price


def _order(draw: random.Random, number: int, ts: datetime) -> dict[str, Any]:
    return {
        "id": max(1, number - (draw.random() < 0.15)),
        "customer": _maybe(draw, draw.randint(1, 4)),
        "item": _maybe(draw, draw.choice(("apple", "bread", "acorn", "milk"))),
        "qty": _maybe(draw, draw.randint(1, 4)),
        "price": _price(draw),
        "status": draw.choice(("paid", "new", "void", None)),
        "tags": draw.choice(([], ["a", "x"], ["home"], None, ["ab", "cart", "x"])),
        "addr": draw.choice((None, {"city": "home", "zip": "100"}, {"city": "cart", "zip": None})),
        "attrs": draw.choice(([], [("color", "red")], None)),
        "payload": draw.choice(('{"k": 1, "s": "z"}', '{"k": 2}', "no", None)),
        "day": _maybe(draw, date(2025, 12, draw.randint(1, 31))),
        "local": _maybe(draw, (ts + timedelta(hours=1)).replace(tzinfo=None)),
        "ts": ts,
    }


def _payment(draw: random.Random, last: int, ts: datetime) -> dict[str, Any]:
    order = _maybe(draw, draw.randint(max(1, last - 14), last))
    return {"order_id": order, "amount": _price(draw), "method": draw.choice(("card", "a1", "bank", None)), "ts": ts}


def _click(draw: random.Random, ts: datetime) -> dict[str, Any]:
    page = draw.choice(("home", "cart", "food", None))
    return {"customer": draw.randint(1, 4), "page": page, "ms": _maybe(draw, draw.randint(1, 99)), "ts": ts}


def test_all_of_them_are_in_the_language() -> None:
    for text in QUERIES.values():
        (query,) = penstock.parse(f"{_reading(DECLARED)};\n{text};", own_functions=()).queries
        assert check_query(query).verdict in ("bounded", "undecided"), text


@pytest.mark.thorough
@pytest.mark.parametrize("name", QUERIES if FULL else CHOSEN)
def test_an_everyday_query_gives_what_sparks_batch_engine_gives(bench: Bench, spark: SparkSession, name: str) -> None:
    write(bench, random.Random(name))
    for table in (*STREAMS, *TABLES):
        spark.read.parquet(str(bench.folder / "data" / table)).createOrReplaceTempView(table)
    *views, query = (part.strip() for part in QUERIES[name].split(";"))
    for view in views:
        spark.sql(view.replace("CREATE VIEW", "CREATE OR REPLACE TEMP VIEW", 1))
    wanted = spark.sql(query)
    script = ";\n".join([_reading(DECLARED), *views, _SINK + query, ""])
    ran = bench.run(script, final=True)
    assert ran.code == 0, ran.err
    found = spark.read.parquet(str(bench.folder / "out"))
    assert found.dtypes == wanted.dtypes
    assert _bag(found) == _bag(wanted)


_SINK = "CREATE SINK out USING parquet OPTIONS (path '{out}');\nINSERT INTO out "


def _reading(declared: str) -> str:
    """The declarations, each with where its files lie."""
    for stream in STREAMS:
        read = f"USING parquet OPTIONS (path '{{data}}/{stream}', maxFilesPerTrigger '1')"
        declared = declared.replace(f"{{{stream}}}", read)
    for table in TABLES:
        declared = declared.replace(f"{{{table}}}", f"USING parquet OPTIONS (path '{{data}}/{table}')")
    return declared.strip().rstrip(";")


def _bag(frame: DataFrame) -> Counter[Any]:
    return Counter(_plain(tuple(row)) for row in frame.collect())


def _plain(value: Any) -> Any:
    """A value that can be compared: of floating point numbers the digits that the order of adding does not change."""
    match value:
        case float():
            return round(value, 9)
        case dict():
            return tuple(sorted((key, _plain(inner)) for key, inner in value.items()))
        case Iterable() if not isinstance(value, str | bytes):
            return tuple(map(_plain, value))
        case _:
            return value
