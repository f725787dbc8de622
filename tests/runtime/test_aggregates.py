"""GROUP BY on the core against plain aggregation of the full history (`aggregates.py`): random cases.

Running groups: each batch gives exactly the groups that it changed. Tumbling windows: each is given once, with what it
ends with, and once all streams have moved on none that is bounded is missing.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock
from penstock.analysis.finding import Bounded
from penstock.errors import DataError
from penstock.explain.reason_words import each_told
from penstock.model.clauses import RangeWindow, Source
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Comparison, Op, Predicate
from penstock.model.schemes import Ordered
from penstock.model.spans import Span
from penstock.model.stream import Column, Stream
from penstock.model.types import digits_of
from penstock.plan.aggregate import AggregateColumn, Fold
from penstock.plan.aggregating import grouping_obstacles
from penstock.plan.runnable import obstacles, unkept_bounds
from penstock.runtime import GroupStage, given_name
from penstock.runtime.group import count_along_tree
from penstock.runtime.group.finals import final_values, sum_type
from penstock.runtime.group.measures import column_names, from_columns, measured, numbers_of
from penstock.runtime.group.numbering import Groups
from penstock.runtime.group.numbering import grouped as numbered
from penstock.runtime.match.delta_join import delta_join
from penstock.testing import Run as InProcess
from tests.measure import size
from tests.runtime.aggregates import Run, aggregates_over, check_running, check_tumbling
from tests.runtime.driving import Driver
from tests.runtime.reference import Arrived, History
from tests.runtime.workloads import BIGINT, Workload, query_over, workloads

EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", size(20, 2000)))
RANDOM = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


def grouped(workload: Workload, seed: int, *, windowed: bool) -> Workload:
    query = aggregates_over(workload.query, random.Random(seed), windowed=windowed)
    return replace(workload, query=query)


SEEDS = st.integers(0, 2**32)


@RANDOM
@given(workloads(most_sources=3).map(Workload.moved_on), SEEDS)
def test_running_groups_are_those_of_the_full_history(workload: Workload, seed: int) -> None:
    one = grouped(workload, seed, windowed=False)
    run = Run(one.query)
    check_running(run, one)
    assert one.left_behind(run.verdict, run.plan, run.cells.values()) == {}


@settings(RANDOM, max_examples=EXAMPLES // 2)
@given(workloads(most_sources=4, most_rows=7).map(Workload.moved_on), SEEDS)
def test_many_cells_and_restarts_change_nothing(workload: Workload, seed: int) -> None:
    one = grouped(workload, seed, windowed=False)
    run = Run(one.query, cells_an_axis=2, restarts=True)
    check_running(run, one)
    assert one.left_behind(run.verdict, run.plan, run.cells.values()) == {}


@RANDOM
@given(workloads(most_sources=3).map(Workload.moved_on), SEEDS, st.booleans())
def test_a_window_is_given_once_and_with_all_its_results(workload: Workload, seed: int, is_split: bool) -> None:
    one = grouped(workload, seed, windowed=True)
    run = Run(one.query, cells_an_axis=2 if is_split else 1, restarts=is_split)
    given_out, there_are = check_tumbling(run, one)
    assert one.left_behind(run.verdict, run.plan, run.cells.values()) == {}
    finding = run.verdict.streams[-1].finding
    if isinstance(finding, Bounded) and not unkept_bounds(run.plan) and not [*grouping_obstacles(run.query)]:
        # From 1,000 on stand the rows that moved the streams on; groups of their times are not over yet.
        assert [group for group in there_are - given_out if not any(is_late(value) for value in group)] == []


@settings(RANDOM, max_examples=EXAMPLES // 2)
@given(workloads(most_sources=2).map(Workload.moved_on), SEEDS, st.booleans())
def test_it_is_the_same_where_few_rows_meet_and_results_are_added_up(
    workload: Workload, seed: int, windowed: bool
) -> None:
    one = grouped(workload, seed, windowed=windowed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(count_along_tree, "LEAST_FRESH", 1)
        (check_tumbling if windowed else check_running)(Run(one.query, restarts=True), one)


def test_few_are_met_or_many() -> None:
    """Results are made where rows meet one each; where each meets many, they are not."""
    streams = (
        "CREATE STREAM a (k STRING, n BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);"
        "CREATE STREAM b (k STRING, n BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts);"
    )
    query = "SELECT a.n, count(*) AS c, sum(b.n) AS s FROM a JOIN b ON a.k = b.k AND a.ts = b.ts GROUP BY a.n;"
    for keys, joins in ((1500, 1), (3, 0)):
        run, made = InProcess(streams + query), list[Any]()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                count_along_tree, "delta_join", lambda *told, made=made: (made.append(told), delta_join(*told))[1]
            )
            times = pa.array([0] * 1500, pa.timestamp("us", "UTC"))
            rows = pa.table(
                {"k": [f"key {n % keys}" for n in range(1500)], "n": [n % 2 for n in range(1500)], "ts": times}
            )
            found = run.step({"a": rows, "b": rows}).rows
        assert len(made) == joins
        pairs = [(x, y) for x in range(1500) for y in ([x] if keys == 1500 else range(x % 3, 1500, 3))]
        due = {n: (len(ys), sum(y % 2 for y in ys)) for n in (0, 1) for ys in [[y for x, y in pairs if x % 2 == n]]}
        assert {row["n"]: (row["c"], row["s"]) for row in found.to_pylist()} == due


def is_late(value: Any) -> bool:
    return isinstance(value, int) and value >= 900


def test_groups_of_one_stream() -> None:
    draw = random.Random("one stream")
    for number in range(size(40, 1000)):
        whole = under_range(draw)
        alone = query_over([Source(whole.query.sources[0].stream, "x0")], [])
        query = aggregates_over(alone, draw, windowed=number % 2 == 1)
        one = Workload(query, whole.history, whole.batches, 1)
        run = Run(query, restarts=True)
        if number % 2:
            check_tumbling(run, one)
        else:
            check_running(run, one)
        assert run.stored == {"x0": 0}


def under_range(draw: random.Random) -> Workload:
    """Streams that share their keys, with [RANGE d] on some and at least one of them, in order of time."""
    count, keys = draw.choice((2, 3, 3, 4)), draw.choice(((), ("a",), ("a",), ("a", "b")))
    columns = (Column("n", BIGINT), Column("a", BIGINT), Column("b", BIGINT), Column("ts", BIGINT))
    streams = [Stream(f"s{n}", columns, "ts", schemes=(Ordered("ts", Span.of(2)),)) for n in range(count)]
    sources = [
        Source(s, f"x{n}", RangeWindow(Span.of(draw.randint(1, 6))) if n == 0 or draw.random() < 0.7 else None)
        for n, s in enumerate(streams)
    ]
    where: list[Predicate] = [
        Comparison(ColumnRef("x0", key), Op.EQ, ColumnRef(f"x{n}", key)) for n in range(1, count) for key in keys
    ]
    batches = draw.randint(1, 5)
    history: History = {s.name: [] for s in streams}
    for number in range(batches):
        for rows in history.values():
            for _ in range(draw.randint(0, 3 if count > 3 else 5)):
                values = {"n": draw.choice((None, -(2**40), 3, 5)), "ts": draw.choice((None, *[2 * number] * 8))}
                values |= {"a": draw.choice((None, 1, 1, 2)), "b": draw.choice((None, 1, 2))}
                if values["ts"] is not None:
                    values["ts"] += draw.randint(0, 2)
                rows.append(Arrived(number, len(rows), values))
    return Workload(query_over(sources, where), history, batches, 1)


def test_results_under_range_are_counted_by_their_latest_row() -> None:
    draw = random.Random("latest")
    rows = by_latest = 0
    for _ in range(size(60, 3000)):
        one = under_range(draw)
        query = aggregates_over(one.query, draw, windowed=False)
        one = Workload(query, one.history, one.batches, one.cuts)
        run = Run(query, cells_an_axis=draw.choice((1, 2)), restarts=draw.random() < 0.5)
        assert run.plan.aggregate is not None
        by_latest += run.plan.aggregate.by_latest
        rows += check_running(run, one)
    assert by_latest > size(10, 500)
    assert rows > size(60, 3000)


def test_rows_of_a_self_join_are_not_merged_where_a_window_asks_which_came_first() -> None:
    script = "CREATE STREAM s (k BIGINT, ts BIGINT, n BIGINT); "
    driver = Driver(script + "SELECT count(*) AS c FROM s [ROWS 6] AS x, s AS y WHERE x.k = y.k;")
    stage = GroupStage(driver.plan)
    batches = ([0], [3, 1, 0], [2, 0, 0], [3])
    keys = [key for batch in batches for key in batch]
    for number, batch in enumerate(batches):
        result = driver.step(s=[(key, 0, 0) for key in batch])
        given = stage.step(number, result.rows, result.frontier).rows.to_pylist()
    places = range(len(keys))
    pairs = [(i, j) for i in places for j in places if keys[i] == keys[j] and max(i, j) - i < 6]
    assert given == [{given_name(0): len(pairs)}]


TUMBLING = (
    "CREATE STREAM s (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 0{policy});"
    "SELECT window(s.ts, 5).start AS since, count(*) AS results, sum(s.n) AS total FROM s GROUP BY window(s.ts, 5);"
)


def tumbling(policy: str, *batches: list[tuple[int | None, ...]]) -> tuple[list[list[tuple[int, int]]], int]:
    """What each batch gives, by start and sum, and what was lost."""
    driver = Driver(TUMBLING.replace("{policy}", policy))
    stage = GroupStage(driver.plan)
    given, lost = [], 0
    for number, rows in enumerate(batches):
        result = driver.step(s=rows)
        found = stage.step(number, result.rows, result.frontier)
        lost += found.lost
        given.append([(row["__ps_w0"], row[given_name(1)]) for row in found.rows.to_pylist()])
    return given, lost


def test_a_window_waits_until_the_clock_has_passed_its_end() -> None:
    given, lost = tumbling(
        "", [(1, 0, 1), (1, 4, 2)], [(1, 4, 4)], [(1, 5, 8)], [(1, 5, 16), (1, None, 99)], [(1, 11, 0)]
    )
    assert given == [[], [], [(0, 7)], [], [(5, 24)]]
    assert lost == 0


def test_a_late_row_never_retracts_a_window_that_was_given() -> None:
    batches: tuple[list[tuple[int | None, ...]], ...] = [(1, 0, 1)], [(1, 7, 2)], [(1, 3, 50), (1, 6, 4)], [(1, 30, 0)]
    # ADAPT widens k by the 4 that the row was late, so the next window waits for that much longer.
    assert tumbling("", *batches) == ([[], [(0, 1)], [], [(5, 6)]], 1)
    assert tumbling(" ON VIOLATION TRUST", *batches) == ([[], [(0, 1)], [], [(5, 6)]], 1)
    # Kept out of the query, it is no result, and not lost.
    assert tumbling(" ON VIOLATION QUARANTINE", *batches) == ([[], [(0, 1)], [], [(5, 2)]], 0)


@pytest.mark.parametrize(
    ("select", "says"),
    [
        ("SELECT window(s.k, 5) AS w, count(*) AS n FROM s GROUP BY window(s.k, 5)", "is never known to be closed"),
        ("SELECT max(s.n + rand()) AS most FROM s", "may give another value each time"),
        ("SELECT count(*) AS n FROM s GROUP BY s.n + rand()", "may give another value each time"),
    ],
)
def test_what_cannot_be_worked_out_is_said(select: str, says: str) -> None:
    script = "CREATE STREAM s (k BIGINT, n BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);"
    (query,) = penstock.parse(f"{script} {select};").queries
    assert any(says in text for text in each_told(obstacles(query))), obstacles(query)


@pytest.mark.parametrize("values", [[2**62, 2**62], [-(2**62), -(2**62), -1]])
def test_a_sum_beyond_bigint_is_an_error_and_one_that_comes_back_is_not(values: list[int]) -> None:
    script = "CREATE STREAM s (k BIGINT, ts BIGINT, n BIGINT); SELECT sum(s.n) AS total FROM s;"
    run = penstock.testing.Run(script)
    back = run.step({"s": pa.table({"n": [*values, *values, *(-n for n in values), -values[0]]})})
    assert back.rows.to_pylist() == [{"total": sum(values[1:])}]
    with pytest.raises(DataError, match="is beyond BIGINT"):
        run.step({"s": pa.table({"n": values[:1]})})


@dataclass(frozen=True)
class WideCase:
    """Decimals of one type, how often each is met, and the groups that they fall into."""

    digits: int
    scale: int
    values: list[Decimal | None]
    often: list[int]
    groups: Groups

    def of(self, function: str, kind: tuple[int, int]) -> list[Decimal | None]:
        """The sum or the mean of each group."""
        found: list[Decimal | None] = []
        for group in range(self.groups.count):
            rows = zip(self.values, self.often, self.groups.of, strict=True)
            chosen = [(v, n) for v, n, own in rows if own == group and v is not None]
            total = sum((v * n for v, n in chosen), Decimal(0))
            if function == "avg" and chosen:
                total = (total / sum(n for _, n in chosen)).quantize(Decimal(1).scaleb(-kind[1]), ROUND_HALF_UP)
            found.append(total if chosen else None)
        return found


def wide_case(draw: random.Random) -> WideCase:
    digits, count = draw.choice((19, 28, 38)), draw.randint(1, 30)
    scale = draw.randint(0, digits)
    whole = [draw.randint(1 - 10**digits, 10**digits - 1) // 10 ** draw.randint(1, 20) for _ in range(count)]
    values = [draw.choice((None, Decimal(v).scaleb(-scale))) for v in whole]
    often = [draw.choice((1, draw.randint(1, 1000))) for _ in whole]
    return WideCase(digits, scale, values, often, numbered([np.array([draw.randint(0, 2) for _ in whole])], count))


def test_wide_decimals_are_summed_exactly_and_a_sum_beyond_them_is_an_error() -> None:
    draw = random.Random("wide")
    beyond = 0
    with localcontext(prec=90):
        for _ in range(size(40, 2000)):
            case = wide_case(draw)
            declared = f"DECIMAL({case.digits},{case.scale})"
            given_values = pa.array(case.values, pa.decimal128(case.digits, case.scale))
            columns = measured(Fold.SUM, given_values, np.array(case.often)).columns("x")
            assert tuple(columns) == column_names(Fold.SUM, "x", numbers_of(declared))
            summed = from_columns(Fold.SUM, columns, "x").summed(case.groups)
            for function in ("sum", "avg"):
                column = AggregateColumn("c", "c", function, False, None, None, None, declared)
                kind = digits_of(sum_type(column))
                assert kind is not None
                expected = case.of(function, kind)
                if any(v is not None and abs(v.scaleb(kind[1])) >= 10 ** kind[0] for v in expected):
                    beyond += 1
                    with pytest.raises(DataError, match="is beyond DECIMAL"):
                        final_values(column, summed)
                else:
                    assert final_values(column, summed).to_pylist() == expected
    assert beyond > 0
