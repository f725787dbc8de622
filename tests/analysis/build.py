"""Short ways to build streams and queries for the tests of the analyses; only expressions go through the parser."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

from penstock import parse
from penstock.analysis.check import check_query
from penstock.analysis.finding import Finding
from penstock.model.clauses import Aggregate, Output, RangeWindow, RowsWindow, Scalar, Source
from penstock.model.expressions import ColumnRef, Constant, Expression, Value
from penstock.model.hints import NO_HINTS, Hints
from penstock.model.names import quoted
from penstock.model.predicates import Bound, Comparison, Difference, OneOf, Op, Predicate
from penstock.model.query import Query
from penstock.model.relation import Block, Existence, FromTree, Join, JoinKind, Leaf
from penstock.model.schemes import Check, Scheme
from penstock.model.spans import Span, Unit
from penstock.model.stream import Arrival, Column, Stream
from penstock.model.types import DataType, Kind

_CONDITION = re.compile(r"(\S+) (<=|>=|<|>|=) (\S+)(?: ([+-]) (\d+)( seconds)?)?\Z")


def data_type(text: str) -> DataType:
    """A type from its text."""
    if "COLLATE" in text:
        return DataType(Kind.STRING, text, is_collated=True)
    found = parse(f"CREATE STREAM s (x {text})").streams[0].columns[0].type
    assert found is not None
    return found


def stream(
    name: str,
    columns: str,
    *schemes: Scheme,
    time: str | None = None,
    arrives: str | None = None,
    where: Iterable[Predicate] = (),
) -> Stream:
    """A stream from `k BIGINT, ts TIMESTAMP`; a `;` separates columns whose types hold commas."""
    parts = columns.split("; " if ";" in columns else ", ")
    declared = tuple(Column(n, data_type(t)) for n, t in (part.split(" ", 1) for part in parts))
    return Stream(name, declared, time, Arrival(arrives) if arrives else None, schemes, None, tuple(where))


def ref(text: str) -> ColumnRef:
    """`a.k`, or `k` inside a declaration."""
    alias, _, column = text.rpartition(".")
    return ColumnRef(alias, column)


def constant(value: Value) -> Constant:
    """A literal."""
    return Constant(str(value), value)


def where(text: str) -> Predicate:
    """`a.k = b.k`, `a.x < 5`, `b.ts <= a.ts + 5 seconds`, `b.n >= a.n - 3`."""
    found = _CONDITION.match(text)
    assert found is not None, text
    left, op, right, sign, number, unit = found.groups()
    if re.fullmatch(r"-?\d+", right):
        return Bound(ref(left), Op(op), Constant(right, int(right)))
    if sign is None:
        return Comparison(ref(left), Op(op), ref(right))
    amount = int(number) * (1 if sign == "+" else -1)
    return Difference(ref(left), ref(right), Op(op), seconds(amount) if unit else number_of(amount))


def one_of(column: str, *values: Value) -> OneOf:
    """`column IN (…)`."""
    return OneOf(ref(column), tuple(constant(v) for v in values))


def bound(column: str, op: str, value: Value) -> Bound:
    """`column op value` for values that are no whole numbers."""
    return Bound(ref(column), Op(op), constant(value))


def condition(text: str, *columns: str) -> Predicate:
    """A condition on these columns of one stream, as the binder reads it."""
    found = [ref(column) for column in columns]
    declared = ", ".join(f"{quoted(r.column)} BIGINT" for r in dict.fromkeys(found))
    alias = found[0].alias
    if not alias:
        (scheme,) = parse(f"CREATE STREAM s ({declared}, CHECK ({text}))").streams[0].schemes
        assert isinstance(scheme, Check)
        (bound_,) = scheme.condition
    else:
        (bound_,) = parse(f"CREATE STREAM {alias} ({declared}); SELECT * FROM {alias} WHERE {text}").queries[0].where
    return bound_


def derived_column(text: str, *columns: str) -> Expression:
    """What a column is derived by, as the binder reads it."""
    declared = ", ".join(f"{quoted(column)} BIGINT" for column in columns)
    derived = parse(f"CREATE STREAM s ({declared}, derived BIGINT AS ({text}))").streams[0].columns[-1].derived
    assert derived is not None
    return derived


def expression(text: str, *columns: str) -> Expression:
    """An expression over these columns, as the binder reads it."""
    found = dict.fromkeys(ref(column) for column in columns)
    declared = ", ".join(f"{quoted(r.column)} BIGINT" for r in found)
    alias = next((r.alias for r in found), "") or "s"
    (output,) = parse(f"CREATE STREAM {alias} ({declared}); SELECT {text} AS c FROM {alias}").queries[0].outputs
    assert isinstance(output.value, Expression)
    return output.value


def check(*conditions: str | Predicate) -> Check:
    """A CHECK."""
    return Check(tuple(where(c) if isinstance(c, str) else c for c in conditions))


def seconds(amount: int) -> Span:
    """A duration."""
    return Span(Decimal(amount), Unit.SECOND)


def number_of(amount: int) -> Span:
    """A length on an integer clock."""
    return Span(Decimal(amount))


def last(count: int) -> RowsWindow:
    """`[ROWS n]`."""
    return RowsWindow(count)


def recent(amount: int) -> RangeWindow:
    """`[RANGE n SECONDS]`."""
    return RangeWindow(seconds(amount))


def source(of: Stream, alias: str | None = None, window: RowsWindow | RangeWindow | None = None) -> Source:
    """A stream in FROM."""
    return Source(of, alias or of.name, window)


def query(
    sources: Iterable[Source],
    *conditions: str | Predicate,
    select: Iterable[str | Scalar | Aggregate] = (),
    tree: FromTree | None = None,
    exists: Iterable[Existence] = (),
    distinct: bool = False,
    group_by: Iterable[str | Scalar] = (),
    hints: Hints = NO_HINTS,
) -> Query:
    """A query; without a tree its sources are joined by commas, without a select it gives one column of the first."""
    members = tuple(sources)
    joined: FromTree = Leaf(members[0].alias)
    for member in members[1:]:
        joined = Join(JoinKind.INNER, joined, Leaf(member.alias))
    chosen = tuple(select) or (f"{members[0].alias}.{members[0].stream.columns[0].name}",)
    outputs = tuple(Output(f"c{i}", ref(v) if isinstance(v, str) else v) for i, v in enumerate(chosen))
    block = Block(
        tree or joined,
        outputs,
        tuple(where(c) if isinstance(c, str) else c for c in conditions),
        tuple(exists),
        distinct,
        tuple(ref(v) if isinstance(v, str) else v for v in group_by),
    )
    return Query.select("out", members, block, hints=hints)


def outer(kind: JoinKind, left: str, right: str, *on: str | Predicate) -> Join:
    """Two sources outer joined."""
    return Join(kind, Leaf(left), Leaf(right), tuple(where(c) if isinstance(c, str) else c for c in on))


def findings(of: Query) -> dict[str, Finding]:
    """The findings by alias."""
    return {entry.alias: entry.finding for entry in check_query(of).streams}
