"""[ROWS n] and [RANGE d] in blocks below others, and a BUDGET above blocks, over random queries and batches.

What windows leave of a join depends on how rows arrive, so the block below is run alone too, on the same batches; what
it gives is then the stream of the query above, which DuckDB answers. Under a BUDGET the answer holds nothing that
DuckDB's does not, and the block that has it never holds more; with room enough it is the same.
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
from tests.whole_queries.grammar import DECLARED, STREAMS, Drawn, Writer
from tests.whole_queries.test_whole_queries import ENOUGH, SCHEMA, as_row, batches, by_duckdb, read_by

PLENTY = 10**6
ABOVE = (
    "SELECT z.k, z.ts, z.v, c.id FROM low z JOIN c ON z.k = c.k AND c.ts - z.ts BETWEEN -1 AND 2",
    "SELECT z.k, z.ts, z.v, c.id FROM low z LEFT JOIN c ON z.k = c.k AND c.ts - z.ts BETWEEN -1 AND 2",
    "SELECT DISTINCT z.k, z.ts FROM low z",
    "SELECT z.k, z.ts, z.v FROM low z WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.k = z.k AND c.ts = z.ts)",
    "SELECT z.k, z.ts, z.v FROM low z WHERE z.k IN (SELECT c.k FROM c WHERE c.ts = z.ts)",
)
BANDS = ("y.ts - x.ts BETWEEN -1 AND 2", "y.ts = x.ts", "y.ts >= x.ts AND y.ts <= x.ts + 2")


def windowed(draw: random.Random) -> str:
    """A query whose streams have windows."""

    def window() -> str:
        rows, span = draw.randint(1, 4), draw.randint(1, 4)
        return draw.choice((f" [ROWS {rows}]", f" [ROWS {rows}]", f" [RANGE {span}]", ""))

    one, other = draw.choice(STREAMS), draw.choice(STREAMS)
    kind = draw.choice(("JOIN", "JOIN", "LEFT JOIN"))
    joined = f"{one}{window()} x {kind} {other}{window()} y ON x.k = y.k AND {draw.choice(BANDS)}"
    return draw.choice(
        (
            f"SELECT x.k, x.ts, x.v FROM {one}{window()} x",
            f"SELECT x.k, x.ts, y.v FROM {joined}",
            f"SELECT DISTINCT x.k, x.ts, y.v FROM {joined}",
            f"SELECT x.k, window(x.ts, 3).end AS ts, count(*) AS v FROM {joined} GROUP BY x.k, window(x.ts, 3)",
        )
    )


def stepped(run: Run, given: list[dict[str, Any]], draw: random.Random) -> list[Any]:
    """What each batch gives, with restarts."""
    found = []
    for step in [*given, None]:
        read = read_by(run.query)
        made = run.end() if step is None else run.step({name: step[name] for name in read if name in step})
        found.append(made)
        if draw.random() < 0.2:
            run.restart()
    return found


def test_what_a_block_with_windows_gives_is_a_stream_like_any_other() -> None:
    for seed in each(seeds(0, 60, 2000)):
        draw = random.Random(seed)
        below, above, given, cells = windowed(draw), draw.choice(ABOVE), batches(draw), draw.choice((1, 1, 2))
        runs = [Run(f"{DECLARED} {text};", cells=cells) for text in (f"CREATE VIEW low AS {below}; {above}", below)]
        found, alone = (stepped(run, given, draw) for run in runs)
        with duckdb.connect() as base:
            for stream in STREAMS:
                tables = [tables[stream] for tables in given if stream in tables]
                base.register(stream, pa.concat_tables([SCHEMA.empty_table(), *tables]))
            base.register("low", pa.concat_tables([step.rows for step in alone]))
            wanted = Counter(base.execute(above).fetchall())
        rows = (tuple(row.values()) for step in found for row in step.rows.to_pylist())
        assert Counter(rows) == wanted, f"seed {seed}: {below} | {above}"


def under_budget(seed: int, depth: int) -> bool:
    """Whether the query of a seed was run under a budget, and not refused."""
    draw = random.Random(seed)
    drawn, given = Writer(draw, depth).script(), batches(draw)
    if not drawn.query.startswith("SELECT"):
        return False
    is_run = False
    for budget in (PLENTY, draw.choice((1, 3, 6, 12))):
        more = draw.choice(("", ", SHED(INPUT)", ", EVICT(rand)")) if budget < PLENTY else ""
        query = drawn.query.replace("SELECT", f"SELECT /*+ BUDGET({budget} ROWS){more} */", 1)
        try:
            run = Run(Drawn(drawn.views, query).for_penstock, cells=draw.choice((1, 2, 3)))
        except PenstockError:
            continue
        is_run = True
        steps = stepped(run, given, draw)
        for step in steps:
            own = [rows for name, rows in step.metrics["state_rows"].items() if "." not in name]
            assert sum(own) + step.metrics["promise_rows"] <= budget, f"seed {seed}: {query}"
        found = Counter(as_row(row.values()) for step in steps for row in step.rows.to_pylist())
        wanted = by_duckdb(drawn, given)
        if budget == PLENTY:
            assert found == wanted, f"seed {seed}: {query}"
        elif not run.query.is_grouped:
            assert found <= wanted, f"seed {seed}: {query}"
    return is_run


def test_a_budget_above_blocks_is_kept_and_only_loses() -> None:
    found = [under_budget(seed, seed % 3) for seed in each(seeds(0, 60, 1500))]
    assert len(found) < ENOUGH or sum(found) > len(found) * 0.3
