"""What a run says at its end of what it read and could not decide yet."""

from __future__ import annotations

from typing import Any

import pytest

import penstock
from penstock.analysis.check import check_query
from penstock.plan.planner import make_plan
from penstock.spark.run import Running
from penstock.spark.told import waiting_lines

STREAMS = """
CREATE STREAM a (k BIGINT, n BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 5 SECONDS);
CREATE STREAM b (k BIGINT, n BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 5 SECONDS);
"""
BAND = "a.k = b.k AND b.ts - a.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 1 HOUR"
LOST = "it is lost, for there is no checkpoint"


def said(select: str, held: dict[str, int] | None, pending: int = 0) -> list[str]:
    (query,) = penstock.parse(f"{STREAMS} SELECT {select};").queries
    verdict = check_query(query)
    nothing: Any = None
    one = Running(query, make_plan(query, verdict), nothing, None)
    if held is not None:
        one.batches.append({"pending_rows": pending, "state_tuples": held, "violations": {}})
    return [line.removeprefix(f"{query.name}: ") for line in waiting_lines([one], [verdict])]


@pytest.mark.parametrize(
    ("select", "held", "line"),
    [
        (
            f"a.n FROM a LEFT JOIN b ON {BAND}",
            {"a": 5, "b": 7},
            "up to 5 rows of a may still be emitted: a row of a without a match in b is given with NULLs once b.ts has "
            f"passed a.ts + 1 HOUR; {LOST}",
        ),
        (
            f"a.n FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE {BAND})",
            {"a": 1, "b": 0},
            "up to 1 row of a may still be emitted: a row of a without a match in b is given once b.ts has passed "
            f"a.ts + 1 HOUR; {LOST}",
        ),
        (
            f"window(a.ts, '5 minutes') AS w, count(*) AS c FROM a, b WHERE {BAND} GROUP BY window(a.ts, '5 minutes')",
            {"a": 5, "b": 7, "(groups)": 1_200},
            "1,200 groups not closed yet: a group leaves once the clock of a has passed its window and the rows of a "
            f"with it have left; {LOST}",
        ),
    ],
)
def test_what_waits_is_told_with_what_it_waits_for(select: str, held: dict[str, int], line: str) -> None:
    assert said(select, held) == [line]


@pytest.mark.parametrize(
    ("select", "held"),
    [
        (f"a.n FROM a, b WHERE {BAND}", {"a": 5, "b": 7}),
        (f"a.n FROM a LEFT JOIN b ON {BAND}", {"a": 0, "b": 7}),
        (f"a.n FROM a WHERE EXISTS (SELECT 1 FROM b WHERE {BAND})", {"a": 5, "b": 7}),
        (f"a.n, count(*) AS c FROM a, b WHERE {BAND} GROUP BY a.n", {"a": 5, "b": 7, "(groups)": 9}),
        (f"a.n FROM a LEFT JOIN b ON {BAND}", None),
    ],
)
def test_what_only_waits_for_rows_to_come_is_not_told(select: str, held: dict[str, int] | None) -> None:
    assert said(select, held) == []


def test_rows_read_ahead_are_told() -> None:
    (line,) = said(f"a.n FROM a, b WHERE {BAND}", {"a": 5, "b": 7}, pending=2)
    assert line == "2 rows read ahead of the slowest stream; what waits is lost, for there is no checkpoint"
