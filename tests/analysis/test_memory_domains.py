"""MEMORY, section 9: what a type or a CHECK says of a column counts as if the query said it.

Random small queries whose columns have small types, or CHECKs on one side or on both; the enumeration of local orders
is asked about the query with these limits among its conditions. And one query said of other types must get the same
answer: whole numbers, days and decimals have steps alike.
"""

from __future__ import annotations

import datetime as dt
import itertools
import random
import re
from dataclasses import replace
from decimal import Decimal

import pytest

import penstock
from penstock.analysis.memory import memory_finding
from penstock.explain.reason_words import each_told
from penstock.model.clauses import Aggregate, Scalar
from penstock.model.expressions import Constant, Value
from penstock.model.predicates import Bound, Predicate
from penstock.model.query import Query
from penstock.model.schemes import Scheme
from tests.analysis.build import check, one_of, query, ref, source, stream, where
from tests.analysis.lto import Plain, is_bounded
from tests.analysis.test_memory_lto import built, plain_query
from tests.measure import size

Limits = tuple[tuple[str, int], ...]
# A type, the conditions of a CHECK, and what both say.
DOMAINS: tuple[tuple[str, tuple[str, ...], Limits], ...] = (
    ("TINYINT", (), ((">=", -128), ("<=", 127))),
    ("TINYINT", ("< 9",), ((">=", -128), ("<=", 8))),
    ("BIGINT", (">= 4", "<= 9"), ((">=", 4), ("<=", 9))),
    ("INT", ("> 4",), ((">=", 5),)),
    ("INT", ("< 6",), (("<=", 5),)),
    ("BIGINT", ("IN (5, 6)",), ((">=", 5), ("<=", 6))),
    ("BIGINT", ("= 5",), ((">=", 5), ("<=", 5))),
)


def limited(draw: random.Random, plain: Plain) -> tuple[Plain, Query]:
    """The query with some columns limited: by its conditions, and by its declarations."""
    conditions = list(plain.conditions)
    sources = []
    for name, columns in plain.streams.items():
        texts, schemes = [], list[Scheme]()
        for column in columns:
            own = column.split(".")[1]
            kind, checked, limits = draw.choice(DOMAINS) if draw.random() < 0.25 else ("BIGINT", (), ())
            texts.append(f"{own} {kind}")
            conditions += [(column, op, constant) for op, constant in limits]
            for text in checked:
                is_in = text.startswith("IN")
                schemes.append(check(one_of(own, 5, 6) if is_in else f"{own} {text}"))
        sources.append(source(stream(name, ", ".join(texts), *schemes)))
    select: list[str | Scalar | Aggregate] = list(plain.shown)
    for function, column in plain.aggregates:
        called, _, distinct = function.partition(" ")
        select.append(Aggregate(called, ref(column), bool(distinct)))
    written = [where(f"{left} {op} {right}") for left, op, right in plain.conditions]
    groups = plain.shown if plain.aggregates else ()
    of = query(sources, *written, select=select, distinct=plain.distinct, group_by=groups)
    return replace(plain, conditions=conditions), of


@pytest.mark.measure
@pytest.mark.parametrize("kind", ["bag", "distinct", "grouped"])
def test_types_and_checks_bound_as_conditions_do(kind: str) -> None:
    draw = random.Random(f"domains {kind}")
    seen, undecided = {True: 0, False: 0}, 0
    for _ in range(size(60, 2000)):
        plain = plain_query(draw, kind == "distinct", kind == "grouped")
        said, of = limited(draw, plain)
        constants = {constant for _, _, constant in said.conditions if isinstance(constant, int)}
        if max(map(len, plain.streams.values())) > 2 or len(constants) > 3:
            continue  # Every limit is one more element of all local orders.
        expected = is_bounded(said)
        finding = memory_finding(of)
        if finding.bounded is None:
            assert not expected, (said, finding)
            assert any("do not depend on how many rows match" in text for text in each_told(finding.because)), (
                said,
                finding,
            )
            undecided += 1
            continue
        assert finding.bounded is expected, (said, finding)
        seen[expected] += 1
    assert undecided <= size(60, 2000) // 20
    assert min(seen.values()) > sum(seen.values()) // 10, seen


def _said_of(kind: str, plain: Plain) -> Query:
    """The same query over columns of another type."""

    def value_of(number: int) -> Value:
        if kind == "DATE":
            return dt.date.fromordinal(700_000 + number)
        return Decimal(number) / 100 if kind == "DECIMAL(20,2)" else number

    def said(predicate: Predicate) -> Predicate:
        if not isinstance(predicate, Bound):
            return predicate
        assert isinstance(predicate.constant.value, int)
        value = value_of(predicate.constant.value)
        return replace(predicate, constant=Constant(str(value), value))

    of = built(plain)
    sources = [
        source(stream(s.stream.name, "; ".join(f"{c.name} {kind}" for c in s.stream.columns))) for s in of.all_sources
    ]
    return of.with_block(replace(of.block, where=tuple(map(said, of.where))), tuple(sources))


@pytest.mark.parametrize("kind", ["DATE", "DECIMAL(20,2)", "INT"])
def test_types_with_steps_are_alike(kind: str) -> None:
    draw = random.Random(kind)
    for number in range(120):
        plain = plain_query(draw, number % 3 == 0, number % 3 == 1)
        if kind == "DATE" and any(function in ("sum", "avg", "median") for function, _ in plain.aggregates):
            continue
        numbers, other = built(plain), _said_of(kind, plain)
        one, two = memory_finding(numbers), memory_finding(other)
        assert (one.bounded, one.results) == (two.bounded, two.results), (plain, one, two)
        assert [s.rows for s in one.synopses] == [s.rows for s in two.synopses], plain


OTHERWISE = {">": "NOT ({0} <= {1})", "<": "{0} <= {1} - 0.5", ">=": "{0} > {1} - 0.5", "<=": "NOT ({0} > {1})"}


def test_conditions_said_in_other_words_are_alike() -> None:
    draw = random.Random("other words")
    for number in range(60):
        plain = plain_query(draw, number % 3 == 0)
        streams = "".join(
            f"CREATE STREAM {name} ({', '.join(c.split('.')[1] + ' BIGINT' for c in columns)});"
            for name, columns in plain.streams.items()
        )
        head = (
            f"SELECT {'DISTINCT' if plain.distinct else ''} {plain.shown[0]} AS o FROM {', '.join(plain.streams)} WHERE"
        )
        said = " AND ".join(f"{left} {op} {right}" for left, op, right in plain.conditions)
        other = " AND ".join(
            OTHERWISE[op].format(left, right).replace(f"{right} - 0.5", str(float(right) - 0.5))
            if isinstance(right, int) and op in OTHERWISE
            else f"NOT ({left} <> {right})"
            if isinstance(right, int)
            else f"{left} {op} {right}"
            for left, op, right in plain.conditions
        )
        one, two = (memory_finding(penstock.parse(f"{streams} {head} {text};").queries[0]) for text in (said, other))
        assert (one.bounded, one.never, one.results) == (two.bounded, two.never, two.results), (said, other)
        assert [s.rows for s in one.synopses] == [s.rows for s in two.synopses], (said, other)


@pytest.mark.measure
def test_conditions_that_cannot_all_hold_are_found_and_no_others() -> None:
    """By trying all values: every column has four."""
    draw = random.Random("never")
    streams = (
        "CREATE STREAM s (a BIGINT, b INT, CHECK (a BETWEEN 1 AND 4)); CREATE STREAM t (c BIGINT, CHECK (c > 0.5));"
    )
    names = ("s.a", "s.b", "t.c")
    seen = {True: 0, False: 0}
    for _ in range(size(150, 3000)):
        conditions = ["s.b >= 1", "s.b < 4.5", "NOT (t.c > 4)"]
        for _ in range(draw.randint(2, 6)):
            left, right = draw.sample(names, 2)
            few = ", ".join(map(str, draw.sample(range(1, 5), draw.randint(1, 3))))
            number = draw.choice((1, 2, 2.5, 3, 3.5, 4))
            conditions.append(
                draw.choice(
                    (
                        f"{left} {draw.choice(('<', '<=', '='))} {right}",
                        f"{left} <> {number}",
                        f"{left} NOT IN ({few})",
                        f"{left} IN ({few})",
                        f"NOT ({left} {draw.choice(('<', '<=', '>', '>=', '='))} {number})",
                    )
                )
            )
        text = " AND ".join(conditions)
        finding = memory_finding(penstock.parse(f"{streams} SELECT s.a FROM s, t WHERE {text};").queries[0])
        plain = text.replace("s.a", "a").replace("s.b", "b").replace("t.c", "c").replace("<>", "!=")
        tried = re.sub(r"(?<![<>!])=", "==", plain).replace("AND", "and").replace("NOT", "not").replace(" IN ", " in ")
        tried = re.sub(r"in \((\d)\)", r"in (\1,)", tried)
        values = itertools.product(range(1, 5), repeat=3)
        possible = any(eval(tried, {"a": a, "b": b, "c": c}) for a, b, c in values)
        assert finding.never is not possible, (text, each_told(finding.because))
        seen[possible] += 1
    assert min(seen.values()) > 20, seen


def test_a_check_that_leaves_no_value_leaves_null() -> None:
    """A CHECK passes where it is unknown, so rows that lack the column are in results, unless a condition needs it."""
    none = stream("s", "a BIGINT, b BIGINT", check("b > 5", "b < 3"))
    other = stream("t", "c BIGINT", check("c >= 1", "c <= 4"))
    unneeded = memory_finding(query([source(none), source(other)], "s.a = t.c", select=["s.a", "s.b"]))
    assert (unneeded.bounded, unneeded.never) == (True, False)
    assert [synopsis.rows for synopsis in unneeded.synopses] == [4, 4]
    needed = memory_finding(query([source(none), source(other)], "s.b = t.c", select=["s.b"]))
    assert (needed.bounded, needed.never) == (True, True)
