"""WITHIN AUTO and MONITOR: k is learned from what arrives, falls after W arrivals, and rises when it must.

The distances are measured again by a slow loop over the full history, straight from the definitions of KMON 3.5; what
the engine has in force must never be below what the last W arrivals needed, and close to it once it is learned.
"""

from __future__ import annotations

from random import Random

import pytest

from penstock.runtime.promise.monitor import Monitor
from penstock.runtime.promise.past_rows import LEAST_SAMPLED
from penstock.runtime.state.synopsis import ALL
from tests.measure import size
from tests.runtime.driving import Driver, rows_of

WINDOW = 40
SEEDS = size(8, 20)


def learner(declaration: str, on: str = "s", *, arrives: str = "", event_time: str = "") -> Driver:
    extra = {stream: "".join(f", {d}" for d in (arrives, event_time) if d) for stream in "st"}
    extra[on] += f", {declaration}"
    fields = "k BIGINT, ts BIGINT, n BIGINT"
    return Driver(
        f"CREATE STREAM s ({fields}{extra['s']}); CREATE STREAM t ({fields}{extra['t']});"
        f"SELECT /*+ MONITOR(1, 0.01, {WINDOW}) */ s.n, t.n AS tn FROM s, t WHERE s.k = t.k AND s.ts = t.ts;"
    )


def scrambled(random: Random, count: int, most: int) -> list[int]:
    """0 .. count-1, each at most so far from its place."""
    return [value for _, value in sorted((value + random.uniform(0, most), value) for value in range(count))]


def needed_in_rows(values: list[int]) -> list[int]:
    """For each row the rows since the first value above it (scrambling distance)."""
    return [max((i - j for j in range(i) if values[j] > values[i]), default=0) for i in range(len(values))]


def batches(random: Random, values: list[int], most: int = 12) -> list[list[int]]:
    found = []
    while values:
        size = random.randint(1, most)
        found.append(values[:size])
        values = values[size:]
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("column", ["k", "ts"])
def test_the_slack_of_an_order_is_learned_and_never_less_than_was_seen(column: str, seed: int) -> None:
    random = Random(seed)
    in_time = column == "ts"
    driver = learner(f"ORDERED BY {column} WITHIN AUTO", event_time="EVENT TIME ts" if in_time else "")
    values = scrambled(random, 300, random.randint(0, 9))
    needed = needed_in_rows(values)
    if in_time:
        needed = [max(values[: i + 1]) - value for i, value in enumerate(values)]
    constraint = f"ORDERED BY {column} WITHIN AUTO ON s"
    done = 0
    for batch in batches(random, values):
        result = driver.step(s=[(value, value, 0) for value in batch])
        done += len(batch)
        if random.random() < 0.2:
            driver.restart()
        if done >= WINDOW:
            least = max(needed[done - WINDOW : done])
            k = result.metrics.k.get(constraint)
            assert k is None or k >= least
    assert k is None or k <= max(needed) * (1 if in_time else 2)
    if k is None:
        return
    floor = driver.cell.closedness.orders[0].floor
    assert isinstance(floor, int)
    assert floor <= max(values) - (k if in_time else 0)


def clustered(random: Random, count: int, spread: int) -> list[int]:
    return [value // 3 for value in scrambled(random, count, spread)]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_k_of_a_cluster_is_learned_exactly(seed: int) -> None:
    random = Random(seed)
    driver = learner("CLUSTERED BY k WITHIN AUTO")
    values = clustered(random, 300, random.randint(0, 9))
    distance = [sum(v != value for v in values[values.index(value) : i]) for i, value in enumerate(values)]
    done, largest = 0, 0
    for batch in batches(random, values):
        result = driver.step(s=[(value, 0, 0) for value in batch])
        done += len(batch)
        if random.random() < 0.2:
            driver.restart()
        k = result.metrics.k.get("CLUSTERED BY k WITHIN AUTO ON s")
        largest = max(largest, k or 0)
        assert k is not None or done < 2 * WINDOW or max(distance[done - 2 * WINDOW : done]) > 0
    assert largest in distance
    assert largest <= max(distance)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("arrives", ["", "ARRIVES BY n"])
def test_the_k_of_follows_is_learned_from_the_matches(seed: int, arrives: str) -> None:
    random = Random(seed)
    driver = learner("FOLLOWS t (k) ON (k) WITHIN AUTO", arrives=arrives)
    most = random.randint(0, 6)
    parents, children = list(range(300)), scrambled(random, 300, 3)
    place = largest = in_force = 0
    constraint = "FOLLOWS t (k) ON (k) WITHIN AUTO ON s"
    for start in range(0, 300, 5):
        # A child comes up to `most` rows of its parent's stream before it.
        there = children[start : start + 5]
        early: list[tuple[int | None, ...]] = [(value + most, 0, place + n) for n, value in enumerate(there)]
        place += 10
        result = driver.step(s=early, t=[(p, 0, place + n) for n, p in enumerate(parents[start : start + 5])])
        place += 10
        largest = max(largest, result.metrics.k.get(constraint, 0))
        in_force += constraint in result.metrics.k
        if random.random() < 0.2:
            driver.restart()
    assert in_force > 10
    assert most <= largest <= most + 12
    assert driver.stored("s") <= largest + 12 or constraint not in result.metrics.k


def test_a_learned_k_is_out_of_force_after_a_rise_until_w_more_rows_came() -> None:
    driver = learner("CLUSTERED BY k WITHIN AUTO")
    constraint = "CLUSTERED BY k WITHIN AUTO ON s"
    value = 100
    result = driver.step(t=[(value, 0, 0)])
    for _ in range(WINDOW // 2):
        result = driver.step(s=[(value, 0, 0), (value, 0, 0)])
        value += 1
    assert result.metrics.k == {constraint: 0}
    assert driver.stored("t") == 0
    again = driver.step(t=[(value, 0, 1)], s=[(value, 0, 0), (value + 1, 0, 0), (value, 0, 0)])
    assert again.metrics.violations == {constraint: 1}
    assert again.metrics.k == {}
    for number in range(WINDOW):
        assert again.metrics.k == {}
        again = driver.step(s=[(value + 2 + number, 0, 0)])
    assert again.metrics.k == {constraint: 0}


def test_a_declared_k_is_never_undercut_and_comes_back_to_it_after_w_arrivals() -> None:
    driver = learner("CLUSTERED BY k WITHIN 1 ROWS")
    constraint = "CLUSTERED BY k WITHIN 1 ROWS ON s"
    for value in range(2 * WINDOW):
        result = driver.step(s=[(value, 0, 0)])
    assert result.metrics.k == {constraint: 1}
    result = driver.step(s=[(500, 0, 0), (501, 0, 0), (502, 0, 0), (503, 0, 0), (500, 0, 0)])
    assert result.metrics.k == {constraint: 3}
    for value in range(WINDOW):
        result = driver.step(s=[(1000 + value, 0, 0)])
    assert result.metrics.k == {constraint: 1}


@pytest.mark.parametrize("declared", ["CLUSTERED BY k WITHIN 5 ROWS", "ORDERED BY k WITHIN 5 ROWS"])
def test_without_monitor_k_falls_back_after_a_thousand_arrivals(declared: str) -> None:
    fields = "k BIGINT, ts BIGINT, n BIGINT"
    driver = Driver(
        f"CREATE STREAM s ({fields}, {declared}); CREATE STREAM t ({fields});"
        "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
    )
    constraint = f"{declared} ON s"
    driver.step(s=[(value, 0, 0) for value in range(100)])
    assert driver.step(s=[(93, 0, 0)]).metrics.k == {constraint: 6}
    driver.restart()
    assert driver.step(s=[(value, 0, 0) for value in range(200, 1199)]).metrics.k == {constraint: 6}
    assert driver.step(s=[(value, 0, 0) for value in (2000, 2001)]).metrics.k == {constraint: 5}
    assert driver.step(s=[(value, 0, 0) for value in (*range(3000, 3008), 3000)]).metrics.k[constraint] > 5


def test_nothing_is_lost_while_k_is_being_learned() -> None:
    driver = learner("CLUSTERED BY k WITHIN AUTO")
    found = []
    for value in range(WINDOW - 1):
        driver.step(s=[(value, 0, value)])
    found += rows_of(driver.step(t=[(value, 0, value) for value in range(WINDOW - 1)]))
    assert len(found) == WINDOW - 1


@pytest.mark.parametrize("arrives", ["", ", ARRIVES BY n"])
@pytest.mark.parametrize(("hint", "most"), [("", 12), ("/*+ MONITOR(2, 0.000001, 40) */", 20)])
@pytest.mark.parametrize("late_by", [-1, 0, 1])
def test_a_rise_up_to_c_times_k_is_seen_for_certain_and_counted_as_lost(
    hint: str, most: int, late_by: int, arrives: str
) -> None:
    fields = f"k BIGINT, ts BIGINT, n BIGINT{arrives}"
    driver = Driver(
        f"CREATE STREAM s ({fields}, FOLLOWS t (k) ON (k) WITHIN 10 ROWS); CREATE STREAM t ({fields});"
        f"SELECT {hint} s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
    )
    constraint = "FOLLOWS t (k) ON (k) WITHIN 10 ROWS ON s"
    needed = most + late_by
    driver.step(s=[(-1, 0, 0)])
    for number in range(1, needed):
        driver.step(t=[(number, 0, number)], s=[(1000, 0, number)] if arrives else [])
    assert (-1, 0, 0) not in [(row["k"], 0, row["n"]) for row in _stored(driver)]
    driver.restart()
    late = driver.step(t=[(-1, 0, needed)], s=[(1000, 0, needed)] if arrives else [])
    is_seen = needed <= most
    if arrives and not is_seen:
        return  # It may be seen: a row of s is kept until t was read past it.
    assert rows_of(late) == []
    assert late.metrics.lost == (is_seen and bool(hint))
    assert late.metrics.violations == ({constraint: 1} if is_seen else {})
    assert late.metrics.k == {constraint: needed if is_seen else 10}


def _stored(driver: Driver) -> list[dict[str, int]]:
    synopsis = driver.cell.synopses["s"]
    ids = synopsis.ids(ALL)
    return [{"k": k, "n": n} for k, n in zip(*(synopsis.arrow(c, ids).to_pylist() for c in ("k", "n")), strict=True)]


@pytest.mark.parametrize("hint", ["", "/*+ MONITOR(2, 0.000001, 40) */"])
@pytest.mark.parametrize("late_by", [-1, 0, 1])
def test_a_cluster_that_goes_on_is_seen_up_to_c_times_k_though_nothing_needs_its_end(hint: str, late_by: int) -> None:
    fields = "k BIGINT, ts BIGINT, n BIGINT"
    driver = Driver(
        f"CREATE STREAM s ({fields}, CLUSTERED BY k WITHIN 10 ROWS); CREATE STREAM t ({fields}, PRIMARY KEY (k));"
        f"SELECT {hint} s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
    )
    constraint = "CLUSTERED BY k WITHIN 10 ROWS ON s"
    most = 20 if hint else 12
    needed = most + late_by
    driver.step(s=[(-1, 0, 7)], t=[(-1, 0, 8)])
    for number in range(needed):
        driver.step(s=[(number, 0, 0)])
    assert driver.stored("t") == 0
    driver.restart()
    late = driver.step(s=[(-1, 0, 9)])
    is_seen = needed <= most
    assert late.metrics.violations == ({constraint: 1} if is_seen else {})
    assert late.metrics.k == {constraint: needed if is_seen else 10}
    assert late.metrics.lost == (is_seen and bool(hint))


def test_a_cluster_that_goes_on_much_later_is_seen_if_it_was_sampled() -> None:
    fields = "k BIGINT, ts BIGINT, n BIGINT"
    driver = Driver(
        f"CREATE STREAM s ({fields}, CLUSTERED BY k ON VIOLATION QUARANTINE);"
        f"CREATE STREAM t ({fields}, PRIMARY KEY (k));"
        "SELECT /*+ MONITOR(1, 0.2, 40) */ s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
    )
    rows: list[tuple[int | None, ...]] = [(value, 0, 0) for value in range(500)]
    driver.step(t=rows)
    for start in range(0, 500, 50):
        result = driver.step(s=rows[start : start + 50])
    driver.restart()
    again = driver.step(s=rows)
    (held,) = again.quarantined
    assert again.metrics.violations == {"CLUSTERED BY k ON s": held.rows.num_rows}
    assert 60 < held.rows.num_rows < 140
    # The shadows of rows of t are as many again, and so is the sample of rows of s that the key let go.
    assert result.metrics.promise_rows < 3 * 140


def test_the_sample_of_rows_that_left_stays_small_after_a_batch_of_any_size() -> None:
    """One row in a hundred would be 1,500; where no row is kept, the last few of them are, and a match is seen."""
    fields, many = "k BIGINT, ts BIGINT, n BIGINT", 150_000
    driver = Driver(
        f"CREATE STREAM s ({fields}, FOLLOWS t (k) ON (k)); CREATE STREAM t ({fields});"
        "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
    )
    steps = [driver.step(s=[(key, 0, 0) for key in range(many)]), driver.step(s=[(many, 0, 0)], t=[(-1, 0, 0)])]
    assert [step.metrics.promise_rows for step in steps] == [LEAST_SAMPLED, LEAST_SAMPLED]
    late = driver.step(t=[(key, 0, 0) for key in range(many)])
    assert 0 < sum(late.metrics.violations.values()) <= LEAST_SAMPLED


def monitors(*told: tuple[int | None, int, int]) -> list[Monitor]:
    """Of each cell the k in force, where it sees from, and where it stands."""
    made = []
    for k, sees_from, position in told:
        one = Monitor(learner("ORDERED BY ts WITHIN AUTO").plan, None)
        one.k, one._sees_from, one._position, one._blocks = k, sees_from, position, [(1, 1)]
        made.append(one)
    return made


@pytest.mark.parametrize(
    ("told", "k", "sight"),
    [
        ([(3, 0, 90), (7, 0, 100)], 7, 0),
        # Out of use in one cell, out of use in all; what the k of another has let go is not in sight.
        ([(None, 20, 100), (7, 0, 90)], None, 7),
        ([(None, 20, 100), (None, 60, 90)], None, 40),
    ],
)
def test_a_cell_that_stands_for_several_has_the_widest_k_and_the_shortest_sight(
    told: list[tuple[int | None, int, int]], k: int | None, sight: int
) -> None:
    members = monitors(*told)
    for one in monitors(*told):
        one.follow(members, is_first=False)
        assert (one.k, one.sight) == (k, sight)
        one.settle()
        assert one.k == k, "it falls only once W more arrivals were seen"


def test_a_shadow_has_the_time_that_a_window_is_watched_by_though_the_query_reads_none() -> None:
    driver = Driver(
        "CREATE STREAM s (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY k WITHIN AUTO,"
        " COOCCURS (k) AND t (k) WINDOW [-5, 5]);"
        "CREATE STREAM t (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY k WITHIN AUTO);"
        "SELECT /*+ MONITOR(3, 0.5, 1) */ s.n, t.n AS m FROM s, t WHERE s.k = t.k;"
    )
    for k in range(4):
        driver.step(s=[(k, k, k)], t=[(k, k, k)])
    driver.step(s=[(10, 10, 1)])
    driver.step(t=[(11, 11, 11)])
    assert (driver.stored("s"), driver.cell.doubted_rows.shadows) == (0, 3)
    late = driver.step(t=[(10, 13, 5)])
    assert (late.rows.num_rows, late.metrics.lost) == (0, 1)
    assert late.metrics.violations == {"ORDERED BY k WITHIN AUTO ON t": 1}
