"""Small parts of a plan: axes, purge trees, the monitor."""

from __future__ import annotations

import penstock
from penstock.model.expressions import ColumnRef
from penstock.plan.parts import KeyAxis, PurgeEdge, PurgeTree, monitor_plan


def test_an_axis_names_the_column_of_each_stream_that_has_it() -> None:
    axis = KeyAxis((ColumnRef("a", "k"), ColumnRef("b", "m")))
    assert str(axis) == "a.k = b.m"
    assert axis.column("a") == "k"
    assert axis.column("c") is None


def test_the_children_of_a_stream_in_a_purge_tree() -> None:
    tree = PurgeTree("a", (PurgeEdge("a", "b"), PurgeEdge("b", "c"), PurgeEdge("a", "d")), True)
    assert tree.children("a") == ("b", "d")
    assert tree.children("c") == ()


def test_the_monitor_is_as_the_hint_says_or_by_default() -> None:
    stream = "CREATE STREAM s (k BIGINT);"
    (asked,) = penstock.parse(f"{stream} SELECT /*+ MONITOR(2, 0.1, 50) */ k FROM s;").queries
    (plain,) = penstock.parse(f"{stream} SELECT k FROM s;").queries
    found = monitor_plan(asked.hints)
    assert (float(found.factor), float(found.probability), found.window) == (2.0, 0.1, 50)
    assert found.declared
    assert not monitor_plan(plain.hints).declared
