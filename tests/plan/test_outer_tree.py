"""The nodes of outer joins and EXISTS: what each joins, what it keeps alone, what is tested when."""

from __future__ import annotations

import pytest

from penstock.model.nodes import NodeKind
from tests.runtime.driving import plan_of

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);"
STREAMS = "".join(STREAM.format(name) for name in "abc")
NEAR = "{0}.k = {1}.k AND {1}.ts - {0}.ts BETWEEN 0 AND 9"


@pytest.mark.parametrize(
    ("joined", "kind", "certain"),
    [
        (f"a LEFT JOIN b ON {NEAR.format('a', 'b')}", NodeKind.LEFT, ("a",)),
        (f"a RIGHT JOIN b ON {NEAR.format('a', 'b')}", NodeKind.LEFT, ("b",)),
        (f"a FULL JOIN b ON {NEAR.format('a', 'b')}", NodeKind.FULL, ()),
        (f"a WHERE EXISTS (SELECT 1 FROM b WHERE {NEAR.format('a', 'b')})", NodeKind.SEMI, ("a",)),
        (f"a WHERE NOT EXISTS (SELECT 1 FROM b WHERE {NEAR.format('a', 'b')})", NodeKind.ANTI, ("a",)),
    ],
)
def test_the_last_node_is_the_join_with_what_stands_in_every_row(
    joined: str, kind: NodeKind, certain: tuple[str, ...]
) -> None:
    node = plan_of(f"{STREAMS} SELECT {'b' if 'RIGHT' in joined else 'a'}.n FROM {joined};").tree.nodes[-1]
    assert (node.kind, node.certain) == (kind, certain)
    assert len(node.equalities) == 1
    assert len(node.predicates) == 2


def test_streams_of_an_inner_join_below_are_one_block() -> None:
    joined = f"a JOIN b ON {NEAR.format('a', 'b')} LEFT JOIN c ON {NEAR.format('b', 'c')}"
    tree = plan_of(f"{STREAMS} SELECT a.n FROM {joined};").tree
    blocks = [node.aliases for node in tree.nodes if node.block is not None]
    assert blocks == [("a", "b"), ("c",)]


def test_rows_are_dealt_by_keys_that_are_equal_wherever_two_streams_stand_together() -> None:
    joined = f"a LEFT JOIN b ON {NEAR.format('a', 'b')} LEFT JOIN c ON {NEAR.format('b', 'c')}"
    (axis,) = plan_of(f"{STREAMS} SELECT a.n FROM {joined};").axes
    assert [ref.alias for ref in axis.columns] == ["a", "b", "c"]
    # c is joined with a or with b: where b is absent, c.k is no key of a's.
    joined = "a FULL JOIN b ON a.k = b.k LEFT JOIN c ON c.k = b.k AND c.n = a.n"
    axes = plan_of(f"{STREAMS} SELECT a.n FROM {joined};").axes
    assert all(len({ref.alias for ref in axis.columns}) > 1 for axis in axes)
