"""Who is worth most, by each policy; and the tree over the other streams along which GAIN looks."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.runtime.budget.policies import PathNode, neighbours_of, paths_from
from penstock.runtime.state.synopsis import ALL
from tests.runtime.driving import Driver, plan_of

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);"
STREAMS = "".join(map(STREAM.format, "rst"))
PAIR = "SELECT /*+ BUDGET(1000 ROWS){} */ r.n FROM r, s WHERE r.k = s.k AND s.ts - r.ts BETWEEN 0 AND 100;"
CHAIN = "SELECT /*+ BUDGET(1000 ROWS) */ r.n FROM r, s, t WHERE r.k = s.k AND s.n = t.n;"


def worth(driver: Driver, alias: str) -> list[float]:
    eviction = driver.cell.eviction
    assert eviction is not None
    ids = {a: synopsis.ids(ALL) for a, synopsis in driver.cell.synopses.items()}
    found: list[float] = eviction.ranking.worth_of(ids, 9, 1)[alias].tolist()
    return found


@pytest.mark.parametrize("policy", ["gain", "prob", "life"])
def test_a_row_whose_key_comes_often_on_the_other_stream_is_worth_more(policy: str) -> None:
    driver = Driver(STREAMS + PAIR.format(f", EVICT({policy})"))
    for ts in range(10):
        often: list[tuple[int | None, ...]] = [(1, ts, 0)] * 9
        driver.step(s=[*often, (2, ts, 0)])
    driver.step(r=[(2, 10, 0), (1, 10, 0), (3, 10, 0)])
    seldom, most, never = worth(driver, "r")
    assert most > seldom >= never


@pytest.mark.parametrize("policy", ["gain", "life"])
def test_of_one_key_the_row_that_lives_longer_is_worth_more(policy: str) -> None:
    driver = Driver(STREAMS + PAIR.format(f", EVICT({policy})"))
    for ts in range(0, 100, 10):
        driver.step(r=[(1, ts, 0)], s=[(1, ts, 0)] * 3)
    found = worth(driver, "r")
    assert found[-1] > found[0]


def test_chance_is_the_same_on_every_run_and_other_in_every_batch() -> None:
    driver = Driver(STREAMS + PAIR.format(", EVICT(rand)"))
    driver.step(r=[(1, 0, n) for n in range(50)])
    assert driver.cell.eviction is not None
    ranking, ids = driver.cell.eviction.ranking, {"r": driver.cell.synopses["r"].ids(ALL)}
    first, again, later = (ranking.worth_of(ids, batch)["r"].tolist() for batch in (1, 1, 2))
    assert first == again
    assert first != later


@pytest.mark.parametrize("policy", ["gain", "prob", "life", "rand"])
def test_no_rows_are_worth_nothing(policy: str) -> None:
    assert worth(Driver(STREAMS + PAIR.format(f", EVICT({policy})")), "r") == []


def test_statistics_shrink_to_nothing_and_rows_are_then_ranked_by_chance() -> None:
    driver = Driver(STREAMS + PAIR.format(""))
    assert driver.cell.eviction is not None
    ranking = driver.cell.eviction.ranking
    driver.step(r=[(1, 0, 0), (2, 0, 0)], s=[(1, 0, 0)])
    before = ranking.nbytes
    ranking.shrink(before // 2)
    assert 0 < ranking.nbytes <= before // 2
    ranking.shrink(0)
    assert ranking.nbytes == 0
    assert len(set(worth(driver, "r"))) == 2


def test_the_tree_of_a_chain_goes_on_from_stream_to_stream() -> None:
    plan = plan_of(STREAMS + CHAIN)
    (below_r,) = paths_from(plan, "r")
    assert below_r == PathNode("s", ("k",), (PathNode("t", ("n",), (), ("n",)),), ("k",))
    assert [node.alias for node in below_r.below()] == ["t", "s"]
    assert {node.alias for node in paths_from(plan, "s")} == {"r", "t"}
    assert [node.alias for node in neighbours_of(plan, "r")] == ["s"]


def test_a_stream_without_a_key_hangs_under_the_root() -> None:
    plan = plan_of(f"{STREAMS} SELECT /*+ BUDGET(9 ROWS) */ r.n FROM r, s, t WHERE r.k = s.k;")
    found = {node.alias: node.columns for node in paths_from(plan, "r")}
    assert found == {"s": ("k",), "t": ()}
    assert neighbours_of(plan, "t") == ()


@pytest.mark.parametrize("policy", ["gain", "prob", "life", "rand"])
@pytest.mark.parametrize(
    "select", ["r.n FROM r, s, t WHERE r.k = s.k AND s.n = t.n", "r.n FROM r LEFT JOIN s ON r.k = s.k"]
)
def test_a_budget_far_below_a_batch_overflows_nothing(select: str, policy: str) -> None:
    driver = Driver(STREAMS + f"SELECT /*+ BUDGET(1 ROWS), EVICT({policy}) */ {select};")
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        for ts, rows in enumerate((20_000, 1, 0, 5_000)):
            given: list[tuple[int | None, ...]] = [(n, ts, n) for n in range(rows)]
            driver.step(**dict.fromkeys(driver.plan.streams, given))
    assert sum(driver.stored(alias) for alias in driver.plan.aliases) == 1
