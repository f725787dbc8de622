"""Aggregates that pick, collect or count values, run on the core by penstock.testing.

The oracle is Python over the joined rows, which DuckDB gives: its own max_by and collect_list differ from Spark's in
NULLs and ties.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.testing import Run
from tests.measure import size
from tests.testing.test_grouped_selects import FROMS, STREAMS, by_duckdb, drawn, given_by, last_of

Rows = Sequence[dict[str, Any]]


def picked(rows: Rows, value: str, by: str, *, greatest: bool) -> Any:
    """The greatest value of those with the greatest other; NULL only where there is nothing else."""
    sign = 1 if greatest else -1

    def rank(given: Any) -> Any:
        return (0,) if given is None else (1, sign * given)

    known = [row for row in rows if row[by] is not None]
    return max(known, key=lambda row: (rank(row[by]), rank(row[value])))[value] if known else None


def percentile(rows: Rows, value: str, share: float) -> float | None:
    values = sorted(row[value] for row in rows if row[value] is not None)
    place = (len(values) - 1) * share
    low, high = math.floor(place), math.ceil(place)
    return None if not values else values[low] + (values[high] - values[low]) * (place - low)


def listed(rows: Rows, value: str) -> list[Any]:
    return sorted(row[value] for row in rows if row[value] is not None)


COLUMNS = {"g": "s.g", "i": "s.i", "j": "t.i", "x": "t.x"}
AGGREGATES: dict[str, Callable[[Rows], Any]] = {
    "max_by({i}, {x})": lambda rows: picked(rows, "i", "x", greatest=True),
    "min_by({i}, {j})": lambda rows: picked(rows, "i", "j", greatest=False),
    "max_by({i}, {x}) FILTER (WHERE {j} > 0)": lambda rows: picked(
        [row for row in rows if (row["j"] or 0) > 0], "i", "x", greatest=True
    ),
    "collect_list({i})": lambda rows: listed(rows, "i"),
    "array_agg({j}) FILTER (WHERE {i} > 0)": lambda rows: listed([row for row in rows if (row["i"] or 0) > 0], "j"),
    "collect_set({x})": lambda rows: sorted(set(listed(rows, "x"))),
    "collect_list(DISTINCT {j})": lambda rows: sorted(set(listed(rows, "j"))),
    "percentile({i}, 0.9)": lambda rows: percentile(rows, "i", 0.9),
    "percentile({j}, 0.25)": lambda rows: percentile(rows, "j", 0.25),
    "count(DISTINCT {i}, {j})": lambda rows: len(
        {(row["i"], row["j"]) for row in rows if None not in (row["i"], row["j"])}
    ),
}


def wanted(name: str, streams: dict[str, list[Any]], keys: str, chosen: list[str]) -> list[tuple[Any, ...]]:
    columns = {n: text if name != "s" else text.replace("t.", "s.") for n, text in COLUMNS.items()}
    shown = ", ".join(f"{text} AS {n}" for n, text in columns.items())
    rows = by_duckdb(f"SELECT {keys} AS key, {shown} {FROMS[name]}", streams)
    groups: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for key, *values in rows:
        groups[key].append(dict(zip(columns, values, strict=True)))
    return [(key, *(AGGREGATES[text](own) for text in chosen)) for key, own in groups.items()]


def close(found: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> None:
    assert len(found) == len(expected)
    by_key = {row[0]: row[1:] for row in found}
    for key, *values in expected:
        for mine, theirs in zip(by_key[key], values, strict=True):
            assert mine == theirs or math.isclose(mine, theirs, rel_tol=1e-9, abs_tol=1e-9), (key, mine, theirs)


@pytest.mark.parametrize("name", FROMS)
def test_running_groups_end_with_what_python_says_of_all_rows(name: str) -> None:
    for seed in range(size(4, 200)):
        draw = random.Random(f"{name} {seed}")
        chosen = draw.sample(sorted(AGGREGATES), 3)
        many = draw.randint(1, 5)
        streams = {stream: drawn((stream, name, seed), many) for stream in ("s", "t")}
        columns = {n: text if name != "s" else text.replace("t.", "s.") for n, text in COLUMNS.items()}
        items = ", ".join(f"{text.format(**columns)} AS a{n}" for n, text in enumerate(chosen))
        batches = given_by(f"SELECT s.k, {items} {FROMS[name]} GROUP BY s.k", streams, cells=draw.choice((1, 2, 3)))
        close(last_of(batches, 1), wanted(name, streams, "s.k", chosen))


@pytest.mark.parametrize("name", FROMS)
def test_sessions_that_become_one_have_the_values_of_both(name: str) -> None:
    for seed in range(size(4, 200)):
        draw = random.Random(f"sessions {name} {seed}")
        chosen = draw.sample(sorted(AGGREGATES), 3)
        many = draw.randint(1, 5)
        streams = {stream: drawn((stream, name, seed), many, rows=4) for stream in ("s", "t")}
        columns = {n: text if name != "s" else text.replace("t.", "s.") for n, text in COLUMNS.items()}
        items = ", ".join(f"{text.format(**columns)} AS a{n}" for n, text in enumerate(chosen))
        session = "session_window(s.ts, '1 second')"
        select = f"SELECT {session}.start AS since, {items} {FROMS[name]} GROUP BY {session}"
        found = [row for batch in given_by(select, streams, cells=draw.choice((1, 2))) for row in batch]
        times = sorted({ts for (ts,) in by_duckdb(f"SELECT s.ts {FROMS[name]}", streams)})
        starts = [ts for n, ts in enumerate(times) if not n or (ts - times[n - 1]).total_seconds() > 1]
        if not starts:
            assert not found
            continue
        edges = "".join(f"WHEN s.ts >= '{start}' THEN '{start}'::TIMESTAMPTZ " for start in reversed(starts))
        close(found, wanted(name, streams, f"CASE {edges}END", chosen))


def test_without_rows_lists_are_empty_and_nothing_is_picked() -> None:
    items = "collect_list(s.i) AS a, max_by(s.i, s.k) AS b, percentile(s.i, 0.5) AS c, count(DISTINCT s.i, s.k) AS d"
    assert given_by(f"SELECT {items} FROM s", {"s": drawn(1, 1, rows=0)}, end=False) == [[([], None, None, 0)]]


def test_the_first_and_the_last_are_those_that_arrive_so() -> None:
    stream = STREAMS.replace("EVENT TIME ts", "EVENT TIME ts, ARRIVES BY ts")
    select = "SELECT s.k, first(s.i) AS a, last(s.g) AS b, first(s.i, true) AS c, last_value(s.i) IGNORE NULLS AS d"
    by_hand = (
        "SELECT s.k, min_by(s.i, s.ts) AS a, max_by(s.g, s.ts) AS b, min_by(s.i, s.ts) FILTER (WHERE s.i IS NOT NULL) "
        "AS c, max_by(s.i, s.ts) FILTER (WHERE s.i IS NOT NULL) AS d"
    )
    runs = [Run(f"{stream} {text} FROM s GROUP BY s.k;") for text in (select, by_hand)]
    for table in drawn(5, 4):
        one, other = (run.step({"s": table.sort_by("ts")}).rows.sort_by("k").to_pylist() for run in runs)
        assert one == other


@pytest.mark.parametrize("select", ["first(s.i)", "last(s.i + t.i)", "first_value(t.g)"])
def test_the_first_of_rows_without_an_order_of_arrival_is_refused(select: str) -> None:
    with pytest.raises(PenstockError, match="in an order that nothing defines"):
        Run(f"{STREAMS} SELECT s.k, {select} AS f {FROMS['join']} GROUP BY s.k;")
