"""A semi-join without pairs gives the rows that their pairs would give, in bands and without."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.match import key_ranges
from tests.runtime.driving import Driver, rows_of

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 50);" for name in "ab"
)
CONDITIONS = {
    "key": "a.k = b.k",
    "band": "a.k = b.k AND b.ts - a.ts BETWEEN -1 AND 2",
    "no key": "b.ts - a.ts BETWEEN 0 AND 1",
    "two columns": "a.k = b.k AND b.ts >= a.ts AND b.n <= a.n",
}
ROWS = st.lists(st.tuples(st.integers(0, 2) | st.none(), st.integers(0, 6), st.integers(0, 3)), max_size=5)


@pytest.mark.parametrize("negated", ["", "NOT "])
@pytest.mark.parametrize("on", CONDITIONS)
def test_rows_found_without_pairs_are_those_of_the_pairs(
    on: str, negated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"{STREAMS} SELECT a.n, a.ts FROM a WHERE {negated}EXISTS (SELECT 1 FROM b WHERE {CONDITIONS[on]});"

    @settings(max_examples=25, deadline=None)
    @given(st.lists(st.tuples(ROWS, ROWS), min_size=1, max_size=3))
    def look(batches: list[tuple[list[tuple[int | None, ...]], list[tuple[int | None, ...]]]]) -> None:
        told = []
        for many in (1_000_000, -1):
            monkeypatch.setattr(key_ranges, "MANY", many)
            monkeypatch.setattr(key_ranges, "TIMES", 8 if many > 0 else 0)
            driver = Driver(script)
            told.append([rows_of(driver.step(a=a, b=b)) for a, b in batches])
            told[-1].append(rows_of(driver.step(a=[(None, 900, 0)], b=[(None, 900, 0)])))
        assert told[0] == told[1]

    look()


def test_few_rows_are_no_crowd() -> None:
    driver = Driver(f"{STREAMS} SELECT a.n FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.k = b.k);")
    driver.step(a=[(1, 0, 1)] * 9, b=[])
    (node,) = driver.cell.tree.nodes.values()
    one, other = driver.cell.tree.streams
    assert not node.meeting.is_crowded(one, other)
