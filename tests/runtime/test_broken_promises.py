"""Streams that keep nothing of what they declare, on random queries: each policy does what it says.

The answer is compared with the full-history join of `reference.py`, batch by batch. RECOVER loses nothing at all. ADAPT
and TRUST give no row that is not a result, and know of no more lost results than are lost. QUARANTINE gives only
results of rows that it let in, and hands over each row that it kept out once.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import penstock
from penstock.analysis.check import check_query
from penstock.explain.reason_words import each_told
from penstock.model.clauses import Aggregate, Output
from penstock.model.hints import Hints, Monitoring
from penstock.model.schemes import Clustered, Follows, Ordered, Policy, Scheme
from penstock.model.spans import Auto, Rows
from penstock.plan.planner import make_plan
from penstock.plan.runnable import obstacles
from penstock.runtime import Cell
from penstock.runtime.discarded import cold_segments
from penstock.runtime.state.store import COLD
from tests.measure import size
from tests.runtime.aggregates import Run, aggregates_over, check_running, results_of
from tests.runtime.reference import answer
from tests.runtime.test_core_against_reference import bag
from tests.runtime.workloads import Workload, workloads

EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", size(25, 2000)))
# Rows are drawn from a seed, so there is little to shrink, and it would take minutes.
BROKEN = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.reuse, Phase.generate]
)


def learned(workload: Workload, window: int) -> Workload:
    """The workload with every k that can be learned left to be learned."""

    def auto(scheme: Scheme) -> Scheme:
        return replace(scheme, within=Auto()) if isinstance(scheme, Ordered | Clustered | Follows) else scheme

    sources = tuple(
        replace(s, stream=replace(s.stream, schemes=tuple(dict.fromkeys(auto(x) for x in s.stream.schemes))))
        for s in workload.query.sources
    )
    hints = Hints(monitor=Monitoring(Decimal("1.5"), Decimal("0.5"), window))
    return replace(workload, query=replace(workload.query, sources=sources, hints=hints))


def run(workload: Workload, *, restart: bool = False) -> tuple[list[Counter[tuple[Any, ...]]], int, Cell]:
    """The answers by batch, the results known to be lost, and the cell at the end."""
    plan = make_plan(workload.query, check_query(workload.query))
    cell = Cell(plan)
    store: dict[str, bytes] = {}
    found, lost = [], 0
    for number in range(workload.batches):
        if restart:
            cell.doubted_rows.fetch_by(store.__getitem__)
        result = cell.step(workload.batch(plan, number))
        found.append(bag(result.rows))
        lost += result.metrics.lost
        if restart:
            changes = cell.save()
            store = {k: v for k, v in {**store, **changes.put}.items() if k not in changes.delete}
            cell = Cell.restore(plan, {k: v for k, v in store.items() if not k.startswith(COLD)})
    return found, lost, cell


def expected(workload: Workload) -> list[Counter[tuple[Any, ...]]]:
    filed = answer(workload.query, workload.history)
    return [filed.get(number, Counter()) for number in range(workload.batches)]


@BROKEN
@given(workloads(most_sources=3, broken=Policy.RECOVER, batches=9, most_rows=14))
def test_recover_loses_nothing_at_all(workload: Workload) -> None:
    found, lost, _ = run(workload)
    assert found == expected(workload)
    assert lost == 0


@BROKEN
@given(workloads(most_sources=4, broken=Policy.RECOVER, batches=9, most_rows=8), st.integers(1, 12))
def test_recover_loses_nothing_when_k_is_learned_and_cells_are_restored(workload: Workload, window: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cold_segments, "_MERGE_BELOW", 12)
        found, lost, _ = run(learned(workload, window), restart=True)
    assert found == expected(workload)
    assert lost == 0


@settings(BROKEN, max_examples=EXAMPLES // 2)
@given(workloads(most_sources=3, broken=Policy.RECOVER, batches=9, most_rows=10), st.integers(0, 2**32))
def test_recover_loses_nothing_of_groups(workload: Workload, seed: int) -> None:
    chance = Random(seed)
    query = aggregates_over(workload.query, chance, windowed=False)
    cells, restarts = chance.choice([(1, False), (1, True), (2, True)])
    check_running(Run(query, cells, restarts, keeps_promises=False), replace(workload, query=query))


@settings(BROKEN, max_examples=EXAMPLES // 2)
@given(workloads(most_sources=3, broken=Policy.ADAPT, batches=9, most_rows=14), st.sampled_from([1, 5, 12]))
def test_groups_of_a_learned_k_count_only_results_and_know_of_no_more_losses_than_there_are(
    workload: Workload, window: int
) -> None:
    counted = (Output("results", Aggregate("count")),)
    plain = workload.query.with_block(replace(workload.query.block, outputs=counted, distinct=False))
    one = learned(replace(workload, query=plain), window)
    run = Run(one.query, keeps_promises=False, restarts=True)
    given_out = 0
    for number in range(one.batches):
        for _, (count,) in run.step(one.batch(run.plan, number)):
            given_out = count
    results = sum(len(found) for found in results_of(plain, one.history).values())
    assert 0 <= run.lost <= results - given_out


@BROKEN
@given(workloads(most_sources=3, broken=Policy.ADAPT, batches=9, most_rows=14), st.sampled_from([0, 1, 5, 12]))
def test_adapt_gives_only_results_and_knows_of_no_more_losses_than_there_are(workload: Workload, window: int) -> None:
    found, lost, _ = run(learned(workload, window) if window else workload, restart=bool(window))
    wanted = expected(workload)
    assert all(not one - other for one, other in zip(found, wanted, strict=True))
    missing = sum((other - one).total() for one, other in zip(found, wanted, strict=True))
    assert 0 <= lost <= missing


def counted_in_rows(workload: Workload, *, learns: bool) -> Workload:
    """The workload with no promise but those that have a k, and a monitor that remembers all that they let go."""
    sources = tuple(
        replace(s, stream=replace(s.stream, schemes=tuple(x for x in s.stream.schemes if _has_k(x))))
        for s in workload.query.sources
    )
    plain = replace(workload, query=replace(workload.query, sources=sources))
    plain = learned(plain, 3) if learns else plain
    return replace(plain, query=replace(plain.query, hints=Hints(monitor=Monitoring(Decimal(1000), Decimal(1), 3))))


def _has_k(scheme: Scheme) -> bool:
    return isinstance(scheme, Ordered | Clustered) or (isinstance(scheme, Follows) and isinstance(scheme.within, Rows))


@settings(BROKEN, max_examples=EXAMPLES // 2)
@given(workloads(most_sources=3, broken=Policy.ADAPT, batches=9, most_rows=14), st.booleans())
def test_while_all_that_was_let_go_is_remembered_lost_results_are_counted_to_the_last(
    workload: Workload, learns: bool
) -> None:
    one = counted_in_rows(workload, learns=learns)
    found, lost, _ = run(one, restart=True)
    wanted = expected(one)
    assert all(not one - other for one, other in zip(found, wanted, strict=True))
    assert lost == sum((other - one).total() for one, other in zip(found, wanted, strict=True))


@settings(BROKEN, max_examples=EXAMPLES // 2)
@given(workloads(most_sources=3, broken=Policy.TRUST, batches=6))
def test_trust_gives_only_results(workload: Workload) -> None:
    found, lost, _ = run(workload)
    assert all(not one - other for one, other in zip(found, expected(workload), strict=True))
    assert lost == 0


@settings(BROKEN, max_examples=EXAMPLES // 2)
@given(workloads(most_sources=3, broken=Policy.QUARANTINE, batches=6, most_rows=14))
def test_quarantine_gives_only_results_of_rows_that_it_let_in(workload: Workload) -> None:
    plan = make_plan(workload.query, check_query(workload.query))
    cell = Cell(plan)
    kept_out: Counter[tuple[str, int]] = Counter()
    found = []
    for number in range(workload.batches):
        result = cell.step(workload.batch(plan, number))
        held = [(q.alias, n) for q in result.quarantined for n in q.rows.column("n").to_pylist()]
        assert len(held) == sum(result.metrics.violations.values())
        kept_out.update(held)
        found.append(bag(result.rows))
    assert all(not one - other for one, other in zip(found, expected(workload), strict=True))
    assert set(kept_out.values()) <= {1}
    aliases = [source.alias for source in workload.query.sources]
    given_out = {member for rows in found for row in rows for member in zip(aliases, row, strict=True)}
    assert not given_out & set(kept_out)


@pytest.mark.parametrize(
    ("select", "says"),
    [
        ("s.n FROM s LEFT JOIN t ON s.k = t.k", None),
        ("s.n FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = s.k)", None),
        ("s.n FROM s LEFT JOIN t ON s.k = t.k LEFT JOIN s AS u ON u.k = t.k", None),
        ("/*+ BUDGET(10 ROWS) */ s.n FROM s, t WHERE s.k = t.k", "a BUDGET is there to lose rows"),
        ("window(s.ts, 5) AS w, count(*) AS n FROM s, t WHERE s.k = t.k GROUP BY window(s.ts, 5)", "is emitted once"),
        ("s.k, count(*) AS n FROM s, t WHERE s.k = t.k GROUP BY s.k", None),
        ("DISTINCT s.n FROM s, t WHERE s.k = t.k", None),
    ],
)
def test_recover_is_refused_where_what_was_given_is_final(select: str, says: str | None) -> None:
    fields = "k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 5"
    (query,) = penstock.parse(
        f"CREATE STREAM s ({fields}); CREATE STREAM t ({fields} ON VIOLATION RECOVER); SELECT {select};"
    ).queries
    found = [text for text in each_told(obstacles(query)) if "RECOVER" in text]
    assert len(found) == (says is not None)
    assert says is None or (says in found[0] and "ORDERED BY ts WITHIN 5 ON t" in found[0] and "use ADAPT" in found[0])
