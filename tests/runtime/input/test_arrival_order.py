"""The order of ARRIVES BY: with it the answer does not depend on batching at all.

The oracle puts the rows of all streams in one line, in the order of their arrival values and then of FROM, and takes
each for a batch of its own: then the slow reference of `reference.py` is the definition. What the core is fed are
batchings in which each stream is read at its own pace. After every step it must have given exactly the combinations
whose rows were read and whose last row was passed by every other stream that has `[ROWS n]`, no more and no fewer.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.analysis.check import check_query
from penstock.model.clauses import RowsWindow, Source, columns_of
from penstock.model.query import Query
from penstock.model.schemes import ForeignKey, Punctuated
from penstock.model.stream import Arrival, Column, Stream
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.runtime import Batch, Cell, Chunk
from tests.measure import size
from tests.runtime.driving import Driver, rows_of
from tests.runtime.reference import Arrived, History, Keeper, combinations, in_windows
from tests.runtime.test_cells import share
from tests.runtime.test_core_against_reference import bag
from tests.runtime.workloads import (
    BIGINT,
    declarations,
    left_behind,
    predicates,
    query_over,
    table_of,
    windows,
    with_partners,
)

EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", size(35, 1000)))


@dataclass(frozen=True)
class Paced:
    """A query, its streams in one line, and when each row is read."""

    query: Query
    history: History
    """By stream; the batch of a row is its place in the line."""
    read: dict[str, list[int]]
    """By stream, the step in which each row is read."""
    steps: int
    before: dict[str, int]
    """By stream, its rows from before it moved on; nothing where it could not."""

    def batch(self, plan: Plan, step: int) -> Batch:
        chunks = []
        for name in plan.streams:
            stream = next(s.stream for s in self.query.sources if s.stream.name == name)
            rows = [a.values for a, read in zip(self.history[name], self.read[name], strict=True) if read == step]
            if rows:
                chunks.append(Chunk.of(plan, name, 0, table_of(stream, rows)))
        return Batch(step, tuple(chunks))

    def expected(self) -> list[Counter[tuple[Any, ...]]]:
        """What each step gives."""
        found: list[Counter[tuple[Any, ...]]] = [Counter() for _ in range(self.steps + 1)]
        names = list(dict.fromkeys(s.stream.name for s in self.query.sources))
        windowed = {s.stream.name for s in self.query.sources if isinstance(s.window, RowsWindow)}
        refs = [ref for output in self.query.outputs for ref in columns_of(output.value)]
        for combination in combinations(self.query, self.history, {}):
            if not in_windows(self.query, self.history, combination):
                continue
            last = max(combination, key=lambda alias: combination[alias].batch)
            own = self.query.by_alias[last].stream.name
            value = combination[last].values["arr"]
            given = [self.read[self.query.by_alias[a].stream.name][r.place] for a, r in combination.items()]
            for other in windowed - {own}:
                later = names.index(other) > names.index(own)
                past = [
                    read
                    for row, read in zip(self.history[other], self.read[other], strict=True)
                    if row.values["arr"] > value or (later and row.values["arr"] == value)
                ]
                given.append(min(past, default=self.steps))
            found[max(given)][tuple(combination[ref.alias].values[ref.column] for ref in refs)] += 1
        return found[: self.steps]

    def ahead(self, plan: Plan, step: int) -> dict[str, set[int]]:
        """By stream, the places of rows read by a step that some other stream was not yet read past."""
        names = plan.streams
        tops = {
            name: [r.values["arr"] for r, read in zip(self.history[name], self.read[name], strict=True) if read <= step]
            for name in names
        }
        found: dict[str, set[int]] = {}
        for name in names:
            found[name] = set()
            for row, read in zip(self.history[name], self.read[name], strict=True):
                value = row.values["arr"]
                passed = all(
                    any(v > value or (v == value and names.index(o) > names.index(name)) for v in tops[o])
                    for o in names
                    if o != name
                )
                if read <= step and not passed:
                    found[name].add(row.place)
        return found


@st.composite
def paced(draw: st.DrawFn, *, windowed: bool = True) -> Paced:
    count = draw(st.integers(2, 3))
    names = [f"s{n}" for n in range(count)]
    if count == 3 and draw(st.integers(0, 4)) == 0:
        names[-1] = names[0]
    columns = tuple(Column(name, BIGINT) for name in ("n", "a", "b", "ts", "arr"))
    where = draw(predicates(count))
    streams = {
        name: Stream(name, columns, "ts", Arrival("arr"), schemes=draw(declarations(name, names, where)))
        for name in dict.fromkeys(names)
    }
    sources = []
    for n, name in enumerate(names):
        window = draw(st.none() | st.integers(1, 4).map(RowsWindow) | windows()) if windowed else None
        sources.append(Source(streams[name], f"x{n}", window))
    query = query_over(sources, where)
    return Paced(query, *draw(lines(tuple(streams.values()))))


Line = tuple[History, dict[str, list[int]], int, dict[str, int]]
"""Rows in one line, when each is read, in how many steps, and how many there were before the streams moved on."""


@st.composite
def lines(draw: st.DrawFn, streams: tuple[Stream, ...]) -> Line:
    """Rows of streams that all declare ARRIVES BY, in the order of arrival, each stream read at its own pace."""
    random = Random(draw(st.integers(0, 2**32)))
    keeper = Keeper(streams)
    history: History = {stream.name: [] for stream in streams}
    number = 0
    for value in range(draw(st.integers(1, 12))):
        for name in history:
            for _ in range(random.choice([0, 1, 1, 2])):
                number += 1
                values = {"n": number, "a": random.randint(0, 2), "b": random.randint(0, 2), "arr": value}
                row = Arrived(number, len(history[name]), {**values, "ts": value // 2 + random.randint(-2, 2)})
                if keeper.allows(history, name, row):
                    history[name].append(row)
    steps = draw(st.integers(1, 6))
    history, _ = with_partners(streams, history, {})
    read = {name: sorted(random.randrange(steps) for _ in rows) for name, rows in history.items()}
    return moved_on((history, read, steps, {}), keeper, number)


def moved_on(line: Line, keeper: Keeper, number: int) -> Line:
    """Each stream goes on with new keys and later times, first by small steps and then far; see Workload.moved_on."""
    history = {name: list(rows) for name, rows in line[0].items()}
    read = {name: list(steps) for name, steps in line[1].items()}
    schemes = [scheme for stream in keeper.streams.values() for scheme in stream.schemes]
    if any(isinstance(scheme, Punctuated) for scheme in schemes):
        return line  # No punctuation comes here, so nothing says that rows leave.
    together = any(isinstance(scheme, ForeignKey) for scheme in schemes)
    for further in range(1, 11):
        for place, name in enumerate(history):
            number += 1
            key = 1_000 + further + (0 if together else 100 * place)
            values = {"n": number, "a": key, "b": key, "arr": 100 + further}
            row = Arrived(number, len(history[name]), {**values, "ts": (10 if further < 6 else 1_000) * further})
            if not keeper.allows(history, name, row):
                return line
            history[name].append(row)
            read[name].append(line[2] + further - 1)
    return history, read, line[2] + 10, {name: len(rows) for name, rows in line[0].items()}


def run(work: Paced, *, restart: bool = False) -> None:
    verdict = check_query(work.query)
    plan = make_plan(work.query, verdict)
    cell = Cell(plan)
    store: dict[str, bytes] = {}
    for step, expected in enumerate(work.expected()):
        result = cell.step(work.batch(plan, step))
        assert bag(result.rows) == expected, f"step {step}"
        assert result.metrics.violations == {}
        for source in plan.sources:
            if source.state.rows is not None:
                assert result.metrics.state_rows[source.alias] <= source.state.rows
        if plan.in_arrival_order and plan.rows_windowed:
            ahead = work.ahead(plan, step)
            assert result.metrics.pending_rows <= sum(len(ahead[s.stream]) for s in plan.sources)
        else:
            assert result.metrics.pending_rows == 0
        if restart:
            changes = cell.save()
            for key in changes.delete:
                del store[key]
            store.update(changes.put)
            cell = Cell.restore(plan, store)
    assert not work.before or left_behind(work.before, verdict, plan, [cell]) == {}


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(paced())
def test_every_answer_is_given_once_its_last_row_was_passed_whatever_the_batching(work: Paced) -> None:
    run(work)


@settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=list(HealthCheck))
@given(paced())
def test_what_waits_is_in_the_checkpoint(work: Paced) -> None:
    run(work, restart=True)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(paced(windowed=False))
def test_without_rows_windows_nothing_waits_and_follows_counts_in_that_order(work: Paced) -> None:
    run(work)


@settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=list(HealthCheck))
@given(paced())
def test_a_hypercube_of_cells_gives_the_same_answer_at_the_same_time(work: Paced) -> None:
    plan = make_plan(work.query, check_query(work.query))
    cells = {place: Cell(plan) for place in product(range(2), repeat=len(plan.axes))}
    for step, expected in enumerate(work.expected()):
        batch = work.batch(plan, step)
        found: Counter[tuple[Any, ...]] = Counter()
        tuples: Counter[str] = Counter()
        for place, cell in cells.items():
            result = cell.step(Batch(step, tuple(share(plan, chunk, place) for chunk in batch.chunks)))
            found += bag(result.rows)
            tuples.update(result.metrics.state_tuples)
        assert found == expected, f"step {step}"
        for source in plan.sources:
            if source.state.rows is not None:
                assert tuples[source.alias] <= source.state.rows


FIELDS = "k BIGINT, q BIGINT, n BIGINT"
TWO = f"CREATE STREAM s ({FIELDS}, ARRIVES BY q); CREATE STREAM t ({FIELDS}, ARRIVES BY q);"
LAST_TWO = f"{TWO} SELECT s.n, t.n AS tn FROM s [ROWS 2], t WHERE s.k = t.k;"


def test_rows_read_ahead_wait_and_are_counted_as_pending_not_as_state() -> None:
    driver = Driver(LAST_TWO, "k q n")
    first = driver.step(t=[(1, 5, 50), (1, 9, 90)])
    assert rows_of(first) == []
    assert (first.metrics.pending_rows, dict(first.metrics.state_rows)) == (2, {"s": 0, "t": 0})
    second = driver.step(s=[(1, 1, 1), (1, 2, 2), (1, 3, 3), (1, 6, 6)])
    assert rows_of(second) == [(2, 50), (3, 50), (6, 50)], "6 came after 50 did, and is the last row of its pair"
    assert second.metrics.pending_rows == 1, "s was not read past 90"
    assert second.metrics.state_rows["s"] == 2
    third = driver.step(s=[(1, 9, 9), (1, 10, 10)])
    assert rows_of(third) == [(6, 90), (9, 50), (9, 90), (10, 50), (10, 90)]


def test_ties_are_broken_by_the_order_of_from() -> None:
    driver = Driver(LAST_TWO, "k q n")
    driver.step(s=[(1, 5, 1), (1, 5, 2), (1, 5, 3)])
    assert rows_of(driver.step(t=[(1, 5, 9)])) == []
    assert rows_of(driver.step(s=[(1, 6, 4)])) == [(2, 9), (3, 9), (4, 9)], "all s that arrive by 5 came before t"


def test_the_answer_is_given_when_a_later_stream_has_reached_the_value_and_an_earlier_one_has_passed_it() -> None:
    driver = Driver(f"{TWO} SELECT s.n, t.n AS tn FROM s [ROWS 1], t [ROWS 1] WHERE s.k = t.k;", "k q n")
    assert rows_of(driver.step(s=[(1, 5, 1)])) == []
    assert rows_of(driver.step(t=[(1, 4, 8)])) == []
    assert rows_of(driver.step(t=[(1, 5, 9)])) == [(1, 8)], "t has reached 5, so 1 may be taken in; 9 may not yet"
    assert rows_of(driver.step(s=[(1, 6, 2)])) == [(1, 9)]


def test_follows_in_rows_lets_a_child_go_once_its_parent_was_read_past_it() -> None:
    script = (
        TWO.replace("t (k BIGINT", "t (FOLLOWS s (k) ON (k), k BIGINT")
        + "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
    )
    driver = Driver(script, "k q n")
    driver.step(t=[(1, 5, 50)])
    assert driver.stored("t") == 1, "a parent that came before it may not have been read yet"
    result = driver.step(s=[(1, 4, 4)])
    assert (rows_of(result), driver.stored("t")) == ([(4, 50)], 1)
    assert rows_of(driver.step(s=[(1, 5, 5)])) == [(5, 50)]
    assert driver.stored("t") == 1, "s stands before t in FROM, so more of it may arrive by 5 before the child"
    driver.step(s=[(2, 6, 6)])
    assert driver.stored("t") == 0


def test_a_parent_that_arrives_after_its_child_breaks_follows_in_whatever_order_they_are_read() -> None:
    script = (
        TWO.replace("t (k BIGINT", "t (FOLLOWS s (k) ON (k), k BIGINT")
        + "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
    )
    constraint = "FOLLOWS s (k) ON (k) ON t"
    driver = Driver(script, "k q n")
    driver.step(s=[(2, 6, 6), (1, 7, 7)])
    result = driver.step(t=[(1, 5, 50)])
    assert rows_of(result) == [(7, 50)]
    assert result.metrics.violations == {constraint: 1}
    assert result.metrics.k[constraint] == 2


def test_a_child_waits_until_so_many_parents_stand_after_it() -> None:
    streams = TWO.replace("t (k BIGINT", "t (FOLLOWS s (k) ON (k) WITHIN 2 ROWS, k BIGINT")
    driver = Driver(streams + "SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;", "k q n")
    driver.step(t=[(1, 5, 50)], s=[(9, 1, 1), (9, 6, 6)])
    assert driver.stored("t") == 1, "one parent stands after it"
    result = driver.step(s=[(1, 7, 7)])
    assert (rows_of(result), result.metrics.violations) == ([(7, 50)], {})
    assert driver.stored("t") == 0


def test_what_waits_moves_no_clock() -> None:
    fields = f"{FIELDS}, ts BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 0, ARRIVES BY q"
    driver = Driver(
        f"CREATE STREAM s ({fields}); CREATE STREAM t ({fields});"
        "SELECT s.n, t.n AS tn FROM s [ROWS 5], t [ROWS 5] WHERE s.k = t.k AND t.ts - s.ts BETWEEN 0 AND 1;",
        "k q n ts",
    )
    driver.step(t=[(1, q, q, q) for q in range(1, 11)])
    driver.step(s=[(1, 1, 100, 5), (2, 3, 101, 6)])
    assert driver.stored("s") == 2, "t was read up to time 10, but what was taken in of it is not past 5"
    assert rows_of(driver.step(s=[(2, 20, 102, 20)])) == [(100, 5), (100, 6)]


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(paced(), st.booleans())
def test_the_end_of_every_stream_gives_what_waits_for_the_slowest(work: Paced, restart: bool) -> None:
    plan = make_plan(work.query, check_query(work.query))
    cell = Cell(plan)
    store: dict[str, bytes] = {}
    found: Counter[tuple[Any, ...]] = Counter()
    for step in range(work.steps + 1):
        found += bag(cell.step(replace(work.batch(plan, step), is_last=step == work.steps)).rows)
        if restart:
            changes = cell.save()
            store = {k: v for k, v in {**store, **changes.put}.items() if k not in changes.delete}
            cell = Cell.restore(plan, store)
    refs = [ref for output in work.query.outputs for ref in columns_of(output.value)]
    whole = Counter(
        tuple(combination[ref.alias].values[ref.column] for ref in refs)
        for combination in combinations(work.query, work.history, {})
        if in_windows(work.query, work.history, combination)
    )
    assert found == whole
    assert sum(synopsis.live for synopsis in cell.synopses.values()) == 0
