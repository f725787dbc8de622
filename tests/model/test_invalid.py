"""What is invalid cannot be built: each rule of the model, broken once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from penstock.model.clauses import Aggregate, RangeWindow, RowsWindow, TimeWindow
from penstock.model.expressions import Expression
from penstock.model.hints import Budget, ErrorAllowance, Hints, Monitoring
from penstock.model.predicates import Predicate
from penstock.model.problem import InvalidModel
from penstock.model.relation import Existence, Join, JoinKind, Leaf
from penstock.model.schemes import (
    Check,
    Clustered,
    Cooccurs,
    Follows,
    ForeignKey,
    OnViolation,
    Ordered,
    Policy,
    PrimaryKey,
    Punctuated,
    Scheme,
    StreamKey,
)
from penstock.model.script import Script
from penstock.model.spans import Span, Window
from penstock.model.stream import Arrival, Column, Stream
from penstock.model.types import DataType, Kind, digits_of
from tests.analysis.build import check, number_of, query, recent, ref, seconds, source, stream, where

A = stream("a", "k BIGINT, name STRING, ts TIMESTAMP", time="ts")
B = stream("b", "k BIGINT, name STRING, n INT, ts TIMESTAMP", time="ts")
PLAIN = stream("plain", "k BIGINT")
BIGINT = DataType.of(Kind.BIGINT)


def _declared(*schemes: Scheme) -> Stream:
    return stream("s", "k BIGINT, name STRING, ts TIMESTAMP, ar VARIANT", *schemes, time="ts")


def _with_virtual(*schemes: Scheme) -> Stream:
    return replace(PLAIN, columns=(*PLAIN.columns, Column("v", None)), schemes=schemes)


def _expression(text: str, *columns: str) -> Expression:
    return Expression(text, tuple(ref(c) for c in columns))


def _inner(*conditions: str | Predicate) -> Existence:
    return Existence(source(B, "e"), False, tuple(where(c) if isinstance(c, str) else c for c in conditions))


BROKEN: dict[str, tuple[Callable[[], object], str]] = {
    "a stream without a column": (lambda: Stream("s", ()), "no column that rows carry"),
    "a stream of virtual columns": (lambda: Stream("s", (Column("v", None),)), "no column that rows carry"),
    "a column twice": (lambda: stream("s", "k BIGINT, K STRING"), "declared twice"),
    "a virtual column derived": (
        lambda: replace(PLAIN, columns=(*PLAIN.columns, Column("v", None, _expression("k", "k")))),
        "cannot be derived",
    ),
    "a derived column over nothing": (
        lambda: replace(PLAIN, columns=(*PLAIN.columns, Column("d", BIGINT, _expression("x + 1", "x")))),
        "not declared before it",
    ),
    "a derived column over itself": (
        lambda: replace(PLAIN, columns=(*PLAIN.columns, Column("d", BIGINT, _expression("d + 1", "d")))),
        "not declared before it",
    ),
    "an event time that is not there": (lambda: replace(PLAIN, event_time="ts"), "has no column ts"),
    "an event time that is no clock": (lambda: stream("s", "a STRING", time="a"), "which is no clock"),
    "an arrival that is not there": (lambda: replace(PLAIN, arrival=Arrival("seq")), "has no column seq"),
    "an arrival without an order": (lambda: stream("s", "m VARIANT", arrives="m"), "has no order"),
    "a filter over nothing": (lambda: replace(PLAIN, where=(where("x > 1"),)), "has no column x"),
    "a filter with an alias": (lambda: replace(PLAIN, where=(where("q.k > 1"),)), "has no column q.k"),
    "a key without columns": (lambda: PrimaryKey(()), "at least one"),
    "a key of one column twice": (lambda: _declared(PrimaryKey(("k", "k"))), "stands twice"),
    "a key over nothing": (lambda: _declared(PrimaryKey(("x",))), "has no column x"),
    "a constraint twice": (lambda: _declared(PrimaryKey(("k",)), PrimaryKey(("k",))), "declared twice"),
    "an order in rows twice": (lambda: _declared(Ordered("k"), Ordered("k")), "declared twice"),
    "an order of a variant": (lambda: _declared(Ordered("ar")), "has no order"),
    "an order of a string in time": (lambda: _declared(Ordered("name", seconds(3))), "has no lengths"),
    "an order of a time without a unit": (lambda: _declared(Ordered("ts", number_of(3))), "has no unit"),
    "an order of a number with a unit": (lambda: _declared(Ordered("k", seconds(3))), "has a unit"),
    "an order within less than nothing": (lambda: _declared(Ordered("ts", seconds(-3))), "cannot be negative"),
    "an order of a virtual column": (lambda: _with_virtual(Ordered("v")), "is VIRTUAL"),
    "clusters in time": (lambda: _declared(Clustered("k", seconds(3))), "counted in rows"),
    "a punctuation of every row": (lambda: Punctuated(("k",), ()), "true of every row"),
    "a punctuation without columns": (lambda: Punctuated((), (where("k = 1"),)), "at least one"),
    "a lifespan of nothing": (lambda: Punctuated(("k",), (where("k = 1"),), seconds(0)), "longer than 0"),
    "a lifespan without a clock": (
        lambda: replace(PLAIN, schemes=(Punctuated(("k",), (where("k = 1"),), seconds(5)),)),
        "needs an event time",
    ),
    "a check of nothing": (lambda: Check(()), "has a condition"),
    "a check over nothing": (lambda: _declared(check("x > 1")), "has no column x"),
    "columns that cannot be paired": (lambda: Follows("t", ("a", "b"), ("k",)), "cannot be paired"),
    "no columns to pair": (lambda: ForeignKey((), "t", ()), "at least one"),
    "a sink of another policy": (lambda: OnViolation(Policy.FAIL, "bad"), "only QUARANTINE"),
    "a window that starts after it ends": (lambda: Window(seconds(1), seconds(0)), "starts after it ends"),
    "a span that is no whole number": (lambda: Span(Decimal("0.5")), "not a whole number"),
    "an unknown stream": (lambda: Script((_declared(Follows("t", ("k",), ("k",))),)), "unknown stream t"),
    "an unknown column of another stream": (
        lambda: Script((A, _declared(Follows("a", ("x",), ("k",))))),
        "stream a has no column x",
    ),
    "keys of different types": (
        lambda: Script((A, _declared(ForeignKey(("k",), "a", ("name",))))),
        "s.k is BIGINT, but a.name is STRING",
    ),
    "a window to a stream without a clock": (
        lambda: Script((PLAIN, _declared(Cooccurs(("k",), "plain", ("k",), Window(None, seconds(5)))))),
        "stream plain has none",
    ),
    "a stream key of a column that one side lacks": (
        lambda: Script((PLAIN, _declared(StreamKey(("name",), "plain", ("name",))))),
        "stream plain has no column name",
    ),
    "a quarantine into nowhere": (
        lambda: Script((_declared(PrimaryKey(("k",), OnViolation(Policy.QUARANTINE, "bad"))),)),
        "unknown sink bad",
    ),
    "a stream twice": (lambda: Script((A, A)), "declared twice"),
    "a query over another script's stream": (lambda: Script((A,), (), (query([source(B)]),)), "is not this script's"),
    "a window of no rows": (lambda: RowsWindow(0), "holds nothing"),
    "a window of no length": (lambda: RangeWindow(seconds(0)), "holds nothing"),
    "a range without a clock": (lambda: query([source(PLAIN, window=recent(5))]), "needs an event time"),
    "a range over two kinds of clock": (
        lambda: query([source(A, window=recent(5)), source(stream("n", "t BIGINT", time="t"))]),
        "compares event times",
    ),
    "an alias twice": (lambda: query([source(A, "x"), source(B, "X")]), "stands twice"),
    "a tree of other sources": (lambda: query([source(A), source(B)], tree=Leaf("a")), "differ"),
    "a condition over nothing": (lambda: query([source(A)], "a.x > 1"), "unknown column a.x"),
    "a condition on mixed types": (lambda: query([source(A), source(B)], "a.k = b.name"), "a.k is BIGINT"),
    "a difference of strings": (lambda: query([source(A), source(B)], "a.name <= b.name + 5"), "no difference"),
    "a difference without a unit": (lambda: query([source(A), source(B)], "a.ts <= b.ts + 5"), "has no unit"),
    "ON that looks outside its join": (
        lambda: query(
            [source(A), source(B), source(PLAIN)],
            tree=Join(
                JoinKind.INNER,
                Join(JoinKind.LEFT, Leaf("a"), Leaf("b"), (where("a.k = plain.k"),)),
                Leaf("plain"),
            ),
        ),
        "cannot see plain",
    ),
    "WHERE that looks into EXISTS": (
        lambda: query([source(A)], "a.k = e.k", exists=[_inner("e.k = a.k")]),
        "cannot see e",
    ),
    "an output over nothing": (lambda: query([source(A)], select=["a.x"]), "unknown column a.x"),
    "an output of EXISTS": (lambda: query([source(A)], select=["e.k"], exists=[_inner("e.k = a.k")]), "unknown"),
    "a virtual output": (lambda: query([source(_with_virtual())], select=["plain.v"]), "is VIRTUAL"),
    "a group over nothing": (lambda: query([source(A)], select=[Aggregate("count")], group_by=["a.x"]), "unknown"),
    "a value over nothing": (
        lambda: query([source(A)], hints=Hints(Budget(1, "ROWS"), value=_expression("x", "a.x"))),
        "unknown column a.x",
    ),
    "an output that is not grouped": (
        lambda: query([source(A)], select=["a.k", Aggregate("count")]),
        "neither grouped nor aggregated",
    ),
    "another window than the grouped one": (
        lambda: query(
            [source(A)], select=[TimeWindow(ref("a.ts"), seconds(5))], group_by=[TimeWindow(ref("a.ts"), seconds(6))]
        ),
        "neither grouped nor aggregated",
    ),
    "DISTINCT groups": (lambda: query([source(A)], select=[Aggregate("count")], distinct=True), "DISTINCT"),
    "an unknown aggregate": (lambda: Aggregate("mode", ref("a.k")), "no aggregate"),
    "a value picked by nothing": (lambda: Aggregate("max_by", ref("a.k")), "takes two arguments"),
    "a percentile of no share": (lambda: Aggregate("percentile", ref("a.k")), "a share from 0 to 1"),
    "a sum of nothing": (lambda: Aggregate("sum"), "needs an argument"),
    "a distinct maximum": (lambda: Aggregate("max", ref("a.k"), True), "DISTINCT is for count"),
    "a budget of nothing": (lambda: Budget(0, "ROWS"), "at least 1"),
    "a budget of an unknown unit": (lambda: Budget(1, "TB"), "counted in"),
    "an error above the whole": (lambda: ErrorAllowance(Decimal(101)), "between 0 and 100"),
    "a monitor that never samples": (lambda: Monitoring(Decimal(2), Decimal(0), 5), "probability"),
    "an eviction without a budget": (lambda: Hints(evict="prob"), "there is none"),
    "an unknown eviction": (lambda: Hints(Budget(1, "ROWS"), "oldest"), "unknown policy"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_record_is_not_built(name: str) -> None:
    build, why = BROKEN[name]
    with pytest.raises(ValueError, match=why):
        build()


def test_a_record_says_all_that_is_wrong_with_it_at_once() -> None:
    with pytest.raises(InvalidModel) as raised:
        stream("s", "k BIGINT, k BIGINT", Ordered("x"), PrimaryKey(("y",)), time="t", arrives="seq")
    assert len(raised.value.problems) == 5
    assert {p.subject.kind for p in raised.value.problems} == {"column", "event time", "arrival", "scheme"}


def test_an_order_may_be_known_both_in_rows_and_in_time() -> None:
    both = _declared(Ordered("ts"), Ordered("ts", seconds(3)))
    assert len(both.low) == 2
    arrived = replace(_declared(), arrival=Arrival("ts"))
    assert arrived.low == (Ordered("ts"),), "ARRIVES BY the event time is ORDERED BY it WITHIN 0"


def test_the_digits_of_a_decimal_are_read_in_our_spelling_and_in_sparks() -> None:
    assert digits_of("DECIMAL(10,2)") == digits_of("decimal(10,2)") == (10, 2)
    assert digits_of("BIGINT") is None
    assert digits_of("") is None
