"""MEMORY's polynomial check against the enumeration of locally totally ordered queries, on random small queries."""

from __future__ import annotations

import random

import pytest

from penstock.analysis.memory import memory_finding
from penstock.model.query import Aggregate, Query, Scalar
from tests.analysis.build import query, ref, source, stream, where
from tests.analysis.lto import Plain, is_bounded
from tests.measure import size

OPS = ("=", "<", "<", "<=", ">", ">", ">=")
CONSTANTS = ((5, 8), (5, 6), (5, 7), (5,), ())
SHAPES = ((3,), (2, 2), (2, 2), (3, 1), (2, 1), (2, 1, 1), (1, 1, 1), (3, 2))
FUNCTIONS = ("count", "sum", "min", "max", "avg", "count distinct", "median")


def plain_query(draw: random.Random, distinct: bool, grouped: bool = False) -> Plain:
    """A random query: a few comparisons, and an output that is often held to a constant, so that C1 does not decide."""
    # Half of the queries have inequalities between streams and no more, which is where C3 is hard.
    is_focused = draw.random() < 0.5
    shape = draw.choice([shape for shape in SHAPES if len(shape) > 1]) if is_focused else draw.choice(SHAPES)
    names = "stu"[: len(shape)]
    streams = {name: [f"{name}.{c}" for c in "abc"[:width]] for name, width in zip(names, shape, strict=True)}
    columns = [column for members in streams.values() for column in members]
    constants = draw.choice(CONSTANTS)
    conditions: list[tuple[str, str, str | int]] = []
    for _ in range(draw.randint(1, len(columns) + 1)):
        left = draw.choice(columns)
        right = draw.choice([c for c in columns if c != left] or [left])
        others = [c for c in columns if c[0] != left[0]]
        if constants and draw.random() < (0.1 if is_focused else 0.35):
            conditions.append((left, draw.choice(OPS), draw.choice(constants)))
        elif right != left:
            op = draw.choice(OPS[1:] if is_focused or draw.random() < 0.5 else OPS)
            conditions.append((left, op, draw.choice(others or [right])))
    shown = draw.sample(columns, 1)
    if is_focused:
        shown = [f"{names[0]}.z"]
        streams[names[0]].append(shown[0])
        conditions.append((shown[0], "=", 5))
    elif constants and draw.random() < 0.7:
        conditions.append((shown[0], "=", constants[0]))
    aggregates = []
    if grouped:
        aggregates = [(draw.choice(FUNCTIONS), draw.choice(columns)) for _ in range(draw.choice((1, 1, 2)))]
    return Plain(streams, conditions, shown, distinct, aggregates)


def built(plain: Plain) -> Query:
    """The same query as a model."""
    sources = [
        source(stream(name, ", ".join(f"{c.split('.')[1]} BIGINT" for c in columns)))
        for name, columns in plain.streams.items()
    ]
    conditions = [where(f"{left} {op} {right}") for left, op, right in plain.conditions]
    select: list[str | Scalar | Aggregate] = list(plain.shown)
    for function, column in plain.aggregates:
        name, _, distinct = function.partition(" ")
        select.append(Aggregate(name, ref(column), bool(distinct)))
    groups = plain.shown if plain.aggregates else ()
    return query(sources, *conditions, select=select, distinct=plain.distinct, group_by=groups)


@pytest.mark.measure
@pytest.mark.parametrize("kind", ["bag", "distinct", "grouped"])
def test_the_check_agrees_with_the_enumeration_of_local_orders(kind: str) -> None:
    draw = random.Random(f"lto {kind}")
    seen = {True: 0, False: 0}
    for _ in range(size(300, 5000)):
        plain = plain_query(draw, kind == "distinct", kind == "grouped")
        expected = is_bounded(plain)
        seen[expected] += 1
        assert memory_finding(built(plain)).bounded is expected, plain
    assert min(seen.values()) > sum(seen.values()) // 10, seen
