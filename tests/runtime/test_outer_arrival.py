"""Outer joins and EXISTS over streams that are counted in the order of ARRIVES BY, each read at its own pace.

FOLLOWS within rows then counts in that order, whatever the batching: no row may be given that is not in the answer over
the whole history, and each result from which nothing is absent is there at the end. Under a budget, what is given is a
part of the same answer.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from penstock.analysis.check import check_query
from penstock.model.hints import Budget
from penstock.model.query import Query
from penstock.model.relation import Block, Existence, Join, JoinKind, Leaf
from penstock.plan.planner import make_plan
from penstock.runtime import Cell
from tests.measure import size
from tests.runtime.input.test_arrival_order import Paced, paced
from tests.runtime.outer_reference import Evaluator
from tests.runtime.test_core_against_reference import bag

EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", size(40, 1000)))


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
