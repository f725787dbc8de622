"""Domains, and their oracle: every value that a column takes in a row that matters, found by trying all rows.

Columns hold -1 to 3 or NULL (a CHECK says so), so all rows of two streams can be tried. A row matters if, alone with
at most one row of the other stream, the naive answer is not the same with it and without it. The analysis must never
count fewer values than such rows carry; nor may the bound of a source or of DISTINCT be below what brute force
counts.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from functools import cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.analysis.facts.domains import declared_domain
from penstock.analysis.facts.together import Facts
from penstock.analysis.finding import Bounded, Means
from penstock.analysis.state import needed_columns
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Predicate
from penstock.model.query import Query
from penstock.model.relation import Existence, Join, JoinKind, Leaf
from penstock.model.schemes import PrimaryKey, Scheme
from tests.analysis.build import bound, check, condition, findings, one_of, outer, query, ref, source, stream, where
from tests.analysis.reference import Arrival, Evaluator

VALUES = (-1, 0, 1, 2, 3, None)
REFS = ("a.x", "a.y", "b.x", "b.y")


@st.composite
def small_predicates(draw: st.DrawFn) -> Predicate:
    column = draw(st.sampled_from(REFS))
    match draw(st.integers(0, 3)):
        case 0:
            return one_of(column, *draw(st.lists(st.integers(-2, 4), min_size=1, max_size=3)))
        case 1:
            op = draw(st.sampled_from(["=", "<", "<=", ">", ">="]))
            return where(f"{column} {op} {draw(st.integers(-2, 4))}")
        case _:
            other = draw(st.sampled_from([r for r in REFS if r != column]))
            return where(f"{column} {draw(st.sampled_from(['=', '=', '<']))} {other}")


@st.composite
def small_queries(draw: st.DrawFn) -> Query:
    ranges: tuple[Scheme, ...] = tuple(check(f"{c} >= -1", f"{c} <= 3") for c in "xy")
    streams = [stream(name, "x BIGINT, y BIGINT", *ranges) for name in "ab"]
    on = tuple(draw(st.lists(small_predicates(), max_size=3)))
    held = draw(st.lists(small_predicates(), max_size=2))
    distinct = draw(st.booleans())
    select = draw(st.lists(st.sampled_from(REFS), min_size=1, max_size=3, unique=True))
    if draw(st.integers(0, 4)) == 0:
        inner = Existence(source(streams[1]), draw(st.booleans()), on)
        mine = [p for p in held if all(r.alias == "a" for r in p.columns)]
        return query([source(streams[0])], *mine, exists=[inner], select=["a.x", "a.y"], distinct=distinct)
    tree = Join(draw(st.sampled_from(JoinKind)), Leaf("a"), Leaf("b"), on)
    return query([source(s) for s in streams], *held, tree=tree, select=select, distinct=distinct)


@cache
def _rows(name: str) -> tuple[Arrival, ...]:
    pairs = enumerate(product(VALUES, VALUES))
    return tuple(Arrival(name, number, (("x", x), ("y", y))) for number, (x, y) in pairs)


def _mattering(of: Query, name: str) -> list[Arrival]:
    """The rows of a stream that change the answer over some history of one other row, or of none."""
    other = "b" if name == "a" else "a"
    without = {partner: Evaluator(of, [partner] if partner else []).answer() for partner in (None, *_rows(other))}
    return [
        row
        for row in _rows(name)
        if any(
            Evaluator(of, [row, *([partner] if partner else [])]).answer() != answer
            for partner, answer in without.items()
        )
    ]


def _outputs(of: Query) -> set[tuple[int | None, ...]]:
    found = set()
    partners: list[list[Arrival]] = [[], *([b] for b in _rows("b"))]
    for row in (None, *_rows("a")):
        for partner in partners:
            for combined in Evaluator(of, [*([row] if row else []), *partner]).answer():
                there = dict(combined)
                values = []
                for output in of.outputs:
                    assert isinstance(output.value, ColumnRef)
                    arrival = there[output.value.alias]
                    values.append(None if arrival is None else arrival.value(output.value.column))
                found.add(tuple(values))
    return found


@settings(max_examples=60, deadline=None)
@given(small_queries())
def test_no_value_of_a_row_that_matters_is_left_out(of: Query) -> None:
    facts = Facts(of)
    found = findings(of)
    for name in "ab":
        rows = _mattering(of, name)
        for column in "xy":
            size = facts.of(name).domain(ref(f"{name}.{column}")).size
            assert size is not None
            assert size >= len({row.value(column) for row in rows})
        finding = found[name]
        if isinstance(finding, Bounded) and finding.rows is not None:
            needed = needed_columns(of, of.by_alias[name])
            assert finding.rows >= len({tuple(row.value(r.column) for r in needed) for row in rows})


@settings(max_examples=40, deadline=None)
@given(small_queries())
def test_distinct_never_remembers_more_rows_than_its_bound(of: Query) -> None:
    finding = findings(of).get("(distinct)")
    if finding is not None:
        assert isinstance(finding, Bounded)
        assert finding.rows is not None
        assert finding.rows >= len(_outputs(of))


def _size(kind: str, *schemes: Scheme, held: tuple[Predicate, ...] = ()) -> int | None:
    return declared_domain(stream("a", f"x {kind}; y BIGINT", *schemes, where=held), "x").size


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        ("BOOLEAN", 3),
        ("TINYINT", 257),
        ("SMALLINT", 65537),
        ("INT", None),
        ("BIGINT", None),
        ("STRING", None),
        ("DECIMAL(3,1)", 2000),
        ("DECIMAL(5,1)", None),
        ("DATE", None),
        ("TIMESTAMP", None),
    ],
)
def test_a_type_is_finite_or_not_and_null_is_one_more_value(kind: str, size: int | None) -> None:
    assert _size(kind) == size


@pytest.mark.parametrize(
    ("kind", "low", "high", "size"),
    [
        ("BIGINT", 1, 10, 11),
        ("DATE", dt.date(2024, 2, 28), dt.date(2024, 3, 1), 4),
        ("DECIMAL(5,2)", Decimal("0.005"), Decimal("0.03"), 4),
        ("TIMESTAMP", dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2), None),
        ("DOUBLE", Decimal(0), Decimal(1), None),
    ],
)
def test_a_check_with_two_ends_bounds_types_that_have_steps(
    kind: str, low: dt.date | Decimal | int, high: dt.date | Decimal | int, size: int | None
) -> None:
    assert _size(kind, check(bound("x", ">=", low), bound("x", "<=", high))) == size


def test_one_end_alone_bounds_nothing() -> None:
    assert _size("BIGINT", check("x > 0")) is None


def test_values_between_two_neighbours_are_none_and_only_null_is_left() -> None:
    assert _size("BIGINT", check("x > 10", "x < 11")) == 1


def test_the_where_of_a_stream_rejects_null_and_its_checks_do_not() -> None:
    assert _size("BIGINT", held=(where("x >= 1"), where("x <= 3"))) == 3
    assert _size("BIGINT", check("x >= 1", "x <= 3")) == 4


def test_an_opaque_condition_is_passed_over() -> None:
    assert _size("BOOLEAN", held=(condition("x IS NULL OR x", "x"),)) == 3


@pytest.mark.parametrize("text", ["x IS NOT NULL", "x is  not\nnull", "X Is Not Null"])
def test_is_not_null_rules_null_out_in_where_and_in_check(text: str) -> None:
    said = condition(text, "x")
    assert _size("BOOLEAN", held=(said,)) == 2
    assert _size("BOOLEAN", check(said)) == 2
    assert _size("BOOLEAN", check(said, "y > 3")) == 2


@pytest.mark.parametrize("text", ["x IS NULL", "NOT x IS NOT NULL", "y + x IS NOT NULL", "f(x) IS NOT NULL"])
def test_what_is_not_exactly_is_not_null_rules_nothing_out(text: str) -> None:
    assert _size("BOOLEAN", check(condition(text, "x", "y"))) == 3


def test_is_not_null_is_about_the_column_that_it_names() -> None:
    assert _size("BOOLEAN", check(condition("y IS NOT NULL", "y"))) == 3


def test_a_filter_of_the_query_may_say_is_not_null_too() -> None:
    of = query([source(stream("a", "x BOOLEAN"))], condition("a.x IS NOT NULL", "a.x"), select=["a.x"], distinct=True)
    found = findings(of)["(distinct)"]
    assert isinstance(found, Bounded)
    assert found.rows == 2


def test_a_primary_key_and_the_order_of_arrival_have_no_null() -> None:
    assert _size("BOOLEAN", PrimaryKey(("x", "y"))) == 2
    assert declared_domain(stream("a", "x TINYINT", arrives="x"), "x").size == 256


def test_constants_bound_any_type_but_zero_has_two_forms_in_a_double() -> None:
    assert _size("STRING", held=(one_of("x", "u", "v"),)) == 2
    assert _size("DOUBLE", held=(one_of("x", Decimal(0), Decimal(1)),)) == 3


def test_a_collation_tells_fewer_strings_apart_so_a_list_of_them_is_no_bound() -> None:
    assert _size("STRING COLLATE UTF8_LCASE", held=(one_of("x", "u"),)) is None


def test_columns_of_one_class_share_the_intersection_of_their_domains() -> None:
    left = stream("a", "k BIGINT", check("k >= 0"))
    right = stream("b", "k TINYINT")
    of = query([source(left), source(right)], "a.k = b.k")
    assert Facts(of).of("a").domain(ref("a.k")).size == 128


def test_two_lists_of_timestamps_are_never_intersected_for_one_instant_has_many_spellings() -> None:
    kinds = [stream(name, "t TIMESTAMP") for name in "ab"]
    here = one_of("a.t", dt.datetime(2024, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))))
    there = one_of("b.t", dt.datetime(2024, 1, 1))
    of = query([source(s) for s in kinds], "a.t = b.t", here, there)
    assert Facts(of).of().domain(ref("a.t")).size == 1


def test_a_class_without_values_means_that_nothing_is_stored() -> None:
    of = query([source(stream(n, "k BIGINT")) for n in "ab"], "a.k = b.k", "a.k > 5", "b.k < 3")
    for finding in findings(of).values():
        assert isinstance(finding, Bounded)
        assert (finding.rows, finding.means) == (0, Means.STATELESS)


def test_the_on_of_an_outer_join_does_not_narrow_its_preserved_side() -> None:
    tree = outer(JoinKind.LEFT, "a", "b", "a.k = b.k", "a.k <= 3", "a.k >= 1")
    of = query([source(stream(n, "k BIGINT")) for n in "ab"], tree=tree)
    facts = Facts(of)
    assert facts.of("a").domain(ref("a.k")).size is None
    assert facts.of("b").domain(ref("b.k")).size == 3
