"""Budgets in the core, on random queries, declarations, streams and batchings, against the full-history join.

After every step the state is within the budget; what is emitted is a part of what the reference files under that batch;
and with all that was evicted in the sample, results due are what the reference has, to the last.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import penstock
from penstock.analysis.check import check_query
from penstock.errors import PenstockError
from penstock.explain.reason_words import told
from penstock.model.hints import EVICTION_POLICIES, Budget, Hints
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.plan.runnable import obstacles
from penstock.runtime import Batch, Cell, Chunk, hash_rows
from penstock.runtime.budget.archive import missing_results
from penstock.runtime.budget.shares import KeyNeeds, bucket_counts, is_shared_by_key
from tests.measure import size
from tests.runtime.driving import plan_of
from tests.runtime.reference import answer
from tests.runtime.test_cells import share
from tests.runtime.test_core_against_reference import bag
from tests.runtime.workloads import Workload, workloads

EXAMPLES = size(40, 1500)

AMPLE = 1_000_000

budgets = st.tuples(st.sampled_from([1, 2, 3, 5, 8, 13, AMPLE]), st.sampled_from(EVICTION_POLICIES), st.booleans())


def run(workload: Workload, budget: Budget, policy: str, *, restart: bool) -> tuple[int, int]:
    """The results emitted and due; every step is held to the budget and to the reference."""
    query = replace(workload.query, hints=Hints(budget=budget, evict=policy))
    plan = make_plan(query, check_query(query))
    cell = Cell(plan)
    store: dict[str, bytes] = {}
    expected = answer(query, workload.history)
    emitted = due = 0
    for number in range(workload.batches):
        result = cell.step(workload.batch(plan, number))
        metrics = result.metrics
        if budget.rows is not None:
            assert sum(metrics.state_rows.values()) + metrics.promise_rows <= budget.rows, f"batch {number}"
            assert sum(s.live for s in cell.synopses.values()) + metrics.promise_rows <= budget.rows
        else:
            assert metrics.state_bytes <= budget.amount * 1024, f"batch {number}"
        exact: Counter[tuple[Any, ...]] = expected.get(number, Counter())
        assert bag(result.rows) <= exact, f"batch {number}"
        emitted += result.rows.num_rows
        due += exact.total()
        assert metrics.loss is not None
        assert metrics.loss.emitted == emitted
        if budget.rows is not None:
            assert metrics.loss.due == due, f"batch {number}"
            assert metrics.loss.lost <= exact.total() - result.rows.num_rows
        if restart:
            changes = cell.save()
            store = {k: v for k, v in {**store, **changes.put}.items() if k not in changes.delete}
            cell = Cell.restore(plan, store)
    if budget.rows == AMPLE:
        assert workload.left_behind(check_query(workload.query), plan, [cell]) == {}
    return emitted, due


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(workloads(most_sources=4).map(Workload.moved_on), budgets)
def test_a_budget_in_rows_holds_after_every_step_and_the_account_is_exact(
    workload: Workload, asked: tuple[int, str, bool]
) -> None:
    rows, policy, restart = asked
    emitted, due = run(workload, Budget(rows, "ROWS"), policy, restart=restart)
    if rows == AMPLE:
        assert emitted == due


@settings(max_examples=EXAMPLES // 3, deadline=None, suppress_health_check=list(HealthCheck))
@given(workloads(most_sources=3), st.sampled_from([1, 2, 4]), st.sampled_from(EVICTION_POLICIES), st.booleans())
def test_a_budget_in_bytes_holds_after_every_step(workload: Workload, kb: int, policy: str, restart: bool) -> None:
    run(workload, Budget(kb, "KB"), policy, restart=restart)


@settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=list(HealthCheck))
@given(workloads(most_sources=3), st.sampled_from([1, 2, 3, 5]), st.sampled_from(EVICTION_POLICIES))
def test_what_was_emitted_and_what_the_archive_gives_is_the_exact_answer(
    workload: Workload, rows: int, policy: str
) -> None:
    query = replace(workload.query, hints=Hints(budget=Budget(rows, "ROWS"), evict=policy, archive="archive"))
    assume(not obstacles(query))
    plan = make_plan(query, check_query(query))
    cell = Cell(plan)
    store: dict[str, bytes] = {}
    archived, emitted, missing = [], Counter[tuple[Any, ...]](), Counter[tuple[Any, ...]]()
    joined = -1
    for number in range(workload.batches):
        result = cell.step(workload.batch(plan, number))
        assert result.archived is not None
        archived.append(result.archived)
        emitted += bag(result.rows)
        if number == workload.batches // 2:
            # A quiet hour in the middle; the second one goes on from there.
            for _, found in missing_results(plan, archived, -1):
                missing += bag(found) if found is not None else Counter()
            joined = number
        changes = cell.save()
        store = {k: v for k, v in {**store, **changes.put}.items() if k not in changes.delete}
        cell = Cell.restore(plan, store)
    for _, found in missing_results(plan, archived, joined):
        missing += bag(found) if found is not None else Counter()
    exact = sum(answer(query, workload.history).values(), Counter[tuple[Any, ...]]())
    assert emitted + missing == exact


@settings(max_examples=EXAMPLES // 3, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    workloads(most_sources=3),
    st.sampled_from([2, 1_000]),
    st.sampled_from([0.0, 0.3, 0.7]),
    st.sampled_from(["gain", "rand"]),
)
def test_rows_shed_before_the_join_are_in_the_account_and_in_the_archive(
    workload: Workload, rows: int, keep: float, policy: str
) -> None:
    hints = Hints(budget=Budget(rows, "ROWS"), evict=policy, archive="archive", shed_input=True)
    query = replace(workload.query, hints=hints)
    assume(not obstacles(query))
    plan = make_plan(query, check_query(query))
    cell = Cell(plan)
    expected = answer(query, workload.history)
    archived, emitted, due = [], Counter[tuple[Any, ...]](), 0
    for number in range(workload.batches):
        result = cell.step(replace(workload.batch(plan, number), keep=keep))
        assert bag(result.rows) <= expected.get(number, Counter())
        emitted += bag(result.rows)
        due += expected.get(number, Counter()).total()
        assert result.metrics.loss is not None
        assert result.metrics.loss.due == due
        assert result.archived is not None
        archived.append(result.archived)
    found = [bag(rows) for _, rows in missing_results(plan, archived, -1) if rows is not None]
    assert sum(found, emitted) == sum(expected.values(), Counter[tuple[Any, ...]]())


def by_key(plan: Plan, chunk: Chunk, cells: int) -> dict[str, tuple[int, ...]]:
    """What a header tells of keys."""
    if not is_shared_by_key(plan):
        return {}
    return {alias: bucket_counts(plan, alias, table, cells) for alias, table in chunk.rows.items() if table.num_rows}


@settings(max_examples=EXAMPLES // 3, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    workloads(most_sources=3),
    st.sampled_from([*(Budget(rows, "ROWS") for rows in (1, 3, 6, 12)), Budget(4, "KB")]),
    st.sampled_from(EVICTION_POLICIES),
)
def test_many_cells_together_hold_the_budget(workload: Workload, budget: Budget, policy: str) -> None:
    query = replace(workload.query, hints=Hints(budget=budget, evict=policy))
    plan = make_plan(query, check_query(query))
    places = list(product(range(2), repeat=len(plan.axes)))
    cells = [Cell(plan, number=number) for number in range(len(places))]
    expected = answer(query, workload.history)
    emitted = due = 0
    for number in range(workload.batches):
        dealt: list[list[Chunk]] = [[] for _ in places]
        for chunk in workload.batch(plan, number).chunks:
            shares = [share(plan, chunk, place) for place in places]
            counts = tuple(sum(table.num_rows for table in part.rows.values()) for part in shares)
            header = replace(chunk.header, by_cell=counts, by_key=by_key(plan, chunk, len(places)))
            for chunks, part in zip(dealt, shares, strict=True):
                chunks.append(replace(part, header=header))
        results = [cell.step(Batch(number, tuple(chunks))) for cell, chunks in zip(cells, dealt, strict=True)]
        held = [sum(r.metrics.state_rows.values()) + r.metrics.promise_rows for r in results]
        if budget.rows is None:
            assert sum(r.metrics.state_bytes for r in results) <= budget.amount * 1024
        else:
            assert sum(held) <= budget.rows
        found = sum((bag(r.rows) for r in results), Counter[tuple[Any, ...]]())
        assert found <= expected.get(number, Counter())
        due += expected.get(number, Counter()).total()
        emitted += found.total()
        told = sum(r.metrics.loss.due for r in results if r.metrics.loss is not None)
        assert budget.rows is None or told == due


STREAM = "CREATE STREAM {name} (k BIGINT, j BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);"
CHAIN = "".join(STREAM.format(name=name) for name in "rst") + (
    "SELECT /*+ BUDGET({rows} ROWS), EVICT({policy}) */ r.ts AS x, s.ts AS y, t.ts AS z "
    "FROM r [RANGE 400] AS r, s [RANGE 400] AS s, t [RANGE 400] AS t WHERE r.k = s.k AND s.j = t.j"
)
PAIR = "".join(STREAM.format(name=name) for name in "rs") + (
    "SELECT /*+ BUDGET({rows} ROWS), EVICT({policy}) */ r.ts AS x, s.ts AS y "
    "FROM r [RANGE 400] AS r, s [RANGE 400] AS s WHERE r.k = s.k"
)


def zipf(random: np.random.Generator, count: int, keys: int) -> Any:
    weights = 1 / np.arange(1, keys + 1)
    return random.choice(keys, count, p=weights / weights.sum())


def fed(script: str, streams: dict[str, dict[str, Any]], batch: int = 40) -> tuple[int, Any]:
    """The results of a script over columns of numbers, read so many rows of each stream at a time; the loss."""
    plan = plan_of(script)
    cell = Cell(plan)
    rows = len(next(iter(streams.values()))["k"])
    emitted, loss = 0, None
    for number, start in enumerate(range(0, rows, batch)):
        chunks = [
            Chunk.of(plan, name, 0, pa.table({c: v[start : start + batch] for c, v in streams[name].items()}))
            for name in plan.streams
        ]
        result = cell.step(Batch(number, tuple(chunks)))
        emitted, loss = emitted + result.rows.num_rows, result.metrics.loss
    return emitted, loss


STAR = "".join(f"CREATE STREAM {name} (k BIGINT, n BIGINT);" for name in "rst") + (
    "SELECT /*+ BUDGET(300 ROWS) */ r.n AS x, s.n AS y, t.n AS z FROM r, s, t WHERE r.k = s.k AND s.k = t.k"
)


def dealt_by_key(cells: int, keys: dict[str, Any], batch: int) -> int:
    """The results of STAR over so many cells."""
    plan = plan_of(STAR)
    run = [Cell(plan, number=number) for number in range(cells)]
    found = 0
    for number, start in enumerate(range(0, len(keys["r"]), batch)):
        dealt: list[list[Chunk]] = [[] for _ in run]
        for name, column in keys.items():
            part = pa.table({"k": column[start : start + batch], "n": np.arange(batch)})
            chunk = Chunk.of(plan, name, 0, part)
            cell = hash_rows(part, ["k"]) % np.uint64(cells)
            counts = tuple(np.bincount(cell.astype(np.int64), minlength=cells).tolist())
            header = replace(chunk.header, by_cell=counts, by_key=by_key(plan, chunk, cells))
            for place, chunks in enumerate(dealt):
                rows = {name: chunk.rows[name].filter(pa.array(cell == place))}
                chunks.append(replace(chunk, header=header, rows=rows))
        results = [one.step(Batch(number, tuple(chunks))) for one, chunks in zip(run, dealt, strict=True)]
        assert sum(sum(r.metrics.state_rows.values()) for r in results) <= 300
        found += sum(r.rows.num_rows for r in results)
    return found


def test_many_cells_share_a_budget_by_need_and_keep_nearly_what_one_cell_does() -> None:
    """Shared by the number of rows alone, eight cells keep about half of it: most of the answer is of a few keys."""
    random = np.random.default_rng(4)
    weights = 1 / np.arange(1, 401) ** 0.6
    keys = {name: random.choice(400, 1_000, p=weights / weights.sum()) for name in "rst"}
    assert dealt_by_key(8, keys, 100) >= 0.95 * dealt_by_key(1, keys, 100)


def test_needs_by_key_are_known_where_a_budget_in_bytes_has_room_for_them_in_every_cell() -> None:
    needs = KeyNeeds(plan_of(STAR.replace("300 ROWS", "16 MB")), 1)
    assert needs.fits(8)
    assert not needs.fits(200)
    assert KeyNeeds(plan_of(STAR), 300).fits(200)


def drifting(rows: int) -> dict[str, dict[str, Any]]:
    """Which keys are frequent changes four times."""
    random = np.random.default_rng(5)
    shift = np.arange(rows) // (rows // 4) * 13
    return {
        name: {"k": (zipf(random, rows, 50) + shift) % 50, "j": np.zeros(rows, np.int64), "ts": np.arange(rows)}
        for name in "rs"
    }


def chained(rows: int) -> dict[str, dict[str, Any]]:
    """What is frequent on r and s says nothing of t: the rows of s that count are those whose j is frequent on t."""
    random = np.random.default_rng(6)
    return {name: {"k": zipf(random, rows, 40), "j": zipf(random, rows, 40), "ts": np.arange(rows)} for name in "rst"}


@pytest.mark.measure
@pytest.mark.parametrize(
    ("script", "streams", "fewest", "rows", "better"),
    [(PAIR, drifting, 2_000, 100, 1.1), (CHAIN, chained, 800, 150, 1.3)],
    ids=["changing distributions", "two joins away"],
)
def test_gain_beats_prob_and_life_where_shed_says_that_prob_is_weak(
    script: str, streams: Any, fewest: int, rows: int, better: float
) -> None:
    given_streams = streams(size(fewest, 8_000))
    gain, loss = fed(script.format(rows=rows, policy="gain"), given_streams)
    others = [fed(script.format(rows=rows, policy=policy), given_streams)[0] for policy in ("prob", "life")]
    assert gain >= better * max(others)
    assert loss.recall()[0] < 1


def chain_of(count: int, hints: str) -> str:
    """So many streams, each joined to the next, by k and by j in turn."""
    names = "rstu"[:count]
    ties = [f"{one}.{'kj'[n % 2]} = {other}.{'kj'[n % 2]}" for n, (one, other) in enumerate(pairwise(names))]
    return (
        "".join(STREAM.format(name=name) for name in names)
        + f"SELECT /*+ {hints} */ r.ts AS x FROM {', '.join(f'{n} [RANGE 100] AS {n}' for n in names)} "
        + f"WHERE {' AND '.join(ties)}"
    )


@pytest.mark.measure
@pytest.mark.parametrize("count", [2, 3, 4])
def test_recall_is_within_five_points_where_the_sample_is_not_all_that_was_evicted(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sample is a fiftieth of the default, and about half of the evicted rows that may still miss something."""
    monkeypatch.setattr("penstock.runtime.budget.account.SAMPLED", 40)
    random = np.random.default_rng(count)
    rows = size(400, 2_000)
    streams = {n: {"k": zipf(random, rows, 40), "j": zipf(random, rows, 40), "ts": np.arange(rows)} for n in "rstu"}
    exact, _ = fed(chain_of(count, "BUDGET(1000000 ROWS)"), streams)
    for policy in ("gain", "rand"):
        emitted, loss = fed(chain_of(count, f"BUDGET({50 * count} ROWS), EVICT({policy})"), streams)
        recall, error = loss.recall()
        assert recall == pytest.approx(emitted / exact, abs=0.05), policy
        assert 0 < error < 0.05, policy


def test_a_budget_in_bytes_is_used_and_its_statistics_serve_in_little_room() -> None:
    """Rows are purged in the batch that evicts; what these took is room for others."""
    random = np.random.default_rng(3)
    found = {}
    for policy in ("gain", "rand"):
        plan = plan_of(
            "".join(STREAM.format(name=name).replace("j BIGINT", "j STRING") for name in "rs")
            + f"SELECT /*+ BUDGET(10 KB), EVICT({policy}) */ r.j AS x, s.ts AS y FROM r, s WHERE r.k = s.k "
            "AND s.ts - r.ts BETWEEN -400 AND 100"
        )
        cell, found[policy] = Cell(plan), 0
        for number in range(24):
            ts = np.arange(number * 50, number * 50 + 50)
            rows = {"k": zipf(random, 50, 60), "j": ["wide" * 20] * 50, "ts": ts}
            chunks = tuple(Chunk.of(plan, name, 0, pa.table(rows)) for name in "rs")
            result = cell.step(Batch(number, chunks))
            found[policy] += result.rows.num_rows
            assert result.metrics.state_bytes <= 10 << 10
            assert number < 4 or result.metrics.state_bytes >= 9 << 10
    assert found["gain"] > 1.2 * found["rand"]


def test_value_keeps_the_results_that_are_worth_most() -> None:
    random = np.random.default_rng(7)
    rows = 1_000
    streams = {
        name: {"k": random.integers(0, 100, rows), "j": random.integers(0, 2, rows) * 100, "ts": np.arange(rows)}
        for name in "rs"
    }
    streams["s"]["__ps_value_s"] = streams["s"]["j"].astype(np.float64)
    script = PAIR.replace("s.ts AS y", "s.j AS y")
    worth = {}
    for hints in ("", ", VALUE(s.j)"):
        plan = plan_of(script.replace("EVICT({policy})", "EVICT(gain)" + hints).format(rows=60))
        cell = Cell(plan)
        worth[hints] = 0
        for number, start in enumerate(range(0, rows, 40)):
            pieces = {n: pa.table({c: v[start : start + 40] for c, v in streams[n].items()}) for n in plan.streams}
            result = cell.step(Batch(number, tuple(Chunk.of(plan, n, 0, piece) for n, piece in pieces.items())))
            worth[hints] += int(result.rows.column("s_j").to_numpy().sum())
    assert worth[", VALUE(s.j)"] > 1.3 * worth[""]


VALUED = PAIR.replace("EVICT({policy})", "VALUE({value})").replace("{rows}", "60")


@pytest.mark.parametrize(
    ("value", "factors"),
    [
        ("7", {}),
        ("s.j", {"s": "s.j"}),
        ("r.k * s.j", {"r": "r.k", "s": "s.j"}),
        ("2 * (r.k + 1) * (s.j * r.j)", {"r": "(r.k + 1) * (r.j) * (2)", "s": "s.j"}),
        (
            "s.j * CASE WHEN r.k * 2 > 3 THEN 1 ELSE r.j * 2 END",
            {"r": "CASE WHEN r.k * 2 > 3 THEN 1 ELSE r.j * 2 END", "s": "s.j"},
        ),
    ],
)
def test_a_value_over_several_streams_is_a_product(value: str, factors: dict[str, str]) -> None:
    evict = plan_of(VALUED.format(value=value)).evict
    assert evict is not None
    assert {factor.alias: factor.text for factor in evict.values} == factors


def test_a_value_that_is_no_product_is_refused() -> None:
    (query,) = penstock.parse(VALUED.format(value="r.k + s.j")).queries
    assert "write a product of which each factor is about one stream" in told(obstacles(query)[0])


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ("0 ROWS", "a budget must be at least 1"),
        ("-5 ROWS", "a budget must be at least 1"),
        ("1.5 MB", "a budget is a whole number"),
        ("10 PARSECS", "a budget is counted in ROWS, KB, MB, GB, not in PARSECS"),
    ],
)
def test_a_bad_budget_is_a_mistake_in_the_script(budget: str, said: str) -> None:
    with pytest.raises(PenstockError, match=said):
        penstock.parse(PAIR.format(rows=1, policy="gain").replace("1 ROWS", budget))
