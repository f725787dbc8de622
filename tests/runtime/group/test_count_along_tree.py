"""Counts along the join tree against the results themselves, made and added up; no result is made here."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.group.grouped_runs import GroupedRun

STREAMS = "".join(f"CREATE STREAM {name} (k BIGINT, v BIGINT, ts BIGINT, EVENT TIME ts);" for name in "abc")
CHAIN = STREAMS + (
    "SELECT b.v, count(*) AS n, sum(a.v) AS s, max(c.v) AS m FROM a, b, c "
    "WHERE a.k = b.k AND b.v = c.k AND c.ts >= b.ts GROUP BY b.v;"
)
LEFT = STREAMS.replace("EVENT TIME ts", "EVENT TIME ts, ORDERED BY ts") + (
    "SELECT a.k, count(*) AS n, count(b.v) AS m FROM a LEFT JOIN b ON a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 2 "
    "GROUP BY a.k;"
)
ROW = st.tuples(st.none() | st.integers(0, 1), st.integers(0, 2), st.integers(0, 2))
BATCHES = st.lists(st.dictionaries(st.sampled_from("abc"), st.lists(ROW, min_size=1, max_size=4)), max_size=4)


@settings(max_examples=40)
@given(BATCHES)
def test_what_is_added_up_is_what_the_results_come_to(batches: list[dict[str, Any]]) -> None:
    run = GroupedRun(CHAIN)
    rows: dict[str, list[Any]] = {"a": [], "b": [], "c": []}
    for batch in batches:
        run.step(1, **batch)
        for name, came in batch.items():
            rows[name] += came
    results = [
        (y[1], x[1], z[1])
        for x in rows["a"]
        for y in rows["b"]
        for z in rows["c"]
        if x[0] is not None and x[0] == y[0] and y[1] == z[0] and z[2] >= y[2]
    ]
    wanted = {
        (group,): (
            sum(r[0] == group for r in results),
            sum(r[1] for r in results if r[0] == group),
            max(r[2] for r in results if r[0] == group),
        )
        for group in {r[0] for r in results}
    }
    assert run.groups == wanted


def test_one_hot_key_makes_counts_and_no_pairs() -> None:
    run = GroupedRun(CHAIN)
    run.step(1, a=[(0, 1, 0)] * 3000, b=[(0, 0, 0)] * 3000, c=[(0, 5, 0)] * 3000)
    assert run.groups == {(0,): (27_000_000_000, 27_000_000_000, 5)}


@settings(max_examples=40)
@given(st.lists(ROW, max_size=6), st.lists(ROW, max_size=6))
def test_matches_of_an_outer_join_are_counted_and_rows_without_one_too(left: Any, right: Any) -> None:
    left, right = sorted(left, key=lambda r: r[2]), sorted(right, key=lambda r: r[2])
    run = GroupedRun(LEFT)
    run.step(1, **{name: rows for name, rows in (("a", left), ("b", right)) if rows})
    run.step(1, a=[(7, 0, 100)], b=[(8, 0, 100)])
    run.step(1, a=[(7, 0, 200)], b=[(8, 0, 200)])
    wanted: Counter[Any] = Counter()
    matched: Counter[Any] = Counter()
    for x in left:
        met = sum(x[0] is not None and x[0] == y[0] and 0 <= y[2] - x[2] <= 2 for y in right)
        wanted[x[0]] += max(met, 1)
        matched[x[0]] += met
    found = {key: value for key, value in run.groups.items() if key != (7,)}
    assert found == {(key,): (wanted[key], matched[key]) for key in wanted}
