"""Declarations between streams and views, in each direction: what they close is not missing from the answer.

A query joins a stream or a view with another: filters, DISTINCT, groups, unions. One of them declares something of the
other. The oracle is DuckDB over all rows at once, which says too whether the rows keep the declaration: where they do,
nothing is missing and no violation is counted; where they do not, one is counted unless what it breaks was forgotten.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa

from penstock.errors import PenstockError
from penstock.testing import Run
from tests.measure import each, seeds
from tests.whole_queries.test_whole_queries import SCHEMA, as_row, batches

_COLUMNS = "id BIGINT, k BIGINT, v BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 2, CHECK (id IS NOT NULL)"
_ANSWERS = {
    "kept": "SELECT id, v, ts FROM {of} WHERE v > 0",
    "once": "SELECT DISTINCT id, v, ts FROM {of}",
    "groups": "SELECT id, max(v) AS v, window(ts, 3).end AS ts FROM {of} GROUP BY id, window(ts, 3)",
    "both": "SELECT id, v, ts FROM {of} UNION ALL SELECT id, k AS v, ts FROM {of} WHERE v = 1",
}
_IN_DUCKDB = {
    "groups": "SELECT id, max(v) AS v, ts - ts % 3 + 3 AS ts FROM {of} WHERE ts IS NOT NULL GROUP BY id, ts - ts % 3",
}


Found = tuple[bool, bool]
"""Whether the rows keep what is declared, and whether a run said so."""


def test_declarations_between_streams_and_views_leave_the_answer_whole_and_are_watched() -> None:
    found = [one for seed in each(seeds(5000, 60, 4000)) if (one := _compared(random.Random(seed), seed)) is not None]
    kept = [is_exact for is_kept, is_exact in found if is_kept]
    broken = [is_exact for is_kept, is_exact in found if not is_kept]
    assert all(kept)
    assert len(kept) > len(found) / 5
    assert not all(broken)


def _compared(draw: random.Random, seed: int) -> Found | None:
    """What a script gives; None if it is refused."""
    kinds = [draw.choice(("stream", *_ANSWERS)) for _ in range(2)]
    if kinds == ["stream", "stream"]:
        kinds[1] = "groups"
    made = {name: _ANSWERS[kind].format(of=of) for name, kind, of in _named(kinds)}
    checked = {name: _IN_DUCKDB.get(kind, _ANSWERS[kind]).format(of=of) for name, kind, of in _named(kinds)}
    names = ["x" if "x" in made else "a", "y" if "y" in made else "b"]
    declared, pairs = _declaration(draw, names)
    streams = [f"CREATE STREAM {s} ({_COLUMNS}{f', {declared}' if s == names[0] else ''});" for s in "ab"]
    views = [f"CREATE VIEW {v}{f' ({declared})' if v == names[0] else ''} AS {text};" for v, text in made.items()]
    draw.shuffle(views)
    near = draw.choice(("", "", " AND q.ts - p.ts BETWEEN -2 AND 4"))
    kind = draw.choice(("JOIN", "JOIN", "LEFT JOIN", "FULL JOIN"))
    query = f"SELECT p.id, p.v, p.ts, q.v AS w, q.ts AS u FROM {names[0]} p {kind} {names[1]} q ON p.id = q.id{near}"
    script = "\n".join((*streams, *views, f"{query};"))
    given = batches(draw)
    try:
        run = Run(script, cells=draw.choice((1, 1, 2, 3)))
        rows, is_exact = _ran(run, given, draw)
    except PenstockError:
        return None
    expected, is_kept = _by_duckdb(given, checked, query, pairs)
    if is_kept:
        assert rows == expected, f"seed {seed}\n{script}"
    return is_kept, is_exact


def _named(kinds: list[str]) -> list[tuple[str, str, str]]:
    return [(n, kind, of) for n, kind, of in zip("xy", kinds, "ab", strict=True) if kind != "stream"]


def _declaration(draw: random.Random, names: list[str]) -> tuple[str, str]:
    """What one declares of the other, and a query for what breaks it."""
    own, other = names
    low = draw.randint(-14, -2)
    high = low + draw.randint(6, 22)
    columns = draw.choice(("id", "id, v"))
    met = " AND ".join(f"p.{column} = q.{column}" for column in columns.split(", "))
    pairs = f"SELECT 1 FROM {own} p JOIN {other} q ON {met} WHERE "
    outside = f"q.ts - p.ts NOT BETWEEN {low} AND {high}"
    inside = f"{met} AND NOT ({outside})"
    alone = f"SELECT 1 FROM {own} p WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {other} q WHERE {inside})"
    return draw.choice(
        (
            (f"COOCCURS ({columns}) AND {other} ({columns}) WINDOW [{low}, {high}]", pairs + outside),
            (f"FOLLOWS {other} ({columns}) ON ({columns}) WITHIN {high}", pairs + f"q.ts - p.ts > {high}"),
            (f"FOREIGN KEY ({columns}) REFERENCES {other} ({columns}) WINDOW [{low}, {high}]", alone),
        )
    )


def _ran(run: Run, given: list[dict[str, Any]], draw: random.Random) -> tuple[Counter[tuple[Any, ...]], bool]:
    found: Counter[tuple[Any, ...]] = Counter()
    is_exact = True
    for step in [*given, None]:
        made = run.end() if step is None else run.step({name: step[name] for name in "ab" if name in step})
        found.update(as_row(row.values()) for row in made.rows.to_pylist())
        is_exact = is_exact and bool(made.metrics["exact"])
        if draw.random() < 0.2:
            run.restart()
    return found, is_exact


def _by_duckdb(
    given: list[dict[str, Any]], views: dict[str, str], query: str, breaks: str
) -> tuple[Counter[tuple[Any, ...]], bool]:
    """The answer over everything, and whether nothing breaks what is declared."""
    connection = duckdb.connect()
    for stream in "ab":
        read = [SCHEMA.empty_table(), *(batch[stream] for batch in given if stream in batch)]
        connection.register(stream, pa.concat_tables(read))
    for name, text in views.items():
        connection.execute(f"CREATE VIEW {name} AS {text}")
    rows = connection.execute(query).fetchall()
    is_kept = not connection.execute(breaks).fetchall()
    connection.close()
    return Counter(map(as_row, rows)), is_kept
