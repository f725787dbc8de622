"""A hot key: memory follows the rows that come in and the rows that go out, not the square of the batch.

All rows have one key, and a band lets each meet two. The answers are those of a loop over times. The random tests take
the way of the crowds at every match, however few rows there are, against the full history.
"""

from __future__ import annotations

import os
import time
import tracemalloc
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings

from penstock.plan.runnable import obstacles
from penstock.runtime.match import key_ranges
from penstock.testing import Run
from tests.measure import FULL, size
from tests.runtime import test_core_against_reference as inner
from tests.runtime import test_outer as outer
from tests.runtime.outer_workloads import OuterWorkload, outer_workloads
from tests.runtime.workloads import Workload, workloads

ROWS = size(20_000, 200_000)
BATCHES = 2
EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", size(8, 1000)))

STREAMS = """
CREATE STREAM a (k {kind}, n BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 100{a});
CREATE STREAM b (k {kind}, m BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 100{b});
CREATE STREAM c (k {kind}, o BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 100);
"""
BAND = "a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 1"
LAST = ROWS * BATCHES - 1

BOTH = Counter((n, n + more) for n in range(LAST + 1) for more in (0, 1) if n + more <= LAST)
EACH = Counter((n,) for n in range(LAST + 1))
SAME = Counter((n, n) for n in range(LAST + 1))

SHAPES: dict[str, tuple[str, Counter[tuple[Any, ...]]]] = {
    "inner": (f"SELECT a.n, b.m FROM a, b WHERE {BAND}", BOTH),
    "left": (f"SELECT a.n, b.m FROM a LEFT JOIN b ON {BAND}", BOTH),
    "full": (f"SELECT a.n, b.m FROM a FULL JOIN b ON {BAND}", BOTH),
    "exists": (f"SELECT a.n FROM a WHERE EXISTS (SELECT 1 FROM b WHERE {BAND})", EACH),
    "not exists": (f"SELECT a.n FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE {BAND})", Counter()),
    "range": ("SELECT a.n, b.m FROM a [RANGE 1], b [RANGE 1] WHERE a.k = b.k", SAME),
    "range left": (
        "SELECT a.n, b.m FROM a [RANGE 1] LEFT JOIN b [RANGE 1] ON a.k = b.k",
        SAME,
    ),
    "distinct": (f"SELECT DISTINCT a.n FROM a, b WHERE {BAND}", EACH),
    "two columns": (f"SELECT a.n, b.m FROM a, b WHERE {BAND} AND b.m > a.n", BOTH - SAME),
    "left left": (
        f"SELECT a.n, b.m FROM a LEFT JOIN b ON {BAND} LEFT JOIN c ON c.k = a.k AND c.ts = a.ts AND c.o = b.m",
        BOTH,
    ),
}

PROMISES = {
    "cooccurs": ("", ", COOCCURS (k) AND a (k) WINDOW [-1000000, 1000000]"),
    "follows within a time": (", FOLLOWS b (k) ON (k) WITHIN 1000000", ""),
    "follows within rows": (", FOLLOWS b (k) ON (k) WITHIN 10000000 ROWS", ""),
}


def stream(kind: str, name: str, batch: int) -> Any:
    times = np.arange(ROWS) + batch * ROWS
    keys = pa.array(np.full(ROWS, 7)) if kind == "BIGINT" else pa.array(["a key of many bytes"] * ROWS)
    return pa.table({"k": keys, name: times, "ts": times})


def run(script: str, kind: str) -> tuple[Counter[tuple[Any, ...]], int, dict[str, int]]:
    """What the query gives, the most memory it took, and its violations."""
    driven = Run(script)
    names = {"a": "n", "b": "m", "c": "o"}
    got: Counter[tuple[Any, ...]] = Counter()
    violations: Counter[str] = Counter()
    tracemalloc.start()
    for batch in range(BATCHES):
        tables = {alias: stream(kind, name, batch) for alias, name in names.items() if f"{alias}." in script}
        step = driven.step(tables)
        got.update(zip(*(column.to_pylist() for column in step.rows.columns), strict=True))
        violations.update(step.metrics["violations"])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    got.update(zip(*(column.to_pylist() for column in driven.end().rows.columns), strict=True))
    return got, most, dict(violations)


@pytest.mark.measure
@pytest.mark.parametrize("kind", ["BIGINT", "STRING"])
@pytest.mark.parametrize("shape", SHAPES)
def test_one_key_takes_memory_by_the_row(shape: str, kind: str) -> None:
    query, wanted = SHAPES[shape]
    got, most, violations = run(STREAMS.format(kind=kind, a="", b="") + query + ";", kind)
    print(f"{shape}, {kind}: {ROWS:,} rows a side and batch: {most / ROWS:,.0f} bytes a row")
    assert got == wanted
    assert violations == {}
    # All pairs of one batch would take 16 bytes for each of ROWS * ROWS.
    assert most < 60_000_000 + 3_000 * ROWS


@pytest.mark.parametrize("promise", PROMISES)
def test_what_a_promise_says_of_one_key_takes_memory_by_the_row(promise: str) -> None:
    a, b = PROMISES[promise]
    query, wanted = SHAPES["inner"]
    got, most, violations = run(STREAMS.format(kind="BIGINT", a=a, b=b) + query + ";", "BIGINT")
    assert got == wanted
    assert violations == {}
    assert most < 60_000_000 + 3_000 * ROWS


@pytest.mark.parametrize("aggregate", ["count(*)", "max(b.m)"])
def test_a_group_of_each_row_of_one_key(aggregate: str) -> None:
    script = STREAMS.format(kind="BIGINT", a="", b="")
    driven = Run(f"{script} SELECT a.n, {aggregate} AS x FROM a, b WHERE {BAND} GROUP BY a.n;")
    tracemalloc.start()
    got: dict[int, int] = {}
    for batch in range(BATCHES):
        step = driven.step({"a": stream("BIGINT", "n", batch), "b": stream("BIGINT", "m", batch)})
        got |= dict(zip(*(step.rows.column(name).to_pylist() for name in ("n", "x")), strict=True))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    of_last, of_all = (1, 2) if aggregate == "count(*)" else (LAST, None)
    assert got[LAST] == of_last
    assert all(x == (n + 1 if of_all is None else of_all) for n, x in got.items() if n < LAST)
    assert len(got) == LAST + 1
    assert most < 60_000_000 + 3_000 * ROWS


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every match is one of a crowd."""
    monkeypatch.setattr(key_ranges, "MANY", 0)
    monkeypatch.setattr(key_ranges, "TIMES", 0)


@pytest.mark.usefixtures("crowded")
def test_inner_joins_by_the_way_of_crowds_give_the_reference_answer() -> None:
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(workloads(most_sources=4))
    def look(workload: Workload) -> None:
        inner.run(workload.moved_on())

    look()


@pytest.mark.usefixtures("crowded")
@pytest.mark.parametrize(
    "kind", ["mixed, then not exists", "not exists over joins", "exists and not exists", "mixed, counted in rows"]
)
def test_outer_joins_by_the_way_of_crowds_give_the_reference_answer(kind: str) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(outer_workloads(outer.KINDS[kind]))
    def look(workload: OuterWorkload) -> None:
        assume(not obstacles(workload.query))
        outer.run(workload.moved_on())

    look()


TOGETHER = size(60_000, 3_000_000)
"""Rows of both streams in one batch."""


def side(seed: int, name: str, *, hot: bool) -> Any:
    """Half of the rows, a thousand a second: nine of ten with one key, or with one for each thousand of them.

    The other keys are drawn by chance. Either way as many rows match.
    """
    rng = np.random.default_rng(seed)
    count = TOGETHER // 2
    places = np.arange(count)
    keys = np.where(rng.random(count) < 0.9, 7 if hot else -1 - places // 1_000, rng.integers(0, count, count))
    return pa.table({"k": keys, name: places, "ts": places * 1_000})


@pytest.mark.measure
def test_a_key_with_nine_rows_of_ten_costs_at_most_three_times_what_spread_keys_do() -> None:
    script = STREAMS.format(kind="BIGINT", a="", b="")
    seconds, most = {}, {}
    for hot in (False, True):
        driven = Run(f"{script} SELECT a.n, b.m FROM a, b WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 1000;")
        tables = {"a": side(1, "n", hot=hot), "b": side(2, "m", hot=hot)}
        tracemalloc.start()
        driven.step(tables)
        most[hot] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        driven = Run(f"{script} SELECT a.n, b.m FROM a, b WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 1000;")
        start = time.process_time()
        found = driven.step(tables).rows
        seconds[hot] = time.process_time() - start
        n, m = (found.column(name).to_numpy() for name in ("n", "m"))
        keys = {alias: table.column("k").to_numpy() for alias, table in tables.items()}
        agree = np.flatnonzero(keys["a"] == keys["b"])
        next_agree = np.flatnonzero(keys["a"][:-1] == keys["b"][1:])
        assert sorted(n[m == n]) == agree.tolist()
        assert sorted(n[m == n + 1]) == next_agree.tolist()
        assert len(n) == len(agree) + len(next_agree)
    print(
        f"{TOGETHER:,} rows in one batch: spread keys {seconds[False]:.2f} s and {most[False] / 1e6:,.0f} MB, "
        f"one key with 90 % of them {seconds[True]:.2f} s and {most[True] / 1e6:,.0f} MB"
    )
    assert most[True] < 2_000_000_000
    assert not FULL or seconds[True] <= 3 * seconds[False]


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("a.n, b.m FROM a [ROWS 3], b [ROWS 3] WHERE a.k = b.k", 9 * ROWS),
        ("a.n, b.m FROM a [ROWS 3], b WHERE a.k = b.k AND b.m > a.n", 3 * BATCHES),
        ("a.n, b.m FROM a [ROWS 3] LEFT JOIN b [ROWS 3] ON a.k = b.k", 9 * ROWS + ROWS - 3),
        ("a.n FROM a [ROWS 3] WHERE EXISTS (SELECT 1 FROM b [ROWS 3] WHERE a.k = b.k)", ROWS + 3),
    ],
)
def test_rows_of_one_key_in_windows_of_rows_take_time_by_the_row(query: str, answer: int) -> None:
    """Each batch brings all of a, then all of b; the pairs of one key, tested one by one, would take minutes."""
    driven = Run(f"{STREAMS.format(kind='BIGINT', a='', b='')} SELECT {query};")
    start, found = time.process_time(), 0
    for batch in range(BATCHES):
        step = driven.step({"a": stream("BIGINT", "n", batch), "b": stream("BIGINT", "m", batch)})
        found += step.rows.num_rows
    assert time.process_time() - start < 2 + ROWS / 4_000
    assert found == answer
