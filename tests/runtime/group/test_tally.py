"""A tally against a dictionary: keys as Spark groups them, what is added, what is forgotten, over restarts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.aggregate import Fold
from penstock.runtime.group.measures import measured
from penstock.runtime.group.numbering import grouped
from penstock.runtime.group.tally import Kept, Tally
from penstock.runtime.state.component import State
from penstock.runtime.state.synopsis import ALL

KEY = st.tuples(st.none() | st.integers(0, 2), st.none() | st.sampled_from("ab"))
BATCHES = st.lists(st.lists(st.tuples(KEY, st.integers(-9, 9)), max_size=8), max_size=6)


def tally() -> Tally:
    return Tally(("g", "h"), (Kept("m", Fold.SUM),), 1)


def add(into: Tally, batch: int, rows: list[Any]) -> list[int]:
    """Add rows, equal keys together; gives the places of new keys."""
    g, h = pa.array([k[0] for k, _ in rows], pa.int64()), pa.array([k[1] for k, _ in rows], pa.string())
    groups = grouped([g, h], len(rows))
    keys = {"g": g.take(pa.array(groups.first)), "h": h.take(pa.array(groups.first))}
    sums = measured(Fold.SUM, pa.array([v for _, v in rows], pa.int64())).summed(groups)
    found: list[int] = into.add(batch, keys, {"m": sums}).tolist()
    return found


def held(one: Tally) -> dict[Any, int]:
    ids = one.seen.ids(ALL)
    keys = zip(one.values("g", ids).to_pylist(), one.values("h", ids).to_pylist(), strict=True)
    return dict(zip(keys, one.measured(ids)["m"].words.tolist(), strict=True))  # type: ignore[union-attr]


@given(BATCHES)
def test_what_is_added_up_by_key_is_what_a_dictionary_holds(batches: Any) -> None:
    one = tally()
    wanted: dict[Any, int] = {}
    store: dict[str, bytes] = {}
    state = State(one)
    for number, rows in enumerate(batches):
        if rows:
            new = add(one, number, rows)
            fresh = [key for key in dict.fromkeys(key for key, _ in rows) if key not in wanted]
            assert len(new) == len(fresh)
        for key, value in rows:
            wanted[key] = wanted.get(key, 0) + value
        state.finish()
        changes = state.save()
        for entry in changes.delete:
            del store[entry]
        store.update(changes.put)
        one = tally()
        state = State(one)
        state.load(store)
        assert one.live == len(wanted)
        if wanted:
            assert held(one) == wanted


def test_the_rows_of_a_group_are_found_together() -> None:
    one = tally()
    add(one, 0, [((1, "a"), 5), ((1, None), 6), ((2, "a"), 7), ((None, "a"), 8)])
    places, ids = one.find_group({"g": pa.array([None, 1, 9], pa.int64())})
    found = sorted(zip(places.tolist(), one.values("h", ids).to_pylist(), strict=True), key=str)
    assert found == sorted([(0, "a"), (1, "a"), (1, None)], key=str)


def test_what_is_forgotten_is_new_again() -> None:
    one = tally()
    add(one, 0, [((1, "a"), 5), ((2, "a"), 6)])
    one.forget(one.upto("codes", "g", 1))
    assert held(one) == {(2, "a"): 6}
    assert add(one, 1, [((1, "a"), 1)]) == [0]


def test_null_lies_below_no_limit() -> None:
    one = tally()
    add(one, 0, [((None, "a"), 5)])
    assert len(one.upto("codes", "g", 100)) == 0


def test_without_measures_a_key_that_is_known_stays_as_it_is() -> None:
    one = Tally(("g",), ())
    keys = {"g": pa.array([1, 2])}
    assert one.add(0, keys, {}).tolist() == [0, 1]
    before = one.seen.segments[0]
    assert one.add(1, keys, {}).tolist() == []
    assert one.seen.segments == [before]


def test_one_group_without_any_column() -> None:
    one = Tally((), (Kept("m", Fold.COUNT),))
    counted = measured(Fold.COUNT, pa.array([1]))
    assert one.add(0, {}, {"m": counted}).tolist() == [0]
    assert one.add(1, {}, {"m": counted}).tolist() == []
    assert one.measured(one.seen.ids(ALL))["m"].held.tolist() == [2]  # type: ignore[union-attr]
    assert np.array_equal(one.find_group({})[1], one.seen.ids(ALL))
