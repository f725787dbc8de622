"""Random whole queries run on the core, in random batches; the oracle is DuckDB over all rows at once.

Every query is drawn from the grammar; one that is refused must be refused in words, and only a small share is.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from penstock.analysis.check import check_query
from penstock.errors import PenstockError
from penstock.model.block_tree import blocks_below
from penstock.model.query import Query
from penstock.testing import Run
from tests.measure import each, seeds
from tests.whole_queries.grammar import COLUMNS, STREAMS, Drawn, Writer

SCHEMA = pa.schema([(name, pa.int64()) for name in COLUMNS])
ENOUGH = 40
"""Random cases of which most must run, and not be refused."""


def batches(draw: random.Random) -> list[dict[str, Any]]:
    """Rows of each stream, batch by batch, none more than 2 late; some batches leave a stream out."""
    found = []
    for number in range(draw.randint(1, 6)):
        tables = {}
        for stream in STREAMS:
            rows = [
                {
                    "id": draw.randint(0, 5),
                    "k": draw.choice((None, 0, 1, 2)),
                    "v": draw.choice((None, 0, 1, 2, 3)),
                    "ts": 2 * number + draw.randint(0, 2),
                }
                for _ in range(draw.randint(0, 5))
            ]
            if rows:
                tables[stream] = pa.Table.from_pylist(rows, schema=SCHEMA)
        found.append(tables)
    return found


def by_duckdb(
    drawn: Drawn, given: list[dict[str, Any]], tables: Mapping[str, pa.Table] | None = None
) -> Counter[tuple[Any, ...]]:
    """The answer over everything."""
    connection = duckdb.connect()
    for name, table in (tables or {}).items():
        connection.register(name, table)
    for stream in STREAMS:
        whole = pa.concat_tables([SCHEMA.empty_table(), *(batch[stream] for batch in given if stream in batch)])
        connection.register(stream, whole)
    *views, query = drawn.for_duckdb
    for view in views:
        connection.execute(view)
    rows = connection.execute(query).fetchall()
    connection.close()
    return Counter(map(as_row, rows))


def as_row(values: Iterable[Any]) -> tuple[Any, ...]:
    """A row that can be counted."""
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def read_by(query: Query) -> set[str]:
    """The streams that a query reads, below its blocks too."""
    blocks = [query, *(source.below for source in blocks_below(query) if isinstance(source.below, Query))]
    return {s.stream.name for block in blocks for s in block.all_sources if s.below is None}


def by_penstock(drawn: Drawn, given: list[dict[str, Any]], draw: random.Random) -> Counter[tuple[Any, ...]]:
    """What is emitted over all batches, with restarts."""
    run = Run(drawn.for_penstock, cells=draw.choice((1, 1, 2, 3)))
    streams = read_by(run.query)
    found: Counter[tuple[Any, ...]] = Counter()
    for step in [*given, None]:
        made = run.end() if step is None else run.step({name: step[name] for name in streams if name in step})
        found.update(as_row(row.values()) for row in made.rows.to_pylist())
        if draw.random() < 0.2:
            run.restart()
    return found


def compared(seed: int, depth: int) -> bool:
    """Whether the query of a seed was run, and not refused."""
    draw = random.Random(seed)
    drawn = Writer(draw, depth).script()
    given = batches(draw)
    try:
        found = by_penstock(drawn, given, draw)
    except PenstockError:
        return False
    assert found == by_duckdb(drawn, given), f"seed {seed}, depth {depth}\n{drawn.for_penstock}"
    return True


def left_over(seed: int, depth: int) -> int | None:
    """How many rows more than the newest a query holds once its streams have moved on; None if it need not let go.

    The newest row may stand in several sets of groups, each with its values: what a run holds that never saw another.
    """
    draw = random.Random(seed)
    drawn = Writer(draw, depth).script()
    given = batches(draw)
    try:
        run = Run(drawn.for_penstock, cells=draw.choice((1, 2)))
    except PenstockError:
        return None
    if check_query(run.query).verdict != "bounded":
        return None
    streams = read_by(run.query)
    for step in given:
        run.step({name: step[name] for name in streams if name in step})
    held, floor = moved_on(run, streams), moved_on(Run(drawn.for_penstock), streams)
    return max(0, sum(held.values()) - max(2 * len(held), sum(floor.values())))


def moved_on(run: Run, streams: set[str]) -> dict[str, int]:
    """What a run holds after a few rows that meet nothing before them, far later."""
    held: dict[str, int] = {}
    for later in range(1, 9):
        row = {"id": 100 + later, "k": 100 + later, "v": 1, "ts": 1000 * later}
        held = run.step({s: pa.Table.from_pylist([row], schema=SCHEMA) for s in streams}).metrics["state_tuples"]
    return held


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_what_is_bounded_falls_back_to_its_floor(depth: int) -> None:
    found = {seed: left_over(seed, depth) for seed in each(seeds(2000, 40, 1000))}
    assert {seed: left for seed, left in found.items() if left} == {}
    assert len(found) < ENOUGH or sum(left is not None for left in found.values()) > len(found) * 0.5


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_random_queries_give_what_duckdb_gives(depth: int) -> None:
    found = [compared(seed, depth) for seed in each(seeds(1000, 60, 3000))]
    assert len(found) < ENOUGH or sum(found) > len(found) * 0.6
