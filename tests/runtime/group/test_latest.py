"""Counts under [RANGE d], by the latest row of each result, against all facts."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.group.grouped_runs import GroupedRun

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, v BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);" for name in "abc"
)
SCRIPT = STREAMS + (
    "SELECT a.k, count(*) AS n, sum(b.v) AS s FROM a [RANGE 3], b [RANGE 2], c [RANGE 1] "
    "WHERE a.k = b.k AND b.k = c.k GROUP BY a.k;"
)
WINDOW = {"a": 3, "b": 2, "c": 1}
ROW = st.tuples(st.integers(0, 1), st.integers(-2, 2), st.integers(0, 4))
BATCHES = st.lists(st.dictionaries(st.sampled_from("abc"), st.lists(ROW, min_size=1, max_size=4)), max_size=4)


@settings(max_examples=60)
@given(BATCHES)
def test_every_choice_of_rows_within_their_windows_is_counted_once(batches: list[dict[str, Any]]) -> None:
    run = GroupedRun(SCRIPT)
    assert run.run.plan.aggregate is not None
    assert run.run.plan.aggregate.by_latest
    rows: dict[str, list[Any]] = {name: [] for name in "abc"}
    clock = dict.fromkeys("abc", 0)
    for batch in batches:
        moved: dict[str, Any] = {}
        for name, came in batch.items():
            moved[name] = [(k, v, clock[name] + ts) for k, v, ts in sorted(came, key=lambda row: row[2])]
            clock[name] = moved[name][-1][2]
            rows[name] += moved[name]
        run.step(1, **moved)
    wanted: dict[Any, tuple[int, int]] = {}
    for x, y, z in product(rows["a"], rows["b"], rows["c"]):
        latest = max(x[2], y[2], z[2])
        if x[0] == y[0] == z[0] and all(r[2] > latest - WINDOW[n] for n, r in zip("abc", (x, y, z), strict=True)):
            count, total = wanted.get((x[0],), (0, 0))
            wanted[x[0],] = (count + 1, total + y[1])
    assert run.groups == wanted


def test_equal_times_are_counted_once() -> None:
    run = GroupedRun(SCRIPT)
    run.step(1, a=[(0, 0, 5)] * 2, b=[(0, 1, 5)] * 3, c=[(0, 0, 5)] * 4)
    assert run.groups == {(0,): (24, 24)}
