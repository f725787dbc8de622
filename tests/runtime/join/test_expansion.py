"""The purge rule of DESIGN section 1 against a transcription of it, on punctuated streams: state is what it says.

The oracle keeps all rows and all punctuations for ever. A stream x is closed for a partial result p if no imaginable
tuple of x, values that occur nowhere included, keeps all promises of x, passes its filters and agrees with p. A
row is useless if, by the recursive definition, its partial result is. It is slow and knows nothing of plans, closers,
chains or marks. Rows that left earlier stand in its way as they would if they were stored: a row that left was
useless, and so is whatever it stands in.

After every step, the core must store the rows that the oracle does not call useless, no other, none less; on trees
and on cycles, with single and joint punctuations, in whatever order data and punctuations come. Promise rows that it
has forgotten may not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.analysis.check import check_query
from penstock.model.clauses import Source
from penstock.model.expressions import ColumnRef, Constant
from penstock.model.predicates import Bound, Comparison, Op, Predicate
from penstock.model.stream import Column, Stream
from penstock.plan.planner import make_plan
from penstock.runtime import Cell
from penstock.runtime.state.synopsis import ALL
from tests.measure import size
from tests.runtime.reference import Arrived
from tests.runtime.workloads import BIGINT, Workload, histories, punctuated, query_over

KEYS = ("a", "b")
NOWHERE = (-99, 99)
"""Values that no row and no punctuation has."""

Row = dict[str, Any]


@dataclass
class Oracle:
    """The rule, over all that has arrived up to a batch."""

    workload: Workload
    batch: int

    def __post_init__(self) -> None:
        query = self.workload.query
        self.sources = query.sources
        self.aliases = tuple(s.alias for s in self.sources)
        self.equal = equal_columns([p for p in query.predicates if isinstance(p, Comparison)])
        self.filters = [p for p in query.predicates if isinstance(p, Bound)]
        self.rows = {s.alias: [a for a in self.arrived(s) if self.stands(s.alias, a.values)] for s in self.sources}
        self._known: dict[tuple[tuple[str, int], ...], bool] = {}
        self.imagined = {s.alias: list(self._imagine(s)) for s in self.sources}

    def arrived(self, source: Source) -> list[Arrived]:
        return [a for a in self.workload.history[source.stream.name] if a.batch <= self.batch]

    def stands(self, alias: str, row: Row) -> bool:
        """Whether a row by itself can be in a result."""
        own = [ref.column for pair in self.equal for ref in pair if ref.alias == alias]
        passed = all(
            value is not None and (value == f.constant.value if f.op is Op.EQ else value < f.constant.value)
            for f in self.filters
            for value in [row[f.column.column]]
            if f.column.alias == alias
        )
        return passed and all(row[c] is not None for c in own) and self.agree({alias: row})

    def agree(self, partial: dict[str, Row]) -> bool:
        return all(
            partial[left.alias][left.column] == partial[right.alias][right.column]
            for left, right in self.equal
            if left.alias in partial and right.alias in partial
        )

    def _imagine(self, source: Source) -> Any:
        """Every tuple that may still come, as far as its keys go."""
        made = [p for p in self.workload.punctuations[source.stream.name] if p.batch <= self.batch]
        for values in product((*range(4), *NOWHERE), repeat=len(KEYS)):
            row = dict(zip(KEYS, values, strict=True))
            closed = any(
                p.makes(scheme) and all(row[c] == p.values[c] for c in scheme.columns)
                for p in made
                for scheme in p.schemes
            )
            if not closed and self.stands(source.alias, row):
                yield row

    def closed(self, partial: dict[str, Row], x: str) -> bool:
        return not any(self.agree({**partial, x: row}) for row in self.imagined[x])

    def useless(self, partial: dict[str, Row]) -> bool:
        known = tuple(sorted((alias, row["n"]) for alias, row in partial.items()))
        if known not in self._known:
            self._known[known] = self._is_useless(partial)
        return self._known[known]

    def _is_useless(self, partial: dict[str, Row]) -> bool:
        others = [x for x in self.aliases if x not in partial]
        return not others or any(
            self.closed(partial, x)
            and all(
                self.useless({**partial, x: u.values}) for u in self.rows[x] if self.agree({**partial, x: u.values})
            )
            for x in others
        )

    def kept(self, alias: str) -> list[int]:
        return [a.values["n"] for a in self.rows[alias] if not self.useless({alias: a.values})]


def equal_columns(predicates: list[Comparison]) -> set[tuple[ColumnRef, ColumnRef]]:
    """All ordered pairs of columns that the equalities make equal, step by step until nothing is added."""
    pairs = {(p.left, p.right) for p in predicates} | {(p.right, p.left) for p in predicates}
    while True:
        further = {(a, d) for a, b in pairs for c, d in pairs if b == c and a != d} - pairs
        if not further:
            return pairs
        pairs |= further


def rings(count: int) -> st.SearchStrategy[list[Predicate]]:
    """Each stream meets the next on a class of its own, the last the first: no tree, so partial results are grown."""
    return st.just(
        [Comparison(ColumnRef(f"x{n}", "b"), Op.EQ, ColumnRef(f"x{(n + 1) % count}", "a")) for n in range(count)]
    )


@st.composite
def webs(draw: st.DrawFn, count: int) -> list[Predicate]:
    """Each stream meets an earlier one, and a few pairs meet besides."""
    key = st.sampled_from(KEYS)
    found: list[Predicate] = [
        Comparison(ColumnRef(f"x{draw(st.integers(0, n - 1))}", draw(key)), Op.EQ, ColumnRef(f"x{n}", draw(key)))
        for n in range(1, count)
    ]
    for _ in range(draw(st.integers(0, 3))):
        i, j = draw(st.lists(st.integers(0, count - 1), min_size=2, max_size=2, unique=True))
        found.append(Comparison(ColumnRef(f"x{i}", draw(key)), Op.EQ, ColumnRef(f"x{j}", draw(key))))
    return found


@st.composite
def punctuated_joins(draw: st.DrawFn) -> Workload:
    count = draw(st.integers(2, 4))
    columns = (Column("n", BIGINT), Column("a", BIGINT), Column("b", BIGINT), Column("ts", BIGINT))
    names = [f"s{n}" for n in range(count)]
    if draw(st.integers(0, 5)) == 0:
        names[-1] = names[0]
    drawn = st.lists(punctuated(lifespans=False), min_size=1, max_size=3, unique_by=lambda s: s.text)
    schemes = {name: tuple(draw(drawn)) for name in dict.fromkeys(names)}
    streams = {name: Stream(name, columns, "ts", schemes=declared) for name, declared in schemes.items()}
    is_ring = count > 2 and draw(st.booleans())
    where = draw(rings(count) if is_ring else webs(count))
    tied = {ref for p in where for ref in p.columns}
    free = [ref for ref in (ColumnRef(f"x{n}", c) for n in range(count) for c in KEYS) if ref not in tied]
    # No filter on a column that others equal: what it says of their streams is not used. None that holds all columns
    # of a scheme: that such a punctuation ends its stream for the query is not used either.
    free = [r for r in free if all(s.columns != (r.column,) for s in schemes[names[int(r.alias[1:])]])]
    is_filtered = draw(st.integers(0, 1))
    if free and is_filtered:
        where.append(Bound(draw(st.sampled_from(free)), draw(st.sampled_from([Op.EQ, Op.LT])), Constant("2", 2)))
    query = query_over([Source(streams[name], f"x{n}") for n, name in enumerate(names)], where)
    batches = draw(st.integers(1, 4))
    history, punctuations = draw(histories(tuple(streams.values()), BIGINT, batches, 5, punctuating=0.6))
    return Workload(query, history, batches, draw(st.integers(1, 2)), punctuations)


@settings(max_examples=size(60, 4000), deadline=None, suppress_health_check=list(HealthCheck))
@given(punctuated_joins())
def test_what_is_stored_is_what_the_rule_says(workload: Workload) -> None:
    plan = make_plan(workload.query, check_query(workload.query))
    cell = Cell(plan)
    for number in range(workload.batches):
        result = cell.step(workload.batch(plan, number))
        assert result.metrics.violations == {}
        oracle = Oracle(workload, number)
        for alias in plan.aliases:
            synopsis = cell.synopses[alias]
            stored = synopsis.arrow("n", synopsis.ids(ALL)).to_pylist()
            assert sorted(stored) == sorted(oracle.kept(alias)), f"batch {number}, {alias}"
