"""Random whole queries on Spark, with tables in every second, a few batches each.

The oracle is DuckDB over all rows at once. What costs here is not rows: as a query starts, and again for its end, Spark
plans it and starts a process for each stateful stage. So a query has no more batches than it takes to carry state and
frontiers from one to the next, in few cells; batches by the dozen and restarts are the core's to show, on thousands.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from penstock.compile import parse
from penstock.errors import PenstockError
from tests.measure import each, seeds
from tests.spark.conftest import Bench
from tests.whole_queries.grammar import STREAMS, TABLES, Drawn, Writer
from tests.whole_queries.test_whole_queries import SCHEMA, batches, by_duckdb

_TABLE_SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64())])
_READ = " USING parquet OPTIONS (path '{data}/%s', maxFilesPerTrigger '1');"
_MOST_BATCHES = 3


@pytest.mark.thorough
def test_random_queries_on_spark_give_what_duckdb_gives(bench: Bench) -> None:
    wanted = seeds(3000, 6, 200)
    ran, drawn = 0, each(range(wanted.start, wanted.start + 10 * len(wanted)))
    while ran < len(wanted):
        seed = next(drawn)
        ran += _compared(bench, seed, depth=seed % 3)
        print(f"seed {seed}: {ran} compared", flush=True)


def _compared(bench: Bench, seed: int, depth: int) -> bool:
    draw = random.Random(seed)
    has_tables = seed % 2 == 1
    return compared(bench, seed, draw, Writer(draw, depth, has_tables=has_tables).script(), has_tables)


def compared(bench: Bench, seed: int, draw: random.Random, drawn: Drawn, has_tables: bool) -> bool:
    """Whether a script runs, in batches that are drawn; what it gives must be what DuckDB gives."""
    given = in_few_batches(batches(draw))
    cells = draw.choice((1, 1, 2, 3))
    tables = {name: _table(draw) for name in (TABLES if has_tables else ())}
    script = drawn.for_penstock
    for name, table in tables.items():
        read = f"USING parquet OPTIONS (path '{{data}}/{seed}/{name}')"
        script = f"CREATE TABLE {name} (k BIGINT, v BIGINT) {read};\n{script}"
        bench.write(f"{seed}/{name}", table.to_pylist(), _TABLE_SCHEMA)
    try:
        parse(script)
    except PenstockError:
        return False
    for stream in STREAMS:
        whole = script.index(";", script.index(f"CREATE STREAM {stream} "))
        script = script[:whole] + _READ.replace("{data}", f"{{data}}/{seed}") % stream + script[whole + 1 :]
        # A stream without a file has no folder that Spark could list.
        files = [batch[stream].to_pylist() for batch in given if stream in batch] or [[]]
        for rows in files:
            bench.write(f"{seed}/{stream}", rows, SCHEMA)
    last = script.rindex(";\n") + 2
    sink = f"CREATE SINK s{seed} USING parquet OPTIONS (path '{{out}}/s{seed}');\nINSERT INTO s{seed} "
    script = script[:last] + sink + script[last:]
    ran = bench.run(script, final=True, conf={"penstock.cells": str(cells)})
    if ran.code == 2:
        return False  # Files take no groups that change.
    assert ran.code == 0, f"seed {seed}\n{script}\n{ran.err}"
    found: Counter[tuple[Any, ...]] = Counter(bench.sink(f"s{seed}"))
    assert found == by_duckdb(drawn, given, tables), f"seed {seed}\n{script}"
    return True


def in_few_batches(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same rows in the same order: each batch from the last on joins the last that there may be."""
    kept = given[: _MOST_BATCHES - 1]
    rest: dict[str, Any] = {}
    for batch in given[_MOST_BATCHES - 1 :]:
        for stream, rows in batch.items():
            rest[stream] = pa.concat_tables([rest[stream], rows]) if stream in rest else rows
    return [*kept, rest] if rest else kept


def _table(draw: random.Random) -> pa.Table:
    """A few rows, some equal, some without a value."""
    rows = [
        {"k": draw.choice((None, 0, 1, 2, 2)), "v": draw.choice((None, 0, 1, 2, 3))} for _ in range(draw.randint(0, 4))
    ]
    return pa.Table.from_pylist(rows, schema=_TABLE_SCHEMA)
