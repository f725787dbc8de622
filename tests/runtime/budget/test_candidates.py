"""Candidates: few rows are ranked for each that leaves, and they are about those that a full ranking takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.runtime import Batch, Cell, Chunk
from penstock.runtime.budget.candidates import Candidates
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, Synopsis
from tests.runtime.driving import plan_of
from tests.runtime.test_budget import zipf


def stored(count: int) -> Synopsis:
    found = Synopsis(("k",))
    grow(found, 0, count)
    return found


def grow(synopsis: Synopsis, first: int, count: int) -> None:
    arrival = np.arange(first, first + count)
    table = pa.table({"k": arrival})
    synopsis.segments.append(Segment(table, arrival, np.zeros(count, np.int64), np.ones(count, np.bool_), {}))
    synopsis.rebase()


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are many."""
    monkeypatch.setattr("penstock.runtime.budget.candidates.MANY_STORED", 64)
    monkeypatch.setattr("penstock.runtime.budget.policies.MANY_STORED", 64)
    monkeypatch.setattr("penstock.runtime.budget.candidates._LEAST_RANKED", 8)


def test_of_few_rows_all_are_ranked() -> None:
    synopsis = stored(100)
    candidates = Candidates({"r": synopsis})
    assert candidates.among(1) is None
    candidates.ranked({"r": synopsis.ids(ALL)}, {"r": np.arange(100.0)}, is_all=True)
    assert candidates.among(1) is None


@pytest.mark.usefixtures("few")
def test_those_that_are_worth_least_come_first_and_with_them_what_is_new() -> None:
    synopsis = stored(800)
    candidates = Candidates({"r": synopsis})
    worth = np.random.default_rng(1).permutation(800).astype(np.float64)
    candidates.ranked({"r": synopsis.ids(ALL)}, {"r": worth}, is_all=True)
    grow(synopsis, 800, 3)
    found = candidates.among(1)
    assert found is not None
    least = set(np.flatnonzero(worth < 16).tolist())
    assert set(found["r"].tolist()) == least | {800, 801, 802}
    # What was ranked now goes on, but for what is worth more than the eighth; the dead are not asked again.
    candidates.ranked(found, {"r": np.where(found["r"] >= 800, 1e9, 0.0)}, is_all=False)
    synopsis.kill(np.array(sorted(least)[:4]))
    again = candidates.among(1)
    assert again is not None
    assert set(again["r"].tolist()) == set(sorted(least)[4:])


@pytest.mark.usefixtures("few")
def test_all_are_ranked_again_when_many_came_or_few_are_left() -> None:
    synopsis = stored(800)
    candidates = Candidates({"r": synopsis})
    candidates.ranked({"r": synopsis.ids(ALL)}, {"r": np.zeros(800)}, is_all=True)
    assert candidates.among(200) is None
    candidates.ranked({"r": synopsis.ids(ALL)}, {"r": np.zeros(800)}, is_all=True)
    grow(synopsis, 800, 200)
    assert candidates.among(1) is None


STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);"
QUERIES = {
    "pairs": "r.ts, s.ts AS t2 FROM r, s WHERE r.k = s.k AND s.ts - r.ts BETWEEN -900 AND 900",
    "left": "r.ts, s.ts AS t2 FROM r LEFT JOIN s ON r.k = s.k AND s.ts - r.ts BETWEEN -900 AND 900",
    "three": "r.ts FROM r, s, t WHERE r.k = s.k AND s.k = t.k AND s.ts - r.ts BETWEEN -900 AND 900 "
    "AND t.ts - r.ts BETWEEN -900 AND 900",
}


def emitted(query: str, hints: str, streams: dict[str, Any]) -> int:
    plan = plan_of(f"{''.join(STREAM.format(name) for name in 'rst')} SELECT /*+ {hints} */ {query};")
    cell, total = Cell(plan), 0
    for number, start in enumerate(range(0, 1_500, 60)):
        tables = {
            name: pa.table({column: values[start : start + 60] for column, values in streams[name].items()})
            for name in plan.streams
        }
        step = cell.step(Batch(number, tuple(Chunk.of(plan, name, 0, table) for name, table in tables.items())))
        assert sum(step.metrics.state_rows.values()) <= 400
        total += step.rows.num_rows
    return total


@pytest.mark.parametrize("kind", QUERIES)
@pytest.mark.parametrize("policy", ["gain", "prob", pytest.param("life", marks=pytest.mark.thorough)])
def test_what_is_kept_of_the_answer_is_about_what_a_full_ranking_keeps(
    kind: str, policy: str, request: pytest.FixtureRequest
) -> None:
    random = np.random.default_rng(3)
    streams = {name: {"k": zipf(random, 1_500, 300), "ts": np.arange(1_500)} for name in "rst"}
    hints = f"BUDGET(400 ROWS), EVICT({policy})"
    whole = emitted(QUERIES[kind], hints, streams)
    request.getfixturevalue("few")
    assert emitted(QUERIES[kind], hints, streams) >= 0.97 * whole
