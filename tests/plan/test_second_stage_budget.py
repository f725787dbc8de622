"""What of a budget is the second stage's: at most half, and no more than declarations bound it to."""

from __future__ import annotations

import pytest

from penstock.plan.second_stage_budget import bucket_room, second_room
from tests.runtime.driving import plan_of

STREAM = "CREATE STREAM {0} (k BIGINT, b BOOLEAN, n BIGINT);"
STREAMS = STREAM.format("r") + STREAM.format("s")
FROM = "FROM r, s WHERE r.k = s.k"


@pytest.mark.parametrize(
    ("select", "room"),
    [
        (f"/*+ BUDGET(100 ROWS) */ r.n {FROM}", 0),
        (f"DISTINCT r.n {FROM}", 0),
        (f"/*+ BUDGET(100 ROWS) */ DISTINCT r.n {FROM}", 50),
        (f"/*+ BUDGET(1 ROWS) */ DISTINCT r.n {FROM}", 1),
        (f"/*+ BUDGET(100 ROWS) */ r.n, count(*) AS c {FROM} GROUP BY r.n", 50),
        (f"/*+ BUDGET(1 MB) */ DISTINCT r.n {FROM}", 1 << 19),
    ],
)
def test_the_room_of_the_second_stage(select: str, room: int) -> None:
    assert second_room(plan_of(f"{STREAMS} SELECT {select};")) == room


def test_what_is_bounded_takes_no_more_than_its_bound() -> None:
    plan = plan_of(f"{STREAMS} SELECT /*+ BUDGET(100 ROWS) */ DISTINCT r.b {FROM};")
    (figure,) = plan.second_stage
    assert figure.rows is not None
    assert second_room(plan) == min(50, figure.rows)


@pytest.mark.parametrize("buckets", [1, 3, 7, 64])
def test_buckets_share_the_room_and_no_more(buckets: int) -> None:
    plan = plan_of(f"{STREAMS} SELECT /*+ BUDGET(100 ROWS) */ DISTINCT r.n {FROM};")
    rooms = [bucket_room(plan, number, buckets) or 0 for number in range(buckets)]
    assert sum(rooms) == 50
    assert max(rooms) - min(rooms) <= 1


def test_the_one_group_without_group_by_has_all_of_it() -> None:
    plan = plan_of(f"{STREAMS} SELECT /*+ BUDGET(100 ROWS) */ count(*) AS c {FROM};")
    room = second_room(plan)
    assert [bucket_room(plan, number, 3) for number in range(3)] == [room, 0, 0]


def test_without_a_budget_a_bucket_may_hold_what_it_likes() -> None:
    assert bucket_room(plan_of(f"{STREAMS} SELECT DISTINCT r.n {FROM};"), 0, 3) is None
