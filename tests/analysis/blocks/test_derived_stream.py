"""The stream that a view is: its event time, what it declares, what follows."""

from __future__ import annotations

from dataclasses import replace

from penstock.analysis.blocks.derived_stream import derived_stream
from penstock.model.schemes import PrimaryKey
from tests.analysis.blocks.promised import NEAR, block


def test_its_event_time_is_the_only_one_that_it_keeps() -> None:
    assert block(f"SELECT a.k, a.t FROM a, b WHERE {NEAR}").derived.stream.event_time == "t"
    assert block(f"SELECT a.t AS x, b.t AS y FROM a, b WHERE {NEAR}").derived.stream.event_time is None


def test_what_is_declared_of_it_stays_and_is_not_stated_twice() -> None:
    found = block(f"SELECT DISTINCT a.k, a.t FROM a, b WHERE {NEAR}")
    bare = replace(found.derived.stream, schemes=(), where=())
    key = PrimaryKey(("k", "t"))
    again = derived_stream(replace(bare, schemes=(key,)), found.query, found.verdict).stream
    assert again.keys == (("k", "t"),)
    assert again.schemes[0] == key


def test_the_window_of_a_group_is_its_event_time() -> None:
    groups = "count(*) AS c FROM a GROUP BY window(a.t, 5)"
    assert block(f"SELECT window(a.t, 5).end AS e, {groups}").derived.stream.event_time == "e"
    both = f"SELECT window(a.t, 5).start AS s, window(a.t, 5).end AS e, {groups}"
    assert block(both).derived.stream.event_time == "e"
