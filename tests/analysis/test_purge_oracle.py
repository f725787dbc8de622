"""The oracle for `bounded by purge`: a row that the verdict lets go is one that no future can need.

Random queries over two or three sources (self-joins, inner and outer joins, EXISTS and NOT EXISTS, keys, bands,
[RANGE] windows; ORDERED, FOLLOWS, COOCCURS, PUNCTUATED, PRIMARY KEY, CLUSTERED and FOREIGN KEY declarations), and
random histories that keep those declarations. In each history one row u is picked, of a source that `check` calls
purgeable, and the streams then move on just as far as the edges from u say they must: ordered columns pass the stated
value, the counted rows arrive, punctuations name the values that the rows carry, the row that is named arrives. (A
FOREIGN KEY demands no more than that here: that other rows may lack a partner so far leaves more to come.) From then
on u must be settled: for every continuation c that keeps the declarations, the answer over h + c is the same as that
of an engine that forgot u after h, so that u keeps what it met and meets nothing of c.

The answers come from the naive evaluator in reference.py. The comparison covers a match still to come, a row whose
NULL side would be taken back, and a row of NOT EXISTS that would suppress one.

The second test is the other direction, so that the first cannot pass because every row is settled anyway: before the
streams move on, many rows are still needed.
"""

from __future__ import annotations

import random
from itertools import count, product

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.analysis.check import check_query
from penstock.analysis.closings.between import Way
from penstock.analysis.closings.closing_graph import ChainStep, ClosingGraph, Reachability
from penstock.analysis.facts.together import Facts
from penstock.analysis.finding import Bounded, Means
from penstock.model.clauses import RangeWindow, Source
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Predicate
from penstock.model.query import Query
from penstock.model.relation import Existence, FromTree, Join, JoinKind, Leaf
from penstock.model.schemes import Clustered, Cooccurs, Follows, ForeignKey, Ordered, PrimaryKey, Punctuated, Scheme
from penstock.model.spans import Auto, Rows, Span, Window, Within
from penstock.model.stream import Stream
from tests.analysis.build import number_of, query, stream, where
from tests.analysis.reference import Arrival, Evaluator, Forgotten, is_punctuation, keeps_promises, rows_of

NAMES = ("a", "b", "c")
COLUMNS = "n BIGINT, k BIGINT, m BIGINT, kind BIGINT"
CONTINUATIONS = 60


@st.composite
def schemes_of(draw: st.DrawFn, others: tuple[str, ...]) -> tuple[Scheme, ...]:
    found: list[Scheme] = []
    within = st.sampled_from([None, Rows(1), Rows(2), number_of(0), number_of(2), Auto()])
    if draw(st.integers(0, 3)):
        found.append(Ordered("n", draw(within)))
    if draw(st.integers(0, 5)) == 0:
        found.append(Ordered(draw(st.sampled_from("km")), draw(within)))
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        columns = draw(st.sampled_from([("k",), ("m",), ("k", "m")]))
        scheme = Punctuated(columns, (where("kind = 1"),))
        found += [] if scheme in found else [scheme]
    match draw(st.integers(0, 7)):
        case 0:
            found.append(PrimaryKey(draw(st.sampled_from([("k",), ("k", "m")]))))
        case 1:
            found.append(Clustered("k", draw(st.sampled_from([None, Rows(1), Auto()]))))
        case _:
            pass
    for other in others:
        columns = draw(st.sampled_from([("k",), ("m",), ("k", "m")]))
        match draw(st.integers(0, 5)):
            case 0:
                rows = st.sampled_from([None, Rows(1), Rows(2), Auto(), number_of(1), number_of(2)])
                found.append(Follows(other, columns, columns, draw(rows)))
            case 1:
                low = draw(st.sampled_from([None, -2, -1, 0]))
                high = draw(st.sampled_from([None, 0, 1, 2]))
                window = Window(None if low is None else number_of(low), None if high is None else number_of(high))
                found.append(Cooccurs(columns, other, columns, window))
            case 2:
                found.append(ForeignKey(columns, other, columns))
            case _:
                pass
    return tuple(found)


@st.composite
def conditions(draw: st.DrawFn, one: str, other: str) -> tuple[Predicate, ...]:
    texts = []
    if draw(st.integers(0, 3)):
        texts.append(f"{one}.k = {other}.k")
    if draw(st.integers(0, 4)) == 0:
        texts.append(f"{one}.m {draw(st.sampled_from(['=', '<', '<=', '>']))} {other}.m")
    if draw(st.booleans()):
        op = draw(st.sampled_from(["<=", "<", ">=", "="]))
        texts.append(f"{one}.n {op} {other}.n {draw(st.sampled_from('+-'))} {draw(st.integers(0, 2))}")
    return tuple(where(text) for text in dict.fromkeys(texts))


@st.composite
def queries(draw: st.DrawFn) -> Query:
    names = NAMES[: draw(st.integers(2, 3))]
    # Under "b" the stream a may stand a second time: a self-join.
    itself = draw(st.integers(0, 5)) == 0
    declared = tuple(n for n in names if not (itself and n == "b"))
    streams = {n: stream(n, COLUMNS, *draw(schemes_of(declared)), time="n") for n in declared}
    streams.setdefault("b", streams["a"])
    windows = [RangeWindow(number_of(draw(st.integers(1, 3)))) if draw(st.integers(0, 3)) == 0 else None for _ in names]
    sources = [Source(streams[n], n, w) for n, w in zip(names, windows, strict=True)]
    existences: tuple[Existence, ...] = ()
    if draw(st.integers(0, 4)) == 0:
        held = sources.pop()
        partner = draw(st.sampled_from([s.alias for s in sources]))
        existences = (Existence(held, draw(st.booleans()), draw(conditions(partner, held.alias))),)
    tree: FromTree = Leaf(sources[0].alias)
    for index, source in enumerate(sources[1:]):
        kind = draw(st.sampled_from([JoinKind.INNER, *JoinKind]))
        before = draw(st.sampled_from([s.alias for s in sources[: index + 1]]))
        tree = Join(kind, tree, Leaf(source.alias), draw(conditions(before, source.alias)))
    filters: tuple[str | Predicate, ...] = ("a.m < 2",) if draw(st.integers(0, 5)) == 0 else ()
    if len(sources) > 1 and draw(st.integers(0, 5)) == 0:
        filters += draw(conditions(sources[0].alias, sources[-1].alias))
    return query(sources, *filters, tree=tree, exists=existences)


class World:
    """A history that grows only by rows that keep the declarations."""

    def __init__(self, of: Query, seed: int) -> None:
        self.query = of
        self.streams: list[Stream] = list(dict.fromkeys(s.stream for s in of.all_sources))
        self.random = random.Random(seed)
        self.history: list[Arrival] = []
        self._numbers = count()

    def row(self, name: str, n: int, k: int | None, m: int | None, kind: int = 0) -> Arrival:
        return Arrival(name, next(self._numbers), (("n", n), ("k", k), ("m", m), ("kind", kind)))

    def any_row(self, times: range) -> Arrival:
        small = (0, 1, 1, 2, None)
        chosen = self.random.choice(self.streams)
        pick = self.random.choice
        return self.row(chosen.name, self.random.choice(times), pick(small), pick(small))

    def add(self, arrival: Arrival) -> bool:
        if keeps_promises(self.streams, [*self.history, arrival]):
            self.history.append(arrival)
            return True
        return False

    def settled(self, alias: str, u: Arrival, times: range) -> bool:
        """Whether no continuation that we try needs u under that alias."""
        for _ in range(CONTINUATIONS):
            future = [self.any_row(times) for _ in range(self.random.choice((1, 1, 2)))]
            # Rows that carry what u carries are the ones that could need it.
            future = [self.like(a, u) if self.random.random() < 0.7 else a for a in future]
            history = [*self.history, *future]
            if not keeps_promises(self.streams, history):
                continue
            if (
                Evaluator(self.query, history).answer()
                != Evaluator(self.query, history, Forgotten(alias, u, frozenset(future))).answer()
            ):
                return False
        return True

    def like(self, arrival: Arrival, u: Arrival) -> Arrival:
        n = arrival.value("n")
        assert n is not None
        return self.row(arrival.stream, n, u.value("k"), u.value("m"))

    def move_on(self, u: Arrival, alias: str, reach: Reachability) -> bool:
        """Let the streams pass what the edges name, no further than that where u's own edges say how far."""
        for edge in reach.edges:
            rows = [[u] if source == alias else self.data(_name(self, source)) for source in edge.sources]
            for start in product(*rows):
                if not self._pass(edge, dict(zip(edge.sources, start, strict=True))):
                    return False
        return True

    def data(self, name: str) -> list[Arrival]:
        """The rows of a stream so far that are no punctuations."""
        (stream,) = [s for s in self.streams if s.name == name]
        return [a for a in self.history if a.stream == name and not is_punctuation(stream, a)]

    def _pass(self, edge: ChainStep, met: dict[str, Arrival]) -> bool:
        target = self.query.by_alias[edge.target].stream
        start = met[edge.source]
        if edge.closing.way in (Way.PUNCTUATION, Way.KEY, Way.CLUSTER):
            return self._close(edge, target, met)
        if edge.closing.passage is not None:
            value = start.value(edge.closing.passage.start.column)
            if value is None:
                return True
            return self.pass_value(target, edge.closing.passage.ordered.column, value + edge.closing.passage.ticks + 1)
        if isinstance(edge.closing.scheme, Follows):
            later = self.history[self.history.index(start) + 1 :]
            arrived = [a for a in later if a.stream == target.name and not is_punctuation(target, a)]
            missing = rows_of(edge.closing.scheme.slack) - len(arrived)
            return all(self._fill(target, {}) for _ in range(missing))
        return True

    def _close(self, edge: ChainStep, target: Stream, met: dict[str, Arrival]) -> bool:
        """A punctuation of the values that the rows carry; or the row that they name, and others after it."""
        scheme = edge.closing.scheme
        assert isinstance(scheme, Punctuated | PrimaryKey | Clustered)
        columns = (scheme.column,) if isinstance(scheme, Clustered) else scheme.columns
        equalities = self.query.equalities(frozenset({*met, edge.target}))
        values: dict[str, int | None] = {}
        for column in columns:
            equal = equalities.class_of(ColumnRef(edge.target, column))
            values[column] = next(row.value(r.column) for s, row in met.items() for r in equal if r.alias == s)
        if None in values.values():
            return True
        named = {column: value for column, value in values.items() if value is not None}
        if isinstance(scheme, Punctuated):
            closing = self.row(target.name, 0, named.get("k"), named.get("m"), kind=1)
            self.history.append(closing)
            return keeps_promises(self.streams, self.history)
        arrived = any(all(a.value(c) == v for c, v in named.items()) for a in self.data(target.name))
        if not arrived and not self._fill(target, named):
            return False
        others = rows_of(scheme.slack) + 1 if isinstance(scheme, Clustered) else 0
        return all(self._fill(target, {}) for _ in range(others))

    def pass_value(self, target: Stream, column: str, low: int) -> bool:
        """Let an ordered column come so far that nothing below `low` may follow."""
        slack: Within = target.ordering(column)[0].slack
        seen = [v for a in self.data(target.name) if (v := a.value(column)) is not None]
        # It may be further already.
        if isinstance(slack, Span):
            return self._fill(target, {column: max([low + slack.ticks, *seen])})
        return all(self._fill(target, {column: max([low, *seen])}) for _ in range(rows_of(slack) + 1))

    def _fill(self, target: Stream, wanted: dict[str, int]) -> bool:
        """A row that meets nothing: keys that nobody has, the latest values of ordered columns."""
        own = self.data(target.name)
        fresh = next(self._numbers) + 100
        values: dict[str, int] = {}
        for column in ("n", "k", "m"):
            latest = max((v for a in own if (v := a.value(column)) is not None), default=0)
            is_key = column != "n" and not target.ordering(column)
            values[column] = wanted.get(column, fresh if is_key else latest)
        return self.add(self.row(target.name, values["n"], values["k"], values["m"]))


def _name(world: World, alias: str) -> str:
    return world.query.by_alias[alias].stream.name


def _purged(of: Query) -> list[str]:
    found = []
    for entry in check_query(of).streams:
        if isinstance(entry.finding, Bounded) and entry.finding.means in (Means.PURGE, Means.STATELESS):
            found.append(entry.alias)
    return found


def _start(of: Query, seed: int) -> tuple[World, str, Arrival]:
    """A history, and a row in it of a source that can be purged."""
    purged = _purged(of)
    assume(purged)
    world = World(of, seed)
    alias = world.random.choice(purged)
    for _ in range(world.random.randrange(2, 7)):
        world.add(world.any_row(range(6)))
    own = world.data(_name(world, alias))
    assume(own)
    return world, alias, world.random.choice(own)


@settings(max_examples=100)
@given(queries(), st.integers(0, 2**32))
def test_a_row_is_settled_once_the_streams_have_passed_what_the_bound_names(of: Query, seed: int) -> None:
    world, alias, u = _start(of, seed)
    assume(world.move_on(u, alias, ClosingGraph(Facts(of)).reach(alias)))
    assert world.settled(alias, u, range(-1, 14))


def test_before_the_streams_move_on_many_rows_are_still_needed() -> None:
    needed = 0

    @settings(max_examples=120, database=None, derandomize=True)
    @given(queries(), st.integers(0, 2**32))
    def look(of: Query, seed: int) -> None:
        nonlocal needed
        world, alias, u = _start(of, seed)
        needed += not world.settled(alias, u, range(-1, 14))

    look()
    assert needed >= 8
