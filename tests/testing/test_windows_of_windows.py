"""Windows of windows on the core: each shorter one lies in the longer ones that hold its last moment.

The oracle is reckoned row by row, in whole microseconds; every stream keeps the delay that it declares.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter

import pyarrow as pa
import pytest

from penstock.testing import Run

SECOND = 1_000_000
STREAM = "CREATE STREAM s (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);"
SCHEMA = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
START = int(dt.datetime(2024, 5, 1, tzinfo=dt.UTC).timestamp()) * SECOND


def drawn(seed: int) -> list[list[tuple[int, int]]]:
    """Batches of rows that are at most three seconds late, and one far on that closes all."""
    draw = random.Random(seed)
    batches = [
        [(draw.randint(1, 2), START + (3 * n + draw.randint(0, 2)) * SECOND) for _ in range(draw.randint(0, 6))]
        for n in range(8)
    ]
    return [*batches, [(9, START + 3600 * SECOND)]]


def starts(at: int, length: int, step: int) -> list[int]:
    """The windows that hold a moment."""
    first = (at - length) // step + 1
    return [n * step for n in range(first, at // step + 1)]


def below(rows: list[tuple[int, int]], length: int, step: int | None) -> Counter[tuple[int, int]]:
    """How many rows each window of a key has, by the key and where it ends; of sessions if there is no step."""
    found: Counter[tuple[int, int]] = Counter()
    if step is not None:
        for k, at in rows:
            for start in starts(at, length, step):
                found[k, start + length] += 1
        return found
    for k in {k for k, _ in rows}:
        open_rows: list[int] = []
        for at in sorted(at for other, at in rows if other == k):
            # A row that comes just as a session ends still belongs to it.
            if open_rows and at > open_rows[-1] + length:
                found[k, open_rows[-1] + length] = len(open_rows)
                open_rows = []
            open_rows.append(at)
        found[k, open_rows[-1] + length] = len(open_rows)
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("window", "length", "step"),
    [
        ("window(ts, '2 seconds')", 2, 2),
        ("window(ts, '4 seconds', '3 seconds')", 4, 3),
        ("session_window(ts, '2 seconds')", 2, None),
    ],
)
def test_longer_windows_hold_the_last_moments_of_shorter_ones(
    window: str, length: int, step: int | None, seed: int
) -> None:
    run = Run(
        f"{STREAM} SELECT window(t, '5 seconds', '4 seconds').start AS since, k, sum(n) AS n FROM ("
        f"SELECT {window}.end - INTERVAL 1 MICROSECOND AS t, k, count(*) AS n FROM s GROUP BY {window}, k"
        ") GROUP BY window(t, '5 seconds', '4 seconds'), k;"
    )
    batches, given = drawn(seed), Counter[tuple[int, int, int]]()
    for batch in batches:
        table = pa.Table.from_pylist([{"k": k, "ts": at} for k, at in batch], schema=SCHEMA)
        for row in run.step({"s": table}).rows.to_pylist():
            given[row["k"], int(row["since"].timestamp()) * SECOND, row["n"]] += 1
    shorter = below([row for batch in batches[:-1] for row in batch], length * SECOND, step and step * SECOND)
    longer: Counter[tuple[int, int]] = Counter()
    for (k, end), n in shorter.items():
        for start in starts(end - 1, 5 * SECOND, 4 * SECOND):
            longer[k, start] += n
    assert given == Counter((k, start, n) for (k, start), n in longer.items())
