"""Where conditions are tested, and the oracle: a row that fails a test on arrival is in no answer, and missed by none.

Random queries over two or three sources with every kind of join, EXISTS and NOT EXISTS, and conditions on one stream
(IS NULL and IS NOT NULL among them) in ON, in WHERE and in EXISTS; random histories. The naive evaluator joins the
whole history, and then the history without the rows that the plan drops as they arrive: those that fail a filter, have
a NULL where there must be a value, or different values where they must be equal. The answers must be the same.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock
from penstock.analysis.check import check_query
from penstock.model.predicates import NoneOf, NullTest, Predicate
from penstock.model.query import Query
from penstock.model.relation import Existence, FromTree, Join, JoinKind, Leaf
from penstock.plan.condition_moments import Moment, conditions_at, equal_values, needed_values
from penstock.plan.planner import make_plan
from tests.analysis.build import constant, query, ref, source, stream, where
from tests.analysis.reference import Arrival, Evaluator, holds

NAMES = ("a", "b", "c")
HISTORIES = 12


@st.composite
def alone(draw: st.DrawFn, alias: str) -> Predicate:
    column = f"{alias}.{draw(st.sampled_from('kx'))}"
    match draw(st.integers(0, 4)):
        case 0:
            return where(f"{column} > 1")
        case 4:
            return NoneOf(ref(column), (constant(1), constant(2)))
        case 1:
            return where(f"{alias}.k = {alias}.x")
        case 2:
            return NullTest(ref(column), is_null=True)
        case _:
            return NullTest(ref(column), is_null=False)


@st.composite
def conditions(draw: st.DrawFn, outer: list[str], inner: str) -> tuple[Predicate, ...]:
    found: list[Predicate] = []
    for _ in range(draw(st.integers(0, 2))):
        found.append(where(f"{draw(st.sampled_from(outer))}.{draw(st.sampled_from('kx'))} = {inner}.k"))
    if draw(st.integers(0, 2)) == 0:
        found.append(where(f"{draw(st.sampled_from(outer))}.k = {inner}.x"))
    for _ in range(draw(st.integers(0, 2))):
        found.append(draw(alone(draw(st.sampled_from([*outer, inner])))))
    return tuple(found)


@st.composite
def queries(draw: st.DrawFn) -> Query:
    names = list(NAMES[: draw(st.integers(2, 3))])
    sources = [source(stream(name, "k BIGINT, x BIGINT")) for name in names]
    existences: list[Existence] = []
    if draw(st.integers(0, 3)) == 0:
        held = sources.pop()
        names.pop()
        existences.append(Existence(held, draw(st.booleans()), draw(conditions(names, held.alias))))
    kinds = st.sampled_from(JoinKind)
    tree: FromTree = Leaf(names[0])
    if len(names) == 3 and draw(st.booleans()):
        right = Join(draw(kinds), Leaf("b"), Leaf("c"), draw(conditions(["b"], "c")))
        tree = Join(draw(kinds), tree, right, draw(conditions(["a"], "b")))
    else:
        for index, name in enumerate(names[1:], start=1):
            tree = Join(draw(kinds), tree, Leaf(name), draw(conditions(names[:index], name)))
    held_by_where = [draw(alone(draw(st.sampled_from(names)))) for _ in range(draw(st.integers(0, 2)))]
    if len(names) > 1 and draw(st.integers(0, 4)) == 0:
        held_by_where.append(where("a.x = b.x"))
    return query(sources, *held_by_where, tree=tree, exists=existences)


def _is_dropped(of: Query, row: Arrival) -> bool:
    alias = row.stream
    filters = conditions_at(of, Moment.ARRIVAL, alias)
    return (
        not all(holds(p, {alias: row}) for p in filters)
        or any(row.value(column) is None for column in needed_values(of, alias))
        or any(len({row.value(c) for c in columns}) > 1 for columns in equal_values(of, alias))
    )


@settings(max_examples=300, deadline=None)
@given(queries(), st.integers(0, 2**32))
def test_rows_dropped_on_arrival_change_no_answer(of: Query, seed: int) -> None:
    pick = random.Random(seed)
    names = [s.alias for s in of.all_sources]
    for _ in range(HISTORIES):
        rows = [
            Arrival(pick.choice(names), n, tuple((c, pick.choice((1, 2, 2, 3, None))) for c in "kx"))
            for n in range(pick.randrange(1, 6))
        ]
        kept = [row for row in rows if not _is_dropped(of, row)]
        assert Evaluator(of, rows).answer() == Evaluator(of, kept).answer()


STREAMS = """
CREATE STREAM a (id BIGINT, v BIGINT);
CREATE STREAM b (id BIGINT, x BIGINT, y BIGINT);
"""


def _placed(text: str) -> dict[Moment, list[str]]:
    (of,) = penstock.parse(STREAMS + text).queries
    return {moment: [str(p) for p in conditions_at(of, moment)] for moment in Moment}


@pytest.mark.parametrize(
    ("text", "arrival", "meeting", "result"),
    [
        ("SELECT a.id FROM a, b WHERE a.id = b.id AND b.x > 1", ["b.x > 1"], [], []),
        ("SELECT a.id FROM a JOIN b ON a.id = b.id AND b.x IS NULL", ["b.x IS NULL"], [], []),
        ("SELECT a.id FROM a LEFT JOIN b ON a.id = b.id WHERE b.id IS NULL", [], [], ["b.id IS NULL"]),
        ("SELECT a.id FROM a LEFT JOIN b ON a.id = b.id WHERE coalesce(b.x, 0) < 5", [], [], ["coalesce(b.x, 0) < 5"]),
        ("SELECT a.id FROM a LEFT JOIN b ON a.id = b.id WHERE b.x > 1", ["b.x > 1"], [], []),
        ("SELECT a.id FROM a LEFT JOIN b ON a.id = b.id WHERE a.v IS NULL", ["a.v IS NULL"], [], []),
        ("SELECT a.id FROM a LEFT JOIN b ON a.id = b.id AND b.x IS NULL", ["b.x IS NULL"], [], []),
        ("SELECT a.id FROM a LEFT JOIN b ON a.id = b.id AND a.v > 1", [], ["a.v > 1"], []),
        ("SELECT a.id FROM a FULL JOIN b ON a.id = b.id AND a.v > 1 AND b.x > 1", [], ["a.v > 1", "b.x > 1"], []),
        (
            "SELECT a.id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE a.id = b.id AND b.x IS NULL AND a.v > 1)",
            ["b.x IS NULL"],
            ["a.v > 1"],
            [],
        ),
    ],
)
def test_a_condition_is_tested_as_early_as_is_right(
    text: str, arrival: list[str], meeting: list[str], result: list[str]
) -> None:
    assert _placed(text) == {Moment.ARRIVAL: arrival, Moment.MEETING: meeting, Moment.RESULT: result}


def test_an_outer_join_needs_no_value_of_its_preserved_side() -> None:
    text = "SELECT a.id FROM a LEFT JOIN b ON a.id = b.x AND a.id = b.y WHERE b.id IS NULL;"
    (of,) = penstock.parse(STREAMS + text).queries
    first, second = make_plan(of, check_query(of)).sources
    assert (first.filters, first.not_null, first.equal) == ((), (), ())
    assert (second.filters, second.not_null, second.equal) == ((), ("x", "y"), (("x", "y"),))
    # What the joined row is asked for was asked as its tuple came.
    assert second.kept == ("x", "y", "__ps_test_0")
