"""The order of a stream that a block gives: told after each batch, in force from then on, never lowered."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.runtime.promise.told_frontier import FrontierWatch
from penstock.testing import Run
from tests.analysis.blocks.promised import NEAR, A, B
from tests.blocks import with_views


def rows(*given: tuple[int | None, ...]) -> Any:
    return pa.table({c: pa.array([row[n] for row in given], pa.int64()) for n, c in enumerate("ktn")})


def run() -> Run:
    view = f"SELECT a.k, a.t, b.t AS u FROM a LEFT JOIN b ON {NEAR}"
    return Run(
        with_views(A + B, {"v": view}, "SELECT v.k, b.n FROM v, b WHERE v.k = b.k AND b.t - v.t BETWEEN 0 AND 9")
    )


def watches(one: Run) -> dict[str, int | None]:
    return {w.column: w.floor_ticks for w in one.top.cells[0].watches if isinstance(w, FrontierWatch)}


def test_only_what_closes_something_is_watched() -> None:
    assert watches(run()) == {"t": None}


def test_it_is_told_with_the_batch_and_survives_a_restart() -> None:
    one = run()
    one.step({"a": rows((1, 10, 0)), "b": rows((1, 10, 0))})
    assert watches(one) == {"t": 7}
    one.restart()
    assert watches(one) == {"t": 7}
    one.step({})
    assert watches(one) == {"t": 7}


def test_a_row_that_was_late_below_is_late_above_and_is_joined() -> None:
    one = run()
    one.step({"a": rows((1, 50, 0)), "b": rows((1, 50, 0))})
    step = one.step({"a": rows((1, 45, 0)), "b": rows((1, 47, 7))})
    assert step.metrics["violations"] == {
        "ORDERED BY t WITHIN 3 ON a": 1,
        "ORDERED BY t WITHIN FRONTIER ON v": 2,
    }
    assert {row["n"] for row in step.rows.to_pylist()} == {7, 0}
    assert not step.metrics["exact"]
