"""Rows that carry measures are merged: the answer stays, and what is stored is one row for each choice that matters."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.group.grouped_runs import GroupedRun

SCRIPT = (
    "CREATE STREAM a (k BIGINT, v BIGINT, ts BIGINT, CHECK (k IN (0, 1)));"
    "CREATE STREAM b (k BIGINT, v BIGINT, ts BIGINT, CHECK (k IN (0, 1)));"
    "SELECT a.k, count(*) AS n, sum(a.v) AS s, max(b.v) AS m FROM a, b WHERE a.k = b.k GROUP BY a.k;"
)
ROW = st.tuples(st.integers(0, 1), st.none() | st.integers(-9, 9), st.integers(0, 9))
BATCHES = st.lists(st.dictionaries(st.sampled_from("ab"), st.lists(ROW, min_size=1, max_size=5)), max_size=5)


@settings(max_examples=40)
@given(BATCHES, st.booleans())
def test_merged_rows_give_the_answer_of_all_rows(batches: list[dict[str, Any]], restarts: bool) -> None:
    run = GroupedRun(SCRIPT)
    rows: dict[str, list[Any]] = {"a": [], "b": []}
    for batch in batches:
        run.step(1, **batch)
        for name, came in batch.items():
            rows[name] += came
            assert run.cell.synopses[name].live <= 2
        if restarts:
            run.run.restart()
    counts: Counter[int] = Counter()
    for x in rows["a"]:
        counts[x[0]] += sum(x[0] == y[0] for y in rows["b"])
    wanted = {}
    for key, count in counts.items():
        if count:
            sums = [x[1] for x in rows["a"] for y in rows["b"] if x[0] == y[0] == key and x[1] is not None]
            most = [y[1] for y in rows["b"] if y[0] == key and y[1] is not None]
            wanted[key,] = (count, sum(sums) if sums else None, max(most) if most else None)
    assert run.groups == wanted


def test_a_hundred_rows_that_cannot_be_told_apart_are_one() -> None:
    run = GroupedRun(SCRIPT)
    run.step(1, a=[(0, 5, 1)] * 100)
    assert run.cell.synopses["a"].live == 1
    assert run.step(1, b=[(0, 3, 1)]) == [(0, 100, 500, 3)]


def test_marks_of_the_stored_row_pass_to_the_one_that_takes_over() -> None:
    closing = SCRIPT.replace(
        "CHECK (k IN (0, 1)));SELECT", "CHECK (k IN (0, 1)), PUNCTUATED ON (k) WHEN v = -1);SELECT"
    )
    run = GroupedRun(closing)
    run.step(1, a=[(0, 5, 1), (1, 5, 1)])
    run.step(1, b=[(0, -1, 1)])
    run.step(1, a=[(0, 6, 1), (1, 6, 1)])
    assert run.cell.synopses["a"].live == 1  # That of key 1: what key 0 brought is closed as it comes.
