"""INTERSECT and EXCEPT over a time that may be NULL: the check that bounds them is offered."""

from __future__ import annotations

import pytest

import penstock
from penstock.explain.fix_text import numbered

STREAM = "CREATE STREAM {} (id INT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE);\n"
STREAMS = "".join(STREAM.format(name) for name in ("rides", "trips"))


@pytest.mark.parametrize("kind", ["INTERSECT", "EXCEPT"])
@pytest.mark.parametrize("time", ["ts", "date_trunc('hour', ts)", "to_date(ts)"])
def test_the_check_of_the_first_stream_is_enough(kind: str, time: str) -> None:
    query = f"SELECT {time} AS t, id FROM rides {kind} SELECT {time}, id FROM trips;"
    verdict = penstock.check(penstock.parse(STREAMS + query))
    (fix,) = numbered([verdict])
    assert str(fix) == "CHECK (ts IS NOT NULL) ON rides"
    declared = STREAMS.replace("MINUTE", "MINUTE, CHECK (ts IS NOT NULL)", 1)
    assert penstock.check(penstock.parse(declared + query)).verdict == "bounded"


def test_columns_without_a_clock_are_not_asked_for() -> None:
    query = "SELECT id FROM rides INTERSECT SELECT id FROM trips;"
    fixes = numbered([penstock.check(penstock.parse(STREAMS + query))])
    assert not [fix for fix in fixes if "CHECK" in str(fix)]
