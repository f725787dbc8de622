"""Random whole queries on Spark, several batches each; the oracle is DuckDB over all rows at once."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.testing import Run
from tests.measure import FULL, size
from tests.spark.conftest import Bench
from tests.whole_queries.grammar import STREAMS, Writer
from tests.whole_queries.test_whole_queries import SCHEMA, batches, by_duckdb

_READ = " USING parquet OPTIONS (path '{data}/%s', maxFilesPerTrigger '1');"


@pytest.mark.thorough
def test_random_queries_on_spark_give_what_duckdb_gives(bench: Bench) -> None:
    first = random.SystemRandom().randrange(10**9) if FULL else 3000
    ran, seed = 0, first
    while ran < size(6, 200):
        ran += _compared(bench, seed, depth=seed % 3)
        seed += 1


def _compared(bench: Bench, seed: int, depth: int) -> bool:
    draw = random.Random(seed)
    drawn = Writer(draw, depth).script()
    given = batches(draw)
    try:
        Run(drawn.for_penstock)
    except PenstockError:
        return False
    script = drawn.for_penstock
    for stream in STREAMS:
        whole = script.index(";", script.index(f"CREATE STREAM {stream} "))
        script = script[:whole] + _READ.replace("{data}", f"{{data}}/{seed}") % stream + script[whole + 1 :]
        # A stream without a file has no folder that Spark could list.
        for number, tables in enumerate([{}, *given]):
            if stream in tables or not number:
                rows = tables[stream].to_pylist() if stream in tables else []
                bench.write(f"{seed}/{stream}", rows, SCHEMA)
    last = script.rindex(";\n") + 2
    sink = f"CREATE SINK s{seed} USING parquet OPTIONS (path '{{out}}/s{seed}');\nINSERT INTO s{seed} "
    script = script[:last] + sink + script[last:]
    ran = bench.run(script, final=True)
    if ran.code == 2:
        return False  # Files take no groups that change.
    assert ran.code == 0, f"seed {seed}\n{script}\n{ran.err}"
    found: Counter[tuple[Any, ...]] = Counter(bench.sink(f"s{seed}"))
    assert found == by_duckdb(drawn, given), f"seed {seed}\n{script}"
    return True
