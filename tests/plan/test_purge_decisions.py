"""What of the purge the plan decides: marks on rows, blocks that are expanded, and closing by one key."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.model.expressions import ColumnRef
from penstock.plan.closer_plans import CloserKind, JointCloser
from penstock.plan.plan import Plan
from penstock.plan.purge_decisions import with_decisions
from penstock.plan.tree import BlockPlan
from tests.runtime.driving import plan_of

STREAM = "CREATE STREAM {} (k BIGINT, j BIGINT, ts BIGINT, EVENT TIME ts{});"


def planned(select: str, **declared: str) -> Plan:
    streams = [STREAM.format(name, f", {declared[name]}" if name in declared else "") for name in "abc"]
    return plan_of(f"{' '.join(streams)} {select};")


def root(plan: Plan) -> BlockPlan:
    assert plan.tree.root.block is not None
    return plan.tree.root.block


def marked(plan: Plan) -> set[tuple[CloserKind, str, str]]:
    return {(c.kind, c.source, c.target) for c in plan.closers if c.is_marked}


PAIR = "SELECT a.ts, b.ts AS t FROM a, b WHERE a.k = b.k"


def test_a_key_is_marked_where_the_rule_asks_for_it() -> None:
    assert marked(planned(PAIR, b="PRIMARY KEY (k)")) == {(CloserKind.KEY, "a", "b")}


def test_a_key_that_follows_at_once_needs_no_mark() -> None:
    plan = planned(PAIR, a="FOLLOWS b (k) ON (k)", b="PRIMARY KEY (k)")
    assert (CloserKind.KEY, "a", "b") not in marked(plan)
    assert plan.key_closers == ()


def test_punctuations_and_clusters_are_always_marked_and_clocks_never() -> None:
    plan = planned(
        f"{PAIR} AND b.ts - a.ts BETWEEN 0 AND 5",
        a="PUNCTUATED ON (k) WHEN j < 0, ORDERED BY ts",
        b="CLUSTERED BY k WITHIN 5 ROWS, ORDERED BY ts",
    )
    assert {kind for kind, _, _ in marked(plan)} == {CloserKind.PUNCTUATION, CloserKind.CLUSTER}
    assert {c.kind for c in plan.held_closers} == {CloserKind.PUNCTUATION, CloserKind.CLUSTER}
    assert not any(c.is_marked for c in plan.closers if c.kind is CloserKind.BAND)


def test_below_an_outer_join_any_key_may_be_asked_for() -> None:
    plan = planned("SELECT a.ts FROM a LEFT JOIN b ON a.k = b.k", a="PRIMARY KEY (k)", b="PRIMARY KEY (k)")
    assert marked(plan) == {(CloserKind.KEY, "a", "b"), (CloserKind.KEY, "b", "a")}
    assert plan.tree.root.block is None


def test_a_circle_of_conditions_is_expanded_and_a_tree_is_not() -> None:
    circle = "SELECT a.ts FROM a, b, c WHERE a.k = b.k AND b.j = c.j AND c.k = a.j"
    assert root(planned(circle)).expanded
    assert not root(planned(circle.replace(" AND c.k = a.j", ""))).expanded


def test_a_punctuation_over_several_streams_expands_its_block() -> None:
    tree = planned("SELECT a.ts FROM a, b, c WHERE a.k = b.k AND b.j = c.j", b="PRIMARY KEY (k)")
    joint = JointCloser("b", True, ("k",), ((ColumnRef("a", "k"),),), "a punctuation")
    assert not root(tree).expanded
    assert root(with_decisions(replace(tree, joint_closers=(joint,)))).expanded


@pytest.mark.parametrize(
    ("select", "declared", "expected"),
    [
        (PAIR, {"a": "PUNCTUATED ON (k) WHEN j < 0", "b": "PUNCTUATED ON (k) WHEN j < 0"}, True),
        (PAIR, {}, True),
        (f"{PAIR} AND a.ts < b.ts", {}, False),
        (f"{PAIR} AND a.j = b.j", {}, False),
        (PAIR, {"a": "PUNCTUATED ON (k) WHEN j < 0 LIFESPAN 5"}, False),
        (PAIR, {"a": "FOLLOWS b (k) ON (k) WITHIN 3 ROWS"}, False),
        (PAIR.replace("SELECT", "SELECT /*+ BUDGET(9 ROWS) */"), {}, False),
        ("SELECT a.ts FROM a, b, c WHERE a.k = b.k AND a.k = c.k", {"c": "PRIMARY KEY (k)"}, True),
        ("SELECT a.ts FROM a, b, c WHERE a.k = b.k AND a.j = c.j", {"c": "PRIMARY KEY (j)"}, False),
    ],
)
def test_closing_is_a_matter_of_one_key_only_where_nothing_else_ties(
    select: str, declared: dict[str, str], expected: bool
) -> None:
    assert root(planned(select, **declared)).by_key is expected


def test_decisions_survive_a_round_trip() -> None:
    plan = planned(PAIR, b="PRIMARY KEY (k)")
    again = Plan.from_json(plan.to_json())
    assert again == plan
    assert marked(again) == marked(plan)
