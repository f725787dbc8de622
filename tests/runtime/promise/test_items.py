"""Punctuations let DISTINCT and GROUP BY forget: never too early, and in the end; on random queries, cells, restarts.

A group that was forgotten too early would begin anew, and show a wrong value when it changes; a row that DISTINCT
forgot too early would come twice. In the end every value is punctuated and the streams move on: nothing of the old
values may be remembered then, where `check` calls the query bounded.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import penstock
from penstock.analysis.check import check_query
from penstock.model.clauses import Output, Scalar
from penstock.model.expressions import ColumnRef
from penstock.model.query import Query
from penstock.model.relation import JoinKind
from penstock.model.schemes import Punctuated
from penstock.model.simplify import simplified
from penstock.plan.planner import make_plan
from penstock.plan.runnable import obstacles, unkept_bounds
from penstock.runtime import Batch, Cell, GroupStage, given_name
from penstock.runtime.promise.items import Reports
from penstock.runtime.state.synopsis import ALL
from tests.measure import size
from tests.runtime.aggregates import Row, aggregates_over, answers
from tests.runtime.driving import Driver
from tests.runtime.outer_reference import Evaluator
from tests.runtime.outer_workloads import OuterWorkload, Wanted, outer_workloads
from tests.runtime.reference import Arrived
from tests.runtime.test_cells import share
from tests.runtime.test_core_against_reference import bag
from tests.runtime.test_outer_aggregates import COLUMNS, plain, run_of

EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", size(4, 1000)))
RANDOM = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
CASES = {
    "inner": Wanted((JoinKind.INNER,), 3),
    "outer": Wanted(most_sources=3),
    "not exists": Wanted((JoinKind.INNER, JoinKind.LEFT), 3, (True,)),
}


def punctuated(query: Query, draw: random.Random) -> tuple[ColumnRef, ...] | None:
    """The columns of a punctuation of a stream that stands in every result, under that name or an equal one."""
    core = simplified(query).core
    found = [
        tuple(draw.choice(_equal(query, ColumnRef(s.alias, column))) for column in scheme.columns)
        for s in query.sources
        for scheme in s.stream.schemes
        if s.alias in core and isinstance(scheme, Punctuated) and scheme.lifespan is None
    ]
    return draw.choice(found) if found else None


def _equal(query: Query, column: ColumnRef) -> list[ColumnRef]:
    inside = {source.alias for source in query.sources}
    return [ref for ref in query.equalities(frozenset()).class_of(column) if ref.alias in inside]


@pytest.mark.parametrize("kind", CASES)
def test_groups_are_forgotten_when_they_are_closed_and_not_before(kind: str) -> None:
    @RANDOM
    @given(outer_workloads(CASES[kind]), st.integers(0, 2**32), st.booleans())
    def look(workload: OuterWorkload, seed: int, is_split: bool) -> None:
        one, draw = workload.moved_on(), random.Random(seed)
        closed = punctuated(one.query, draw)
        assume(closed is not None)
        assert closed is not None
        query = aggregates_over(one.query, draw, windowed=False)
        keys: tuple[Scalar, ...] = tuple(dict.fromkeys((*closed, *query.group_by[: draw.randint(0, 1)])))
        outputs = [Output(f"g{n}", key) for n, key in enumerate(keys)]
        outputs += [o for o in query.outputs if o.value not in query.group_by]
        one = replace(one, query=query.with_block(replace(query.block, group_by=keys, outputs=tuple(outputs))))
        assume(not obstacles(one.query))
        run = run_of(one, is_split)
        # Rows that are merged for ever close nothing.
        assume(bool(run.plan.item_closers))
        bare = plain(one.query)
        bare_plan = make_plan(bare, check_query(bare))
        cells = {place: Cell(bare_plan, absent=one.absent(bare_plan)) for place in run.cells}
        so_far: list[dict[str, Arrived]] = []
        before: dict[Row, Row] = {}
        for number in range(one.batches):
            batch = one.batch(bare_plan, number)
            for place, cell in cells.items():
                mine = batch
                if is_split:
                    mine = Batch(number, tuple(share(bare_plan, chunk, place) for chunk in batch.chunks))
                so_far += [
                    {s.alias: Arrived(0, 0, {c: row[f"{s.alias}_{c}"] for c in COLUMNS}) for s in bare.sources}
                    for row in cell.step(mine).rows.to_pylist()
                ]
            after = answers(one.query, so_far)
            changed = {group: values for group, values in after.items() if before.get(group) != values}
            assert dict(run.step(one.batch(run.plan, number))) == changed, f"batch {number}"
            before = after
        if run.verdict.verdict == "bounded" and not unkept_bounds(run.plan):
            names = [run.plan.item_closers[0].names[0]]
            kept = [stage.groups.seen.arrow(n, stage.groups.seen.ids(ALL)) for stage in run.stages for n in names]
            values = [v for column in kept for v in column.to_pylist() if v is not None]
            assert [v for v in values if (v < 1000 if isinstance(v, int) else v < "z")] == []

    look()


@pytest.mark.parametrize("kind", CASES)
def test_distinct_forgets_rows_when_they_are_closed_and_not_before(kind: str) -> None:
    @RANDOM
    @given(outer_workloads(CASES[kind]), st.integers(0, 2**32))
    def look(workload: OuterWorkload, seed: int) -> None:
        one, draw = workload.moved_on(), random.Random(seed)
        closed = punctuated(one.query, draw)
        assume(closed is not None)
        assert closed is not None
        outputs = tuple(Output(f"c{n}", ref) for n, ref in enumerate(dict.fromkeys(closed)))
        one = replace(one, query=one.query.with_block(replace(one.query.block, distinct=True, outputs=outputs)))
        assume(not obstacles(one.query))
        verdict = check_query(one.query)
        plan = make_plan(one.query, verdict)
        assume(bool(plan.item_closers))
        whole = plan.tree.whole_axes
        places = list(product(*(range(1 if axis in whole else 2) for axis in range(len(plan.axes)))))
        cells = {place: Cell(plan, absent=one.absent(plan)) for place in places}
        stage = GroupStage(plan)
        found: Counter[tuple[Any, ...]] = Counter()
        for number in range(one.batches):
            batch = one.batch(plan, number)
            reports: dict[int, list[Any]] = {}
            for n, (place, cell) in enumerate(cells.items()):
                result = cell.step(Batch(number, tuple(share(plan, chunk, place) for chunk in batch.chunks)))
                for closer, told in result.reports.items():
                    reports.setdefault(closer, []).append(told)
                # The last cell of a batch speaks when the stage has heard the others.
                is_last = n == len(cells) - 1
                rows = result.rows
                given_out = stage.step(number, rows, {}, Reports(reports if is_last else {}, complete=is_last)).rows
                found += bag(given_out) if given_out.num_rows else Counter()
        expected = Evaluator(one.query, one.history).answer()
        assert set(found) <= set(expected)
        assert max(found.values(), default=1) == 1
        if verdict.verdict == "bounded" and not unkept_bounds(plan):
            kept = [v for name in stage.keys for v in stage.groups.values(name, stage.groups.seen.ids(ALL)).to_pylist()]
            assert [v for v in kept if v is not None and (v < 1000 if isinstance(v, int) else v < "z")] == []

    look()


ITEMS = """
CREATE STREAM i (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, PRIMARY KEY (k), PUNCTUATED ON (k) WHEN n = 1);
CREATE STREAM b (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts, PUNCTUATED ON (k) WHEN n = 1{lifespan});
"""
SUMS = "SELECT b.k, sum(b.n) AS total FROM i, b WHERE i.k = b.k GROUP BY b.k;"
BY_WINDOW = (
    "SELECT i.k, window(i.ts, 10).start AS s, count(*) AS c FROM i, b WHERE i.k = b.k GROUP BY i.k, window(i.ts, 10);"
)


class Grouped:
    """A cell and a stage of groups."""

    def __init__(self, asked: str) -> None:
        self.driver = Driver(ITEMS.replace("{lifespan}", "") + asked)
        self.stage = GroupStage(self.driver.plan)
        self.number = 0

    def step(self, **rows: list[tuple[int | None, ...]]) -> list[Any]:
        """The first aggregate of each group that a batch gives."""
        result = self.driver.step(**rows)
        reports = Reports({number: [table] for number, table in result.reports.items()})
        found = self.stage.step(self.number, result.rows, result.frontier, reports).rows
        self.number += 1
        return [row[given_name(0)] for row in found.to_pylist()]


def test_example_1_of_safety_forgets_an_auction_when_its_bids_are_closed() -> None:
    auctions = Grouped(SUMS)
    assert auctions.step(i=[(7, 0, 0), (8, 0, 0)], b=[(7, 0, 10), (8, 0, 2)]) == [10, 2]
    assert auctions.step(b=[(7, 1, 5), (7, 1, 1)]) == [15]
    assert auctions.stage.live == 1


def test_rows_that_break_the_punctuation_of_a_forgotten_group_begin_it_anew() -> None:
    auctions = Grouped(SUMS)
    assert auctions.step(i=[(7, 0, 0)], b=[(7, 0, 10)]) == [10]
    assert auctions.step(i=[(7, 0, 1)], b=[(7, 1, 1)]) == []
    assert auctions.stage.live == 0
    assert auctions.step(i=[(7, 2, 0)], b=[(7, 2, 4)]) == [4], "what was given is not taken back, nor remembered"


def test_a_group_that_a_stored_row_may_still_bring_is_not_forgotten() -> None:
    auctions = Grouped(SUMS.replace("b.k, sum", "i.k, sum").replace("GROUP BY b.k", "GROUP BY i.k"))
    assert auctions.step(i=[(7, 0, 0)], b=[(7, 0, 10)]) == [10]
    assert auctions.step(i=[(7, 0, 1)]) == [], "its bids go on, though no item of that name comes again"
    assert auctions.stage.live == 1
    assert auctions.step(b=[(7, 1, 5), (7, 1, 1)]) == [15]
    assert auctions.stage.live == 0


def test_a_window_without_an_order_is_given_once_when_its_key_is_punctuated() -> None:
    auctions = Grouped(BY_WINDOW)
    assert auctions.step(i=[(7, 3, 0)], b=[(7, 0, 10), (7, 0, 11)]) == []
    assert auctions.step(b=[(7, 1, 5), (7, 1, 1)]) == [3]
    assert auctions.stage.live == 0


def test_a_punctuation_that_lives_only_a_while_closes_no_group() -> None:
    for lifespan, verdict in (("", "bounded"), (" LIFESPAN 5", "undecided")):
        text = ITEMS.replace("{lifespan}", f"{lifespan}, FOLLOWS i (k) ON (k) WITHIN 5 ROWS")
        text = text.replace("(k), PUNCTUATED ON (k) WHEN n = 1)", "(k))")
        found = penstock.check(penstock.parse(text + SUMS))
        assert {e.alias: e.finding.verdict for e in found.streams}["(groups)"] == verdict
