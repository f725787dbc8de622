"""Sessions against Python's own, row by row: any order of rows, any batching; what moves, and what is over."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from penstock.plan.aggregate import COUNT, Fold, GroupKey
from penstock.runtime.columns.codes import INT64
from penstock.runtime.group.numbering import grouped
from penstock.runtime.group.sessions import Sessions
from penstock.runtime.group.tally import Kept, Tally
from penstock.runtime.group.totals import Totals
from penstock.runtime.state.synopsis import ALL

Row = tuple[int | None, int]


def by_hand(rows: list[Row], gap: int) -> set[tuple[int | None, int, int, int]]:
    """(key, start, end, how many rows) of all sessions."""
    found = set()
    for key in {key for key, _ in rows}:
        times = sorted(time for own, time in rows if own == key)
        begins = [n for n, time in enumerate(times) if not n or time - times[n - 1] > gap]
        for begin, end in zip(begins, [*begins[1:], len(times)], strict=True):
            found.add((key, times[begin], times[end - 1] + gap, end - begin))
    return found


class Table:
    """The tally of the groups, as the second stage has it."""

    def __init__(self, gap: int, others: tuple[str, ...]) -> None:
        self.sessions = Sessions(GroupKey("t", "", None, 1, (), gap=gap))
        self.others = others
        self.tally = Tally((*others, "t"), (Kept(COUNT, Fold.COUNT), self.sessions.last), len(others))

    def add(self, batch: int, rows: list[Row]) -> None:
        columns = {"k": pa.array([k for k, _ in rows], pa.int64()), "t": pa.array([t for _, t in rows], pa.int64())}
        assigned = self.sessions.assign(columns, self.others, self.tally)
        self.tally.move(batch, assigned.moved, "t", pa.array(assigned.moved_to))
        columns |= {self.sessions.last.name: columns["t"], "t": pa.array(assigned.starts)}
        groups = grouped([columns[name] for name in self.tally.keys], len(rows))
        keys = {name: columns[name].take(pa.array(groups.first)) for name in self.tally.keys}
        counted = Totals(None, None, np.ones(len(rows), np.int64)).summed(groups)
        last = self.sessions.last_times(columns).summed(groups)
        self.tally.add(batch, keys, {COUNT: counted, self.sessions.last.name: last})

    @property
    def found(self) -> set[tuple[int | None, int, int, int]]:
        ids = self.tally.seen.ids(ALL)
        keys = self.tally.values("k", ids).to_pylist() if self.others else [None] * len(ids)
        held = self.tally.measured(ids)[COUNT]
        assert isinstance(held, Totals)
        ends = self.sessions.shown_ends(self.tally, ids).to_pylist()
        return set(zip(keys, self.tally.values("t", ids).to_pylist(), ends, held.held.tolist(), strict=True))


@pytest.mark.parametrize("others", [(), ("k",)])
def test_rows_in_any_order_make_the_sessions_of_all_rows(others: tuple[str, ...]) -> None:
    for seed in range(60):
        draw = random.Random(f"{seed} {others}")
        gap, reach = draw.choice((1, 2, 5)), draw.choice((5, 30, 100))
        table, seen = Table(gap, others), list[Row]()
        for batch in range(draw.randint(1, 6)):
            keys = (None, 1, 2) if others else (None,)
            rows = [(draw.choice(keys), draw.randint(-reach, reach)) for _ in range(draw.randint(1, 8))]
            table.add(batch, rows)
            seen += rows
            assert table.found == by_hand(seen, gap)
            assert table.sessions.least_start(table.tally) == min(time for _, time in seen)


def test_a_row_that_comes_as_a_session_ends_belongs_to_it() -> None:
    table = Table(10, ("k",))
    table.add(0, [(1, 0), (1, 10)])
    table.add(1, [(1, 20), (1, 31)])
    assert table.found == {(1, 0, 30, 3), (1, 31, 41, 1)}


def test_a_session_is_over_when_its_end_is_passed_and_not_before() -> None:
    table = Table(10, ("k",))
    table.add(0, [(1, 0), (2, 5)])
    assert [len(table.sessions.closed(table.tally, passed)) for passed in (10, 11, 15, 16)] == [0, 1, 1, 2]


def test_times_at_the_ends_of_what_can_be_counted() -> None:
    table = Table(10, ())
    least, most = int(INT64.min), int(INT64.max)
    table.add(0, [(None, least), (None, most), (None, most - 10), (None, 0)])
    assert table.found == {(None, least, least + 10, 1), (None, 0, 10, 1), (None, most - 10, most, 2)}
    assert len(table.sessions.closed(table.tally, least)) == 0
