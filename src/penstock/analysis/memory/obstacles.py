"""Everything that stands against bounded memory for one query: violations of C1, C2, C3, and doubts.

A bag query over one stream has no condition to keep. Any other keeps C1 for what its results show (an output, or a
group), and, with several streams, C2 and C3 as a bag or as DISTINCT; aggregates add their own (aggregates.py). An
expression is bounded where its columns are; what it makes of an endless column is a doubt, as is a time difference
between endless columns, which the paper's language does not have.

Preconditions: the query is in the language (`Reading.outside` is empty).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from penstock.analysis.decider_reasons import MemoryReason
from penstock.analysis.facts.values import Interval
from penstock.analysis.memory.aggregates import (
    OpenQuestion,
    aggregate_violations,
    has_one_value_in_a_group,
    is_holistic,
    multiplies_alike,
)
from penstock.analysis.memory.failed_conditions import (
    FailedCondition,
    Placement,
    SourceComparison,
    compared_in_one_stretch,
    edges_of,
    endless_column,
    equal_and_endless,
    extremes_in_conflict,
)
from penstock.analysis.memory.memory_reading import MemoryReading
from penstock.analysis.memory.order import Order
from penstock.analysis.memory.scale import has_scale
from penstock.analysis.memory.self_joins import covered_sources, folded, has_self_join
from penstock.analysis.memory.synopses import is_bag
from penstock.analysis.reasons import Reason
from penstock.model.clauses import Aggregate, Scalar, columns_of
from penstock.model.expressions import ColumnRef, Expression
from penstock.model.query import Query


class Obstacles:
    """A query as read, and everything that stands against bounded memory.

    `every`: each place where a condition fails, constants counting for all names of their stream (self_joins.py).
    """

    def __init__(self, query: Query, *, every: bool = False) -> None:
        self._every = every
        self.covers: tuple[tuple[str, str], ...] = ()
        """The sources that were left out, each with the one that covers it (section 8.1)."""
        self.reading = MemoryReading(query)
        self.order = Order(self.reading)
        if has_self_join(query) and self.order.holds and not is_bag(self.reading, self.order):
            self.covers = covered_sources(query)
            self.reading = MemoryReading(folded(query, self.covers))
            self.order = Order(self.reading)
        if every:
            self.order = Order(self.reading, by_stream=True)
        self.edges: tuple[SourceComparison, ...] = edges_of(self.reading)
        found = list(self._found()) if self.order.holds else []
        self.violations = tuple(dict.fromkeys(each for each in found if isinstance(each, FailedCondition)))
        self.doubts = tuple(dict.fromkeys(each for each in found if isinstance(each, OpenQuestion)))

    def _found(self) -> Iterator[FailedCondition | OpenQuestion]:
        query = self.reading.query
        is_join = len(query.all_sources) > 1
        if query.is_grouped:
            yield from self._shown(query.group_by, MemoryReason.GROUPED_BY, MemoryReason.GROUPS_KEPT())
            if query.distinct:
                yield OpenQuestion(MemoryReason.DISTINCT_OVER_GROUPS())
            if query.grouping_sets:
                yield OpenQuestion(MemoryReason.SETS_OF_KEYS(), tuple(source.alias for source in query.all_sources))
        elif is_join or query.distinct:
            forced = MemoryReason.MAY_BRING()
            if not is_join:
                forced = MemoryReason.GIVEN_ONCE()
            values = tuple(o.value for o in query.outputs if not isinstance(o.value, Aggregate))
            yield from self._shown(values, MemoryReason.GIVEN_OUT, forced)
        if is_join:
            yield from equal_and_endless(self.reading, self.order, every=self._every)
            if is_bag(self.reading, self.order):
                yield from self._as_a_bag()
            else:
                yield from extremes_in_conflict(self.reading, self.edges, self.order, every=self._every)
            yield from self._bands()
        for aggregate in self.reading.aggregates:
            yield from aggregate_violations(aggregate, self.edges, self.order, every=self._every)

    def _as_a_bag(self) -> Iterator[FailedCondition | OpenQuestion]:
        """C3, but where how often a result is found multiplies all values of every aggregate alike."""
        alike = [edge for edge in self.edges if self._multiplies_alike(edge)]
        counted = tuple(edge for edge in self.edges if edge not in alike)
        yield from compared_in_one_stretch(counted, self.order, every=self._every)
        yield from extremes_in_conflict(self.reading, tuple(alike), self.order, every=self._every)
        for violation in compared_in_one_stretch(tuple(alike), self.order):
            yield OpenQuestion(MemoryReason.BUT_ALIKE(violation.named), violation.barred)

    def _multiplies_alike(self, edge: SourceComparison) -> bool:
        reading, order = self.reading, self.order
        return reading.query.is_grouped and all(
            multiplies_alike(aggregate, end.alias, reading, order)
            for aggregate in reading.aggregates
            for end in (edge.low, edge.high)
            if not has_one_value_in_a_group(end, reading, order)
        )

    def _shown(
        self, values: tuple[Scalar, ...], role: MemoryReason, forced: Reason
    ) -> Iterator[FailedCondition | OpenQuestion]:
        """C1, for what a result shows."""
        remembers = self.reading.query.distinct or self.reading.query.is_grouped
        for value in values:
            if isinstance(value, ColumnRef) and self._is_laid_out(value):
                yield from endless_column(self.order, value, role, forced, every=self._every)
                continue
            endless = [ref for ref in columns_of(value) if self.order.endless(ref)]
            if endless:
                unknown = MemoryReason.HOW_MANY(value)
                if value not in endless:
                    unknown = MemoryReason.WHAT_IT_MAKES(value, endless)
                yield OpenQuestion(unknown, tuple(ref.alias for ref in endless))
            elif remembers and isinstance(value, Expression) and not value.deterministic:
                yield OpenQuestion(MemoryReason.MAY_DIFFER(value))

    def _is_laid_out(self, ref: ColumnRef) -> bool:
        """Whether rows carry the column itself, and endlessly many values of its type can be written down."""
        kind = self.reading.kind(ref)
        return kind is not None and has_scale(kind) and not self.reading.is_derived(ref)

    def _bands(self) -> Iterator[OpenQuestion]:
        for difference, text in self.reading.bands:
            endless = [ref for ref in difference.columns if self.order.endless(ref)]
            if endless:
                yield OpenQuestion(MemoryReason.OUTSIDE(text), tuple(ref.alias for ref in difference.columns))

    def with_the_rest_high(self, violation: FailedCondition) -> Iterator[FailedCondition]:
        """The same with other columns as high as can be: below, a row may be its own partner."""
        if not self._every:
            return
        order = self.order
        taken = {order.equal_to(ref)[0] for ref, _ in violation.rungs}
        heads = dict.fromkeys(order.equal_to(ref)[0] for ref in order.columns if ref in self.reading.given)
        free = [head for head in heads if head not in taken]
        high = [(ref, order.endless(ref)[-1]) for ref in free if len(order.endless(ref)) > 1]
        tops = [(ref, order.reach(ref).high) for ref in free]
        last = [(ref, Interval(top, top)) for ref, top in tops if top < order.line(ref).endless[-1].low]
        for chosen in (high, last, high + last):
            if chosen:
                still = [(ref, Placement(stretch, still=True)) for ref, stretch in chosen]
                yield replace(violation, rungs=(*violation.rungs, *still))

    @property
    def results(self) -> int | None:
        """How much DISTINCT or GROUP BY has to remember at most."""
        query = self.reading.query
        if query.is_grouped:
            groups = self._choices(query.group_by)
            kept = [self._choices(_argument(a)) for a in self.reading.aggregates if is_holistic(a)]
            known = [count for count in kept if count is not None]
            return None if groups is None or len(known) < len(kept) else groups * (1 + sum(known))
        if query.distinct:
            return self._choices(tuple(o.value for o in query.outputs if not isinstance(o.value, Aggregate)))
        return 0

    def _choices(self, values: tuple[Scalar, ...]) -> int | None:
        counts: dict[ColumnRef, int] = {}
        for value in values:
            if isinstance(value, Expression) and not value.deterministic:
                return None
            for ref in columns_of(value):
                count = self.order.values(ref)
                if count is None:
                    return None
                counts[self.order.equal_to(ref)[0]] = count + (ref not in self.reading.given)
        return prod(counts.values())


def _argument(aggregate: Aggregate) -> tuple[ColumnRef | Expression, ...]:
    return aggregate.arguments
