"""RECOVER under an outer join, EXISTS or NOT EXISTS of streams that keep nothing of what they declare.

Compared with SQL over the whole history: every match comes in the batch that completes it, EXISTS is exact, and at the
end nothing is missing. What was given without a match that came after all is counted, each such row once, and no other.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.analysis.check import check_query
from penstock.model.schemes import Policy
from penstock.model.simplify import simplified
from penstock.plan.planner import make_plan
from penstock.plan.runnable import obstacles
from penstock.runtime import Batch, Cell
from penstock.runtime.state.store import COLD
from tests.measure import size
from tests.runtime.aggregates import Row, aggregates_over, answers
from tests.runtime.driving import Driver
from tests.runtime.outer_reference import Evaluator
from tests.runtime.outer_workloads import OuterWorkload, outer_workloads
from tests.runtime.reference import Arrived
from tests.runtime.test_broken_promises import BROKEN, learned
from tests.runtime.test_cells import share
from tests.runtime.test_core_against_reference import bag
from tests.runtime.test_outer import KINDS, shares_of
from tests.runtime.test_outer_aggregates import COLUMNS, plain, run_of


@dataclass
class Answered:
    """What each batch gives, the end of all streams last; how many rows are said to be contradicted, or lost."""

    found: list[Counter[tuple[Any, ...]]] = field(default_factory=list)
    contradicted: int = 0
    lost: int = 0
    lengths: list[dict[str, float]] = field(default_factory=list)
    """The k of every promise, after each batch."""

    @property
    def rows(self) -> Counter[tuple[Any, ...]]:
        return sum(self.found, Counter())


def run(workload: OuterWorkload, *, restart: bool, audit: float = 0.0) -> Answered:
    plan = replace(make_plan(workload.query, check_query(workload.query)), audit=audit)
    absent = workload.absent(plan)
    cell, store, answered = Cell(plan, absent=absent), dict[str, bytes](), Answered()
    for number in range(workload.batches + 1):
        if restart:
            cell.doubted_rows.fetch_by(store.__getitem__)
        result = cell.step(replace(workload.batch(plan, number), is_last=number == workload.batches))
        answered.found.append(bag(result.rows))
        answered.contradicted += result.metrics.contradicted
        answered.lost += result.metrics.lost
        answered.lengths.append(dict(result.metrics.k))
        if restart:
            changes = cell.save()
            store = {k: v for k, v in {**store, **changes.put}.items() if k not in changes.delete}
            kept = {k: v for k, v in store.items() if not k.startswith(COLD)}
            cell = Cell.restore(plan, kept, absent=absent) if number < workload.batches else cell
    return answered


def recovering(kind: str) -> st.SearchStrategy[OuterWorkload]:
    """Streams that keep nothing, or that break something now and then: most rows of those are in time."""
    return st.booleans().flatmap(
        lambda seldom: outer_workloads(
            KINDS[kind], most_rows=18 if seldom else 12, broken=Policy.RECOVER, batches=8, seldom=seldom
        )
    )


def check(workload: OuterWorkload, answered: Answered) -> None:
    evaluator = Evaluator(workload.query, workload.history)
    whole = evaluator.answer()
    assert not whole - answered.rows
    assert answered.lost == 0
    assert (answered.rows - whole).total() == answered.contradicted
    if any(e.negated for e in workload.query.existences):
        return
    prompt = evaluator.prompt()
    for number, rows in enumerate(answered.found):
        matches = Counter({row: times for row, times in rows.items() if None not in row})
        assert matches == prompt.get(number, Counter()), f"batch {number}"


@pytest.mark.parametrize("kind", KINDS)
def test_every_match_is_recovered_and_what_it_contradicts_is_counted(kind: str) -> None:
    @settings(BROKEN, max_examples=int(os.environ.get("PENSTOCK_EXAMPLES", size(10, 2000))))
    @given(recovering(kind), st.booleans(), st.booleans())
    def look(workload: OuterWorkload, restart: bool, is_learned: bool) -> None:
        assume(not simplified(workload.query).is_inner)
        if is_learned:
            workload = learned(workload, 3)  # type: ignore[assignment]
        assert obstacles(workload.query) == ()
        check(workload, run(workload, restart=restart))

    look()


@pytest.mark.parametrize("kind", ["mixed", "exists and not exists", "mixed, counted in rows"])
def test_so_it_is_in_many_cells(kind: str) -> None:
    @settings(BROKEN, max_examples=int(os.environ.get("PENSTOCK_EXAMPLES", size(5, 2000))))
    @given(recovering(kind))
    def look(workload: OuterWorkload) -> None:
        assume(not simplified(workload.query).is_inner)
        plan = make_plan(workload.query, check_query(workload.query))
        cells = {place: Cell(plan, absent=workload.absent(plan)) for place in product(*shares_of(plan))}
        answered = Answered()
        for number in range(workload.batches + 1):
            batch = workload.batch(plan, number)
            rows: Counter[tuple[Any, ...]] = Counter()
            for place, cell in cells.items():
                part = tuple(share(plan, chunk, place) for chunk in batch.chunks)
                result = cell.step(Batch(number, part, is_last=number == workload.batches))
                rows += bag(result.rows)
                answered.contradicted += result.metrics.contradicted
            answered.found.append(rows)
        check(workload, answered)

    look()


@pytest.mark.parametrize("kind", ["left", "right", "full", "exists", "not exists"])
def test_what_shadows_know_to_be_lost_or_contradicted_is_no_more_than_is(kind: str) -> None:
    """ADAPT, with every k learned: no match is given that is none."""

    @BROKEN
    @given(
        outer_workloads(KINDS[kind], most_rows=12, broken=Policy.ADAPT, batches=8),
        st.sampled_from([1, 5, 12]),
        st.booleans(),
    )
    def look(workload: OuterWorkload, window: int, restart: bool) -> None:
        assume(not simplified(workload.query).is_inner)
        one: OuterWorkload = learned(workload, window)  # type: ignore[assignment]
        assume(not obstacles(one.query))
        answered = run(one, restart=restart)
        whole = Evaluator(workload.query, workload.history).answer()
        missing = Counter({row: n for row, n in (whole - answered.rows).items() if None not in row})
        wrong = answered.rows - whole
        assert kind == "not exists" or not [row for row in wrong if None not in row]
        assert answered.lost <= missing.total()
        assert answered.contradicted <= wrong.total()

    look()


@pytest.mark.parametrize("kind", ["left", "full", "exists", "not exists", "mixed", "not exists over joins"])
def test_groups_follow_the_rows_that_are_recovered(kind: str) -> None:
    """They hold what the same query without groups gives: a row that a late match contradicts, too."""

    @BROKEN
    @given(outer_workloads(KINDS[kind], most_rows=12, broken=Policy.RECOVER, batches=8), st.integers(0, 2**32))
    def look(workload: OuterWorkload, seed: int) -> None:
        assume(not simplified(workload.query).is_inner)
        query = aggregates_over(workload.query, Random(seed), windowed=False)
        assume(not obstacles(query))
        groups = run_of(replace(workload, query=query), False)
        groups.keeps_promises = False
        bare = plain(query)
        plan = make_plan(bare, check_query(bare))
        cell = Cell(plan, absent=workload.absent(plan))
        so_far: list[dict[str, Arrived]] = []
        held: dict[Row, Row] = {}
        for number in range(workload.batches):
            for row in cell.step(workload.batch(plan, number)).rows.to_pylist():
                so_far.append(
                    {s.alias: Arrived(0, 0, {c: row[f"{s.alias}_{c}"] for c in COLUMNS}) for s in bare.sources}
                )
            held |= dict(groups.step(workload.batch(groups.plan, number)))
            assert held == answers(query, so_far), f"batch {number}"

    look()


STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts {1});"
RECOVERING = STREAM.format("r", "ON VIOLATION RECOVER") + STREAM.format("s", "ON VIOLATION RECOVER")
ON = "s.k = r.k AND s.ts - r.ts BETWEEN 0 AND 5"


def test_a_row_is_contradicted_once_however_many_matches_come_late() -> None:
    driver = Driver(f"{RECOVERING} SELECT r.n, s.n AS m FROM r LEFT JOIN s ON {ON};")
    assert driver.step(r=[(1, 10, 1)], s=[(9, 100, 0)]).rows.to_pylist() == [{"r_n": 1, "s_n": None}]
    for number in (7, 8):
        late = driver.step(s=[(1, 11, number)])
        assert late.rows.to_pylist() == [{"r_n": 1, "s_n": number}]
        assert late.metrics.contradicted == (number == 7)
        driver.restart()


def test_a_row_of_exists_is_recovered_once() -> None:
    driver = Driver(f"{RECOVERING} SELECT r.n FROM r WHERE EXISTS (SELECT 1 FROM s WHERE {ON});")
    driver.step(r=[(1, 10, 1)], s=[(9, 100, 0)])
    assert driver.stored("r") == 0
    assert driver.step(r=[(2, 99, 2)], s=[(1, 11, 7), (2, 100, 8)]).rows.column(0).to_pylist() == [1, 2]
    driver.restart()
    again = driver.step(s=[(1, 12, 8)])
    assert (again.rows.num_rows, again.metrics.contradicted) == (0, 0)


def test_not_exists_counts_what_it_should_not_have_given() -> None:
    driver = Driver(f"{RECOVERING} SELECT r.n FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE {ON});")
    assert driver.step(r=[(1, 10, 1)], s=[(9, 100, 0)]).rows.num_rows == 1
    late = driver.step(r=[(2, 100, 2)], s=[(1, 11, 7), (2, 101, 7)])
    assert (late.rows.num_rows, late.metrics.contradicted) == (0, 1)
    assert driver.stored("r") == 0


def test_a_late_row_that_is_kept_finds_its_partner_and_is_not_given_without() -> None:
    driver = Driver(f"{RECOVERING} SELECT r.n, s.n AS m FROM r LEFT JOIN s ON {ON};")
    driver.step(r=[(9, 100, 0)], s=[(1, 11, 7), (9, 106, 1)])
    late = driver.step(r=[(1, 10, 1), (2, 10, 2)])
    assert sorted(late.rows.column(1).to_pylist(), key=str) == [7, None]
    assert late.metrics.contradicted == 0


@pytest.mark.parametrize("restarts", [False, True])
def test_a_late_row_contradicts_what_was_emitted_though_its_match_is_whole_only_later(restarts: bool) -> None:
    """The order that was broken holds in more rows from then on, so that c waits anew, though it was emitted."""
    streams = (
        "CREATE STREAM a (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts);"
        "CREATE STREAM b (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts,"
        " ORDERED BY k WITHIN 0 ROWS ON VIOLATION RECOVER);"
        "CREATE STREAM c (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts);"
    )
    driver = Driver(f"{streams} SELECT a.n, b.n AS m, c.n AS o FROM a JOIN b ON b.k = a.k FULL JOIN c ON c.k = b.k;")
    driver.step(c=[(0, 1, 1)])
    assert driver.step(b=[(3, 5, 13)]).rows.to_pylist() == [{"a_n": None, "b_n": None, "c_n": 1}]
    late = driver.step(b=[(0, 2, 20)])
    assert (late.rows.num_rows, late.metrics.contradicted) == (0, 0)
    if restarts:
        driver.restart()
    whole = driver.step(a=[(0, 4, 22)])
    assert whole.rows.to_pylist() == [{"a_n": 22, "b_n": 20, "c_n": 1}]
    assert whole.metrics.contradicted == 1
    again = driver.step(a=[(0, 4, 23)])
    assert (again.rows.num_rows, again.metrics.contradicted) == (1, 0)


def test_the_end_of_the_streams_sets_nothing_aside() -> None:
    driver = Driver(f"{RECOVERING} SELECT r.n, s.n AS m FROM r FULL JOIN s ON {ON};")
    driver.step(r=[(1, 10, 1)])
    cell = driver.cell
    assert cell.step(Batch(1, (), is_last=True)).rows.num_rows == 1
    assert all(piles.rows == 0 for piles in cell.doubted_rows.piles.values())


@pytest.mark.parametrize("kind", ["left", "full", "exists", "not exists"])
@pytest.mark.parametrize("is_broken", [False, True], ids=["kept", "broken"])
def test_an_audit_of_everything_finds_only_what_is_lost_or_wrong(kind: str, is_broken: bool) -> None:
    """Of streams that keep their promises nothing, and the answer stays as it is.

    Of others no more than is lost, or wrong: and a row that meets one which is kept for the audit has matched, so it is
    not emitted without a match, and EXISTS has its answer. That the audit takes no right result away can be asked only
    until it widens a promise that nobody else saw broken: rows kept for longer then let other promises speak, which may
    be broken too.
    """
    policy = Policy.ADAPT if is_broken else None

    @settings(BROKEN, max_examples=int(os.environ.get("PENSTOCK_EXAMPLES", size(8, 2000))))
    @given(outer_workloads(KINDS[kind], most_rows=12, broken=policy, batches=8), st.booleans())
    def look(workload: OuterWorkload, restart: bool) -> None:
        assume(not simplified(workload.query).is_inner)
        plain, audited = (run(workload, restart=restart, audit=share) for share in (0.0, 1.0))
        assert (plain.contradicted, plain.lost) == (0, 0)
        whole = Evaluator(workload.query, workload.history).answer()
        if plain.lengths == audited.lengths:
            assert not (audited.rows - plain.rows) - whole
            assert not (plain.rows - audited.rows) & whole
        assert is_broken or audited.found == plain.found
        assert audited.lost <= (whole - audited.rows).total()
        assert audited.contradicted <= (audited.rows - whole).total()
        assert is_broken or (audited.lost, audited.contradicted) == (0, 0)

    look()
