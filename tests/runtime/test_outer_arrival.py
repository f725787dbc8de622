"""Outer joins and EXISTS over streams that are counted in the order of ARRIVES BY, each read at its own pace.

FOLLOWS within rows and [ROWS n] then count in that order, whatever the batching: no row may be given that is not in the
answer over the whole history, and the end of every stream decides the rest of it. Where `check` calls the query
bounded, nothing of what was read before the streams moved on is stored. Under a budget, what is given is a part of the
same answer.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from penstock.analysis.check import check_query
from penstock.model.hints import Budget
from penstock.model.query import Query
from penstock.model.relation import Block, Existence, Join, JoinKind, Leaf
from penstock.plan.planner import make_plan
from penstock.plan.runnable import obstacles
from penstock.runtime import Batch, Cell
from tests.measure import size
from tests.runtime.input.test_arrival_order import Paced, lines, paced
from tests.runtime.outer_reference import Evaluator
from tests.runtime.outer_workloads import OuterWorkload, Wanted, outer_queries
from tests.runtime.reference import Arrived, Punctuation
from tests.runtime.test_cells import share
from tests.runtime.test_core_against_reference import bag
from tests.runtime.test_outer import shares_of

EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", size(28, 1000)))


def outer(query: Query, kind: JoinKind | None) -> Query:
    """The query with the condition of its first two streams in an outer join, or in NOT EXISTS."""
    first, second = query.sources
    if kind is not None:
        tree = Join(kind, Leaf(first.alias), Leaf(second.alias), query.where)
        return query.with_block(replace(query.block, tree=tree, where=()))
    held = (Existence(second, True, query.where),)
    return query.with_block(Block(Leaf(first.alias), query.outputs[:1], existences=held), (first,))


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    paced(windowed=False),
    st.sampled_from([JoinKind.LEFT, JoinKind.FULL, None]),
    st.booleans(),
    st.sampled_from([None, None, 1, 2, 4]),
)
def test_rows_counted_in_the_order_of_arrival_make_it_certain(
    work: Paced, kind: JoinKind | None, restart: bool, budget: int | None
) -> None:
    assume(len(work.query.sources) == 2)
    query = outer(work.query, kind)
    if budget is not None:
        query = replace(query, hints=replace(query.hints, budget=Budget(budget, "ROWS")))
    plan = make_plan(query, check_query(query))
    cell = Cell(plan)
    store: dict[str, bytes] = {}
    evaluator = Evaluator(query, work.history)
    whole = evaluator.answer()
    found: Counter[tuple[Any, ...]] = Counter()
    for step in range(work.steps):
        result = cell.step(work.batch(plan, step))
        found += bag(result.rows)
        assert result.metrics.violations == {}
        assert not found - whole, f"early, twice or wrong in step {step}"
        if budget is not None:
            assert sum(result.metrics.state_rows.values()) + result.metrics.promise_rows <= budget
        if restart:
            changes = cell.save()
            store = {k: v for k, v in {**store, **changes.put}.items() if k not in changes.delete}
            cell = Cell.restore(plan, store)
    assert budget is not None or sum(evaluator.prompt().values(), Counter()) <= found


@dataclass(frozen=True)
class OuterPaced(OuterWorkload):
    """A workload whose streams are each read at their own pace; the batch of a row is its place in the line."""

    read: dict[str, list[int]] = field(default_factory=dict)
    """By stream, the batch in which each row is read."""

    def _brought(self, stream: str, number: int) -> list[Arrived | Punctuation]:
        return [row for row, read in zip(self.history[stream], self.read[stream], strict=True) if read == number]


@st.composite
def outer_paced(draw: st.DrawFn, wanted: Wanted) -> OuterPaced:
    query, _ = draw(outer_queries(replace(wanted, arrival=True, counted=True)))
    streams = {source.stream.name: source.stream for source in query.all_sources}
    history, read, steps, before = draw(lines(tuple(streams.values())))
    return OuterPaced(query, history, steps, 1, {}, before, read)


COUNTED = {
    "one join": Wanted((JoinKind.LEFT, JoinKind.FULL), 2),
    "one exists": Wanted((JoinKind.INNER,), 2, (False,)),
    "mixed": Wanted(),
    "not exists twice": Wanted((JoinKind.INNER,), 4, (True, True)),
    "mixed, exists and not exists": Wanted(existences=(False, True)),
}


@pytest.mark.parametrize("kind", COUNTED)
@pytest.mark.parametrize("is_split", [False, True], ids=["one cell", "several cells"])
def test_windows_of_rows_are_counted_in_the_order_of_arrival(kind: str, is_split: bool) -> None:
    @settings(max_examples=-(-EXAMPLES // 5), deadline=None, suppress_health_check=list(HealthCheck))
    @given(outer_paced(COUNTED[kind]), st.booleans())
    def look(work: OuterPaced, restart: bool) -> None:
        assume(not obstacles(work.query))
        verdict = check_query(work.query)
        plan = make_plan(work.query, verdict)
        absent = work.absent(plan)
        places = list(product(*shares_of(plan))) if is_split else [(0,) * len(plan.axes)]
        cells = {place: Cell(plan, absent=absent) for place in places}
        stores: dict[tuple[int, ...], dict[str, bytes]] = {place: {} for place in places}
        whole = Evaluator(work.query, work.history).answer()
        found: Counter[tuple[Any, ...]] = Counter()
        for step in range(work.batches + 1):
            if step == work.batches and work.before and verdict.verdict == "bounded":
                assert work.left_behind(verdict, plan, cells.values()) == {}
            batch = work.batch(plan, step)
            for place in places:
                part = tuple(share(plan, chunk, place) for chunk in batch.chunks) if is_split else batch.chunks
                result = cells[place].step(Batch(step, part, is_last=step == work.batches))
                found += bag(result.rows)
                assert result.metrics.violations == {}
                if restart:
                    changes = cells[place].save()
                    kept = {**stores[place], **changes.put}
                    stores[place] = {key: value for key, value in kept.items() if key not in changes.delete}
                    cells[place] = Cell.restore(plan, stores[place], absent=absent)
            assert not found - whole, f"early, twice or wrong in step {step}"
        assert found == whole
        assert {a: s.live for cell in cells.values() for a, s in cell.synopses.items() if s.live} == {}

    look()
