"""The parts of a batch: they add up to it, whatever hosts say of the time."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.spark.batch_times import CELL_TIMES, PARTS, PackTimer, cell_times, split

START = 1_700_000_000.0
PROGRESS: dict[str, Any] = {
    "timestamp": "2023-11-14T22:13:20.000Z",
    "durationMs": {"latestOffset": 50, "queryPlanning": 150, "addBatch": 2000, "commitOffsets": 100},
}


def _observed(first: float, last: float, begin: float, end: float) -> dict[str, Any]:
    marks = [-(START + first), START + last, 3, 1, -(START + begin), START + end]
    return {
        count.name: int(mark if count.key in ("scan", "pack") else mark * 1_000_000)
        for count, mark in zip(CELL_TIMES, marks, strict=True)
    }


def test_parts_lie_between_the_marks_and_add_up_to_the_batch() -> None:
    found = split(PROGRESS, [_observed(0.5, 0.9, 1.1, 1.8)])
    assert tuple(found) == PARTS
    assert {name: round(seconds, 3) for name, seconds in found.items()} == {
        "planning": 0.5,
        "scan": 0.3,
        "pack": 0.1,
        "shuffle": 0.2,
        "core": 0.7,
        "sink": 0.4,
        "committing": 0.1,
    }
    assert sum(found.values()) == pytest.approx(2.3)


@pytest.mark.parametrize("skew", [-100.0, -1.0, 1.0, 100.0])
def test_hosts_that_disagree_on_the_time_make_parts_of_0_and_none_below(skew: float) -> None:
    found = split(PROGRESS, [_observed(0.5, 0.9, 1.1 + skew, 1.8 + skew)])
    assert min(found.values()) >= 0
    assert sum(found.values()) == pytest.approx(2.3)


def test_of_several_blocks_packing_is_of_the_first_and_the_core_lasts_until_the_last() -> None:
    below, above = _observed(0.5, 0.9, 1.0, 1.2), _observed(1.3, 1.4, 1.5, 1.9)
    found = split(PROGRESS, [above, below, {"cells:last": int((START + 2.0) * 1_000_000)}, {}])
    assert found["scan"] + found["pack"] == pytest.approx(0.4)
    assert found["core"] == pytest.approx(1.0)
    assert found["sink"] == pytest.approx(0.2)


def test_a_batch_without_rows_has_no_such_parts() -> None:
    nothing = dict.fromkeys((count.name for count in CELL_TIMES), None)
    assert split(PROGRESS, [nothing]) == {"planning": 0.2, "running": 2.0, "committing": 0.1}


def test_a_timer_tells_waiting_from_packing() -> None:
    timer = PackTimer()
    assert list(timer.waiting_for(iter([1, 2]))) == [1, 2]
    first, last, scan, pack, begin, end = cell_times([timer.note()], timer.began)
    assert (scan >= 0, pack >= 0, -first <= last, -begin <= end) == (True, True, True, True)
    assert scan + pack == last + first
