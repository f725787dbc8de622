"""What a small batch costs must follow the batch, however many rows stand: few beside many, for each shape of query.

Processor time; the state is saved after each batch. The ratio is printed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.testing import Run
from tests.measure import size

FEW, MANY = 2_000, size(60_000, 2_000_000)
BATCHES, ROWS, AT_ONCE = 24, 100, 100_000
MOST = 3.0
"""How much more a batch may take with so many more rows standing; what is not cached costs something."""

COLUMNS = "k BIGINT, ts BIGINT, n BIGINT"
TIMED = f"{COLUMNS}, EVENT TIME ts, ORDERED BY ts WITHIN 0"
BAND = "t.k = s.k AND t.ts - s.ts BETWEEN 0 AND 1000000000"


@dataclass(frozen=True)
class Shape:
    """A query, and what stands before the small batches come."""

    select: str
    s: str = TIMED
    t: str = TIMED
    standing: tuple[str, ...] = ("s",)
    n: int = 1
    """What the rows that stand have in n; the others have it too, if it is negative."""
    u: str = ""
    """A third stream, which brings new rows alone."""


THIRD = "u.k = s.k AND u.ts - s.ts BETWEEN 0 AND 1000000000"
PAIRS = "SELECT s.n, t.n AS tn FROM s, t WHERE "
SHAPES = {
    "inner": Shape(PAIRS + BAND, standing=("s", "t")),
    "left": Shape(f"SELECT s.n, t.n AS tn FROM s LEFT JOIN t ON {BAND}"),
    "full": Shape(f"SELECT s.n, t.n AS tn FROM s FULL OUTER JOIN t ON {BAND}"),
    "exists": Shape(f"SELECT s.n FROM s WHERE EXISTS (SELECT * FROM t WHERE {BAND})"),
    "not exists": Shape(f"SELECT s.n FROM s WHERE NOT EXISTS (SELECT * FROM t WHERE {BAND})"),
    "groups": Shape(
        f"SELECT s.k, count(*) AS c, sum(t.n) AS m FROM s, t WHERE {BAND} GROUP BY s.k", standing=("s", "t")
    ),
    "distinct": Shape(f"SELECT DISTINCT s.k, t.n AS tn FROM s, t WHERE {BAND}", standing=("s", "t")),
    "rows": Shape(
        "SELECT s.n, t.n AS tn FROM s [ROWS 90000000], t [ROWS 90000000] WHERE s.k = t.k", standing=("s", "t")
    ),
    "arrival order": Shape(
        "SELECT s.n, t.n AS tn FROM s [ROWS 90000000], t [ROWS 90000000] WHERE s.k = t.k",
        s=f"{COLUMNS}, ARRIVES BY ts",
        t=f"{COLUMNS}, ARRIVES BY ts",
        standing=("s", "t"),
    ),
    "follows": Shape(PAIRS + "s.k = t.k", s=f"{COLUMNS}, FOLLOWS t (k) ON (k) WITHIN 90000000 ROWS", t=COLUMNS),
    "followed": Shape(PAIRS + "s.k = t.k", s=f"{COLUMNS}, FOLLOWS t (k) ON (k) WITHIN 50 ROWS", t=COLUMNS),
    "keys": Shape(PAIRS + "s.k = t.k AND t.n > 9", s=COLUMNS, t=f"{COLUMNS}, PRIMARY KEY (k)", standing=("t",)),
    "punctuations": Shape(
        PAIRS + "s.k = t.k", s=f"{COLUMNS}, PUNCTUATED ON (k) WHEN n < 0", t=COLUMNS, standing=("s",), n=-1
    ),
    "open clusters": Shape(
        PAIRS + "s.k = t.k",
        s=f"{COLUMNS}, CLUSTERED BY k WITHIN 90000000 ROWS",
        t=f"{COLUMNS}, CLUSTERED BY k WITHIN 90000000 ROWS",
    ),
    "ended clusters": Shape(PAIRS + "s.k = t.k", s=f"{COLUMNS}, CLUSTERED BY k WITHIN 10 ROWS", t=COLUMNS),
    "left, then left": Shape(
        f"SELECT s.n, t.n AS tn, u.n AS un FROM s LEFT JOIN t ON {BAND} LEFT JOIN u ON {THIRD}", u=TIMED
    ),
    "left, then not exists": Shape(
        f"SELECT s.n, t.n AS tn FROM s LEFT JOIN t ON {BAND} WHERE NOT EXISTS (SELECT * FROM u WHERE {THIRD})", u=TIMED
    ),
    "inner, then left": Shape(
        f"SELECT s.n, t.n AS tn, u.n AS un FROM s JOIN t ON {BAND} LEFT JOIN u ON {THIRD}", standing=("s", "t"), u=TIMED
    ),
    "left of an inner": Shape(
        f"SELECT s.n, t.n AS tn FROM t JOIN u ON u.k = t.k AND u.ts = t.ts RIGHT JOIN s ON {BAND} AND {THIRD}",
        u=TIMED,
    ),
    "full of a left": Shape(
        f"SELECT s.n, t.n AS tn, u.n AS un FROM s LEFT JOIN t ON {BAND} FULL OUTER JOIN u ON {THIRD}", u=TIMED
    ),
    "budget": Shape(f"SELECT /*+ BUDGET(STANDING ROWS) */ s.n, t.n AS tn FROM s, t WHERE {BAND}"),
}


def rows(keys: Any, n: int, at: int) -> Any:
    count = len(keys)
    return pa.table({"k": keys, "ts": np.full(count, at) + np.arange(count) // ROWS, "n": np.full(count, n)})


class Standing:
    """A run, with a second stage if the query has one, in which rows stand."""

    def __init__(self, shape: Shape, standing: int) -> None:
        select = shape.select.replace("STANDING", str(standing))
        third = f"CREATE STREAM u ({shape.u});" if shape.u else ""
        self.run = Run(f"CREATE STREAM s ({shape.s}); CREATE STREAM t ({shape.t}); {third} {select};")
        for first in range(0, standing, AT_ONCE):
            keys = np.arange(first, min(standing, first + AT_ONCE))
            self.run.step({stream: rows(keys, shape.n, first // ROWS) for stream in shape.standing})


def cost(shape: Shape, standing: int) -> float:
    """Milliseconds for a small batch, half of which meets rows that stand."""
    run = Standing(shape, standing).run
    random = np.random.default_rng(0)
    taken = []
    for batch in range(BATCHES):
        new = standing + ROWS * batch + np.arange(ROWS)
        old = random.integers(0, standing, ROWS // 2)
        at = standing // ROWS + 2 * batch + 1
        began = time.process_time()
        n = min(1, shape.n)
        met = rows(new if "t" in shape.standing else np.concatenate([new, old]), 1, at)
        run.step({"s": rows(new, n, at), "t": met} | ({"u": rows(new, 1, at)} if shape.u else {}))
        taken.append(time.process_time() - began)
    return 1e3 * float(np.median(taken[BATCHES // 3 :]))


@pytest.mark.measure
@pytest.mark.parametrize("name", SHAPES)
def test_what_a_small_batch_costs_follows_the_batch(name: str) -> None:
    shape = SHAPES[name]
    few, many = (min(cost(shape, standing) for _ in range(2)) for standing in (FEW, MANY))
    print(f"{name:>15}: {few:6.2f} ms beside {FEW:,} rows, {many:6.2f} ms beside {MANY:,}: {many / few:.2f} times")
    assert many < MOST * few + 1.0
