"""Rows that agree on columns, against two loops: any part, NULLs, strings, several columns, what died meanwhile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.match import key_ranges
from penstock.runtime.match.key_matching import (
    Keyed,
    about_distinct,
    all_differ,
    lookup,
    match_keys,
    meeting,
    meeting_any,
    meets,
    met_values,
    new_pairs,
    newly_met,
    nulls,
    reached,
    repeated,
)
from penstock.runtime.state.key_index import TooManyPairs
from penstock.runtime.state.synopsis import ALL, FRESH, OLD, Synopsis
from tests.runtime.stored import stored

LEAST, MOST = -(2**63), 2**63 - 1
NUMBERS = st.one_of(st.none(), st.integers(0, 3), st.sampled_from([LEAST, MOST, -1]))
TEXTS = st.one_of(st.none(), st.sampled_from(["", "a", "ab", "a" * 40]))
Rows = list[tuple[Any, Any]]


def rows_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Rows]:
    return st.lists(st.tuples(values, NUMBERS), max_size=7)


def synopsis_of(old: Rows, fresh: Rows, is_text: bool) -> Synopsis:
    def columns(rows: Rows) -> dict[str, list[Any]]:
        return {"k": [k for k, _ in rows], "j": [j for _, j in rows]}

    made = stored(columns(old), columns(fresh))
    if is_text:
        for segment in made.segments:
            cast = segment.table.column("k").cast(pa.string())
            segment.table = segment.table.set_column(0, "k", cast)
    return made


@st.composite
def two_sides(draw: st.DrawFn) -> tuple[list[Rows], bool]:
    is_text = draw(st.booleans())
    values = TEXTS if is_text else NUMBERS
    return [draw(rows_of(values)) for _ in range(4)], is_text


def equal(one: tuple[Any, Any], other: tuple[Any, Any], columns: tuple[str, ...]) -> bool:
    places = [0 if column == "k" else 1 for column in columns]
    return all(one[p] is not None and one[p] == other[p] for p in places)


@given(two_sides(), st.sampled_from([("k",), ("k", "j")]), st.booleans())
def test_what_agrees_is_found_whichever_part_is_asked(
    sides: tuple[list[Rows], bool], columns: tuple[str, ...], kill: bool
) -> None:
    (old, fresh, their_old, their_fresh), is_text = sides
    mine, theirs = synopsis_of(old, fresh, is_text), synopsis_of(their_old, their_fresh, is_text)
    source, target = Keyed(mine, columns), Keyed(theirs, columns)
    own, others = old + fresh, their_old + their_fresh
    alive = set(range(len(others)))
    if not own or not others:
        return
    ids = mine.ids(ALL)
    match_keys(source, mine.ids(FRESH), target, ALL)  # Known from here on; what dies must not be found again.
    if kill:
        theirs.kill(np.array([0]))
        alive.discard(0)
    parts = {ALL: alive, OLD: alive & set(range(len(their_old))), FRESH: alive - set(range(len(their_old)))}
    for part, living in parts.items():
        left, right = match_keys(source, ids, target, part)
        found = sorted(zip(left.tolist(), right.tolist(), strict=True))
        assert found == sorted((a, b) for a in range(len(own)) for b in living if equal(own[a], others[b], columns))
    met = [any(equal(own[a], others[b], columns) for b in alive) for a in range(len(own))]
    assert meeting(source, ids, target).tolist() == met
    assert meeting_any(source, ids, target).tolist() == met


@given(two_sides())
def test_new_pairs_are_those_with_a_fresh_row(sides: tuple[list[Rows], bool]) -> None:
    (old, fresh, their_old, their_fresh), is_text = sides
    mine, theirs = synopsis_of(old, fresh, is_text), synopsis_of(their_old, their_fresh, is_text)
    own, others = old + fresh, their_old + their_fresh
    if not own or not others:
        return
    ones, twos = new_pairs(Keyed(mine, ("k",)), Keyed(theirs, ("k",)))
    expected = sorted(
        (a, b)
        for a in range(len(own))
        for b in range(len(others))
        if equal(own[a], others[b], ("k",)) and (a >= len(old) or b >= len(their_old))
    )
    assert sorted(zip(ones.tolist(), twos.tolist(), strict=True)) == expected
    assert set(newly_met(Keyed(mine, ("k",)), Keyed(theirs, ("k",))).tolist()) == {b for _, b in expected}


@pytest.mark.parametrize("most", [0, 1_000_000])
def test_what_is_asked_of_a_hot_key_needs_no_pairs(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_ranges, "MANY", most)
    monkeypatch.setattr(key_ranges, "TIMES", 0)

    @given(two_sides(), st.sampled_from([("k",), ("k", "j")]), st.sampled_from([ALL, OLD, FRESH]))
    def look(sides: tuple[list[Rows], bool], columns: tuple[str, ...], part: str) -> None:
        (old, fresh, their_old, their_fresh), is_text = sides
        mine, theirs = synopsis_of(old, fresh, is_text), synopsis_of(their_old, their_fresh, is_text)
        own, others = old + fresh, their_old + their_fresh
        if not own or not others:
            return
        living = range(*{ALL: (0, len(others)), OLD: (0, len(their_old)), FRESH: (len(their_old), len(others))}[part])
        ids, source, target = mine.ids(ALL), Keyed(mine, columns), Keyed(theirs, columns)
        pairs = [(a, b) for a in range(len(own)) for b in living if equal(own[a], others[b], columns)]
        assert meets(source, ids, target, part).tolist() == [any(a == p for p, _ in pairs) for a in range(len(own))]
        assert set(reached(source, ids, target, part).tolist()) == {b for _, b in pairs}
        places, values = met_values(source, ids, target, part, lambda rows: (rows * 10, rows == 1))
        told: dict[int, list[int]] = {}
        for place, value in zip(places.tolist(), values.tolist(), strict=True):
            told.setdefault(place, []).append(value)
        wanted = {a: [10 * b for p, b in pairs if p == a and b != 1] for a, b in pairs if b != 1}
        assert {a: (min(found), max(found)) for a, found in told.items()} == {
            a: (min(found), max(found)) for a, found in wanted.items()
        }

    look()


def test_too_many_pairs_are_not_made() -> None:
    mine, theirs = stored({"k": [1, 1, 2]}), stored({"k": [1, 1, 1]})
    source, target = Keyed(mine, ("k",)), Keyed(theirs, ("k",))
    assert len(match_keys(source, mine.ids(ALL), target, ALL, 6)[0]) == 6
    fresh_ones = Keyed(stored({"k": [1, 1, 2]}), ("k",))
    with pytest.raises(TooManyPairs):
        match_keys(fresh_ones, fresh_ones.synopsis.ids(ALL), target, ALL, 5)


def test_no_rows_meet_nothing() -> None:
    some, none = stored({"k": [1, 2]}), stored({"k": []})
    for source, target in ((some, none), (none, some), (none, none)):
        left, right = match_keys(Keyed(source, ("k",)), source.ids(ALL), Keyed(target, ("k",)), ALL)
        assert len(left) == len(right) == 0


def test_a_value_is_looked_up() -> None:
    synopsis = stored({"k": [MOST, 1, LEAST, None]})
    left, right = lookup(synopsis, "k", pa.array([LEAST, 5, MOST]))
    assert sorted(zip(left.tolist(), right.tolist(), strict=True)) == [(0, 2), (2, 0)]


def test_rows_that_repeat_an_earlier_one_are_named_with_it() -> None:
    synopsis = stored({"k": [3, 1, 3, MOST, 3, LEAST]})
    firsts, again = repeated(Keyed(synopsis, ("k",)), synopsis.ids(ALL))
    assert again.tolist() == [2, 4]
    assert len(firsts) == 2


@pytest.mark.parametrize("values", [[5] * 30, list(range(30)), [1, 2, 1, 2, LEAST, MOST]])
def test_about_distinct_names_every_value(values: list[int]) -> None:
    synopsis = stored({"k": values})
    places = about_distinct(Keyed(synopsis, ("k",)), synopsis.ids(ALL))
    assert {values[place] for place in places.tolist()} == set(values)
    if len(set(values)) == 1:
        assert len(places) == 1


def test_whether_all_codes_differ() -> None:
    assert all_differ(np.array([LEAST, 0, MOST]))
    assert all_differ(np.array([3, 1, 2]))
    assert not all_differ(np.array([MOST, 1, MOST]))


def test_nulls_are_told_and_none_where_there_is_none() -> None:
    synopsis = stored({"k": [1, None], "j": [1, 2]})
    missing = nulls(synopsis, ("k", "j"), synopsis.ids(ALL))
    assert missing is not None
    assert missing.tolist() == [False, True]
    assert nulls(synopsis, ("j",), synopsis.ids(ALL)) is None
