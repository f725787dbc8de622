"""Pairs that are asked for again are those that a matcher would find, whoever has left in between."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.expressions import ColumnRef
from penstock.plan.parts import KeyAxis
from penstock.runtime.match.matching import Matcher, PartTies
from penstock.runtime.match.met_before import MetBefore
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, Synopsis

TIES = PartTies(("a", "b"), (KeyAxis((ColumnRef("a", "k"), ColumnRef("b", "k"))),), ())
KEYS = st.lists(st.sampled_from(["x", "y", "z", "u", "v", None]), min_size=1, max_size=12)


def filled(batches: list[list[Any]]) -> Synopsis:
    synopsis, first = Synopsis(("k",)), 0
    for number, keys in enumerate(batches):
        arrival = np.arange(first, first + len(keys))
        marks = {"m": np.zeros(len(keys), np.bool_)}
        table = pa.table({"k": pa.array(keys, pa.string())})
        synopsis.begin(Segment(table, arrival, np.full(len(keys), number), np.ones(len(keys), np.bool_), marks))
        synopsis.finish()
        first += len(keys)
    return synopsis


def pairs(pieces: Any, ids: Any) -> list[tuple[int, int]]:
    return sorted((int(ids[place]), int(row)) for left, right in pieces for place, row in zip(left, right, strict=True))


@given(st.lists(KEYS, min_size=1, max_size=3), st.lists(KEYS, min_size=1, max_size=3), st.booleans(), st.data())
def test_it_gives_what_a_matcher_finds(left: list[Any], right: list[Any], by_hash: bool, data: st.DataObject) -> None:
    a, b = filled(left), filled(right)
    matcher = Matcher(TIES, {"a": a, "b": b}, by_hash=by_hash)
    met = MetBefore(matcher)
    for _ in range(data.draw(st.integers(1, 5))):
        ids = a.ids(ALL)
        ids = ids[np.array(data.draw(st.lists(st.booleans(), min_size=len(ids), max_size=len(ids))), np.bool_)]
        wanted = [
            (one, other)
            for one in ids.tolist()
            for other in b.ids(ALL).tolist()
            if (key := a.arrow("k", np.array([one]))[0].as_py()) is not None
            and key == b.arrow("k", np.array([other]))[0].as_py()
        ]
        assert pairs(met.pieces("a", ids, "b", ()), ids) == wanted
        gone = b.ids(ALL)
        if len(gone):
            b.kill(gone[np.array([data.draw(st.integers(0, len(gone) - 1))])])
