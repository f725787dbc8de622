"""Which rows never leave a join in which they wait; by hand, with closings that are said outright."""

from __future__ import annotations

from collections.abc import Callable

from penstock.analysis.closings.outer_join_purge import Leaving, beyond
from penstock.model.nodes import nodes_of
from tests.analysis.scripts import query_of

STREAMS = ("a (k BIGINT)", "b (k BIGINT)", "c (k BIGINT)")
LEFT = "SELECT a.k FROM a LEFT JOIN b ON a.k = b.k"


def closing(*pairs: str) -> Callable[[frozenset[str], str], bool]:
    """`ab`: b is closed for rows of a."""
    return lambda there, target: any(pair[0] in there and pair[1] == target for pair in pairs)


def stuck(select: str, *pairs: str, counted: frozenset[str] = frozenset()) -> list[tuple[str, ...]]:
    query = query_of(*STREAMS, select=select)
    nodes = nodes_of(query)
    blocks = [() if node.left is not None else beyond(query, node.aliases) for node in nodes]
    return [s.rows for s in Leaving(nodes, blocks, counted).stuck(closing(*pairs))]


def test_each_side_must_have_the_other_closed() -> None:
    assert stuck(LEFT) == [("a",), ("b",)]
    assert stuck(LEFT, "ab") == [("b",)]
    assert stuck(LEFT, "ab", "ba") == []


def test_rows_of_a_rows_window_leave_by_themselves() -> None:
    assert stuck(LEFT, counted=frozenset({"a", "b"})) == []
    assert stuck(LEFT, counted=frozenset({"a"})) == [("b",)]


def test_a_block_leaves_once_all_its_streams_are_closed_in_turn() -> None:
    select = "SELECT a.k FROM b JOIN c ON b.k = c.k RIGHT JOIN a ON a.k = b.k"
    assert stuck(select, "ab", "ba", "ca", "bc", "cb") == []
    assert ("b",) in stuck(select, "ab", "ba", "ca", "cb")


def test_streams_that_stand_in_every_result_with_a_block_may_lie_on_the_way() -> None:
    select = "SELECT a.k FROM b JOIN c ON b.k = c.k RIGHT JOIN a ON a.k = b.k"
    query = query_of(*STREAMS, select=select)
    assert beyond(query, ("b", "c")) == ("a",)
    assert beyond(query, ("b",)) == ()
    assert ("b",) not in stuck(select, "ba", "ac", "ab", "cb", "ca")
