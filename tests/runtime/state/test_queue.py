"""A queue against a Python list, through any run of appends, drops, saves and loads."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.state.queue import Queue
from penstock.runtime.state.store import EntryReader, EntryWriter


def saved(queue: Queue, store: dict[str, bytes]) -> Any:
    """Bring a store up to date; gives what must be told beside it."""
    to = EntryWriter(0)
    told = queue.write("q", to)
    assert not set(to.delete) & set(to.put)
    for key in to.delete:
        del store[key]
    store.update(to.put)
    return told


def loaded(told: Any, store: dict[str, bytes]) -> Queue:
    queue = Queue("value", "row")
    source = EntryReader(store)
    queue.read("q", told, source)
    source.require_all_taken()
    return queue


MOVES = st.lists(st.tuples(st.integers(0, 90), st.integers(0, 120), st.booleans()), max_size=12)


@given(MOVES, st.booleans())
def test_rows_come_and_leave_as_in_a_list_and_survive_any_restart(moves: list[Any], has_codes: bool) -> None:
    queue, number = Queue("value", "row"), 0
    rows: list[Any] = []
    store: dict[str, bytes] = {}
    for come, most, restarts in moves:
        new = [(n if has_codes else f"v{n}", n) for n in range(number, number + come)]
        number += come
        values = np.array([v for v, _ in new], np.int64) if has_codes else np.empty(come, object)
        if not has_codes:
            values[:] = [v for v, _ in new]
        queue.append(value=values, row=np.array([n for _, n in new], np.int64))
        rows += new
        leave = min(most, len(rows))
        queue.drop(leave)
        rows = rows[leave:]
        told = saved(queue, store)
        if restarts:
            queue = loaded(told, store)
        assert len(queue) == len(rows)
        assert queue.first == number - len(rows)
        assert queue.column("row").tolist() == [n for _, n in rows]
        assert queue.column("value").tolist() == [v for v, _ in rows]


def test_a_save_writes_what_came_and_not_what_stands() -> None:
    queue = Queue("value", "row")
    store: dict[str, bytes] = {}
    numbers = np.arange(200_000)
    queue.append(value=numbers, row=numbers)
    saved(queue, store)
    queue.append(value=numbers[:10], row=numbers[:10])
    to = EntryWriter(0)
    queue.write("q", to)
    assert sum(map(len, to.put.values())) < 2_000


def test_few_pieces_however_often_it_is_saved() -> None:
    queue = Queue("value", "row")
    store: dict[str, bytes] = {}
    for n in range(500):
        queue.append(value=np.array([n]), row=np.array([n]))
        saved(queue, store)
    assert len(store) < 12


def test_what_was_read_stays_as_it_was() -> None:
    queue = Queue("value", "row")
    queue.append(value=np.array([1, 2]), row=np.array([0, 1]))
    seen = queue.column("value")
    queue.append(value=np.arange(1000), row=np.arange(1000))
    queue.drop(2)
    assert seen.tolist() == [1, 2]


def test_no_rows_are_saved_and_loaded() -> None:
    store: dict[str, bytes] = {}
    assert len(loaded(saved(Queue("value", "row"), store), store)) == 0
    assert store == {}
