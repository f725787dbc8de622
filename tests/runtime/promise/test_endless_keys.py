"""A key that nothing lets go is not remembered where no bound rests on it: to declare one makes no query grow."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.testing import Run

STREAM = "CREATE STREAM {} (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts{});"
KEY, ORDER = ", PRIMARY KEY (k)", ", ORDERED BY k"
CASES = {
    "rows and a left join": (
        (KEY, "", ""),
        "SELECT a.k FROM a [ROWS 8] JOIN b [ROWS 5] ON a.k = b.k "
        "LEFT JOIN d ON a.k = d.k AND d.ts - b.ts BETWEEN 0 AND 5",
    ),
    "a range and a left join": (
        (KEY, ORDER, ""),
        "SELECT a.k FROM a [RANGE 3] JOIN b ON a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 1 LEFT JOIN d ON b.k = d.k",
    ),
    "not exists": (
        (KEY, ORDER, ""),
        "SELECT a.k FROM a, b [RANGE 1] WHERE a.k = b.k AND NOT EXISTS (SELECT 1 FROM d WHERE a.k = d.k)",
    ),
    "an inner join": ((ORDER, KEY, ""), "SELECT a.k FROM a [ROWS 2] JOIN b ON a.k = b.k JOIN d ON a.k = d.k"),
}


@pytest.mark.parametrize("case", CASES)
def test_promise_rows_do_not_grow_where_the_verdict_is_bounded(case: str) -> None:
    declared, query = CASES[case]
    streams = "".join(STREAM.format(name, said) for name, said in zip("abd", declared, strict=True))
    run = Run(f"{streams}{query};")
    held = []
    for start in range(0, 600, 100):
        rows = pa.table({"k": range(start, start + 100), "ts": range(start, start + 100)})
        line = run.step({"a": rows, "b": rows, "d": rows}).metrics
        held.append(sum(line["state_rows"].values()) + line["promise_rows"])
    assert max(held) <= 20
