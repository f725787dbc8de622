"""Random queries, declarations, streams that keep them, and batchings, all drawn by hypothesis."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from random import Random
from typing import Any, Self
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st

from penstock.analysis.finding import Bounded, Means, Verdict
from penstock.model.clauses import Output, RangeWindow, RowsWindow, Source
from penstock.model.expressions import ColumnRef, Constant
from penstock.model.predicates import Bound, Comparison, Difference, Op, Predicate
from penstock.model.query import Query
from penstock.model.relation import Block, FromTree, Join, JoinKind, Leaf
from penstock.model.schemes import (
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
)
from penstock.model.spans import Rows, Span, Window
from penstock.model.stream import Column, Stream
from penstock.model.types import DataType, Kind
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromisePlan
from penstock.plan.runnable import unkept_bounds
from penstock.runtime import Batch, Cell, Chunk, Punctuating
from penstock.runtime.input.wire_columns import punctuation_promises
from penstock.runtime.state.synopsis import ALL
from tests.runtime.reference import Arrived, History, Keeper, Punctuation, Punctuations

BIGINT = DataType.of(Kind.BIGINT)
STRING = DataType.of(Kind.STRING)
ARROW = {Kind.BIGINT: pa.int64(), Kind.STRING: pa.string()}
COLUMNS = ("n", "a", "b", "ts")
"""n names the row, a and b are keys, ts is the event time."""

Broken = Policy | tuple[Policy, ...] | None
"""The policy of all declarations, or several of which each has one."""

_BREAKING = 0.15
"""How often a row is added though it may break a declaration, where that is done now and then."""
_STEPS, _LEAPS, _PACE = 9, 4, 0.7
"""How many small steps streams take as they move on, and how many large ones; how often one takes part in a small one.
"""


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
    before: dict[str, int] = field(default_factory=dict)
    """By stream, its rows from before it moved on."""

    def batch(self, plan: Plan, number: int) -> Batch:
        """One batch, for a single cell."""
        chunks = []
        for stream in {s.stream.name: s.stream for s in self.query.sources}.values():
            given: list[Arrived | Punctuation] = [*self.history[stream.name], *self.punctuations.get(stream.name, [])]
            # A punctuation stands before the data row that has its place.
            rows = sorted((a for a in given if a.batch == number), key=lambda a: (a.place, isinstance(a, Arrived)))
            size = -(-len(rows) // self.cuts) or 1
            for place, start in enumerate(range(0, len(rows), size)):
                piece = rows[start : start + size]
                table = table_of(stream, [row.values for row in piece])
                passes = self._passes(stream, table)
                punctuating = self._punctuating(plan, stream, piece)
                chunks.append(Chunk.of(plan, stream.name, place, table, passes, punctuating=punctuating))
        return Batch(number, tuple(chunks))

    def moved_on(self) -> Self:
        """The workload, and then batches in which every stream moves on: new keys, later times, no old key again.

        First by small steps, some streams ahead of others, so that what closes a row comes in any order; then far
        beyond every bound. All old keys are punctuated on the way, and each new one in the batch after its row: a
        stream whose punctuations stay out has not moved on, and in a cross product an old row waits for each new one
        that is not closed. Rows of these batches have a negative n.
        """
        history = {name: list(rows) for name, rows in self.history.items()}
        punctuations = {name: [*self.punctuations.get(name, ())] for name in history}
        streams = {s.stream.name: s.stream for s in self.query.all_sources}
        random = Random(sum(map(len, history.values())))
        # What names a partner by a FOREIGN KEY has one; else no row of these batches meets another.
        together = any(isinstance(scheme, ForeignKey) for s in streams.values() for scheme in s.schemes)
        last = max((row.values["ts"] or 0 for rows in history.values() for row in rows), default=0)
        for further in range(1, _STEPS + _LEAPS + 1):
            batch = self.batches + further - 1
            for number, (name, stream) in enumerate(streams.items()):
                key = further if together else 100 * number + further
                ts = last + 3 + further if further <= _STEPS else 1_000 * further
                if together or further > _STEPS or random.random() < _PACE:
                    named: Any = f"z{key:04}" if stream.type_of("a") == STRING else 1_000 + key
                    values = {"n": -further, "a": named, "b": named, "ts": ts}
                    history[name].append(Arrived(batch, len(history[name]), values))
        for name, stream in streams.items():
            schemes = tuple(s for s in stream.schemes if isinstance(s, Punctuated))
            keys = [str(v) for v in range(4)] if stream.type_of("a") == STRING else list(range(4))
            made = [
                Punctuation(
                    batch := self.batches + random.randrange(_STEPS + 1),
                    sum(row.batch <= batch for row in history[name]),
                    {"n": -1, "a": a, "b": b, "ts": last + 3},
                    schemes,
                )
                for a, b in product(keys, keys)
                if schemes
            ]
            made += [
                Punctuation(
                    row.batch + 1, sum(one.batch <= row.batch + 1 for one in history[name]), dict(row.values), schemes
                )
                for row in history[name][len(self.history[name]) :]
                if schemes and row.batch + 1 < self.batches + _STEPS + _LEAPS
            ]
            punctuations[name] += sorted(made, key=lambda p: p.batch)
        batches = self.batches + _STEPS + _LEAPS
        before = {name: len(rows) for name, rows in self.history.items()}
        return replace(self, history=history, batches=batches, punctuations=punctuations, before=before)

    def left_behind(self, verdict: Verdict, plan: Plan, cells: Iterable[Cell]) -> dict[str, list[int]]:
        """See the function of that name."""
        return left_behind(self.before, verdict, plan, cells)

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


def left_behind(before: Mapping[str, int], verdict: Verdict, plan: Plan, cells: Iterable[Cell]) -> dict[str, list[int]]:
    """The rows of streams that have moved on, by alias, that are still stored though `check` says that they leave.

    They are named by their places; `before` are the rows of a stream from before it moved on.
    """
    found: dict[str, list[int]] = {}
    for entry in verdict.streams:
        finding = entry.finding
        leaves = isinstance(finding, Bounded) and (
            finding.means is Means.PURGE or (finding.means is Means.WINDOW and finding.rows is None)
        )
        if not leaves or unkept_bounds(plan):
            continue
        for synopsis in (c.synopses[entry.alias] for c in cells if entry.alias in c.synopses):
            places = synopsis.gather(synopsis.ids(ALL), lambda s: s.arrival)
            found.setdefault(entry.alias, []).extend(places[places < before[entry.stream]].tolist())
    return {alias: places for alias, places in found.items() if places}


def table_of(stream: Stream, rows: list[dict[str, Any]]) -> Any:
    columns = {}
    for column in stream.columns:
        assert column.type is not None
        columns[column.name] = pa.array([row[column.name] for row in rows], ARROW[column.type.kind])
    return pa.table(columns)


@st.composite
def workloads(
    draw: st.DrawFn,
    most_sources: int = 4,
    most_rows: int = 9,
    *,
    broken: Broken = None,
    batches: int = 5,
    seldom: bool = False,
) -> Workload:
    """With `broken`, rows come as they like, and every declaration has that policy; see `histories` for `seldom`."""
    count = draw(st.integers(2, most_sources))
    key_type = draw(st.sampled_from([BIGINT, BIGINT, STRING]))
    names = [f"s{n}" for n in range(count)]
    if draw(st.integers(0, 5)) == 0:
        names[-1] = names[0]
    columns = (Column("n", BIGINT), Column("a", key_type), Column("b", key_type), Column("ts", BIGINT))
    where = draw(predicates(count))
    streams = {
        name: Stream(name, columns, "ts", schemes=answered(draw(declarations(name, names, where)), broken))
        for name in dict.fromkeys(names)
    }
    sources = [Source(streams[name], f"x{n}", draw(st.none() | st.none() | windows())) for n, name in enumerate(names)]
    for source in sources:
        if draw(st.integers(0, 5)) == 0:
            limit = Constant("3", "3" if key_type is STRING else 3)
            where.append(Bound(ColumnRef(source.alias, "b"), draw(st.sampled_from([Op.LT, Op.LT, Op.EQ])), limit))
    query = query_over(sources, where)
    count = draw(st.integers(1, batches))
    kept = broken is None or seldom
    made = histories(tuple(streams.values()), key_type, count, most_rows, kept=kept, seldom=seldom)
    history, punctuations = draw(made)
    return Workload(query, history, count, draw(st.integers(1, 2)), punctuations)


def answered(schemes: tuple[Scheme, ...], policy: Broken) -> tuple[Scheme, ...]:
    if policy is None:
        return schemes
    some = policy if isinstance(policy, tuple) else (policy,)
    return tuple(
        replace(s, on_violation=OnViolation(some[(crc32(s.text.encode()) + n) % len(some)]))
        for n, s in enumerate(schemes)
    )


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
def declarations(
    draw: st.DrawFn, own: str, names: list[str], where: list[Predicate], *, closing: bool = False
) -> tuple[Scheme, ...]:
    """With `closing`, enough of them as a rule for every row to leave in the end."""
    found: list[Scheme] = []
    if draw(st.booleans()):
        found.append(PrimaryKey(draw(st.sampled_from([("a",), ("b",), ("a", "b")]))))
    if closing or draw(st.integers(0, 3)) > 0:
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
            match draw(st.integers(0, 3 if closing else 6)):
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
                case 3:
                    found.append(ForeignKey((mine.column,), partner, (other.column,)))
                case _:
                    pass
    if closing:
        columns = dict.fromkeys(ref.column for p in where for ref in p.columns if names[int(ref.alias[1:])] == own)
        when = (Bound(ColumnRef("", "n"), Op.LT, Constant("0", 0)),)
        found += [Punctuated((column,), when) for column in columns if column in "ab" and draw(st.booleans())]
    elif draw(st.booleans()):
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
    seldom: bool = False,
) -> tuple[History, Punctuations]:
    """Rows and punctuations that keep the declarations: what would break one is not added, unless it may be.

    With `seldom`, a row that breaks one is added now and then, and a partner that a FOREIGN KEY promises may lack.
    """
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
                may_break = not kept or (seldom and random.random() < _BREAKING)
                if may_break or keeper.allows(history, stream.name, row):
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
    lacks_partners = not kept or (seldom and random.random() < 2 * _BREAKING)
    return (history, keeper.punctuations) if lacks_partners else with_partners(streams, history, keeper.punctuations)


def with_partners(
    streams: tuple[Stream, ...], history: History, punctuations: Punctuations
) -> tuple[History, Punctuations]:
    """Without the rows that lack the partner that a FOREIGN KEY promises: fewer rows keep every other declaration."""
    keys = [(s.name, scheme) for s in streams for scheme in s.schemes if isinstance(scheme, ForeignKey)]
    kept, size = dict(history), -1
    while keys and size != sum(map(len, kept.values())):
        size = sum(map(len, kept.values()))
        for name, key in keys:
            there = {tuple(row.values[c] for c in key.parent_columns) for row in kept[key.parent]}
            named = [(row, tuple(row.values[c] for c in key.columns)) for row in kept[name]]
            kept[name] = [row for row, values in named if None in values or values in there]
    places = {name: [row.place for row in rows] for name, rows in kept.items()}
    return (
        {name: [replace(row, place=n) for n, row in enumerate(rows)] for name, rows in kept.items()},
        {
            name: [replace(made, place=bisect_left(places[name], made.place)) for made in rows]
            for name, rows in punctuations.items()
        },
    )
