"""Which columns of an answer are columns of its sources, and which of them is its event time."""

from __future__ import annotations

import pytest

import penstock
from penstock.model.lineage import kept_event_time, lineage

STREAMS = "".join(f"CREATE STREAM {name} (k BIGINT, t BIGINT, n BIGINT, EVENT TIME t);" for name in "ab")


@pytest.mark.parametrize(
    ("select", "origins", "event_time"),
    [
        ("a.k AS x, a.t AS y, a.n + 1 AS z FROM a", {"x": "a.k", "y": "a.t"}, "y"),
        ("a.t AS y, b.t AS z FROM a, b", {"y": "a.t", "z": "b.t"}, None),
        ("a.n AS y FROM a", {"y": "a.n"}, None),
        ("a.k AS x, count(*) AS c FROM a GROUP BY a.k", {"x": "a.k"}, None),
        (
            "window(a.t, 5).start AS s, window(a.t, 5).end AS e, count(*) AS c FROM a GROUP BY window(a.t, 5)",
            {"s": "window(a.t, 5).start", "e": "window(a.t, 5).end"},
            "e",
        ),
        (
            "window(a.n, 5).end AS e, count(*) AS c FROM a GROUP BY window(a.n, 5)",
            {"e": "window(a.n, 5).end"},
            None,
        ),
    ],
)
def test_lineage(select: str, origins: dict[str, str], event_time: str | None) -> None:
    (query,) = penstock.parse(f"{STREAMS} SELECT {select};").queries
    assert {name: str(origin) for name, origin in lineage(query).items()} == origins
    assert kept_event_time(query) == event_time
