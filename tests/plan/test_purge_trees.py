"""In which order the purge rule asks: every stream once, along certain closers where these lead everywhere."""

from __future__ import annotations

from penstock.plan.parts import PurgeTree
from penstock.plan.plan import Plan
from tests.runtime.driving import plan_of

STREAM = "CREATE STREAM {0} (k BIGINT, m BIGINT, ts BIGINT, EVENT TIME ts{1});"
CHAIN = "SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.m = c.m AND b.ts - a.ts BETWEEN 0 AND 9"


def _trees(plan: Plan) -> tuple[PurgeTree, ...]:
    (node,) = plan.tree.nodes
    assert node.block is not None
    return node.block.purge_trees


def test_each_tree_leads_to_every_other_stream_once() -> None:
    ordered = "".join(STREAM.format(name, ", ORDERED BY ts") for name in "abc")
    for tree in _trees(plan_of(f"{ordered} {CHAIN};")):
        assert sorted([tree.root, *(edge.child for edge in tree.edges)]) == ["a", "b", "c"]
        reached = {tree.root}
        for edge in tree.edges:
            assert edge.parent in reached
            reached.add(edge.child)


def test_a_tree_is_certain_where_certain_closers_lead_everywhere() -> None:
    ordered = "".join(STREAM.format(name, ", ORDERED BY ts") for name in "abc")
    banded = f"{CHAIN} AND c.ts - b.ts BETWEEN 0 AND 9"
    assert all(tree.certain for tree in _trees(plan_of(f"{ordered} {banded};")))
    assert not any(tree.certain for tree in _trees(plan_of(f"{ordered} {CHAIN};")))


def test_what_leaves_by_rows_needs_nothing_beyond() -> None:
    ordered = "".join(STREAM.format(name, "") for name in "abc")
    trees = _trees(plan_of(f"{ordered} {CHAIN.replace('FROM a,', 'FROM a [ROWS 5],')};"))
    assert {tree.root for tree in trees if tree.certain} == {"a"}
