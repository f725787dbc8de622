"""Random queries, declarations, streams that keep them, and batchings, all drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st

from penstock.model.clauses import Output, RangeWindow, RowsWindow, Source
from penstock.model.expressions import ColumnRef, Constant
from penstock.model.predicates import Bound, Comparison, Difference, Op, Predicate
from penstock.model.query import Query
from penstock.model.relation import Block, FromTree, Join, JoinKind, Leaf
from penstock.model.schemes import (
    Clustered,
    Cooccurs,
    Follows,
    OnViolation,
    Ordered,
    Policy,
    PrimaryKey,
    Punctuated,
    Scheme,
)
from penstock.model.spans import Rows, Span, Window
from penstock.model.stream import Column, Stream
from penstock.model.types import DataType, Kind
from penstock.plan.plan import Plan, PromisePlan
from penstock.runtime import Batch, Chunk, Punctuating
from penstock.runtime.needs import punctuation_promises
from tests.runtime.reference import Arrived, History, Keeper, Punctuation, Punctuations

BIGINT = DataType.of(Kind.BIGINT)
STRING = DataType.of(Kind.STRING)
ARROW = {Kind.BIGINT: pa.int64(), Kind.STRING: pa.string()}
COLUMNS = ("n", "a", "b", "ts")
"""n names the row, a and b are keys, ts is the event time."""


def inner_tree(aliases: list[str]) -> FromTree:
    tree: FromTree = Leaf(aliases[0])
    for alias in aliases[1:]:
        tree = Join(JoinKind.INNER, tree, Leaf(alias))
    return tree


def query_over(sources: list[Source], where: list[Predicate], *, distinct: bool = False) -> Query:
    outputs = tuple(
        Output(f"{s.alias}_{c.name}", ColumnRef(s.alias, c.name)) for s in sources for c in s.stream.columns[:1]
    )
    block = Block(inner_tree([s.alias for s in sources]), outputs, tuple(where), distinct=distinct)
    return Query.select("q", tuple(sources), block)


@dataclass(frozen=True)
class Workload:
    """A query, the rows of its streams, and the batches in which they come."""

    query: Query
    history: History
    batches: int
    cuts: int
    """Into how many chunks the rows of a stream in one batch are cut."""
    punctuations: Punctuations = field(default_factory=dict)

    def batch(self, plan: Plan, number: int) -> Batch:
        """One batch, for a single cell."""
        chunks = []
        for stream in {s.stream.name: s.stream for s in self.query.sources}.values():
            given: list[Arrived | Punctuation] = [*self.history[stream.name], *self.punctuations.get(stream.name, [])]
            # A punctuation stands before the data row that has its place.
            rows = sorted((a for a in given if a.batch == number), key=lambda a: (a.place, isinstance(a, Arrived)))
            size = -(-len(rows) // self.cuts) or 1
            for place, start in enumerate(range(0, max(1, len(rows)), size)):
                piece = rows[start : start + size]
                table = table_of(stream, [row.values for row in piece])
                passes = self._passes(stream, table)
                punctuating = self._punctuating(plan, stream, piece)
                chunks.append(Chunk.of(plan, stream.name, place, table, passes, punctuating=punctuating))
        return Batch(number, tuple(chunks))

    def _punctuating(self, plan: Plan, stream: Stream, rows: Sequence[Arrived | Punctuation]) -> Punctuating:
        """What Spark would say of the WHENs of a stream, and of the filters that fix a column of one."""

        def makes(row: Arrived | Punctuation, promise: PromisePlan) -> bool:
            if isinstance(row, Arrived):
                return False
            fixed = {
                p.column.column: p.constant.value
                for p in self.query.predicates
                if isinstance(p, Bound) and p.op is Op.EQ and p.column.alias == promise.alias
            }
            return any(
                scheme.on(stream.name) == promise.constraint
                and all(row.values[c] == fixed[c] for c in scheme.columns if c not in promise.columns)
                for scheme in row.schemes
            )

        by_promise = {
            number: pa.array([makes(row, promise) for row in rows], pa.bool_())
            for number, promise in punctuation_promises(plan, stream.name)
        }
        return Punctuating(pa.array([isinstance(row, Punctuation) for row in rows], pa.bool_()), by_promise)

    def _passes(self, stream: Stream, table: Any) -> dict[str, Any]:
        """What Spark would say of the filters of each alias of a stream."""
        found = {}
        for predicate in self.query.predicates:
            if isinstance(predicate, Bound):
                alias = predicate.column.alias
                if self.query.by_alias[alias].stream.name == stream.name:
                    compare = pc.equal if predicate.op is Op.EQ else pc.less
                    found[alias] = compare(table.column(predicate.column.column), predicate.constant.value)
        return found


def table_of(stream: Stream, rows: list[dict[str, Any]]) -> Any:
    columns = {}
    for column in stream.columns:
        assert column.type is not None
        columns[column.name] = pa.array([row[column.name] for row in rows], ARROW[column.type.kind])
    return pa.table(columns)


@st.composite
def workloads(
    draw: st.DrawFn, most_sources: int = 4, most_rows: int = 9, *, broken: Policy | None = None, batches: int = 5
) -> Workload:
    """With `broken`, rows come as they like, and every declaration has that policy."""
    count = draw(st.integers(2, most_sources))
    key_type = draw(st.sampled_from([BIGINT, BIGINT, STRING]))
    names = [f"s{n}" for n in range(count)]
    if draw(st.integers(0, 5)) == 0:
        names[-1] = names[0]
    columns = (Column("n", BIGINT), Column("a", key_type), Column("b", key_type), Column("ts", BIGINT))
    where = draw(predicates(count))
    streams = {
        name: Stream(name, columns, "ts", schemes=_answered(draw(declarations(name, names, where)), broken))
        for name in dict.fromkeys(names)
    }
    sources = [Source(streams[name], f"x{n}", draw(st.none() | st.none() | windows())) for n, name in enumerate(names)]
    for source in sources:
        if draw(st.integers(0, 5)) == 0:
            limit = Constant("3", "3" if key_type is STRING else 3)
            where.append(Bound(ColumnRef(source.alias, "b"), draw(st.sampled_from([Op.LT, Op.LT, Op.EQ])), limit))
    query = query_over(sources, where)
    count = draw(st.integers(1, batches))
    kept = broken is None
    history, punctuations = draw(histories(tuple(streams.values()), key_type, count, most_rows, kept=kept))
    return Workload(query, history, count, draw(st.integers(1, 2)), punctuations)


def _answered(schemes: tuple[Scheme, ...], policy: Policy | None) -> tuple[Scheme, ...]:
    return schemes if policy is None else tuple(replace(s, on_violation=OnViolation(policy)) for s in schemes)


def windows() -> st.SearchStrategy[Any]:
    return st.integers(1, 6).map(RowsWindow) | st.integers(1, 8).map(lambda d: RangeWindow(Span.of(d)))


@st.composite
def predicates(draw: st.DrawFn, count: int) -> list[Predicate]:
    found: list[Predicate] = []
    key = st.sampled_from(["a", "b"])
    for n in range(1, count):
        if draw(st.integers(0, 9)) > 0:
            partner = draw(st.integers(0, n - 1))
            found.append(Comparison(ColumnRef(f"x{partner}", draw(key)), Op.EQ, ColumnRef(f"x{n}", draw(key))))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda p: p[0] != p[1])
    for i, j in draw(st.lists(pairs, max_size=3)):
        kind = draw(st.integers(0, 3)) % 3
        op = draw(st.sampled_from([Op.LT, Op.LE, Op.GT, Op.GE]))
        if kind == 0:
            found.append(Comparison(ColumnRef(f"x{i}", draw(key)), Op.EQ, ColumnRef(f"x{j}", draw(key))))
        elif kind == 1:
            column = draw(st.sampled_from(["a", "ts"]))
            found.append(Comparison(ColumnRef(f"x{i}", column), op, ColumnRef(f"x{j}", column)))
        else:
            span = Span.of(draw(st.integers(-2, 5)))
            found.append(Difference(ColumnRef(f"x{i}", "ts"), ColumnRef(f"x{j}", "ts"), op, span))
    return found


@st.composite
def declarations(draw: st.DrawFn, own: str, names: list[str], where: list[Predicate]) -> tuple[Scheme, ...]:
    found: list[Scheme] = []
    if draw(st.booleans()):
        found.append(PrimaryKey(draw(st.sampled_from([("a",), ("b",), ("a", "b")]))))
    if draw(st.integers(0, 3)) > 0:
        slack = draw(st.integers(0, 3).map(Rows) | st.integers(0, 3).map(Span.of))
        found.append(Ordered("ts", slack))
    if draw(st.integers(0, 4)) == 0:
        found.append(Ordered("a", Rows(draw(st.integers(0, 2)))))
    if draw(st.integers(0, 2)) == 0:
        found.append(Clustered(draw(st.sampled_from(["a", "b"])), Rows(draw(st.integers(0, 3)))))
    for predicate in where:
        if not isinstance(predicate, Comparison) or predicate.op is not Op.EQ:
            continue
        left, right = predicate.left, predicate.right
        for mine, other in ((left, right), (right, left)):
            partner = names[int(other.alias[1:])]
            if names[int(mine.alias[1:])] != own or partner == own:
                continue
            match draw(st.integers(0, 5)):
                case 0:
                    rows = draw(st.integers(0, 2))
                    found.append(Follows(partner, (other.column,), (mine.column,), Rows(rows)))
                case 1:
                    span = Span.of(draw(st.integers(0, 3)))
                    found.append(Follows(partner, (other.column,), (mine.column,), span))
                case 2:
                    low, high = draw(st.integers(-3, 0)), draw(st.integers(0, 3))
                    window = Window(
                        draw(st.sampled_from([None, Span.of(low)])), draw(st.sampled_from([None, Span.of(high)]))
                    )
                    found.append(Cooccurs((mine.column,), partner, (other.column,), window))
                case _:
                    pass
    if draw(st.booleans()):
        found += draw(st.lists(punctuated(), min_size=1, max_size=3))
    unique: dict[str, Scheme] = {}
    for scheme in found:
        unique.setdefault(scheme.text, scheme)
    return tuple(unique.values())


def punctuated(*, lifespans: bool = True) -> st.SearchStrategy[Punctuated]:
    """What WHEN says plays no part: the workload itself says which rows are punctuations, and of what."""
    columns = st.sampled_from([("a",), ("b",), ("a", "b"), ("b", "a")])
    when = st.integers(0, 1).map(lambda n: (Bound(ColumnRef("", "n"), Op.LT, Constant(str(-n), -n)),))
    lifespan = st.sampled_from([None, None, Span.of(1), Span.of(4)]) if lifespans else st.none()
    return st.builds(Punctuated, columns, when, lifespan)


@st.composite
def histories(
    draw: st.DrawFn,
    streams: tuple[Stream, ...],
    key_type: DataType,
    batches: int,
    most_rows: int,
    *,
    punctuating: float = 0.3,
    kept: bool = True,
) -> tuple[History, Punctuations]:
    """Rows and punctuations that keep the declarations: what would break one is not added, unless it may be."""
    # Seeded, not drawn: hypothesis would draw mostly small numbers, and streams with few rows show little.
    random = Random(draw(st.integers(0, 2**32)))
    keeper = Keeper(streams)
    history: History = {s.name: [] for s in streams}
    clock = 0
    number = 0
    nulls = kept and draw(st.integers(0, 3)) == 0
    keys = [str(v) for v in range(4)] if key_type is STRING else list(range(4))
    for batch in range(batches):
        order = list(streams)
        for stream in order:
            for _ in range(random.randint(0, max(1, 2 * most_rows // batches))):
                number += 1
                values: dict[str, Any] = {
                    "n": number,
                    "a": random.choice(keys),
                    "b": random.choice(keys),
                    "ts": clock + random.randint(-3, 3),
                }
                if nulls and random.random() < 0.1:
                    values[random.choice(["a", "b", "ts"])] = None
                row = Arrived(batch, len(history[stream.name]), values)
                if not kept or keeper.allows(history, stream.name, row):
                    history[stream.name].append(row)
                schemes = tuple(
                    s for s in stream.schemes if isinstance(s, Punctuated) and random.random() < punctuating
                )
                if schemes:
                    named = {**values, "n": -1, "a": random.choice(keys), "b": random.choice(keys)}
                    if nulls and random.random() < 0.1:
                        named[random.choice(["a", "b", "ts"])] = None
                    made = Punctuation(batch, len(history[stream.name]), named, schemes)
                    keeper.punctuations[stream.name].append(made)
        clock += random.randint(0, 5)
    return history, keeper.punctuations
