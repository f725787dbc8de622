"""The shape of the join graph, against the definition: a tree iff some tree over the streams has, for each key class,
the streams that share it side by side (running intersection). Every tree of up to five streams is tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.graph import JoinGraph, Shape
from penstock.model.query import Query
from penstock.model.relation import JoinKind
from penstock.model.schemes import PrimaryKey
from tests.analysis.build import outer, query, source, stream, where

Edge = tuple[str, str]


def _graph(count: int, *conditions: str, keys: Mapping[str, tuple[str, ...]] | None = None) -> JoinGraph:
    streams = [
        stream(name, "x BIGINT, y BIGINT, z BIGINT", *(PrimaryKey((k,)) for k in (keys or {}).get(name, ())))
        for name in "abcde"[:count]
    ]
    return JoinGraph.of(query([source(s) for s in streams], *conditions))


def _connected(members: frozenset[str], edges: tuple[Edge, ...]) -> bool:
    reached = {min(members)}
    while True:
        more = {b for a, b in [*edges, *(e[::-1] for e in edges)] if a in reached and b in members} - reached
        if not more:
            return reached == members
        reached |= more


def _is_a_tree(edges: tuple[Edge, ...], aliases: tuple[str, ...]) -> bool:
    return len(edges) == len(aliases) - 1 and _connected(frozenset(aliases), edges)


def _some_tree_has_running_intersection(graph: JoinGraph) -> bool:
    pairs = list(combinations(graph.aliases, 2))
    return any(
        _is_a_tree(edges, graph.aliases) and all(_connected(k.aliases, edges) for k in graph.key_classes)
        for edges in combinations(pairs, len(graph.aliases) - 1)
    )


equalities = st.tuples(
    st.sampled_from("abcde"), st.sampled_from("xyz"), st.sampled_from("abcde"), st.sampled_from("xyz")
)


@settings(deadline=None)
@given(st.integers(2, 5), st.lists(equalities, max_size=6))
def test_graph_is_a_tree_iff_a_join_tree_exists(count: int, ties: list[tuple[str, str, str, str]]) -> None:
    names = "abcde"[:count]
    conditions = [f"{a}.{i} = {b}.{j}" for a, i, b, j in ties if a in names and b in names and a != b]
    graph = _graph(count, *conditions)
    assert (graph.join_tree is not None) == _some_tree_has_running_intersection(graph)
    if graph.join_tree is not None:
        assert graph.shape is Shape.TREE
        children = [child for child, _ in graph.join_tree]
        assert len(set(children)) == len(children)
        assert all(_connected(k.aliases, graph.join_tree) for k in graph.key_classes)
        assert len(graph.join_tree) == count - len(graph.components)


def test_triangle_of_one_key_class_is_a_tree() -> None:
    graph = _graph(3, "a.x = b.x", "b.x = c.x", "c.x = a.x")
    assert graph.shape is Shape.TREE
    assert [str(k) for k in graph.key_classes] == ["a.x = b.x = c.x"]
    assert graph.meetings == (("a", "b"), ("a", "c"), ("b", "c"))


def test_triangle_of_three_key_classes_is_cyclic() -> None:
    graph = _graph(3, "a.x = b.x", "b.y = c.y", "c.z = a.z")
    assert graph.shape is Shape.CYCLIC
    assert graph.join_tree is None


def test_triangle_of_many_one_joins_is_a_dag() -> None:
    conditions = ("a.x = b.x", "b.y = c.y", "c.z = a.z")
    graph = _graph(3, *conditions, keys={"b": ("x",), "c": ("y", "z")})
    assert graph.shape is Shape.DAG
    assert {(m.child, m.parent) for m in graph.many_one} == {("a", "b"), ("b", "c"), ("a", "c")}
    assert _graph(3, *conditions, keys={"b": ("x",), "c": ("y",)}).shape is Shape.CYCLIC, "c.z = a.z is many-many"
    rounds = {"a": ("z",), "b": ("x",), "c": ("y",)}
    assert _graph(3, *conditions, keys=rounds).shape is Shape.CYCLIC, "the arrows go round"


def test_key_of_several_columns_is_many_one_only_where_all_are_bound() -> None:
    parent = stream("p", "x BIGINT, y BIGINT", PrimaryKey(("x", "y")))
    child = stream("c", "x BIGINT, y BIGINT")
    assert not JoinGraph.of(query([source(child), source(parent)], "c.x = p.x")).many_one
    found = JoinGraph.of(query([source(child), source(parent)], "c.x = p.x", "c.y = p.y")).many_one
    assert [(m.child, m.parent, m.key) for m in found] == [("c", "p", ("x", "y"))]


def test_band_over_a_shared_key_adds_no_edge_and_one_without_does() -> None:
    assert _graph(3, "a.x = b.x", "b.x = c.x", "a.y <= c.y").shape is Shape.TREE
    assert _graph(3, "a.x = b.x", "b.y = c.y", "a.z <= c.z").shape is Shape.CYCLIC


def test_streams_that_nothing_ties_are_a_cross_product() -> None:
    graph = _graph(4, "a.x = b.x", "c.y < d.y")
    assert graph.components == (("a", "b"), ("c", "d"))
    assert _graph(1).shape is Shape.SINGLE


@pytest.mark.parametrize("kind", list(JoinKind))
def test_outer_join_has_the_shape_of_the_inner_join(kind: JoinKind) -> None:
    streams = [source(stream(name, "x BIGINT, y BIGINT")) for name in "ab"]
    joined: Query = query(streams, tree=outer(kind, "a", "b", "a.x = b.x"))
    assert JoinGraph.of(joined).key_classes == JoinGraph.of(query(streams, where("a.x = b.x"))).key_classes
    assert JoinGraph.of(joined).shape is Shape.TREE
