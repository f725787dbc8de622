"""How far a row of an answer may lie behind those given before: of one stream, of bands, and where nothing is known."""

from __future__ import annotations

import random

import pytest

import penstock
from penstock.analysis.answer_lag import answer_lag

SECOND = 1_000_000
STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN {late} SECONDS);"
    for name, late in (("a", 3), ("b", 5))
)
NEAR = "a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL 2 SECONDS AND a.ts + INTERVAL 4 SECONDS"


def _lag(select: str, streams: str = STREAMS, column: str = "t") -> int | None:
    (query,) = penstock.parse(streams + select).queries
    return answer_lag(query, column)


def test_it_is_the_lateness_of_one_stream() -> None:
    assert _lag("SELECT a.k, a.ts AS t FROM a;") == 3 * SECOND


def test_over_a_band_it_is_its_width_and_the_lateness_of_the_other() -> None:
    assert _lag(f"SELECT a.ts AS t FROM a, b WHERE {NEAR};") == (2 + 4 + 5) * SECOND
    assert _lag("SELECT a.ts AS t FROM a, b WHERE a.ts = b.ts;") == 5 * SECOND


@pytest.mark.parametrize(
    "select",
    [
        "SELECT a.ts AS t FROM a, b WHERE a.k = b.k AND a.ts <= b.ts;",
        f"SELECT a.ts AS t FROM a LEFT JOIN b ON {NEAR};",
        "SELECT DISTINCT a.ts AS t FROM a;",
        "SELECT a.k AS t FROM a;",
        "SELECT p.t FROM (SELECT DISTINCT a.ts AS t FROM a) AS p, b WHERE b.ts = p.t;",
    ],
)
def test_without_a_limit_it_is_not_known(select: str) -> None:
    assert _lag(select) is None


def test_parts_and_orders_of_arrival_have_none() -> None:
    declared = "CREATE STREAM a (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS, {0});"
    for element in ("PARTS BY k", "ARRIVES BY k"):
        assert _lag("SELECT a.ts AS t FROM a;", declared.format(element)) is None


@pytest.mark.parametrize("seed", range(20))
def test_no_row_lies_further_behind(seed: int) -> None:
    """Rows of two streams that keep their lateness, joined as they come: the lag is reached by no row."""
    draw = random.Random(seed)
    lag = _lag(f"SELECT a.ts AS t FROM a, b WHERE {NEAR};")
    assert lag is not None
    late, rows, shown, furthest = {"a": 3, "b": 5}, {"a": list[float](), "b": list[float]()}, list[float](), 0.0
    for _ in range(300):
        name = draw.choice("ab")
        newest = max(rows[name], default=0.0)
        time = max(newest - late[name], newest + draw.choice((-5.0, -3.0, -1.0, 0.5, 1.0, 4.0)))
        rows[name].append(time)
        pairs = [(time, b) for b in rows["b"]] if name == "a" else [(a, time) for a in rows["a"]]
        now = [a for a, b in pairs if a - 2 <= b <= a + 4]
        furthest = max([furthest, *(max(shown) - a for a in now)]) if shown else furthest
        shown += now
    assert 0 < furthest * SECOND <= lag
