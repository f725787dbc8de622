"""Random queries with every kind of join and EXISTS, over streams that keep their declarations, in any batching."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from hypothesis import strategies as st

from penstock.model.clauses import Output, RowsWindow, Source
from penstock.model.expressions import ColumnRef, Constant
from penstock.model.predicates import Bound, Comparison, Difference, NullTest, Op, Predicate
from penstock.model.query import Query
from penstock.model.relation import Block, Existence, FromTree, Join, JoinKind, Leaf
from penstock.model.simplify import simplified
from penstock.model.spans import Span
from penstock.model.stream import Arrival, Column, Stream
from penstock.model.types import DataType
from penstock.plan.condition_moments import Moment, conditions_at
from penstock.plan.plan import Plan
from penstock.runtime import Batch, Chunk
from tests.runtime.outer_reference import holds
from tests.runtime.reference import Arrived, Punctuation
from tests.runtime.workloads import (
    BIGINT,
    STRING,
    Broken,
    Workload,
    answered,
    declarations,
    histories,
    table_of,
    windows,
)


@dataclass(frozen=True)
class OuterWorkload(Workload):
    """A workload whose conditions are tested where the plan says."""

    def batch(self, plan: Plan, number: int) -> Batch:
        """One batch, for a single cell."""
        chunks = []
        for stream in {s.stream.name: s.stream for s in self.query.all_sources}.values():
            given = self._brought(stream.name, number)
            rows = sorted(given, key=lambda a: (a.place, isinstance(a, Arrived)))
            size = -(-len(rows) // self.cuts) or 1
            for place, start in enumerate(range(0, len(rows), size)):
                piece = rows[start : start + size]
                table = table_of(stream, [row.values for row in piece])
                assert not plan.inner or simplified(self.query).is_inner
                for test in plan.tree.tests:
                    if plan.by_alias[test.alias].stream == stream.name:
                        (predicate,) = {p for p in self.query.predicates if str(p) == test.text}
                        said = [holds(predicate, {test.alias: Arrived(0, 0, row.values)}) for row in piece]
                        table = table.append_column(test.column, pa.array(said, pa.bool_()))
                passes = {
                    s.alias: pa.array([self._passes_all(s.alias, row) for row in piece], pa.bool_())
                    for s in self.query.all_sources
                    if s.stream.name == stream.name
                }
                punctuating = self._punctuating(plan, stream, piece)
                chunks.append(Chunk.of(plan, stream.name, place, table, passes, punctuating=punctuating))
        return Batch(number, tuple(chunks))

    def _brought(self, stream: str, number: int) -> list[Arrived | Punctuation]:
        """What a batch brings of a stream."""
        given: list[Arrived | Punctuation] = [*self.history[stream], *self.punctuations.get(stream, [])]
        return [row for row in given if row.batch == number]

    @cached_property
    def _on_arrival(self) -> dict[str, tuple[Predicate, ...]]:
        simple = simplified(self.query)
        return {s.alias: conditions_at(simple, Moment.ARRIVAL, s.alias) for s in simple.all_sources}

    def _passes_all(self, alias: str, row: Arrived | Punctuation) -> bool:
        return all(holds(p, {alias: Arrived(0, 0, row.values)}) for p in self._on_arrival[alias])

    def absent(self, plan: Plan) -> dict[str, bool]:
        """What each test is worth where its stream is absent."""
        found = {}
        for test in plan.tree.tests:
            (predicate,) = {p for p in self.query.predicates if str(p) == test.text}
            found[test.column] = holds(predicate, {test.alias: None})
            assert not (test.rejects_absent and found[test.column])
        return found


def _null(alias: str, column: str, negated: bool) -> NullTest:
    return NullTest(ColumnRef(alias, column), is_null=not negated)


@st.composite
def alone(draw: st.DrawFn, alias: str, limit: Constant) -> Predicate:
    if draw(st.booleans()):
        return Bound(ColumnRef(alias, draw(st.sampled_from("ab"))), Op.LT, limit)
    return _null(alias, draw(st.sampled_from("ab")), draw(st.booleans()))


@st.composite
def conditions(draw: st.DrawFn, ones: list[str], others: list[str], limit: Constant) -> tuple[Predicate, ...]:
    """An ON: mostly an equality, often a band, at times a condition on one stream or on one side."""
    found: list[Predicate] = []
    pick = st.sampled_from
    one, other = draw(pick(ones)), draw(pick(others))
    if draw(st.integers(0, 7)):
        columns = draw(pick(["aa", "aa", "ab", "ba", "bb"]))
        found.append(Comparison(ColumnRef(one, columns[0]), Op.EQ, ColumnRef(other, columns[1])))
    if draw(st.integers(0, 4)) == 0:
        column = draw(pick("ab"))
        found.append(Comparison(ColumnRef(draw(pick(ones)), column), Op.EQ, ColumnRef(draw(pick(others)), column)))
    if draw(st.booleans()):
        one, other = draw(pick(ones)), draw(pick(others))
        low, high = Span.of(draw(st.integers(-3, 0))), Span.of(draw(st.integers(0, 4)))
        found.append(Difference(ColumnRef(other, "ts"), ColumnRef(one, "ts"), Op.GE, low))
        found.append(Difference(ColumnRef(other, "ts"), ColumnRef(one, "ts"), Op.LE, high))
    if draw(st.integers(0, 4)) == 0:
        found.append(draw(alone(draw(pick([*ones, *others])), limit)))
    if len(ones) > 1 and draw(st.integers(0, 5)) == 0:
        first, second = draw(pick([(a, b) for a in ones for b in ones if a != b]))
        found.append(Comparison(ColumnRef(first, "a"), draw(pick([Op.EQ, Op.LE])), ColumnRef(second, "a")))
    return tuple(dict.fromkeys(found))


Kinds = tuple[JoinKind, ...]


@st.composite
def trees(draw: st.DrawFn, aliases: list[str], kinds: Kinds, limit: Constant) -> FromTree:
    if len(aliases) == 1:
        return Leaf(aliases[0])
    cut = draw(st.integers(1, len(aliases) - 1)) if draw(st.integers(0, 2)) == 0 else len(aliases) - 1
    ones, others = aliases[:cut], aliases[cut:]
    left, right = draw(trees(ones, kinds, limit)), draw(trees(others, kinds, limit))
    return Join(draw(st.sampled_from(kinds)), left, right, draw(conditions(ones, others, limit)))


@dataclass(frozen=True)
class Wanted:
    """What a query may hold."""

    kinds: Kinds = tuple(JoinKind)
    most_sources: int = 4
    existences: tuple[bool, ...] = ()
    """For each EXISTS, whether it is negated."""
    with_where: bool = True
    with_windows: bool = True
    counted: bool = False
    """Whether windows are [ROWS n], and on most streams."""
    closing: bool = False
    """Whether declarations are such that most rows leave in the end."""
    arrival: bool = False
    """Whether all streams declare ARRIVES BY."""


@st.composite
def outer_workloads(
    draw: st.DrawFn,
    wanted: Wanted,
    most_rows: int = 7,
    *,
    broken: Broken = None,
    batches: int = 5,
    seldom: bool = False,
) -> OuterWorkload:
    """With `broken`, rows come as they like, and every declaration has that policy; see `histories` for `seldom`."""
    query, key_type = draw(outer_queries(wanted, broken))
    number = draw(st.integers(1, batches))
    streams = tuple({source.stream.name: source.stream for source in query.all_sources}.values())
    kept = broken is None or seldom
    history, punctuations = draw(histories(streams, key_type, number, most_rows, kept=kept, seldom=seldom))
    return OuterWorkload(query, history, number, draw(st.integers(1, 2)), punctuations)


@st.composite
def outer_queries(draw: st.DrawFn, wanted: Wanted, policy: Broken = None) -> tuple[Query, DataType]:
    """A query, and the type of its keys; with a policy, every declaration has it."""
    held = len(wanted.existences)
    least = 1 if held else 2
    size = draw(st.integers(least, max(least, wanted.most_sources - held)))
    key_type = BIGINT if wanted.arrival else draw(st.sampled_from([BIGINT, BIGINT, STRING]))
    limit = Constant("3", "3" if key_type is STRING else 3)
    names = [f"s{n}" for n in range(size + held)]
    if draw(st.integers(0, 6)) == 0:
        names[-1] = names[0]
    aliases = [f"x{n}" for n in range(size + held)]
    inside = aliases[:size]
    tree = draw(trees(inside, wanted.kinds, limit))
    negated = [not n if draw(st.integers(0, 9)) == 0 else n for n in wanted.existences[:-1]]
    negated += list(wanted.existences[-1:])
    inner = [draw(conditions(inside, [alias], limit)) for alias in aliases[size:]]
    where: list[Predicate] = []
    if wanted.with_where and draw(st.integers(0, 3)) == 0:
        where.append(draw(alone(draw(st.sampled_from(inside)), limit)))
    if wanted.with_where and len(inside) > 1 and draw(st.integers(0, 9)) == 0:
        where.append(Comparison(ColumnRef(inside[0], "b"), Op.LE, ColumnRef(inside[-1], "b")))
    predicates = [*_all(tree), *where, *(p for on in inner for p in on)]
    columns: tuple[Column, ...] = (Column("n", BIGINT), Column("a", key_type), Column("b", key_type))
    columns = (*columns, Column("ts", BIGINT))
    arrival = Arrival("arr") if wanted.arrival else None
    columns = (*columns, Column("arr", BIGINT)) if wanted.arrival else columns
    streams = {
        name: Stream(
            name,
            columns,
            "ts",
            arrival,
            schemes=answered(draw(declarations(name, names, predicates, closing=wanted.closing)), policy),
        )
        for name in dict.fromkeys(names)
    }
    some = st.none() | st.none() | st.none() | windows() if wanted.with_windows else st.none()
    if wanted.counted:
        some = st.none() | st.integers(1, 6).map(RowsWindow)
    sources = [Source(streams[name], alias, draw(some)) for name, alias in zip(names, aliases, strict=True)]
    existences = tuple(Existence(source, n, on) for source, n, on in zip(sources[size:], negated, inner, strict=True))
    outputs = tuple(Output(f"{s.alias}_n", ColumnRef(s.alias, "n")) for s in sources[:size])
    block = Block(tree, outputs, tuple(dict.fromkeys(where)), existences)
    return Query.select("q", tuple(sources[:size]), block), key_type


def _all(tree: FromTree) -> list[Predicate]:
    return [] if isinstance(tree, Leaf) else [*_all(tree.left), *_all(tree.right), *tree.on]
