"""A late row under several outer joins or EXISTS: what it changes. At random: `test_broken_outer.py`."""

from __future__ import annotations

import pytest

from penstock.runtime.discarded.late_matches import put_in_order, tuple_links
from tests.runtime.driving import Driver, plan_of, rows_of
from tests.runtime.stored import stored

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts ON VIOLATION RECOVER);"
STREAMS = "".join(map(STREAM.format, "rst"))
NEAR = "{0}.k = r.k AND {0}.ts - r.ts BETWEEN 0 AND 5"
LEFT = f"SELECT r.n, s.n AS m, t.n AS o FROM r LEFT JOIN s ON {NEAR.format('s')} LEFT JOIN t ON {NEAR.format('t')};"
MOVED_ON: dict[str, list[tuple[int | None, ...]]] = {name: [(9, 100, 0)] for name in "rst"}


def driven(select: str, **rows: list[tuple[int | None, ...]]) -> Driver:
    """Rows of one batch, all of which have left, and a restart."""
    driver = Driver(STREAMS + select)
    driver.step(**rows)
    driver.step(**MOVED_ON)
    assert all(driver.stored(alias) <= 1 for alias in "rst")
    driver.restart()
    return driver


def test_a_late_row_below_changes_what_the_join_above_made_of_it() -> None:
    driver = driven(LEFT, r=[(1, 10, 1)], t=[(1, 11, 7), (1, 12, 8)])
    late = driver.step(s=[(1, 10, 5)])
    assert rows_of(late) == [(1, 5, 7), (1, 5, 8)]
    assert late.metrics.contradicted == 2  # (1, NULL, 7) and (1, NULL, 8).
    driver.restart()
    again = driver.step(s=[(1, 11, 6)])
    assert rows_of(again) == [(1, 6, 7), (1, 6, 8)]
    assert again.metrics.contradicted == 0


def test_a_late_row_above_meets_rows_of_a_join_that_have_left() -> None:
    driver = driven(LEFT, r=[(1, 10, 1), (2, 10, 2)], s=[(1, 11, 5), (1, 12, 6)])
    late = driver.step(t=[(1, 15, 7), (3, 15, 7)])
    assert rows_of(late) == [(1, 5, 7), (1, 6, 7)]
    assert late.metrics.contradicted == 2


@pytest.mark.parametrize(("negated", "given", "wrong"), [("", [(1,)], 0), ("NOT ", [], 1)])
def test_exists_over_a_join_is_answered_late(negated: str, given: list[tuple[int]], wrong: int) -> None:
    exists = f"{negated}EXISTS (SELECT 1 FROM t WHERE {NEAR.format('t')})"
    select = f"SELECT r.n FROM r, s WHERE {NEAR.format('s')} AND {exists};"
    driver = driven(select, r=[(1, 10, 1)], s=[(1, 11, 5)])
    late = driver.step(t=[(1, 12, 7)])
    assert (rows_of(late), late.metrics.contradicted) == (given, wrong)
    again = driver.step(t=[(1, 13, 7)])
    assert (rows_of(again), again.metrics.contradicted) == ([], 0)


def test_what_was_brought_back_leaves_again_and_a_row_that_is_in_time_brings_nothing_back() -> None:
    driver = driven(LEFT, r=[(1, 10, 1)])
    driver.step(s=[(1, 12, 5)])
    assert sum(driver.stored(alias) for alias in "rst") == 3
    aside = sum(piles.rows for piles in driver.cell.doubted_rows.piles.values())
    assert aside == 2
    in_time = driver.step(r=[(1, 101, 3)], s=[(1, 102, 6)])
    assert (in_time.rows.num_rows, in_time.metrics.contradicted) == (0, 0)
    assert sum(piles.rows for piles in driver.cell.doubted_rows.piles.values()) == aside


def test_segments_are_put_in_the_order_of_arrival() -> None:
    synopsis = stored({"k": [1, 2]}, {"k": [3]})
    synopsis.has_fresh = False
    synopsis.segments.reverse()
    synopsis.rebase()
    put_in_order(synopsis)
    assert synopsis.codes("k", synopsis.ids("all")).tolist() == [1, 2, 3]


def test_tuples_are_linked_by_a_key_where_there_is_one() -> None:
    """By a band alone, tuples would be met whose partners lie aside under keys that nobody asks for."""

    def linked(select: str) -> list[tuple[tuple[str, ...], int]]:
        plan = plan_of(STREAMS + select)
        ties = [tie for number in range(len(plan.nodes)) for tie in tuple_links(plan, number)]
        return [(tie.aliases, len(tie.axes)) for tie in ties]

    keyed = "SELECT r.n FROM r FULL JOIN s ON s.k = r.k AND s.ts > r.ts FULL JOIN t ON t.ts > r.ts AND t.n = s.n;"
    assert linked(keyed) == [(("r", "s"), 1), (("s", "t"), 1)]
    assert linked("SELECT r.n FROM r FULL JOIN s ON s.k = r.k FULL JOIN t ON t.ts > r.ts;")[1] == (("r", "t"), 0)


def test_rows_in_time_are_joined_as_they_are_though_their_key_has_been_there_before() -> None:
    driver = Driver(STREAMS + LEFT)
    late = 0
    for batch in range(12):
        at = 10 * batch
        some: list[tuple[int | None, ...]] = [(1, at, batch), (1, at + 3, batch)]
        driver.step(r=some, s=some, t=some)
        late += driver.cell.doubted_rows.worked_anew
    assert late == 0
    driver.step(s=[(1, 12, 5)])
    assert driver.cell.doubted_rows.worked_anew
