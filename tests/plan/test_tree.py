"""The tree of joins: whose tests, who is in a block, which sides wait."""

from __future__ import annotations

from tests.runtime.driving import plan_of

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);"
STREAMS = STREAM.format("a") + STREAM.format("b")
BAND = "a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 9"


def test_an_inner_join_is_one_block_without_tests() -> None:
    tree = plan_of(f"{STREAMS} SELECT a.n FROM a, b WHERE {BAND} AND a.n > 3;").tree
    assert [node.aliases for node in tree.nodes] == [("a", "b")]
    assert tree.tests == ()


def test_the_side_that_is_preserved_waits_to_be_certain_that_it_has_no_match() -> None:
    node = plan_of(f"{STREAMS} SELECT a.n FROM a LEFT JOIN b ON {BAND};").tree.nodes[-1]
    assert node.preserves == (True, False)
    assert node.waits[0]
    full = plan_of(f"{STREAMS} SELECT a.n FROM a FULL JOIN b ON {BAND};").tree.nodes[-1]
    assert full.preserves == (True, True)


def test_a_condition_on_the_preserved_side_is_a_test_of_the_join_and_no_filter() -> None:
    plan = plan_of(f"{STREAMS} SELECT a.n FROM a LEFT JOIN b ON {BAND} AND a.n > 3;")
    assert [(test.alias, test.text) for test in plan.tree.tests_of("a")] == [("a", "a.n > 3")]
    assert plan.by_alias["a"].filters == ()
    assert plan.tree.in_block("a") is False
