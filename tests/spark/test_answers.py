"""What a query writes is what the slow reference says, whatever its streams, keys and filters.

Many queries over the same small streams run in one script, each into a sink of its own; the script runs with several
numbers of cells and of files a trigger, and the answer must not depend on either.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.measure import FULL
from tests.spark.conftest import Bench
from tests.spark.oracle import Bag, joined, same

START = datetime(2024, 3, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        ("n", pa.int64()),
        ("a", pa.int64()),
        ("b", pa.int32()),
        ("k", pa.string()),
        ("raw", pa.binary()),
        ("day", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("price", pa.decimal128(9, 2)),
        ("wide", pa.decimal128(30, 4)),
        ("v", pa.float64()),
    ]
)
STREAM = """
CREATE STREAM {name} (
  n BIGINT, a BIGINT, b INT, k STRING, raw BINARY, day DATE, ts TIMESTAMP, price DECIMAL(9,2), wide DECIMAL(30,4),
  v DOUBLE, twice BIGINT AS (a * 2), EVENT TIME ts
) USING parquet OPTIONS (path '{data}/{folder}'{options}) {where};
"""
FILES = 3
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Question:
    """A query, and the same in Python."""

    name: str
    select: str
    streams: str
    where: Callable[..., bool | None]
    output: Callable[..., tuple[Any, ...]]
    distinct: bool = False

    def answer(self, data: dict[str, Rows]) -> Bag:
        found = joined([data[s] for s in self.streams], self.where, self.output)
        return type(found)(dict.fromkeys(found, 1)) if self.distinct else found


def numbers(*rows: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row["n"] for row in rows)


def on(column: str) -> Callable[..., bool]:
    return lambda *rows: same(*(row[column] for row in rows))


def key_query(column: str) -> Question:
    sql = f"SELECT s.n, t.n AS m, s.{column} FROM s, t WHERE s.{column} = t.{column}"
    return Question(f"by_{column}", sql, "st", on(column), lambda s, t: (s["n"], t["n"], s[column]))


SECONDS = timedelta(seconds=1)
KEYS = ("k", "day", "wide", *(("raw", "ts", "price") if FULL else ()))
"""The core joins on every type in the suite."""
QUESTIONS = [
    *(key_query(column) for column in KEYS),
    Question(
        "three", "SELECT s.n, t.n AS m, u.n AS o FROM s, t, u WHERE s.a = t.a AND t.a = u.a", "stu", on("a"), numbers
    ),
    Question(
        "four_by_two_keys",
        "SELECT s.n, t.n AS m, u.n AS o, w.n AS p FROM s, t, u, w WHERE s.a = t.a AND s.b = u.b AND u.k = w.k",
        "stuw",
        lambda s, t, u, w: same(s["a"], t["a"]) and same(s["b"], u["b"]) and same(u["k"], w["k"]),
        numbers,
    ),
    Question(
        "composite",
        "SELECT s.n, t.n AS m FROM s JOIN t ON s.a = t.b AND s.k = t.k",
        "st",
        lambda s, t: same(s["a"], t["b"]) and same(s["k"], t["k"]),
        numbers,
    ),
    Question(
        "self_join_with_filters",
        "SELECT x.n, y.n AS m, x.a + y.b AS sum, concat(x.k, '/', y.k) AS both FROM s AS x, s AS y "
        "WHERE x.a = y.a AND (x.b % 2 = 0 OR x.k = 'p') AND length(y.k) = 1 AND x.n < y.n",
        "ss",
        lambda x, y: (
            same(x["a"], y["a"])
            and ((x["b"] is not None and x["b"] % 2 == 0) or x["k"] == "p")
            and y["k"] is not None
            and x["n"] < y["n"]
        ),
        lambda x, y: (
            x["n"],
            y["n"],
            None if None in (x["a"], y["b"]) else x["a"] + y["b"],
            None if None in (x["k"], y["k"]) else f"{x['k']}/{y['k']}",
        ),
    ),
    Question(
        "derived",
        "SELECT s.n, f.n AS m, f.twice FROM s, f WHERE s.a = f.twice",
        "sf",
        lambda s, f: s["a"] is not None and f["a"] is not None and s["a"] == f["a"] * 2,
        lambda s, f: (s["n"], f["n"], f["a"] * 2),
    ),
    Question(
        "cross_product",
        "SELECT s.n, t.n AS m FROM s, t WHERE s.n < 6 AND t.n < 6 AND s.b < t.b",
        "st",
        lambda s, t: s["n"] < 6 and t["n"] < 6 and s["b"] < t["b"],
        numbers,
    ),
    Question(
        "band",
        "SELECT s.n, t.n AS m FROM s, t WHERE s.b = t.b "
        "AND t.ts - s.ts BETWEEN INTERVAL '-2' SECOND AND INTERVAL 5 SECONDS",
        "st",
        lambda s, t: same(s["b"], t["b"]) and -2 * SECONDS <= t["ts"] - s["ts"] <= 5 * SECONDS,
        numbers,
    ),
    Question(
        "range_windows",
        "SELECT s.n, t.n AS m, u.n AS o FROM s [RANGE 8 SECONDS], t, u [RANGE 3 SECONDS] WHERE s.b = t.b AND t.b = u.b",
        "stu",
        lambda s, t, u: (
            same(s["b"], t["b"], u["b"])
            and s["ts"] > max(s["ts"], t["ts"], u["ts"]) - 8 * SECONDS
            and u["ts"] > max(s["ts"], t["ts"], u["ts"]) - 3 * SECONDS
        ),
        numbers,
    ),
    Question(
        "each_once",
        "SELECT DISTINCT s.k, t.b, s.v FROM s, t WHERE s.a = t.a",
        "st",
        on("a"),
        lambda s, t: (s["k"], t["b"], s["v"]),
        distinct=True,
    ),
    Question(
        "evaluated_once",
        "SELECT DISTINCT s.b + t.b AS total, array(s.k, t.k) AS names, named_struct('v', s.v) AS kept FROM s, t "
        "WHERE s.a = t.a",
        "st",
        on("a"),
        lambda s, t: (
            None if None in (s["b"], t["b"]) else s["b"] + t["b"],
            [s["k"], t["k"]],
            {"v": s["v"]},
        ),
        distinct=True,
    ),
    Question(
        "one_stream",
        "SELECT s.n, s.v FROM s WHERE s.b >= 2",
        "s",
        lambda s: s["b"] is not None and s["b"] >= 2,
        lambda s: (s["n"], s["v"]),
    ),
]


def some_rows(seed: int, count: int) -> Rows:
    rng = random.Random(seed)

    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.08 else value

    return [
        {
            "n": n,
            "a": maybe(rng.randrange(4)),
            "b": maybe(rng.randrange(4)),
            "k": maybe(rng.choice("pqrs")),
            "raw": maybe(rng.choice([b"", b"\x00", b"\x00\xff", b"p"])),
            "day": maybe(date(2024, 3, 1 + rng.randrange(4))),
            "ts": maybe(START + timedelta(seconds=rng.randrange(12))),
            "price": maybe(Decimal(rng.randrange(-2, 2)) / 4),
            "wide": maybe(Decimal(rng.randrange(-2, 2)) * 10**22 + Decimal("0.5")),
            "v": maybe(rng.choice([0.5, float("nan"), float("inf"), -0.0])),
        }
        for n in range(count)
    ]


def write_streams(bench: Bench) -> dict[str, Rows]:
    data = {name: some_rows(seed, 18) for seed, name in enumerate("stuw")}
    for part in range(FILES):
        for name, rows in data.items():
            size = len(rows) // FILES
            bench.write(name, rows[part * size : (part + 1) * size], SCHEMA)
    # f is s seen through a WHERE.
    return {**data, "f": [row for row in data["s"] if row["b"] is not None and row["b"] > 0]}


def script_of(questions: list[Question], files: int | None) -> str:
    options = "" if files is None else f", maxFilesPerTrigger '{files}'"
    parts = []
    for name in "stuwf":
        folder, where = ("s", "WHERE b > 0") if name == "f" else (name, "")
        values = {"name": name, "folder": folder, "where": where, "options": options}
        text = STREAM
        for key, value in values.items():
            text = text.replace("{" + key + "}", value)
        parts.append(text)
    for question in questions:
        parts.append(f"CREATE SINK {question.name} USING parquet OPTIONS (path '{{out}}/{question.name}');")
        parts.append(f"INSERT INTO {question.name} {question.select};")
    return "\n".join(parts)


GROUPS = [QUESTIONS[start : start + 4] for start in range(0, len(QUESTIONS), 4)]
"""Queries that run side by side: more would starve each other on two cores."""


WAYS = [("2", 1), ("5", None)]
RUNS = [
    pytest.param(group, *way, marks=pytest.mark.thorough if n > 1 and not FULL else ())
    for n, group in enumerate(GROUPS)
    for m, way in enumerate(WAYS)
    if FULL or (n + m) % 2 == 0
]


@pytest.mark.measure
@pytest.mark.parametrize(
    ("questions", "cells", "files"), RUNS, ids=lambda v: v[0].name if isinstance(v, list) else None
)
def test_answers_are_those_of_the_slow_reference(
    bench: Bench, questions: list[Question], cells: str, files: int | None
) -> None:
    """Every group both ways in full size; in the suite, one way each."""
    data = write_streams(bench)
    ran = bench.run(script_of(questions, files), conf={"penstock.cells": cells})
    assert ran.code == 0, ran.err
    for question in questions:
        expected = question.answer(data)
        found = bench.sink(question.name)
        assert found == expected, (question.name, found - expected, expected - found)
        out = sum(line["rows_out"] for line in ran.batches if line["query"] == question.name)
        assert out == expected.total(), question.name
        assert expected, f"{question.name} asks nothing of the engine"
