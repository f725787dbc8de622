"""Is there an input in which a row is needed for ever, whatever is promised? SAFETY's Theorems 1 and 3, "only if".

Let R be what a source s reaches, and U the rest. The input has blocks: a row of s, rows of R that match it, all with
values of their own; then a row of each stream of U that matches nothing, so that all streams move on; then every
punctuation of these values. Nothing closes U for a row of s: a scheme on a stream of U has a column whose value no
row of R carries, so that a new value is left whatever finite set of promises came; an ordered column of U lies as far
above R as it likes. So rows of U that complete the first block may still come after any number of blocks (Definition
4).

The input is written out, and that it keeps every declaration, that the rows of U may still come, and that they make a
result, is seen on the rows themselves, the declarations taken as strictly as they may be meant (declarations_hold.py).
Where that fails, or a condition is one that only Spark reads, the answer is not known: `Doubt` says why.

The state grows with the input where the rows differ in a column that a result can tell: one that equals a column of U
(a subset of the blocks gives itself away by which rows of U find a match), or, for a bag, an output. Outer joins are
looked at as if they were inner: what an inner join needs again, an outer one gives out too; it counts as growth only
where both sides of the match are in the output, since an outer join may give out the rest anyway. Not decided: EXISTS.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from penstock.analysis.closings.between import Way
from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.closings.edges import stalled
from penstock.analysis.closings.punctuated_columns import carriers, narrowed
from penstock.analysis.facts.together import Facts
from penstock.analysis.facts.truth import ticks_between
from penstock.analysis.finding import Witness
from penstock.analysis.memory.memory_reading import MemoryReading, is_left_to_spark
from penstock.analysis.reasons import Growth, NoWitness, Told
from penstock.analysis.witness.declarations_hold import Arrived, broken
from penstock.analysis.witness.punctuating import punctuations
from penstock.analysis.witness.witness_values import CannotLayOut, Layout
from penstock.model.clauses import columns_of
from penstock.model.expressions import ColumnRef
from penstock.model.relation import FromTree, Join, JoinKind, Leaf
from penstock.model.schemes import Follows, ForeignKey, Ordered, Punctuated
from penstock.model.spans import Rows
from penstock.records import record

SHOWN = 10
"""Rows of a growing input that a finding carries."""
_TRIED = 3
"""Blocks that are written out to see that the pattern holds."""
_FAR = (10**5, 10**3)
"""Blocks so late that a limit which the domains do not see would show; the first that the calendar has room for."""


@record
class Scenario:
    """A pattern of blocks in which rows of `alias` are needed for ever; `graph` is only read."""

    graph: ClosingGraph
    alias: str
    layout: Layout
    reading: MemoryReading

    @cached_property
    def met(self) -> tuple[str, ...]:
        """The source itself and what it reaches, in an order that FOLLOWS allows."""
        reach = self.graph.reach(self.alias)
        return self._in_order((self.alias, *(edge.target for edge in reach.edges)))

    @cached_property
    def waited_for(self) -> tuple[str, ...]:
        """What it does not reach, in an order that FOLLOWS allows."""
        return self._in_order(self.graph.reach(self.alias).unreached)

    @cached_property
    def _carried(self) -> frozenset[ColumnRef]:
        return frozenset(self.layout.node(ref) for alias in self.met for ref in self.layout.of(alias))

    def block(self, number: int) -> Iterator[Arrived]:
        """The rows of one block."""
        layout, by_alias = self.layout, self.graph.query.by_alias
        for alias in self.met:
            yield Arrived(by_alias[alias].stream, layout.row(alias, number))
        for alias in self.waited_for:
            stream = by_alias[alias].stream
            # A row that matches nothing would lack the partner that a FOREIGN KEY demands.
            if not any(isinstance(s, ForeignKey) for s in stream.schemes):
                yield Arrived(stream, layout.row(alias, number, half=True))
        for alias in (*self.met, *self.waited_for):
            yield from punctuations(layout, alias, self.met, self._carried, number)

    def rest(self, number: int, after: int) -> Iterator[tuple[str, dict[str, object]]]:
        """The rows of the other streams that complete a block, come after another."""
        layout = self.layout
        for alias in self.waited_for:
            values = layout.row(alias, number)
            for ref in self._new[alias]:
                values[ref.column] = layout.value(ref, after)
            yield alias, values

    def rows(self, count: int) -> tuple[tuple[str, tuple[tuple[str, object], ...]], ...]:
        """The first rows of the input, as a witness shows them."""
        found: list[Arrived] = []
        number = 1
        while len(found) < count:
            found += self.block(number)
            number += 1
        return tuple((row.stream.name, self._shown(row)) for row in self._numbered(found[:count]))

    def check(self) -> None:
        """See on the rows themselves that the pattern holds; raises Doubt where it does not."""
        for limit in self._half_closed():
            raise CannotLayOut(limit)
        history = [row for number in range(1, _TRIED + 1) for row in self.block(number)]
        rest = dict(self.rest(1, _TRIED + 1))
        future = [Arrived(self.graph.query.by_alias[alias].stream, values) for alias, values in rest.items()]
        problem = broken(self._numbered([*history, *future]))
        if problem is not None:
            raise CannotLayOut(NoWitness.BREAKS(problem))
        self._matches(1, rest)
        for far in _FAR:
            try:
                self._matches(far, dict(self.rest(far, far + 1)))
            except OverflowError:
                continue
            return
        raise CannotLayOut(NoWitness.NO_ROOM_IN_CALENDAR())

    def _half_closed(self) -> Iterator[Told]:
        """What closes some values of a stream that is waited for and not others: neither safe nor shown to grow."""
        facts, by_alias = self.graph.facts, self.graph.query.by_alias
        for target in self.waited_for:
            schemes = by_alias[target].stream.schemes
            for scheme in schemes:
                if isinstance(scheme, Punctuated):
                    refs = [ColumnRef(target, column) for column in scheme.columns]
                    why = narrowed(scheme, by_alias[target].stream)
                    if why is not None and any(carriers(facts, ref) for ref in refs):
                        yield why
            for via in self.met if any(isinstance(s, Ordered) for s in schemes) or by_alias[target].stream.low else ():
                yield from stalled(by_alias[via], by_alias[target], facts.of())
        for closing in self.graph.declared:
            if closing.way is Way.CLUSTER and not closing.certain and len(closing.because) > 1:
                yield NoWitness.FINITE_AND_CLUSTERED(closing.because[0])

    def _matches(self, number: int, rest: dict[str, dict[str, object]]) -> None:
        rows = {alias: self.layout.row(alias, number) for alias in self.met} | rest
        values = {ColumnRef(alias, column): value for alias, row in rows.items() for column, value in row.items()}
        for condition in self.reading.conditions:
            if not condition.passes(values):
                raise CannotLayOut(NoWitness.FAILS(condition.text))
        for constraint in self.layout.here.bands.constraints:
            if not constraint.limit.allows(_apart(values[constraint.later], values[constraint.earlier])):
                raise CannotLayOut(NoWitness.FAILS(constraint.reason.text))

    @cached_property
    def _new(self) -> dict[str, tuple[ColumnRef, ...]]:
        """The columns of the streams that are waited for which no row of a block limits: they move on with time."""
        own, layout = self._own, self.layout
        found = {}
        for alias in self.waited_for:
            refs = [ref for ref in layout.of(alias) if layout.node(ref) not in own and layout.shifts(ref)]
            found[alias] = tuple(ref for ref in refs if not self._is_limited(layout.node(ref)))
        return found

    @cached_property
    def _own(self) -> frozenset[ColumnRef]:
        """The nodes whose values the rows of a block carry."""
        return frozenset(self.layout.node(ref) for alias in self.met for ref in self.layout.of(alias))

    def _is_limited(self, node: ColumnRef) -> bool:
        """Whether a column can lie only so far above one that has arrived."""
        bands = self.layout.here.bands
        return bands.touches(node) and any(bands.upper(node, n) is not None for n in self._own if bands.touches(n))

    def _in_order(self, aliases: Sequence[str]) -> tuple[str, ...]:
        """Parents that must have come before their children first; else as given."""
        left, placed = list(aliases), list[str]()
        children = {alias: self._parents[alias] for alias in aliases if self._parents[alias]}
        while left:
            free = (a for a in left if a not in children or children[a].isdisjoint(b for b in left if b != a))
            placed.append(next(free, left[0]))
            left.remove(placed[-1])
        return tuple(placed)

    @cached_property
    def _parents(self) -> dict[str, frozenset[str]]:
        """For each source, those whose matches must have come before it."""
        sources = self.graph.query.all_sources
        found = {}
        for child in sources:
            named = set()
            for scheme in child.stream.schemes:
                if isinstance(scheme, Follows) and (not isinstance(scheme.slack, Rows) or scheme.slack.count == 0):
                    named.add(scheme.parent)
            found[child.alias] = frozenset(s.alias for s in sources if named and s.stream.name in named)
        return found

    def _numbered(self, rows: Sequence[Arrived]) -> list[Arrived]:
        """The rows with their place in ARRIVES BY."""
        found = []
        aliases = {source.stream.name: source.alias for source in self.graph.query.all_sources}
        for place, row in enumerate(rows):
            arrival = self.layout.arrival(aliases[row.stream.name], place + 1)
            values = row.values if arrival is None else {**row.values, arrival[0]: arrival[1]}
            found.append(Arrived(row.stream, values, row.closes))
        return found

    def _shown(self, row: Arrived) -> tuple[tuple[str, object], ...]:
        alias = next(s.alias for s in self.graph.query.all_sources if s.stream == row.stream)
        return tuple(self.layout.completed(alias, dict(row.values)).items())


def _apart(later: object, earlier: object) -> int:
    """How far two values lie apart; of types without lengths only the order counts."""
    apart = ticks_between(later, earlier)
    if apart is not None:
        return int(apart)
    return (str(later) > str(earlier)) - (str(later) < str(earlier))


def scenarios(graph: ClosingGraph, aliases: Sequence[str]) -> dict[str, Scenario | Told]:
    """For each of these sources, which do not reach all others: a scenario, or why there is none known."""
    if not graph.query.is_inner and not graph.query.existences:
        return _as_if_inner(graph, aliases)
    reading = MemoryReading(graph.query)
    why = _not_read(reading)
    if why is None:
        try:
            layout = Layout(graph.facts)
            layout.places  # noqa: B018 - laid out once, for all
        except CannotLayOut as doubt:
            why = doubt.reason
    if why is not None:
        return dict.fromkeys(aliases, why)
    found: dict[str, Scenario | Told] = {}
    # The rows that a block holds beside its first are needed for ever too: the largest blocks show most.
    for alias in sorted(aliases, key=lambda a: len(graph.reach(a).unreached)):
        if alias in found:
            continue
        scenario = Scenario(graph, alias, layout, reading)
        try:
            scenario.check()
        except CannotLayOut as doubt:
            found[alias] = doubt.reason
        else:
            found.update(dict.fromkeys((a for a in scenario.met if a in aliases), scenario))
    return {alias: found[alias] for alias in aliases}


def _as_if_inner(graph: ClosingGraph, aliases: Sequence[str]) -> dict[str, Scenario | Told]:
    """Under outer joins: a row that the inner join of the same streams needs again is in a result to come here too."""
    inner = ClosingGraph(Facts(graph.query.with_block(replace(graph.query.block, tree=_inner(graph.query.tree)))))
    left = [alias for alias in aliases if not inner.reach(alias).is_complete]
    found = scenarios(inner, left)
    return {alias: found.get(alias, NoWitness.ONLY_ABSENCE()) for alias in aliases}


def _inner(tree: FromTree) -> FromTree:
    return tree if isinstance(tree, Leaf) else Join(JoinKind.INNER, _inner(tree.left), _inner(tree.right), tree.on)


def _not_read(reading: MemoryReading) -> Told | None:
    if not reading.query.is_inner:
        return NoWitness.UNDER_EXISTS()
    for condition in reading.conditions:
        if is_left_to_spark(reading, condition.predicate):
            return NoWitness.READ_BY_SPARK(condition.text)
    return None


def growing(graph: ClosingGraph, found: Mapping[str, Scenario | Told]) -> Witness | None:
    """An input that makes the state grow, whatever algorithm keeps it; None if none is known."""
    known = [
        (alias, scenario)
        for alias, scenario in found.items()
        if isinstance(scenario, Scenario) and (graph.query.is_inner or _shows_matches(graph, scenario, alias))
    ]
    for alias, scenario in known:
        tie = _tie(scenario, alias)
        if tie is not None:
            own, other = tie
            growth = Growth.NEW_KEY_MAY_MATCH(alias, own.column, other.alias, other, own)
            return Witness(growth, scenario.rows(SHOWN), scenario.rows)
    for alias, scenario in known if not graph.query.distinct and not graph.query.is_grouped else ():
        given = [ref for output in graph.query.outputs for ref in columns_of(output.value) if ref.alias == alias]
        new = [ref for ref in given if scenario.layout.shifts(ref)]
        if new:
            growth = Growth.NEW_VALUE_MAY_MATCH(alias, new[0].column, scenario.waited_for[0])
            return Witness(growth, scenario.rows(SHOWN), scenario.rows)
    return None


def _shows_matches(graph: ClosingGraph, scenario: Scenario, alias: str) -> bool:
    """Whether results tell a match of a source with what it waits for from rows that an outer join gives anyway."""
    if graph.query.is_grouped:
        return False
    given = {
        v for output in graph.query.outputs if isinstance(v := output.value, ColumnRef) and scenario.layout.shifts(v)
    }
    return any(ref.alias == alias for ref in given) and any(ref.alias in scenario.waited_for for ref in given)


def _tie(scenario: Scenario, alias: str) -> tuple[ColumnRef, ColumnRef] | None:
    """A column of a source that is new in each block and equals one of a stream that is waited for."""
    equalities = scenario.layout.here.equalities
    for own in scenario.layout.of(alias):
        if scenario.layout.shifts(own):
            theirs = [ref for ref in equalities.class_of(own) if ref.alias in scenario.waited_for]
            if theirs:
                return own, theirs[0]
    return None
