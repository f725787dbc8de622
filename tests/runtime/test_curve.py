"""Recall against budget, and the offline optimum beside it, over rows of our own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.curve import Rehearsal, draw
from penstock.plan.plan import Plan
from penstock.runtime import Chunk
from tests.runtime.driving import plan_of

SCRIPT = """
CREATE STREAM r (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);
CREATE STREAM s (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);
SELECT /*+ BUDGET({budget}) */ {select} FROM r [RANGE 200] AS r, s [RANGE 200] AS s WHERE r.k = s.k
"""


def whole(plan: Plan, stream: str, piece: Any) -> Chunk:
    return Chunk.of(plan, stream, 0, piece)


@pytest.mark.parametrize(
    ("budget", "select", "rows", "shown"),
    [
        ("60 ROWS", "r.ts AS x, s.ts AS y", 250, "60 ROWS: "),
        ("8 KB", "r.ts AS x, s.ts AS y", 100, "8.0 KB: "),
        ("61 ROWS", "count(*) AS n", 100, "61 ROWS: "),
    ],
)
def test_the_curve_rises_and_no_policy_is_above_the_optimum(
    budget: str, select: str, rows: int, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.curve.BATCHES", 16)
    random = np.random.default_rng(3)
    weights = 1 / np.arange(1, 31)
    tables = {
        name: pa.table({"k": random.choice(30, rows, p=weights / weights.sum()), "ts": np.arange(rows)})
        for name in "rs"
    }
    plan = plan_of(SCRIPT.format(budget=budget, select=select))
    rehearsal = Rehearsal(plan, tables, whole)
    times = tables["r"].column("ts").to_numpy()
    apart = np.abs(times[:, None] - times[None, :])
    equal = tables["r"].column("k").to_numpy()[:, None] == tables["s"].column("k").to_numpy()[None, :]
    assert rehearsal.due == int((equal & (apart < 200)).sum())
    said: list[str] = []
    curve = draw(rehearsal, said.append)
    assert said
    recalls = [point.recall for point in curve.points]
    assert recalls == sorted(recalls)
    for point in curve.points:
        assert point.best is not None
        assert point.recall <= point.best <= 1
    if "ROWS" in budget:
        assert curve.own.recall >= 0.85 * (curve.own.best or 0)
    assert rehearsal.recall(curve.enough) >= 0.95
    assert "you keep" in curve.lines()[2]
    assert any(line.strip().startswith(shown) for line in curve.lines())
