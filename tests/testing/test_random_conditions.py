"""Random conditions over several streams, in the core, against DuckDB on the full history.

A case is a join of two or three streams (inner, left, right, full, EXISTS, NOT EXISTS), plain, DISTINCT or grouped,
with conditions from a small grammar: comparisons, `<>`, `<=>`, AND, OR, NOT, IN, BETWEEN, CASE, coalesce, arithmetic,
in ON and in WHERE. Its rows come in random batches, to one cell or to several; at the end of the streams all that the
batches gave must be the answer, as a bag.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from penstock.testing import Run

_STREAMS = ("a", "b", "c")
_SCRIPT = "".join(f"CREATE STREAM {s} (k BIGINT, x INT, y BIGINT, f BOOLEAN, t STRING);\n" for s in _STREAMS)
_SCHEMA = pa.schema([("k", pa.int64()), ("x", pa.int32()), ("y", pa.int64()), ("f", pa.bool_()), ("t", pa.string())])


class _Draw:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def one_of(self, *choices: str) -> str:
        return self.chance.choice(choices)

    def number(self, aliases: tuple[str, ...], depth: int = 0) -> str:
        alias = self.chance.choice(aliases)
        if depth > 1 or self.chance.random() < 0.5:
            return self.one_of(f"{alias}.x", f"{alias}.y", f"{alias}.k", str(self.chance.randint(-2, 4)))
        one, other = (self.number(aliases, depth + 1) for _ in range(2))
        condition = self.condition(aliases, depth + 1)
        return self.one_of(
            f"({one} + {other})",
            f"({one} - {other})",
            f"({one} * {other})",
            f"abs({one})",
            f"coalesce({one}, {other})",
            f"(CASE WHEN {condition} THEN {one} ELSE {other} END)",
            f"nullif({one}, {other})",
        )

    def condition(self, aliases: tuple[str, ...], depth: int = 0) -> str:
        kind = self.chance.random()
        if depth > 2 or kind < 0.45:
            one, other = (self.number(aliases, depth + 1) for _ in range(2))
            op = self.one_of("<>", "<>", "<", "<=", ">", "=", "<=>")
            return f"{one} {op} {other}"
        if kind < 0.6:
            alias, other = (self.chance.choice(aliases) for _ in range(2))
            return self.one_of(
                f"{alias}.t <> {other}.t",
                f"{alias}.f",
                f"{alias}.t IS NULL",
                f"{alias}.f = {other}.f",
                f"{alias}.t || {other}.t = 'ab'",
                f"{alias}.x IN (1, {other}.y, 3)",
                f"{alias}.x NOT IN ({other}.x, 2)",
                f"{alias}.x BETWEEN {other}.x AND {other}.y",
            )
        inner = [self.condition(aliases, depth + 1) for _ in range(2)]
        return self.one_of(f"({inner[0]} OR {inner[1]})", f"({inner[0]} AND {inner[1]})", f"NOT ({inner[0]})")

    def conditions(self, aliases: tuple[str, ...]) -> str:
        keys = [f"{one}.k = {other}.k" for one, other in pairwise(aliases)]
        found = keys if self.chance.random() < 0.7 else []
        found = found + [self.condition(aliases) for _ in range(self.chance.randint(0 if found else 1, 2))]
        return " AND ".join(f"({c})" for c in found)

    def query(self) -> str:
        kind = self.chance.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "EXISTS", "NOT EXISTS", "three"))
        shown: tuple[str, ...] = ("a", "b")
        where = ""
        if kind == "three":
            outer = self.one_of("JOIN", "LEFT JOIN", "FULL JOIN")
            source = f"a JOIN b ON {self.conditions(('a', 'b'))} {outer} c ON {self.conditions(('a', 'b', 'c'))}"
            shown = _STREAMS
        elif "EXISTS" in kind:
            source, shown = "a", ("a",)
            where = f" WHERE {kind} (SELECT 1 FROM b WHERE b.k = a.k AND {self.condition(('a', 'b'))})"
        else:
            source = f"a {kind} b ON {self.conditions(('a', 'b'))}"
            if self.chance.random() < 0.4:
                where = f" WHERE {self.condition(('a', 'b'))}"
        columns = ", ".join(f"{s}.{c} AS {s}{c}" for s in shown for c in ("k", "x", "t"))
        form = self.chance.random()
        if form < 0.15:
            return f"SELECT DISTINCT {shown[0]}.k AS k, {shown[-1]}.x AS x FROM {source}{where}"
        if form < 0.35:
            grouped = f"{shown[0]}.k AS k, count(*) AS n, sum({shown[-1]}.x) AS s, max({shown[0]}.y) AS m"
            return f"SELECT {grouped} FROM {source}{where} GROUP BY {shown[0]}.k"
        return f"SELECT {columns} FROM {source}{where}"

    def rows(self) -> list[dict[str, Any]]:
        def some(*values: Any) -> Any:
            return self.chance.choice(values)

        return [
            {
                "k": some(None, 1, 1, 2, 3),
                "x": some(None, 0, 1, 2, 3),
                "y": some(None, -1, 1, 2, 3),
                "f": some(None, True, False),
                "t": some(None, "a", "b", ""),
            }
            for _ in range(self.chance.randint(0, 7))
        ]


def _duck(text: str) -> str:
    return text.replace("<=>", "IS NOT DISTINCT FROM")


def _bag(rows: list[dict[Any, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in rows)


def _check(seed: int) -> None:
    draw = _Draw(seed)
    query = draw.query()
    rows = {stream: draw.rows() for stream in _STREAMS}
    run = Run(_SCRIPT + query + ";", cells=draw.chance.choice((1, 3)))
    read = [s for s in _STREAMS if f"{s}." in query]
    pieces: list[dict[str, Any]] = [{} for _ in range(3)]
    for stream in read:
        cuts = sorted(draw.chance.randint(0, len(rows[stream])) for _ in range(2))
        for number, (begin, end) in enumerate(zip([0, *cuts], [*cuts, len(rows[stream])], strict=True)):
            pieces[number][stream] = pa.Table.from_pylist(rows[stream][begin:end], schema=_SCHEMA)
    steps = [run.step(piece).rows.to_pylist() for piece in pieces]
    if draw.chance.random() < 0.3:
        run.restart()
    steps.append(run.end().rows.to_pylist())
    base = duckdb.connect()
    for stream in _STREAMS:
        base.register(stream, pa.Table.from_pylist(rows[stream], schema=_SCHEMA))
    expected = [dict(enumerate(row)) for row in base.execute(_duck(query)).fetchall()]
    if "GROUP BY" in query:
        # Of a group that changes the last row counts.
        last = {row["k"]: row for step in steps for row in step}
        given = list(last.values())
    else:
        given = [row for step in steps for row in step]
    assert _bag(given) == _bag(expected), f"seed {seed}: {query}\n{rows}"


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_random_conditions_give_what_duckdb_gives(first: int) -> None:
    for seed in range(first, first + 50):
        _check(seed)


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(1000, 5000, 250))
def test_many_random_conditions_give_what_duckdb_gives(first: int) -> None:
    for seed in range(first, first + 250):
        _check(seed)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.k, a.x FROM a WHERE a.x + a.y IN (SELECT b.x * 2 FROM b)",
        "SELECT a.k, a.x FROM a WHERE coalesce(a.t, 'none') IN (SELECT b.t || '' FROM b WHERE b.t IS NOT NULL)",
        "SELECT p.s FROM (SELECT x + y AS s FROM a) AS p JOIN (SELECT x * 2 AS s FROM b) AS q USING (s)",
        "SELECT p.s FROM (SELECT x + y AS s FROM a) AS p JOIN (SELECT x * 2 AS s FROM b) AS q ON p.s <> q.s",
    ],
)
def test_expressions_of_queries_within_queries_are_compared(query: str) -> None:
    draw = _Draw(3)
    rows = {stream: [*draw.rows(), *draw.rows(), *draw.rows()] for stream in _STREAMS}
    run = Run(_SCRIPT + query + ";")
    tables = {s: pa.Table.from_pylist(rows[s], schema=_SCHEMA) for s in ("a", "b")}
    given = [*run.step(tables).rows.to_pylist(), *run.end().rows.to_pylist()]
    base = duckdb.connect()
    for stream in _STREAMS:
        base.register(stream, pa.Table.from_pylist(rows[stream], schema=_SCHEMA))
    expected = [dict(enumerate(row)) for row in base.execute(query).fetchall()]
    assert _bag(given) == _bag(expected)
    assert expected


def test_an_expression_that_has_a_value_where_its_stream_is_absent_is_no_column_of_it() -> None:
    run = Run(_SCRIPT + "SELECT b.x AS x FROM a RIGHT JOIN b ON a.k = b.k WHERE b.x = coalesce(a.y, 1);")
    row = {"k": 1, "x": 1, "y": 2, "f": None, "t": "a"}
    run.step({"b": pa.Table.from_pylist([row], schema=_SCHEMA)})
    assert run.end().rows.to_pylist() == [{"x": 1}]


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("x < 99999999999999999999", 1),
        ("x = 99999999999999999999", 0),
        ("x > -99999999999999999999", 1),
        ("x IN (99999999999999999999, 1)", 1),
        ("x NOT IN (99999999999999999999)", 1),
    ],
)
def test_numbers_beyond_every_column_are_compared_as_what_they_are(condition: str, kept: int) -> None:
    run = Run(_SCRIPT + f"SELECT x FROM b WHERE {condition};")
    row = {"k": 1, "x": 1, "y": 2, "f": None, "t": "a"}
    assert run.step({"b": pa.Table.from_pylist([row], schema=_SCHEMA)}).rows.num_rows == kept
