"""What was read and is not decided yet, in words."""

from __future__ import annotations

import pytest

import penstock
from penstock.analysis.check import check_query
from penstock.explain.undecided import undecided
from penstock.plan.planner import make_plan

STREAMS = """
CREATE STREAM a (k BIGINT, n BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 5 SECONDS);
CREATE STREAM b (k BIGINT, n BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 5 SECONDS);
"""
BAND = "a.k = b.k AND b.ts - a.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 1 HOUR"


def said(select: str, held: dict[str, int]) -> list[str]:
    (query,) = penstock.parse(f"{STREAMS} SELECT {select};").queries
    verdict = check_query(query)
    return list(undecided(make_plan(query, verdict), verdict, held))


@pytest.mark.parametrize(
    ("select", "held", "line"),
    [
        (
            f"a.n FROM a LEFT JOIN b ON {BAND}",
            {"a": 5, "b": 7},
            "up to 5 rows of a may still be emitted: a row of a without a match in b is emitted with NULLs once b.ts "
            "has passed a.ts + 1 HOUR",
        ),
        (
            f"a.n FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE {BAND})",
            {"a": 1, "b": 0},
            "up to 1 row of a may still be emitted: a row of a without a match in b is emitted once b.ts has passed "
            "a.ts + 1 HOUR",
        ),
        (
            f"window(a.ts, '5 minutes') AS w, count(*) AS c FROM a, b WHERE {BAND} GROUP BY window(a.ts, '5 minutes')",
            {"a": 5, "b": 7, "(groups)": 1_200},
            "1,200 groups not closed yet: a group is kept until the clock of a has passed its window and the rows of a "
            "with it have left",
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
        (f"a.n FROM a LEFT JOIN b ON {BAND}", {}),
    ],
)
def test_what_only_waits_for_rows_to_come_is_not_told(select: str, held: dict[str, int]) -> None:
    assert said(select, held) == []


def test_what_a_block_below_still_holds_is_told_with_its_name() -> None:
    script = penstock.parse(
        "CREATE STREAM a (k BIGINT, t BIGINT, EVENT TIME t, ORDERED BY t);"
        "CREATE STREAM b (k BIGINT, t BIGINT, EVENT TIME t, ORDERED BY t);"
        "CREATE VIEW v AS SELECT k, window(t, 5).end AS e, count(*) AS n FROM a GROUP BY k, window(t, 5);"
        "SELECT v.k, v.n FROM v JOIN b ON b.k = v.k AND b.t = v.e;"
    )
    (query,) = script.queries
    verdict = check_query(query)
    (told,) = undecided(make_plan(query, verdict), verdict, {"v": 3, "v.a": 0, "v.(groups)": 2})
    assert told.startswith("v: 2 groups not closed yet: ")
