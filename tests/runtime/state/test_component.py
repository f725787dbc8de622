"""One place saves and loads the state: complete or refused, only what changed, at a cost that follows the batch.

The last test holds the components to their word: whatever of a cell differs from a new one after many batches is named
as state, or is in the list below with the reason why it need not be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from penstock.analysis.check import check_query
from penstock.errors import DataError
from penstock.model.hints import Budget, Hints
from penstock.model.schemes import Policy
from penstock.plan.planner import make_plan
from penstock.plan.runnable import obstacles
from penstock.runtime import Cell
from penstock.runtime.state.component import Component, State
from penstock.runtime.state.queue import Queue
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, Synopsis
from tests.runtime.driving import Driver
from tests.runtime.outer_workloads import Wanted, outer_workloads
from tests.runtime.workloads import workloads


class Leaf(Component):
    tables: ClassVar[tuple[str, ...]] = ("rows", "log")
    numbers = ("count", "seen")

    def __init__(self) -> None:
        self.rows = Synopsis(("k",))
        self.log = Queue("value", "row")
        self.count = 0
        self.seen: Any = []
        self.resumed = False

    def resume(self) -> None:
        self.resumed = True


class Root(Component):
    arrays = ("matrix", "frames")
    parts = ("leaves", "none")

    def __init__(self) -> None:
        self.leaves = {"a": Leaf(), "b": Leaf()}
        self.none = None
        self.matrix: Any = None
        self.frames: dict[str, Any] = {"x": None, "y": None}


def add(leaf: Leaf, *values: int) -> None:
    size = len(values)
    places = np.arange(size) + leaf.count
    table = pa.table({"k": pa.array(values, pa.int64())})
    leaf.rows.begin(Segment(table, places, np.full(size, leaf.count), np.ones(size, np.bool_), {}))
    leaf.count += size


def saved(store: dict[str, bytes], state: State) -> set[str]:
    """Save into a store; gives what was written."""
    changes = state.save()
    for key in changes.delete:
        assert store.pop(key, None) is not None, key
    store.update(changes.put)
    return set(changes.put)


def loaded(store: dict[str, bytes]) -> tuple[Root, State]:
    root = Root()
    state = State(root)
    state.load(store)
    return root, state


def test_what_is_named_comes_back_and_only_what_changed_is_written() -> None:
    root, store = Root(), dict[str, bytes]()
    state = State(root)
    add(root.leaves["a"], 1, 2, 3)
    root.leaves["b"].seen = [[1, 2.5], {"k": None, "t": True}, b"\0", "x"]
    root.matrix, root.frames["x"] = np.arange(6, dtype=np.float32).reshape(2, 3), pa.table({"v": ["a", None]})
    state.finish()
    first = saved(store, state)
    assert {"numbers", "array/matrix", "array/frames/x"} <= first
    assert sum(key.startswith("segment/leaves/a/rows/") for key in first) == 1
    again, other = loaded(store)
    assert again.leaves["a"].count == 3
    assert again.leaves["b"].seen == [[1, 2.5], {"k": None, "t": True}, b"\0", "x"]
    assert again.leaves["a"].rows.arrow("k", np.arange(3)).to_pylist() == [1, 2, 3]
    assert again.matrix.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert again.matrix.flags.writeable
    assert again.frames["x"].to_pydict() == {"v": ["a", None]}
    assert again.frames["y"] is None
    assert again.leaves["b"].resumed
    assert saved(store, other) == set()
    again.leaves["a"].count += 1
    assert saved(store, other) == {"numbers"}
    again.matrix[0, 0] = 7.0
    again.frames["x"] = None
    assert saved(store, other) == {"array/matrix", "numbers"}
    assert "array/frames/x" not in store
    assert loaded(store)[0].matrix[0, 0] == 7.0


def test_an_array_without_elements_is_an_array() -> None:
    root, store = Root(), dict[str, bytes]()
    root.matrix = np.zeros((3, 0), np.float32)
    saved(store, State(root))
    assert loaded(store)[0].matrix.shape == (3, 0)


def test_a_store_that_lacks_something_or_has_more_is_refused() -> None:
    root, store = Root(), dict[str, bytes]()
    state = State(root)
    add(root.leaves["a"], 1)
    root.matrix = np.zeros(3)
    root.leaves["b"].log.append(value=np.arange(3), row=np.arange(3))
    state.finish()
    saved(store, state)
    loaded(store)
    for key in store:
        with pytest.raises(DataError):
            loaded({name: value for name, value in store.items() if name != key})
    with pytest.raises(DataError, match="damaged") as refused:
        loaded({**store, "segment/leaves/c/rows/000000000001": b""})
    assert "nothing knows its entries segment/leaves/c" in str(refused.value.detail)
    loaded({**store, "cold/leaves/c": b""})


class Grown(Leaf):
    tables = ("rows", "log", "more")
    may_lack = ("more",)

    def __init__(self) -> None:
        super().__init__()
        self.more = Synopsis(("k",))


def test_a_table_that_an_older_store_may_lack_begins_empty_and_no_other_does() -> None:
    before, store = Leaf(), dict[str, bytes]()
    add(before, 1)
    state = State(before)
    state.finish()
    saved(store, state)
    grown = Grown()
    State(grown).load(store)
    assert (grown.rows.live, grown.more.live) == (before.rows.live, 0)
    with pytest.raises(DataError, match="not the one that the query has"):
        State(Leaf()).load({**store, **State(grown).save().put})


def test_a_store_of_other_components_is_refused_by_name() -> None:
    store: dict[str, bytes] = {}
    saved(store, State(Leaf()))
    with pytest.raises(DataError) as refused:
        loaded(store)
    assert "lacks leaves/a, leaves/b" in str(refused.value.detail)


def test_what_is_no_number_is_not_written() -> None:
    leaf = Leaf()
    leaf.seen = object()
    with pytest.raises(TypeError, match="no number"):
        State(leaf).save()


STEPS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40), st.booleans()), max_size=40)


@given(STEPS, st.booleans())
def test_a_queue_is_a_list_to_which_rows_come_and_from_whose_front_they_leave(
    steps: list[tuple[int, int, bool]], as_text: bool
) -> None:
    leaf, store, plain, came = Leaf(), dict[str, bytes](), list[tuple[Any, int]](), 0
    state = State(leaf)
    for coming, leaving, restart in steps:
        before = leaf.log.column("row")
        seen = before.tolist()
        numbers = np.arange(came, came + coming)
        values: Any = numbers * 10
        if as_text:
            values = np.empty(coming, object)
            values[:] = [f"v{number}" for number in numbers]
        leaf.log.append(value=values, row=numbers)
        plain += list(zip(values.tolist(), numbers.tolist(), strict=True))
        came += coming
        leaving = min(leaving, len(leaf.log))  # noqa: PLW2901
        leaf.log.drop(leaving)
        del plain[:leaving]
        assert before.tolist() == seen
        assert leaf.log.first == came - len(plain)
        assert list(zip(leaf.log.column("value").tolist(), leaf.log.column("row").tolist(), strict=True)) == plain
        if restart:
            saved(store, state)
            leaf = Leaf()
            state = State(leaf)
            state.load(store)


def test_what_a_queue_writes_follows_what_came_and_its_pieces_are_few() -> None:
    leaf, store = Leaf(), dict[str, bytes]()
    state = State(leaf)
    written = []
    for number in range(2_000):
        rows = np.arange(100) + 100 * number
        leaf.log.append(value=rows, row=rows)
        leaf.log.drop(max(0, len(leaf.log) - 100_000))
        keys = saved(store, state)
        written.append(sum(len(store[key]) for key in keys))
    assert len(store) < 30
    # Each row about log(pieces) times, 16 bytes each: not all 100,000 in every batch.
    assert np.mean(written) < 100 * 16 * 16
    assert sum(len(value) for value in store.values()) < 2.5 * 100_000 * 16


LONG = [
    "ARRIVES BY ts, ORDERED BY n WITHIN 50000 ROWS",
    "ORDERED BY n WITHIN 50000 ROWS",
    "FOLLOWS t (k) ON (k) WITHIN 50000 ROWS",
]


@pytest.mark.parametrize("declared", LONG)
def test_what_a_save_writes_follows_the_batch_and_not_the_k(declared: str) -> None:
    other = "ARRIVES BY ts" if "ARRIVES" in declared else "PRIMARY KEY (n)"
    driver = Driver(
        f"CREATE STREAM s (k BIGINT, ts BIGINT, n BIGINT, {declared}); CREATE STREAM t (k BIGINT, ts BIGINT, n BIGINT,"
        f" {other}); SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
    )
    sizes = []
    for batch in range(300):
        rows: list[tuple[int | None, ...]] = [(-1 - n, n, n) for n in range(20 * batch, 20 * batch + 20)]
        driver.step(s=rows if "ORDERED" in declared else [], t=[(n, n, n) for _, n, _ in rows])
        changes = driver.saved
        mine = [
            value for key, value in changes.put.items() if not key.startswith(("segment/synopses", "mask/synopses"))
        ]
        sizes.append(sum(map(len, mine)))
    assert np.mean(sizes[-50:]) < 1.5 * np.mean(sizes[30:80]) + 8_000


OF_THE_BATCH = {
    "Account.lost_now",
    "BlockAccount.lost_now",
    "Clock.before",
    "Closedness.before",
    "ClusteredWatch._noted",
    "Eviction._fresh",
    "Eviction._share",
    "Eviction._stood",
    "Eviction.evicted",
    "Eviction.needed",
    "FollowsWatch._arrived",
    "FollowsWatch._largest",
    "KeyWatch._came",
    "KeyWatch._met",
    "KeyWatch._naming",
    "KeyWatch._newly_marked",
    "JoinTree._asks_all",  # A restored cell asks about all rows once.
    "JoinTree._closed_now",
    "JoinTree._done",
    "JoinTree._left",
    "JoinTree._marked",
    "JoinTree._passed",  # It asks about all rows that a window has passed, once more.
    "JoinTree._purged",
    "JoinTree.unsure",
    "MetBefore._known",
    "PunctuatedWatch._noted",
    "Purge._closed",
    "Ranking._messages",
    "WaitingSide._new",
}
"""What a step leaves behind and the next one makes anew before it looks. Anything else must come back."""


def differing(one: Any, other: Any, path: str, seen: set[int]) -> Iterator[str]:
    """The attributes, by class and name, in which two things of the runtime differ."""
    if id(one) in seen:
        return
    seen.add(id(one))
    if isinstance(one, Synopsis):
        for name in one.columns if one.segments else ():
            if one.arrow(name, one.ids(ALL)) != other.arrow(name, other.ids(ALL)):
                yield f"{path} ({name})"
        return
    if isinstance(one, Segment):
        if not one.table.equals(other.table):
            yield path
        return
    if isinstance(one, Queue):
        if [one.column(name).tolist() for name in one.names] != [other.column(name).tolist() for name in one.names]:
            yield path
        return
    for name, value in vars(one).items():
        was, where = getattr(other, name, None), f"{type(one).__name__}.{name}"
        if where in OF_THE_BATCH:
            continue
        if type(value).__module__.startswith("penstock.runtime") and hasattr(value, "__dict__"):
            yield from differing(value, was, where, seen)
        elif isinstance(value, dict | list | tuple) and not _is_plain(value):
            mine, theirs = _values(value), _values(was)
            if len(mine) != len(theirs):
                yield where
            for left, right in zip(mine, theirs, strict=False):
                if hasattr(left, "__dict__"):
                    yield from differing(left, right, where, seen)
        elif _is_plain(value) and _lists(value) != _lists(was):
            yield where


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else list(value)


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_plain(v) for v in value.values())
    if isinstance(value, list | tuple):
        return all(_is_plain(v) for v in value)
    return value is None or isinstance(value, bool | int | float | str | np.ndarray)


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_lists(v) for v in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_whatever_a_restored_cell_has_not_is_known_not_to_matter(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["inner", "broken", "outer", "budget"]))
    if kind == "outer":
        work: Any = data.draw(outer_workloads(Wanted()))
    else:
        work = data.draw(workloads(most_sources=3, broken=Policy.ADAPT if kind == "broken" else None))
    query = work.query
    if kind == "budget":
        query = replace(query, hints=Hints(budget=Budget(data.draw(st.integers(1, 8)), "ROWS")))
    plan = make_plan(query, check_query(query))
    assume(not obstacles(query))
    absent = work.absent(plan) if kind == "outer" else {}
    cell, store = Cell(plan, absent=absent), dict[str, bytes]()
    for number in range(work.batches):
        cell.step(work.batch(plan, number))
        changes = cell.save()
        store = {k: v for k, v in {**store, **changes.put}.items() if k not in changes.delete}
        lost = set(differing(cell, Cell.restore(plan, store, absent=absent), "", set()))
        assert not lost, "name it in `numbers`, `arrays` or `tables` of its class, or above if no step relies on it"
