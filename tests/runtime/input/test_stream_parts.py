"""Which parts a stream has: named, silent, idle, forgotten, and what of them is saved."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.runtime.input.stream_parts import StreamParts
from penstock.testing import Run

SCRIPT = (
    "CREATE STREAM s (p INT, v BIGINT, w STRING, EVENT TIME v IDLE AFTER 10, PARTS BY p, ORDERED BY v WITHIN 2, "
    "ORDERED BY w WITHIN 1 ROWS); CREATE STREAM t (v BIGINT); SELECT s.p FROM s, t WHERE s.v = t.v;"
)


def rows(*given: tuple[int | None, int | None, str]) -> dict[str, Any]:
    p, v, w = zip(*given, strict=True)
    return {"s": pa.table({"p": pa.array(p, pa.int32()), "v": pa.array(v, pa.int64()), "w": pa.array(w)})}


def parts(run: Run) -> StreamParts:
    return run.top.cells[0].clock.stream_parts["s"]


def test_an_idle_part_is_forgotten_unless_the_source_names_it() -> None:
    run = Run(SCRIPT)
    run.step(rows((0, 0, "a"), (1, 0, "a"), (None, 0, "a")), {"s": [0]})
    assert parts(run).names == ["0", "1", None]
    step = run.step(rows((2, 11, "b")))
    assert parts(run).idle.tolist() == [True, True, True, False]
    assert step.metrics["parts"] == {"s": {"known": 4, "idle": 3, "waited": 0, "behind": 0, "slowest": 2}}
    run.step(rows((2, 12, "b")))
    assert parts(run).names == ["0", "2"]


def test_a_part_that_others_which_speak_have_not_passed_is_not_forgotten() -> None:
    run = Run(SCRIPT)
    run.step(rows((0, 0, "a"), (1, 8, "a"), (2, 9, "a")))
    run.step(rows((0, 1, "b"), (2, 30, "b")))
    assert parts(run).idle.tolist() == [False, True, False]
    # Its order is still its own: below what it had reached, though the clock is at 1.
    broken = run.step(rows((0, 2, "c"), (1, 5, "b"))).metrics["violations"]
    assert broken == {"ORDERED BY v WITHIN 2 ON s": 1}
    run.step(rows((0, 9, "d")))
    run.step(rows((0, 10, "e")))
    assert parts(run).names == ["0", "2"]


def test_a_checkpoint_that_does_not_say_who_was_quiet_goes_on() -> None:
    run = Run(SCRIPT)
    run.step(rows((0, 0, "a"), (1, 0, "a")))
    run.step(rows((1, 20, "b")))
    kept = parts(run).known
    fresh = Run(SCRIPT)
    parts(fresh).known = kept.drop_columns(["quiet"])
    assert parts(fresh).idle.tolist() == [False, False]
    fresh.step(rows((1, 21, "c")))
    assert parts(fresh).idle.tolist() == [True, False]


def test_a_silent_part_is_idle_when_the_others_have_gone_on_since_it_was_named() -> None:
    run = Run(SCRIPT)
    run.step({}, {"s": [0, 1]})
    assert parts(run).silent.tolist() == [True, True]
    idle = [run.step(rows((0, v, f"{v:04d}"))).metrics["parts"]["s"]["idle"] for v in (100, 110, 111)]
    assert idle == [0, 0, 1]
    told = run.step({}, {"s": [2]}).metrics["parts"]["s"]
    assert told == {"known": 3, "idle": 1, "waited": 0, "slowest": 2}
    assert run.step(rows((0, 121, "x"))).metrics["parts"]["s"]["idle"] == 1
    assert run.step(rows((0, 122, "x"))).metrics["parts"]["s"]["idle"] == 2


def test_batches_are_counted_in_which_the_slowest_gives_nothing() -> None:
    run = Run(SCRIPT.replace(" IDLE AFTER 10", ""))
    run.step(rows((0, 0, "a"), (1, 5, "a")))
    waited = [run.step(given).metrics["parts"]["s"]["waited"] for given in (rows((1, 6, "b")), {}, rows((1, 7, "c")))]
    assert waited == [1, 1, 2]
    told = run.step(rows((0, 9, "d"))).metrics["parts"]["s"]
    assert told == {"known": 2, "idle": 0, "waited": 1, "behind": 2, "slowest": 1}


def test_what_is_known_comes_back_after_a_restart() -> None:
    run = Run(SCRIPT, cells=2)
    run.step(rows((0, 3, "b"), (1, 5, "a"), (0, 4, "c")), {"s": [7]})
    before = parts(run)
    run.restart()
    after = parts(run)
    assert after is not before
    assert after.known.equals(before.known)
    assert after.climbed.equals(before.climbed)
    assert after.climbs == before.climbs
