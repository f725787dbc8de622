"""Orders within parts, against a loop over the full history; and whole queries over parts, against the naive join.

The definition, row by row: a row breaks the order of its part if a row of its part before it asks for more than it may,
or if it lies below the clock of the stream as it stood when its batch began. The clock is the least over the parts that
are not idle of what each closes, and never falls; a part that is named and silent holds it, an idle one does not, and
one that is idle, not named and passed by all others is forgotten. A part is idle that lies too far behind the latest
and brought nothing in the last batch in which its stream brought anything. Under QUARANTINE exactly the rows that break
it are kept out, however parts are interleaved, cut into batches, dealt to cells and restarted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from penstock.testing import Run
from tests.measure import size

FOUR = """
CREATE STREAM s (p INT, k BIGINT, ts BIGINT, EVENT TIME ts, PARTS BY p, ORDERED BY ts WITHIN 5);
CREATE STREAM t (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 5);
SELECT s.k, s.ts, t.ts AS other FROM s, t WHERE s.k = t.k AND s.ts - t.ts BETWEEN -10 AND 10;
"""


def table(rows: list[tuple[Any, ...]], *names: str) -> Any:
    return pa.table({name: pa.array([row[n] for row in rows], pa.int64()) for n, name in enumerate(names)})


def test_four_parts_each_in_order_break_nothing_read_part_after_part() -> None:
    run = Run(FOUR)
    day = [(p, n % 7, n) for p in range(4) for n in range(0, 1000, 3)]
    step = run.step({"s": table(day, "p", "k", "ts"), "t": table([(n % 7, n) for n in range(1000)], "k", "ts")})
    assert step.metrics["violations"] == {}
    assert step.metrics["k"]["ORDERED BY ts WITHIN 5 ON s"] == 5
    assert step.rows.num_rows == sum(abs(a - b) <= 10 for _, k, a in day for b in range(1000) if b % 7 == k)


def test_the_clock_is_that_of_the_slowest_part() -> None:
    run = Run(FOUR)
    run.step({"t": table([(1, 0), (2, 50)], "k", "ts")})
    stored = []
    for rows in ([(0, 9, 100)], [(1, 9, 20)], [(1, 9, 100)]):
        stored.append(run.step({"s": table(rows, "p", "k", "ts")}).metrics["state_rows"]["t"])
    # The first part alone lets both go that it has passed by 10 and 5; a part that comes later starts at that clock.
    assert stored == [0, 0, 0]
    run = Run(FOUR)
    run.step({"t": table([(1, 0), (2, 50)], "k", "ts"), "s": table([(0, 9, 0), (1, 9, 0)], "p", "k", "ts")})
    stored = []
    for rows in ([(0, 9, 100)], [(1, 9, 20)], [(1, 9, 100)]):
        stored.append(run.step({"s": table(rows, "p", "k", "ts")}).metrics["state_rows"]["t"])
    assert stored == [2, 1, 0]


def test_a_part_that_is_named_and_silent_holds_the_clock_until_it_speaks_or_is_idle() -> None:
    for idle, expected in (("", [1, 1, 1, 0]), (" IDLE AFTER 30", [1, 1, 0, 0])):
        run = Run(FOUR.replace("EVENT TIME ts, PARTS", f"EVENT TIME ts{idle}, PARTS"))
        stored = [
            run.step({"t": table([(1, 0)], "k", "ts"), "s": table([(0, 9, 50)], "p", "k", "ts")}, {"s": [0, 1]}),
            run.step({"s": table([(0, 9, 80)], "p", "k", "ts")}),
            run.step({"s": table([(0, 9, 81)], "p", "k", "ts")}),
            run.step({"s": table([(1, 9, 90)], "p", "k", "ts")}),
        ]
        assert [step.metrics["state_rows"]["t"] for step in stored] == expected
        assert all(step.metrics["violations"] == {} for step in stored)


def test_what_an_idle_part_brings_below_the_clock_breaks_the_order() -> None:
    run = Run(FOUR.replace("EVENT TIME ts, PARTS", "EVENT TIME ts IDLE AFTER 30, PARTS"))
    assert run.step({"s": table([(0, 1, 10), (1, 1, 10)], "p", "k", "ts")}).metrics["violations"] == {}
    assert run.step({"s": table([(0, 1, 41)], "p", "k", "ts")}).metrics["violations"] == {}
    broken = run.step({"s": table([(1, 1, 36), (1, 1, 35)], "p", "k", "ts")}).metrics
    assert broken["violations"] == {"ORDERED BY ts WITHIN 5 ON s": 1}
    assert broken["k"]["ORDERED BY ts WITHIN 5 ON s"] == 6


IDLE = FOUR.replace("EVENT TIME ts, PARTS", "EVENT TIME ts IDLE AFTER 30, PARTS")
BROKEN = "ORDERED BY ts WITHIN 5 ON s"


@pytest.mark.parametrize("cut", [5, 40])
@pytest.mark.parametrize("cells", [1, 3])
@pytest.mark.parametrize("restarts", [False, True])
def test_a_catch_up_of_parts_whose_records_begin_apart_breaks_nothing(cut: int, cells: int, restarts: bool) -> None:
    """A share of each backlog a batch, as Spark takes them of Kafka's partitions: all speak, and lie hours apart."""
    run = Run(IDLE, cells=cells)
    backlogs = {p: [(p, n % 7, n) for n in range(first, 700, step)] for p, (first, step) in enumerate(BEGINNINGS)}
    other = [(n % 7, n) for n in range(0, 700, 5)]
    expected = sorted(
        (k, a, b) for own in backlogs.values() for _, k, a in own for j, b in other if j == k and abs(a - b) <= 10
    )
    given: list[tuple[int, int, int]] = []
    named = {"s": list(backlogs)}
    while any(backlogs.values()):
        share = [row for own in backlogs.values() for row in own[:cut]]
        backlogs = {p: own[cut:] for p, own in backlogs.items()}
        # What waits for the clock is not let go before the slowest has passed it.
        step = run.step({"s": table(share, "p", "k", "ts"), "t": table(other[:cut], "k", "ts")}, named)
        other = other[cut:]
        assert step.metrics["violations"] == {}
        given += zip(*(c.to_pylist() for c in step.rows.columns), strict=True)
        if restarts:
            run.restart()
    while other:
        step = run.step({"t": table(other[:cut], "k", "ts")})
        other = other[cut:]
        given += zip(*(c.to_pylist() for c in step.rows.columns), strict=True)
    assert sorted(given) == expected
    # Caught up, what is kept is what lies near the clocks, as if the streams had never been down.
    step = run.step({"s": table([(p, 9, 720) for p in range(4)], "p", "k", "ts"), "t": table([(9, 720)], "k", "ts")})
    assert sum(step.metrics["state_rows"].values()) <= 5


BEGINNINGS = ((0, 3), (150, 5), (500, 3), (699, 1))
"""Where the records of each part begin, and how far they lie apart."""


def test_a_part_leaves_with_the_first_batch_in_which_others_speak_and_it_does_not() -> None:
    run = Run(IDLE)
    idle = []
    for rows in (
        [(0, 1, 10), (1, 1, 500)],
        [(0, 1, 20), (1, 1, 520)],
        None,
        [(1, 1, 521)],
        None,
        [(0, 1, 517)],
        [(1, 1, 522)],
    ):
        given = {"t": table([(9, 0)], "k", "ts")} if rows is None else {"s": table(rows, "p", "k", "ts")}
        step = run.step(given, {"s": [0, 1]})
        idle.append(step.metrics["parts"]["s"]["idle"])
        assert step.metrics["violations"] == {}
    # It spoke, it spoke, nobody did, another did, nobody did, it is back, and near enough to be waited for.
    assert idle == [0, 0, 0, 1, 1, 0, 0]


@pytest.mark.parametrize("restarts", [False, True])
def test_a_part_that_is_back_is_waited_for_and_breaks_the_order_below_the_clock_alone(restarts: bool) -> None:
    run = Run(IDLE)

    def step(*rows: tuple[int, int, int]) -> dict[str, Any]:
        found = run.step({"s": table(list(rows), "p", "k", "ts")}, {"s": [0, 1]}).metrics
        if restarts:
            run.restart()
        return dict(found)

    step((0, 1, 10), (1, 1, 10))
    assert step((1, 1, 100))["parts"]["s"]["idle"] == 1
    # The clock is at 100: of these only what lies more than 5 below it breaks the order.
    back = step((0, 1, 50), (0, 1, 97), (1, 1, 200))
    assert (back["violations"], back["parts"]["s"]["idle"]) == ({BROKEN: 1}, 0)
    # And the clock stays there while the part speaks, however far the other goes.
    for at in (98, 99, 101):
        again = step((0, 1, at), (1, 1, 1000 + at))
        assert (again["violations"], again["parts"]["s"]["idle"]) == ({}, 0)
    assert step((1, 1, 2000))["parts"]["s"]["idle"] == 1
    assert step((0, 1, 1990))["violations"] == {BROKEN: 1}


CONSTRAINTS = ("ORDERED BY v WITHIN {k}", "ORDERED BY v WITHIN {k} ROWS", "ARRIVES BY v")


@dataclass
class Oracle:
    """The definition, in plain loops."""

    constraint: str
    k: int
    idle: int | None
    clock: Any = None
    history: dict[Any, list[Any]] = field(default_factory=dict)
    named: set[Any] = field(default_factory=set)
    latest: dict[Any, Any] = field(default_factory=dict)
    spoke: set[Any] = field(default_factory=set)
    """In the last batch that brought rows."""
    waits_for_all_that_speak: bool = True

    @property
    def in_rows(self) -> bool:
        return "ROWS" in self.constraint or "ARRIVES" in self.constraint

    def top(self) -> Any:
        return max((v for part in self.history.values() for v in part if v is not None), default=None)

    def is_idle(self, part: Any) -> bool:
        top = self.top()
        if self.idle is None or top is None or self.latest.get(part) is None:
            return False
        if self.waits_for_all_that_speak and part in self.spoke:
            return False
        return bool(top - self.latest[part] > self.idle)

    def batch(self, rows: list[tuple[Any, Any]], named: list[Any]) -> list[int]:
        """The places of rows that break the order."""
        reached = {part: max((v for v in vs if v is not None), default=None) for part, vs in self.history.items()}
        active = [reached[part] for part in self.history if not self.is_idle(part)]
        gone = [part for part in self.history if part not in self.named and self.is_idle(part)]
        for part in gone:
            if any(value is None or self.latest[part] > value for value in active):
                continue
            del self.history[part], self.latest[part]
        for part in named:
            self.named.add(part)
            if part not in self.history:
                self.history[part], self.latest[part] = [], self.top()
        broken = []
        for place, (part, value) in enumerate(rows):
            if part not in self.history:
                self.history[part], self.latest[part] = [], None
            before = self.history[part]
            if value is None:
                breaks = "ARRIVES" in self.constraint
            elif self.in_rows:
                far = before[: max(0, len(before) - self.k)]
                breaks = any(b is not None and value < b for b in far)
                breaks = breaks or (self.clock is not None and value < self.clock)
            else:
                breaks = any(b is not None and value < b - self.k for b in before)
                breaks = breaks or (self.clock is not None and value < self.clock - self.k)
            broken += [place] if breaks else []
            before.append(value)
        # Before it is dated a part is not idle, and a batch of no rows says of no part that it was silent.
        self.spoke = {part for part, _ in rows} or self.spoke
        for part in {part for part, _ in rows}:
            spoken = [v for v in self.history[part] if v is not None]
            if spoken:
                self.latest[part] = max(spoken)
        for part in self.history:
            if self.latest[part] is None:
                self.latest[part] = self.top()
        closed = [self.closes(part) for part in self.history if not self.is_idle(part)]
        if closed and None not in closed:
            least = min(closed)
            self.clock = least if self.clock is None else max(least, self.clock)
        return broken

    def closes(self, part: Any) -> Any:
        before = self.history[part]
        passed = [v for v in (before[: max(0, len(before) - self.k)] if self.in_rows else before) if v is not None]
        return max(passed, default=None)


def history_of(draw: Random, count: int) -> list[tuple[Any, Any]]:
    """Parts, NULL among them, each mostly in order, interleaved."""
    parts = [*range(draw.randint(1, 4)), *([None] if draw.random() < 0.2 else [])]
    at = dict.fromkeys(parts, 0)
    rows = []
    favourite = draw.choice(parts)
    for _ in range(count):
        if draw.random() < 0.1:
            favourite = draw.choice(parts)
        part = favourite if draw.random() < 0.5 else draw.choice(parts)
        at[part] += draw.randint(-3, 6)
        rows.append((part, None if draw.random() < 0.08 else at[part]))
    return rows


@pytest.mark.measure
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_every_row_that_breaks_the_order_of_its_part_is_found_and_no_other(constraint: str) -> None:
    for seed in range(size(20, 1000)):
        draw = Random(seed)
        k = 0 if "ARRIVES" in constraint else draw.randint(0, 4)
        idle = draw.choice([None, None, 5, 15])
        oracle = Oracle(constraint, k, idle)
        text = constraint.format(k=k)
        clock = "" if idle is None else f" IDLE AFTER {idle}"
        run = Run(
            f"CREATE STREAM s (n BIGINT, p BIGINT, v BIGINT, EVENT TIME v{clock}, PARTS BY p, {text} ON VIOLATION "
            "QUARANTINE); CREATE STREAM t (n BIGINT, v BIGINT); SELECT s.n, t.n AS tn FROM s, t WHERE s.v = t.v;",
            cells=draw.randint(1, 3),
        )
        rows = history_of(draw, draw.randint(1, 60))
        start = 0
        while start < len(rows):
            stop = start + draw.randint(1, 12)
            named = [draw.randint(0, 4)] if draw.random() < 0.15 else []
            expected = [start + place for place in oracle.batch(rows[start:stop], named)]
            numbered = [(n, *rows[n]) for n in range(start, min(stop, len(rows)))]
            step = run.step({"s": table(numbered, "n", "p", "v")}, {"s": named})
            kept_out = sorted(n for q in step.quarantined for n in q.rows.column("n").to_pylist())
            assert kept_out == expected, (seed, start)
            assert sum(step.metrics["violations"].values()) == len(expected), (seed, start)
            start = stop
            if draw.random() < 0.3:
                run.restart()
            if draw.random() < 0.2:
                # Another stream alone speaks: no part of this one becomes idle by it.
                assert oracle.batch([], []) == []
                run.step({"t": table([(start, -1)], "n", "v")})


def test_the_clock_is_never_later_than_that_of_parts_which_are_idle_by_their_times_alone() -> None:
    for seed in range(300):
        draw = Random(seed)
        idle = draw.choice([0, 5, 15])
        now, before = Oracle(CONSTRAINTS[0], 2, idle), Oracle(CONSTRAINTS[0], 2, idle, waits_for_all_that_speak=False)
        # A part that was forgotten and brings a row without a time was held to be new, and so waited for.
        rows = [row for row in history_of(draw, draw.randint(1, 60)) if row[1] is not None]
        while rows:
            cut = draw.randint(1, 12)
            broken = [set(oracle.batch(rows[:cut], [])) for oracle in (now, before)]
            rows = rows[cut:]
            assert broken[0] <= broken[1], seed
            assert now.clock is None or (before.clock is not None and now.clock <= before.clock), seed


def dealt(draw: Random, parts: int, count: int, d: int) -> list[tuple[int, int, int]]:
    """Rows of some parts, each in its order within d, interleaved at random but for a part that is ahead or silent."""
    streams = []
    for part in range(parts):
        at = 0
        rows = []
        for _ in range(draw.randint(0, count)):
            at += draw.randint(0, 4)
            rows.append((part, draw.randint(0, 3), at - draw.randint(0, d)))
        streams.append(rows)
    found = []
    while any(streams):
        one = draw.choice([rows for rows in streams if rows])
        for _ in range(draw.randint(1, 8)):
            if one:
                found.append(one.pop(0))
    return found


@pytest.mark.measure
@pytest.mark.parametrize("order", ["ORDERED BY ts WITHIN 6", "ORDERED BY ts WITHIN 3 ROWS"])
def test_joins_over_parts_are_exact_break_nothing_and_let_their_rows_go(order: str) -> None:
    d = 6 if "ROWS" not in order else 0
    for seed in range(size(8, 400)):
        draw = Random(seed)
        parts = draw.randint(1, 5)
        script = (
            f"CREATE STREAM s (p INT, k BIGINT, ts BIGINT, EVENT TIME ts, PARTS BY p, {order});"
            f"CREATE STREAM t (p INT, k BIGINT, ts BIGINT, EVENT TIME ts, PARTS BY p, {order});"
            "SELECT s.k, s.p, s.ts, t.p AS tp, t.ts AS tts FROM s, t WHERE s.k = t.k AND s.ts - t.ts BETWEEN -5 AND 8;"
        )
        run = Run(script, cells=draw.randint(1, 3))
        rows = {name: dealt(draw, parts, 40, d) for name in ("s", "t")}
        expected = sorted(
            (k, p, a, q, b) for p, k, a in rows["s"] for q, j, b in rows["t"] if j == k and -5 <= a - b <= 8
        )
        names = {name: list(range(parts)) for name in rows}
        given: list[tuple[Any, ...]] = []
        left = {name: list(its) for name, its in rows.items()}
        while any(left.values()):
            batch = {}
            for name in left:
                cut = draw.randint(0, 25)
                batch[name], left[name] = left[name][:cut], left[name][cut:]
            step = run.step({name: table(its, "p", "k", "ts") for name, its in batch.items()}, names)
            assert step.metrics["violations"] == {}, seed
            given += zip(*(c.to_pylist() for c in step.rows.columns), strict=True)
            if draw.random() < 0.3:
                run.restart()
        assert sorted(given) == expected, seed
        # All parts move on, and the state falls back to what is near their clocks.
        for at in range(1000, 1005):
            last = [(p, 9, at) for p in range(parts)]
            step = run.step({name: table(last, "p", "k", "ts") for name in rows})
        assert sum(step.metrics["state_rows"].values()) <= 2 * 5 * parts, seed


def test_a_day_of_each_part_in_one_batch_after_the_other_parts_days_breaks_nothing() -> None:
    run = Run(FOUR)
    minutes = range(1440)
    run.step({"s": table([(p, 1, 0) for p in range(4)], "p", "k", "ts")})
    caught_up = [(p, n % 5, n) for p in (2, 0, 3, 1) for n in minutes]
    step = run.step({"s": table(caught_up, "p", "k", "ts"), "t": table([(n % 5, n) for n in minutes], "k", "ts")})
    assert step.metrics["violations"] == {}
    assert step.metrics["state_rows"]["s"] < 4 * 20


def test_thousands_of_parts_cost_no_more_than_their_rows() -> None:
    run = Run(FOUR)
    for batch in range(3):
        rows = {
            "p": pa.array([n % 5000 for n in range(50_000)], pa.int32()),
            "k": pa.array(range(50_000), pa.int64()),
            "ts": pa.array([batch * 100 + n // 5000 for n in range(50_000)], pa.int64()),
        }
        step = run.step({"s": pa.table(rows)})
        assert step.metrics["violations"] == {}
        assert step.metrics["seconds"] < 2.0
