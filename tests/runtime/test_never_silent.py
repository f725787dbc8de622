"""Never silently wrong: whatever promises break, under whatever policies, an answer that is not right is not `exact`.

Streams that keep their declarations but for a row now and then (where everything breaks, something is always seen), and
streams that keep nothing; inner and outer joins, EXISTS and NOT EXISTS; each declaration with a policy of its own. The
answer is compared with that of SQL over the full history, less what QUARANTINE kept out. If it differs, the account
says so, or the query rests on a promise that may break without being seen, and the last line of a run names it.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from penstock.analysis.check import check_query
from penstock.model.schemes import Policy
from penstock.plan.planner import make_plan
from penstock.plan.runnable import obstacles
from penstock.plan.watching import rests_on_unseen
from penstock.runtime import Cell, PromiseBroken
from penstock.runtime.exactness import Exactness
from tests.measure import size
from tests.runtime.outer_reference import Evaluator
from tests.runtime.outer_workloads import OuterWorkload, outer_workloads
from tests.runtime.reference import Arrived, History, Keeper, Punctuation
from tests.runtime.test_broken_promises import learned
from tests.runtime.test_core_against_reference import bag
from tests.runtime.test_outer import KINDS
from tests.runtime.workloads import Broken, Workload, workloads

GOING_ON = (Policy.ADAPT, Policy.TRUST, Policy.RECOVER)
POLICIES: tuple[Broken, ...] = (
    Policy.ADAPT,
    Policy.TRUST,
    Policy.RECOVER,
    Policy.QUARANTINE,
    Policy.FAIL,
    GOING_ON,
    tuple(Policy),
)
SILENT = settings(
    max_examples=int(os.environ.get("PENSTOCK_EXAMPLES", size(8, 2000))),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.reuse, Phase.generate],
)


@st.composite
def broken(draw: st.DrawFn, kind: str) -> Workload:
    policy, seldom = draw(st.sampled_from(POLICIES)), draw(st.integers(0, 3)) > 0
    if kind != "inner":
        return draw(outer_workloads(KINDS[kind], most_rows=14, broken=policy, batches=7, seldom=seldom))
    made = draw(workloads(most_sources=3, most_rows=16, broken=policy, batches=7, seldom=seldom))
    return learned(made, 3) if draw(st.integers(0, 4)) == 0 else made


def run(workload: Workload) -> tuple[Counter[tuple[Any, ...]], Exactness, dict[str, set[int]]]:
    """What was emitted, what is known of it, and by alias the rows that were kept out, by their n."""
    plan = make_plan(workload.query, check_query(workload.query))
    cell = Cell(plan, absent=workload.absent(plan)) if isinstance(workload, OuterWorkload) else Cell(plan)
    found, known, kept_out = Counter[tuple[Any, ...]](), Exactness(), dict[str, set[int]]()
    for number in range(workload.batches + 1):
        result = cell.step(replace(workload.batch(plan, number), is_last=number == workload.batches))
        found += bag(result.rows)
        for kept in result.quarantined:
            kept_out.setdefault(kept.stream, set()).update(kept.rows.column("n").to_pylist())
        told = result.metrics
        counts = {"violations": told.violations, "lost": told.lost, "contradicted": told.contradicted}
        known = known.then(plan, {"batch": number, "evicted": 0, **counts})
    return found, known, kept_out


def broken_in(workload: Workload) -> set[str]:
    """The constraints that rows of the history break, each looked at by itself; one that is learned may be broken."""
    streams = {s.stream.name: s.stream for s in workload.query.all_sources}
    found = set()
    for name, stream in streams.items():
        for scheme in stream.schemes:
            alone = (replace(s, schemes=(scheme,) if s is stream else ()) for s in streams.values())
            if "AUTO" in scheme.text or _is_broken(Keeper(tuple(alone)), workload):
                found.add(scheme.on(name))
    return found


def _is_broken(keeper: Keeper, workload: Workload) -> bool:
    before: History = {name: [] for name in workload.history}
    for batch in range(workload.batches):
        for name, rows in workload.history.items():
            made: list[Arrived | Punctuation] = [*workload.punctuations.get(name, ()), *rows]
            # A punctuation stands before the data row that has its place.
            for row in sorted((m for m in made if m.batch == batch), key=lambda m: m.place):
                if isinstance(row, Punctuation):
                    keeper.punctuations[name].append(row)
                elif keeper.allows(before, name, row):
                    before[name].append(row)
                else:
                    return True
    return False


def check(workload: Workload) -> None:
    assume(not obstacles(workload.query))
    try:
        found, known, kept_out = run(workload)
    except PromiseBroken:
        return
    let_in = {
        stream: [row for row in rows if row.values["n"] not in kept_out.get(stream, ())]
        for stream, rows in workload.history.items()
    }
    wanted = Evaluator(workload.query, let_in, workload.history).answer()
    if found != wanted and known.is_exact:
        plan = make_plan(workload.query, check_query(workload.query))
        told = f"missing {wanted - found}, wrong {found - wanted}"
        assert broken_in(workload) & set(rests_on_unseen(workload.query, plan)), told


@pytest.mark.parametrize("kind", ["inner", *KINDS])
def test_an_answer_that_is_not_right_is_not_called_exact(kind: str) -> None:
    SILENT(given(broken(kind))(check))()
