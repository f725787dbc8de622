"""The second stage: groups given anew when they change, or once when they are over; closed ones take nothing more."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from penstock.plan.aggregate import COUNT
from penstock.runtime.group.stage import GroupStage
from tests.runtime.driving import plan_of
from tests.runtime.group.grouped_runs import GroupedRun

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, v BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);" for name in "ab"
)
RUNNING = STREAMS + "SELECT a.k, count(*) AS n FROM a, b WHERE a.k = b.k AND b.ts = a.ts GROUP BY a.k;"
WINDOWED = STREAMS + (
    "SELECT window(a.ts, '10') AS w, count(*) AS n, count(DISTINCT a.v) AS d, median(a.v) AS m "
    "FROM a, b WHERE a.k = b.k AND b.ts = a.ts GROUP BY window(a.ts, '10');"
)
ALL_ROWS = STREAMS + "SELECT count(*) AS n, max(a.v) AS m FROM a, b WHERE a.k = b.k AND b.ts = a.ts;"


def test_a_running_group_is_given_when_it_changes_and_only_then() -> None:
    run = GroupedRun(RUNNING)
    assert run.step(1, a=[(1, 0, 5)], b=[(1, 0, 5), (1, 0, 5)]) == [(1, 2)]
    assert run.step(1, a=[(2, 0, 5)]) == []
    assert sorted(run.step(1, b=[(2, 0, 5)], a=[(1, 0, 5)])) == [(1, 4), (2, 1)]


def test_without_group_by_there_is_one_group_from_the_beginning() -> None:
    run = GroupedRun(ALL_ROWS)
    assert run.step(0) == [(0, None)]
    assert run.step(0) == []
    assert run.step(0, a=[(1, 7, 5)], b=[(1, 0, 5)]) == [(1, 7)]


def stage_of(script: str, room: int | None = None) -> tuple[GroupStage, list[str]]:
    plan = plan_of(script)
    stage = GroupStage(plan, room)
    return stage, [*stage.keys]


def rows(names: list[str], *given: tuple[Any, ...]) -> pa.Table:
    return pa.table({name: pa.array([row[n] for row in given], pa.int64()) for n, name in enumerate([*names, COUNT])})


def test_no_rows_and_no_groups() -> None:
    stage, names = stage_of(RUNNING)
    assert stage.step(0, rows(names), {}).rows.num_rows == 0
    assert stage.live == 0


def test_what_is_saved_goes_on_as_if_it_had_never_stopped() -> None:
    stage, names = stage_of(RUNNING)
    stage.step(0, rows(names, (1, 3), (None, 1)), {})
    store = dict(stage.save().put)
    again = GroupStage.restore(plan_of(RUNNING), store)
    given = again.step(1, rows(names, (1, 2), (None, 1)), {}).rows.to_pylist()
    assert sorted(row["__ps_out0"] for row in given) == [2, 5]


def test_with_little_room_known_groups_go_on_and_new_ones_are_counted_as_lost() -> None:
    stage, names = stage_of(RUNNING, room=1)
    stage.step(0, rows(names, (1, 3)), {})
    given = stage.step(1, rows(names, (2, 4), (1, 1)), {})
    assert given.lost == 4
    assert stage.live == 1
    assert given.rows.column("__ps_out0").to_pylist() == [4]


@pytest.mark.parametrize("restarts", [False, True])
def test_with_the_last_batch_every_group_is_over(restarts: bool) -> None:
    run = GroupedRun(WINDOWED)
    run.step(1, a=[(1, 4, 3), (1, 6, 4)], b=[(1, 0, 3), (1, 0, 4)])
    assert run.emitted == []
    if restarts:
        run.run.restart()
    end = run.run.end()
    assert [tuple(row.values())[1:] for row in end.rows.to_pylist()] == [(2, 2, 5.0)]
