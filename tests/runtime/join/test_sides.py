"""The sides of a node: what is in play, what is new in a pass, and which waiting rows name a tuple."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.model.nodes import NodeKind
from penstock.plan.tree import NodePlan
from penstock.runtime.join.rows import ABSENT, GivenRows
from penstock.runtime.join.sides import StreamSide, WaitingSide, places
from penstock.runtime.promise.marks import LEFT, MATCHED, UNSURE
from penstock.runtime.state.synopsis import ALL, FRESH, OLD, Synopsis
from tests.runtime.stored import stored

NODE = NodePlan(NodeKind.LEFT, ("a", "b"), ("a",), 0, 1, (), (), (), (), (), None)


def stream(retained: bool) -> StreamSide:
    return StreamSide("a", stored({"k": [1, 2]}, {"k": [3]}, marks=[LEFT, MATCHED]), retained)


@pytest.mark.parametrize("retained", [False, True])
def test_a_tuple_that_left_is_not_in_play(retained: bool) -> None:
    side = stream(retained)
    side.leave(np.array([1]))
    assert side.rows(ALL)[1].tolist() == [0, 2]
    assert side.only_in_play(np.array([0, 1])).tolist() == [0]
    assert side.synopsis.live == (3 if retained else 2)


def test_in_the_second_pass_no_tuple_is_new_and_all_are_old() -> None:
    side = stream(retained=False)
    assert (side.rows(FRESH)[1].tolist(), side.rows(OLD)[1].tolist()) == ([2], [0, 1])
    side.late = True
    assert (side.rows(FRESH)[1].tolist(), side.rows(OLD)[1].tolist()) == ([], [0, 1, 2])


def test_matches_are_marked() -> None:
    side = stream(retained=False)
    side.mark(np.array([2]))
    assert side.is_matched(np.array([0, 2])).tolist() == [False, True]


def waiting() -> tuple[WaitingSide, dict[str, Synopsis]]:
    synopses = {"a": stored({"k": [1, 2, 3]}), "b": stored({"k": [1, 2]})}
    side = WaitingSide(NODE, synopses, (MATCHED,))
    side.add(GivenRows({"a": np.array([0, 1]), "b": np.array([0, ABSENT])}), 0)
    return side, synopses


def test_rows_that_wait_keep_their_tuples_by_place() -> None:
    side, synopses = waiting()
    synopses["a"].kill(np.array([2]))
    synopses["a"].compact()
    rows, keys = side.rows(ALL)
    assert (rows["a"].tolist(), rows["b"].tolist(), keys.tolist()) == ([0, 1], [0, ABSENT], [0, 1])


def test_only_rows_of_this_pass_are_new() -> None:
    side, _ = waiting()
    side.add(GivenRows({"a": np.array([2]), "b": np.array([1])}), 1)
    assert (side.rows(FRESH)[1].tolist(), side.rows(OLD)[1].tolist()) == ([2], [0, 1])
    assert (side.added_in(0).tolist(), side.added_in(1).tolist()) == ([0, 1], [2])
    side.add(GivenRows({"a": np.zeros(0, np.int64), "b": np.zeros(0, np.int64)}), 1)
    assert side.rows(FRESH)[1].tolist() == []


def test_rows_are_found_by_the_tuples_that_they_name_while_they_wait() -> None:
    side, _ = waiting()
    side.add(GivenRows({"a": np.array([0]), "b": np.array([1])}), 1)
    assert side.naming("a", np.array([0, 2])).tolist() == [0, 2]
    assert side.naming("a", np.array([0]), OLD).tolist() == [0]
    assert side.naming("b", np.zeros(0, np.int64)).tolist() == []
    assert side.names("b", np.array([0, 1])).tolist() == [True, True]
    side.leave(np.array([2]))
    assert side.names("b", np.array([0, 1])).tolist() == [True, False]
    assert side.only_in_play(np.array([0, 2])).tolist() == [0]


def test_rows_of_an_evicted_tuple_leave() -> None:
    side, _ = waiting()
    side.evicting("b", np.array([0]))
    assert side.rows(ALL)[1].tolist() == [1]


def test_an_absent_tuple_has_no_id() -> None:
    assert places(stored({"k": [1, 2]}), np.array([1, ABSENT, 0])).tolist() == [1, ABSENT, 0]


def test_rows_that_may_be_none_are_known_where_an_account_asks_and_a_side_begins_as_another_stands() -> None:
    side, synopses = waiting()
    assert side.is_unsure(side.rows(ALL)[1]) is None
    own = WaitingSide(NODE, synopses, (MATCHED, UNSURE))
    own.begin_as(side)
    own.add(GivenRows({"a": np.array([2]), "b": np.array([1])}, np.array([True])), 1)
    rows, keys = own.rows(ALL)
    assert rows["a"].tolist() == [0, 1, 2]
    unsure = own.is_unsure(keys)
    assert unsure is not None
    assert unsure.tolist() == [False, False, True]
