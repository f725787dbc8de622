"""Inner joins are made below the outer joins whose optional side they do not name."""

from __future__ import annotations

import pytest

import penstock
from penstock.model.relation import FromTree, Join, Leaf
from penstock.model.simplify import simplified

STREAMS = "".join(f"CREATE STREAM {name} (k BIGINT, m BIGINT);\n" for name in "abcd")


def shape(tree: FromTree) -> str:
    if isinstance(tree, Leaf):
        return tree.alias
    assert isinstance(tree, Join)
    return f"({shape(tree.left)} {tree.kind.name} {shape(tree.right)})"


@pytest.mark.parametrize(
    ("written", "simple"),
    [
        ("a LEFT JOIN b ON b.k = a.k JOIN c ON c.k = a.k", "((a INNER c) LEFT b)"),
        ("b RIGHT JOIN a ON b.k = a.k JOIN c ON c.k = a.k", "(b RIGHT (a INNER c))"),
        (
            "a LEFT JOIN b ON b.k = a.k JOIN c ON c.k = a.k JOIN d ON d.k = c.m",
            "(((a INNER c) INNER d) LEFT b)",
        ),
        (
            "a LEFT JOIN b ON b.k = a.k LEFT JOIN d ON d.k = a.m JOIN c ON c.k = a.k",
            "(((a INNER c) LEFT b) LEFT d)",
        ),
        ("a LEFT JOIN b ON b.k = a.k JOIN c ON c.k = b.k", "((a INNER b) INNER c)"),
        ("a LEFT JOIN b ON b.k = a.k WHERE b.m <> 3", "(a INNER b)"),
        ("a LEFT JOIN b ON b.k = a.k WHERE abs(b.m) NOT IN (3, 4)", "(a INNER b)"),
        ("a LEFT JOIN b ON b.k = a.k WHERE b.m IS NOT NULL", "(a INNER b)"),
        ("a LEFT JOIN b ON b.k = a.k WHERE coalesce(b.m, 3) = 3", "(a LEFT b)"),
        ("a FULL JOIN b ON b.k = a.k LEFT JOIN c ON c.k = a.k", "((a FULL b) LEFT c)"),
        ("a [ROWS 5] LEFT JOIN b ON b.k = a.k JOIN c ON c.k = a.k", "((a LEFT b) INNER c)"),
    ],
)
def test_shape(written: str, simple: str) -> None:
    (query,) = penstock.parse(f"{STREAMS}SELECT a.m, b.k FROM {written};").queries
    assert shape(simplified(query).tree) == simple
