"""Whole queries over streams with parts: what they give is what the same rows give without any promise that closes.

Each part is in order, parts are interleaved at random over batches, cells are restored now and then; nothing may be
counted as broken, and with the end of the streams the answer must be the whole one: of inner and outer joins, EXISTS,
groups by windows, DISTINCT, a stream joined with itself, blocks and unions.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from penstock.testing import Run, Step
from tests.measure import size
from tests.runtime.promise.test_part_orders import dealt, table

NEAR = "s.k = t.k AND s.ts - t.ts BETWEEN -5 AND 8"
QUERIES = (
    f"SELECT s.k, s.ts, t.ts AS o FROM s LEFT JOIN t ON {NEAR}",
    f"SELECT s.k, s.ts, t.ts AS o FROM s FULL OUTER JOIN t ON {NEAR}",
    f"SELECT s.k, s.p, s.ts FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE {NEAR})",
    f"SELECT s.k, s.p, s.ts FROM s WHERE EXISTS (SELECT 1 FROM t WHERE {NEAR})",
    f"SELECT window(s.ts, '20') AS w, s.k, count(*) AS n FROM s, t WHERE {NEAR} GROUP BY window(s.ts, '20'), s.k",
    f"SELECT DISTINCT s.k, s.ts FROM s, t WHERE {NEAR}",
    "SELECT a.k, a.ts, b.ts AS o FROM s AS a, s AS b WHERE a.k = b.k AND a.ts - b.ts BETWEEN 0 AND 5",
    "SELECT v.k, v.n, t.ts FROM (SELECT s.ts, s.k, count(*) AS n FROM s GROUP BY s.ts, s.k) AS v, t "
    "WHERE v.k = t.k AND v.ts - t.ts BETWEEN -5 AND 8",
    "SELECT v.k, v.ts, t.ts AS o FROM (SELECT k, ts FROM s UNION ALL SELECT k, ts FROM u) AS v, t "
    "WHERE v.k = t.k AND v.ts - t.ts BETWEEN -5 AND 8",
    "SELECT s.k, s.ts, t.ts AS o FROM s [RANGE 10], t [RANGE 7] WHERE s.k = t.k",
)
Rows = dict[str, list[tuple[int, int, int]]]


def script(declared: str, query: str) -> str:
    streams = (f"CREATE STREAM {n} (p INT, k BIGINT, ts BIGINT, EVENT TIME ts, {declared});" for n in "stu")
    return f"{''.join(streams)} {query};"


def shown(step: Step) -> Counter[str]:
    return Counter(map(str, zip(*(c.to_pylist() for c in step.rows.columns), strict=True)))


def whole(query: str, rows: Rows) -> Counter[str]:
    """What all rows give in one batch, in which nothing is closed."""
    run = Run(script("ORDERED BY ts WITHIN 100000", query))
    first = run.step({name: table(given, "p", "k", "ts") for name, given in rows.items()})
    return shown(first) + shown(run.end())


def read_by(query: str, rows: Rows) -> Rows:
    run = Run(script("ORDERED BY ts", query))
    return {name: given for name, given in rows.items() if name in run.plan.read_streams}


@pytest.mark.measure
@pytest.mark.parametrize("query", QUERIES)
def test_the_answer_over_parts_is_that_of_all_rows(query: str) -> None:
    for seed in range(size(3, 150)):
        draw = Random(seed)
        parts = draw.randint(1, 4)
        rows = read_by(query, {name: dealt(draw, parts, 40, 6) for name in "stu"})
        within = draw.choice(["6", "6", "AUTO"])
        run = Run(script(f"PARTS BY p, ORDERED BY ts WITHIN {within}", query), cells=draw.randint(1, 3))
        left: dict[str, list[Any]] = {name: list(given) for name, given in rows.items()}
        found: Counter[str] = Counter()
        while any(left.values()):
            batch = {}
            for name in left:
                cut = draw.randint(0, 25)
                batch[name], left[name] = table(left[name][:cut], "p", "k", "ts"), left[name][cut:]
            step = run.step(batch, {name: list(range(parts)) for name in left})
            assert step.metrics["violations"] == {}, seed
            found += shown(step)
            if draw.random() < 0.3:
                run.restart()
        assert found + shown(run.end()) == whole(query, rows), seed


def test_after_a_day_of_downtime_a_query_catches_up_without_a_violation_and_with_the_state_of_steady_running() -> None:
    """Minute by minute; then a day's backlog, of each part a share of it in each batch, as Spark reads partitions."""
    day, near = 24 * 60, "s.k = t.k AND s.ts - t.ts BETWEEN 0 AND 5"
    run = Run(script("PARTS BY p, ORDERED BY ts WITHIN 1", f"SELECT s.ts, t.ts AS o FROM s, t WHERE {near}"), cells=2)

    def read(start: int, end: int) -> Step:
        # Part after part: as one stream this would be out of order by an hour.
        rows = [(p, p, ts) for p in range(4) for ts in range(start, end)]
        return run.step({name: table(rows, "p", "k", "ts") for name in "st"})

    steady = [read(minute, minute + 1) for minute in range(60)]
    caught_up = [read(hour * 60, hour * 60 + 60) for hour in range(1, 25)]
    after = [read(day + 60 + minute, day + 61 + minute) for minute in range(30)]
    assert all(not step.metrics["violations"] for step in (*steady, *caught_up, *after))
    held = max(sum(step.metrics["state_tuples"].values()) for step in steady)
    assert 0 < held < 100
    assert max(sum(step.metrics["state_tuples"].values()) for step in (*caught_up, *after)) <= held
    given = sum(step.rows.num_rows for step in (*steady, *caught_up, *after))
    assert given == 4 * sum(min(ts, 5) + 1 for ts in range(day + 90))
