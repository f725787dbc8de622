"""What rows need of a constraint, against the definitions: loops over all pairs of rows, on random small streams.

Streams are written as a few files, some empty of data, in parquet or JSON; values repeat, fall and are NULL. Every
kind of constraint is asked of each. The k of a level is then found by trying k after k.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.model.script import Script
from penstock.model.stream import Arrival
from penstock.spark.profiling import ranks
from penstock.spark.profiling.distributions import answers, domains
from penstock.spark.profiling.needs import LEVELS, NOTHING_SEEN, Answer, NumberMeaning, Question
from penstock.spark.profiling.reading import arrived
from penstock.sql import parse_constraint
from tests.measure import size
from tests.spark.conftest import Bench

Row = dict[str, int | None]

SCRIPT = """
CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT, n BIGINT, kind BIGINT, EVENT TIME ts, ARRIVES BY n,
  PUNCTUATED ON (a) WHEN kind = 1)
  USING {format} OPTIONS (path '{data}/s', maxFilesPerTrigger '2') WHERE b IS NULL OR b < 9;
CREATE STREAM t (a BIGINT, b BIGINT, ts BIGINT, n BIGINT, kind BIGINT, EVENT TIME ts, ARRIVES BY n)
  USING {format} OPTIONS (path '{data}/t', maxFilesPerTrigger '1');
"""
SCHEMA = pa.schema([(name, pa.int64()) for name in ("a", "b", "ts", "n", "kind")])
REFERS = "FOREIGN KEY (a) REFERENCES t (a)"
ASKED: tuple[tuple[str, NumberMeaning, int | None], ...] = (
    ("ORDERED BY a ON s", NumberMeaning.ROWS, 2),
    ("ORDERED BY ts ON s", NumberMeaning.ROWS, None),
    ("ORDERED BY ts ON s", NumberMeaning.TICKS, 3),
    ("CLUSTERED BY a ON s", NumberMeaning.ROWS, 1),
    ("CLUSTERED BY b ON t", NumberMeaning.ROWS, None),
    ("PRIMARY KEY (a) ON t", NumberMeaning.BROKEN, 0),
    ("PRIMARY KEY (a, b) ON t", NumberMeaning.BROKEN, 0),
    ("CHECK (b > 2) ON s", NumberMeaning.BROKEN, 0),
    ("PUNCTUATED ON (a) WHEN kind = 1 ON s", NumberMeaning.BROKEN, 0),
    (f"{REFERS} ON s", NumberMeaning.BROKEN, 0),
    (f"{REFERS} WINDOW [-2, 1] ON s", NumberMeaning.BROKEN, 0),
    ("COOCCURS (a) AND t (a) WINDOW [-2, 3] ON s", NumberMeaning.BROKEN, 0),
    ("COOCCURS (a, b) AND t (a, b) ON s", NumberMeaning.BEFORE, None),
    ("COOCCURS (a) AND t (a) ON s", NumberMeaning.AFTER, None),
    ("FOLLOWS t (a) ON (a) ON s", NumberMeaning.TICKS, 2),
    ("FOLLOWS t (a) ON (a) ON s", NumberMeaning.ROWS, 3),
    ("FOLLOWS t (a, b) ON (a, b) ON s", NumberMeaning.ROWS, None),
)


@pytest.fixture
def few_rows(spark: SparkSession) -> Iterator[SparkSession]:
    """For streams so small that compiling a stage takes longer than running it."""
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    yield spark
    spark.conf.unset("spark.sql.codegen.wholeStage")


def test_needs_are_those_of_the_definitions(
    few_rows: SparkSession, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = 0
    for seed in range(size(1, 40)):
        chance = random.Random(seed)
        monkeypatch.setattr(ranks, "ROWS_A_STRETCH", 3 if seed == 0 else chance.choice([1, 3, 8, 100]))
        kind = "json" if seed % 3 == 1 else "parquet"
        home = Bench(bench.folder / str(seed))
        given = {name: _written(home, name, kind, chance) for name in ("s", "t")}
        script = penstock.parse(home.text(SCRIPT).replace("{format}", kind))
        streams = {stream.name: arrived(few_rows, stream, SCHEMA.names) for stream in script.streams}
        asked = list(_questions(script, chance))
        data = {
            name: _in_place([r for r in rows if name == "t" or r[0]["b"] is None or r[0]["b"] < 9])
            for name, rows in given.items()
        }
        for question, answer in zip(asked, answers(asked, streams), strict=True):
            assert answer == _expected(question, data), (seed, question)
            cases += 1
        for stream in streams.values():
            stream.forget()
        values = [r["a"] for r in data["t"] if r["a"] is not None]
        span = (min(values), max(values)) if values else (None, None)
        nulls = len(data["t"]) - len(values)
        assert domains(streams["t"], ["a"]) == {"a": (len(set(values)), nulls, *span)}
    print(f"{cases} cases")


def _questions(script: Script, chance: random.Random) -> Any:
    first = chance.random() < 0.5
    for (text, need, limit), by_arrival in itertools.product(ASKED, (False, True)):
        if by_arrival and not (text.startswith("FOLLOWS") and need is NumberMeaning.ROWS):
            continue
        stream, scheme = parse_constraint(text, script)
        yield Question(stream, scheme, need, script.stream("t"), by_arrival, first, limit)
    for stream in script.streams:
        assert stream.arrival is not None
        yield Question(stream, stream.arrival, NumberMeaning.BROKEN, limit=0)


def _written(home: Bench, stream: str, kind: str, chance: random.Random) -> list[tuple[Row, int]]:
    """Rows of some files, each with the number of its micro-batch."""
    found: list[tuple[Row, int]] = []
    ts = n = 0
    for file in range(chance.randint(1, 5)):
        rows = []
        for _ in range(chance.choice([1, 2, 5, 9])):
            ts += chance.choice([0, 1, 1, 2, -3])
            n += chance.choice([0, 1, 1, 2]) if chance.random() < 0.95 else -2
            row: Row = {
                "a": None if chance.random() < 0.1 else chance.randint(0, 5),
                "b": None if chance.random() < 0.1 else chance.randint(0, 10 if stream == "s" else 2),
                "ts": None if chance.random() < 0.05 else ts,
                "n": None if chance.random() < 0.03 else n,
                "kind": chance.choice([0, 0, 0, 1, None]) if stream == "s" else 0,
            }
            rows.append(row)
        if kind == "parquet":
            home.write(stream, rows, SCHEMA)
        else:
            home.write_text(stream, f"{file}.json", "".join(json.dumps(row) + "\n" for row in rows))
        found += [(row, file // 2 if stream == "s" else file) for row in rows]
    return found


def _in_place(rows: Sequence[tuple[Row, int]]) -> list[dict[str, Any]]:
    """The data rows, each with its number, its batch, its place of arrival, and what punctuations came before it."""
    found: list[dict[str, Any]] = []
    top, told = None, set[int | None]()
    for row, batch in rows:
        if row["kind"] == 1:
            told.add(row["a"])
            continue
        n = row["n"]
        fell = n is None or (top is not None and n < top)
        if n is not None and (top is None or n > top):
            top = n
        late = row["a"] is not None and row["a"] in told
        found.append({**row, "pos": len(found), "batch": batch, "top": top, "fell": fell, "late": late})
    return found


def _expected(question: Question, data: dict[str, list[dict[str, Any]]]) -> Answer:
    own = data[question.stream.name]
    found = [n for row in own if (n := _need(question, row, own, data["t"])) is not None]
    if not found:
        return NOTHING_SEEN
    ks, broken = [], []
    for level in LEVELS:
        k = next(k for k in sorted(set(found)) if sum(n <= k for n in found) * 1000 >= len(found) * level)
        ks.append(k)
        broken.append(sum(n > k for n in found))
    limit = question.limit
    return Answer(len(found), tuple(ks), tuple(broken), 0 if limit is None else sum(n > limit for n in found))


def _need(question: Question, s: dict[str, Any], own: list[dict[str, Any]], parent: list[dict[str, Any]]) -> Any:
    """By the definition, for one row: a loop over all others; None where it has no need."""
    scheme = question.constraint
    if isinstance(scheme, Arrival):
        return int(s["fell"])
    text, columns = scheme.text, scheme.own_columns
    before = own[: s["pos"]]
    agree: Callable[[dict[str, Any]], bool] = lambda r: all(r[c] == s[c] and s[c] is not None for c in columns)  # noqa: E731
    word = text.split()[0]
    if word == "ORDERED":
        (column,) = columns
        larger = [r for r in before if None not in (r[column], s[column]) and r[column] > s[column]]
        if question.need is NumberMeaning.ROWS:
            return max((s["pos"] - r["pos"] for r in larger), default=0)
        return max((r[column] - s[column] for r in larger), default=0)
    if word == "CLUSTERED":
        (column,) = columns
        same = [r for r in before if agree(r)]
        return max((sum(x[column] != s[column] for x in own[r["pos"] : s["pos"]]) for r in same), default=0)
    if word == "PRIMARY":
        repeats = any(all(r[c] == s[c] for c in columns) for r in before)
        return int(repeats or any(s[c] is None for c in columns))
    if word == "CHECK":
        return int(s["b"] is not None and s["b"] <= 2)
    if word == "PUNCTUATED":
        return int(s["late"])
    matches = [t for t in parent if agree(t)]
    if word == "FOLLOWS" and question.need is NumberMeaning.ROWS:
        return max((_join_distance(question, s, t, parent) for t in matches), default=0)
    apart = [t["ts"] - s["ts"] for t in matches if None not in (t["ts"], s["ts"])]
    if word == "FOREIGN":
        low, high = (-2, 1) if "WINDOW" in text else (None, None)
        there = bool(matches) if low is None else any(low <= d <= high for d in apart)
        return int(s["a"] is not None and not there)
    if question.need is NumberMeaning.BROKEN:
        return int(any(not -2 <= d <= 3 for d in apart))
    if question.need is NumberMeaning.TICKS:
        return max([0, *apart])
    if not apart:
        return None
    return -min(apart) if question.need is NumberMeaning.BEFORE else max(apart)


def _join_distance(question: Question, s: dict[str, Any], t: dict[str, Any], parent: list[dict[str, Any]]) -> int:
    """Rows of the parent that arrive after s, up to and with t."""

    def is_after(other: dict[str, Any]) -> bool:
        if not question.by_arrival:
            return bool(other["batch"] > s["batch"])
        low = -(10**9)
        mine, theirs = (low if row["top"] is None else row["top"] for row in (s, other))
        return bool(theirs > mine if question.parent_first else theirs >= mine)

    return sum(is_after(other) for other in parent[: t["pos"] + 1]) if is_after(t) else 0


@pytest.mark.thorough
def test_a_stream_without_rows_needs_nothing(spark: SparkSession, bench: Bench) -> None:
    for name in ("s", "t"):
        bench.write(name, [], SCHEMA)
    script = penstock.parse(bench.text(SCRIPT).replace("{format}", "parquet"))
    streams = {stream.name: arrived(spark, stream, SCHEMA.names) for stream in script.streams}
    asked = list(_questions(script, random.Random(0)))[::5]
    assert answers(asked, streams) == [NOTHING_SEEN] * len(asked)
    assert domains(streams["s"], ["a"]) == {"a": (0, 0, None, None)}
    assert answers([], streams) == []
