"""Counts and sums along the join tree: what a batch adds to the groups, without making a result of the join.

The passes are those of delta joins: each result has one last source, in an order of the sources, from which it takes a
fresh row. A pass starts from the fresh rows of that source, made one row for each choice of what the join and the
groups can tell apart. From each row the tree is walked down to the rows that it meets, each of them looked at once, and
what lies below an edge comes back as counts and sums for each choice of the columns that the edge compares. So a pass
costs what the rows met cost, and not how often they meet. Where an edge has conditions other than equality and they all
limit one column of the child, a band of event times above all, what lies in a range of it is looked up in running sums
(`range_sums.py`); else the pairs of that edge are made, and only they.

Where rows of two streams meet about one row each, nothing is gained by that: results are joined and then added up.

Under [RANGE d] the plan may ask for `latest.py` instead. Where it has no tree, results are joined and then added up.
So are the rows of outer joins and EXISTS, each when it is given: it is certain then, and is never taken back.

An outer join of two streams gives its matches and the rows that have none. The matches are those of the inner join of
the rows that are able to match, so they are added up along their edge in the same way. Of each kept row it must then be
known whether it has matched (`match/semi_join.py`). So a batch costs what the rows met cost, and not how often they
meet.

Precondition: the plan has this edge as its tree (plan/aggregating.py), so nothing is asked of the joined row and no
[ROWS n] of its members. Rows without a match are given by the node when they are certain, and are added up then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.aggregate import COUNT, AggregatePlan, Fold
from penstock.plan.parts import PairPredicate
from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import Bools, Ints, flat, is_coded, union
from penstock.runtime.columns.hashing import combine
from penstock.runtime.group.bag import Bag
from penstock.runtime.group.derived import columns_of_measure
from penstock.runtime.group.latest import Latest
from penstock.runtime.group.measures import from_columns
from penstock.runtime.group.numbering import Groups, grouped, grouped_by_hashes
from penstock.runtime.group.range_sums import RangeSums
from penstock.runtime.input.arrival_order import ArrivalOrder
from penstock.runtime.input.clock import Clock
from penstock.runtime.join.join_tree import JoinTree
from penstock.runtime.join.merge import stands_for
from penstock.runtime.join.node import Node
from penstock.runtime.join.rows import ABSENT
from penstock.runtime.match.delta_join import delta_join, passes
from penstock.runtime.match.key_matching import Keyed, match_keys
from penstock.runtime.match.key_ranges import limits
from penstock.runtime.match.matching import Matcher, Partial
from penstock.runtime.state.key_index import TooManyPairs
from penstock.runtime.state.synopsis import FRESH

_NO_COUNT = pa.array([], pa.int64())
_EXACT = 3
"""The columns of an exact sum."""
_TWO = 2
LEAST_FRESH = 1000
"""Rows of a batch from which on it is looked how many they meet."""
_FEW_EACH = 2
"""As many as a row may meet for that to be few."""


@dataclass(frozen=True)
class LimitedColumn:
    """A column of a stream, how it is read as numbers, and the conditions that limit it, the column on the left."""

    column: str
    how: str
    predicates: tuple[PairPredicate, ...]


class CountAlongTree:
    """Works out, for one cell, what a batch adds to the groups."""

    def __init__(self, plan: Plan, aggregate: AggregatePlan, matcher: Matcher) -> None:
        self.plan = plan
        self.aggregate = aggregate
        self.matcher = matcher
        self.synopses = matcher.synopses
        self.neighbours: dict[str, list[str]] = {alias: [] for alias in plan.aliases}
        for edge in aggregate.tree or ():
            self.neighbours[edge.one].append(edge.other)
            self.neighbours[edge.other].append(edge.one)

    @property
    def counts_matches(self) -> bool:
        """Whether what a batch adds by matches is worked out here, and not from the results of an outer join."""
        return self.plan.inner

    def added(self, clock: Clock, across: ArrivalOrder | None) -> Any:
        """What a batch adds, for the second stage: a row for each choice of what it can tell apart."""
        if self.aggregate.by_latest:
            latest = Latest(self.plan, self.synopses, self._rows)
            bags = [
                bag for start, parts in passes(self.plan.aliases, self.synopses) for bag in latest.added(start, parts)
            ]
        elif self.aggregate.tree is None or self._meets_few():
            found = delta_join(self.plan, self.matcher, clock, across, self.plan.tree.root.asked)
            bags = [self._of_results(partial) for partial in found]
        else:
            bags = []
            for start, parts in passes(self.plan.aliases, self.synopses):
                fresh = self._only_able(start, self.synopses[start].ids(FRESH))
                if len(fresh):
                    _, bag = self._below(start, fresh, None, parts)
                    bags.append(bag.owned(np.zeros(len(bag), np.int64)))
        return self._added_up(bags)

    def _meets_few(self) -> bool:
        """Whether rows of two streams meet one row or so: results made and added up cost less than groups of rows.

        What is looked up for that is kept for the join that follows.
        """
        if len(self.plan.aliases) != _TWO or not self.plan.inner:
            return False
        fresh = sum(self.synopses[alias].size(FRESH) for alias in self.plan.aliases)
        return fresh >= LEAST_FRESH and all(
            self._meets_about_one(start, parts) for start, parts in passes(self.plan.aliases, self.synopses)
        )

    def _meets_about_one(self, start: str, parts: Mapping[str, str]) -> bool:
        ((other, part),) = parts.items()
        axes, ids = self.matcher.shared_axes(frozenset({start}), other), self.synopses[start].ids(FRESH)
        if not axes:
            return False
        own, theirs = (Keyed(self.synopses[a], tuple(t[n] for t in axes)) for n, a in ((1, start), (2, other)))
        try:
            return len(match_keys(own, ids, theirs, part, _FEW_EACH * len(ids))[0]) <= _FEW_EACH * len(ids)
        except TooManyPairs:
            return False

    def of_results(self, partials: list[Partial], beside: Any = None) -> Any:
        """The same of results that are known, and of what was added `beside` them.

        A stream that is absent from a result has NULLs there.
        """
        return self._added_up([self._of_results(partial) for partial in partials], beside)

    def _able(self, alias: str, ids: Ints) -> Bools | None:  # noqa: ARG002 - what cannot match is not stored
        """Which rows of a stream can match at all; None for all."""
        return None

    def _only_able(self, alias: str, ids: Ints) -> Ints:
        able = self._able(alias, ids)
        return ids if able is None else ids[able]

    def _added_up(self, bags: list[Bag], beside: Any = None) -> Any:
        tables = [bag.table() for bag in bags if len(bag)]
        tables += [beside] if beside is not None and beside.num_rows else []
        return self._one_table(tables) if len(tables) > 1 else tables[0] if tables else pa.table({COUNT: _NO_COUNT})

    def _one_table(self, tables: list[Any]) -> Any:
        whole = pa.concat_tables(tables)
        columns = {name: flat(whole.column(name)) for name in whole.column_names}
        measures = {m.name: from_columns(m.fold, columns, m.name) for m in self.aggregate.measures}
        kept = [*(o.name for o in self.plan.outputs), *(w.name for w in self.aggregate.windows)]
        count = columns[COUNT].to_numpy(zero_copy_only=False)
        bag = Bag(np.zeros(len(count), np.int64), {name: columns[name] for name in kept}, count, measures)
        return bag.owned(bag.owner).table()

    def _of_results(self, partial: Partial) -> Bag:
        """Results that were joined, added up."""
        size = len(next(iter(partial.values())))
        bag = Bag(np.zeros(size, np.int64), {}, np.ones(size, np.int64), {})
        for alias, ids in partial.items():
            bag = bag.times(self._rows(alias, ids))
        return bag.owned(bag.owner)

    def _below(self, alias: str, ids: Ints, parent: str | None, parts: Mapping[str, str]) -> tuple[Ints, Bag]:
        """For rows of a stream, each named once: the group of each, and what these and all below them come to."""
        children = [other for other in self.neighbours[alias] if other != parent]
        rows = self._rows(alias, ids)
        compared = tuple(c for other in self.neighbours[alias] for c in self._compared(alias, other))
        groups = self._grouped(alias, compared, ids, rows.columns.values())
        bag = rows.together(groups, np.arange(groups.count))
        first = ids[groups.first]
        for child in children:
            bag = self._with_child(alias, first, child, bag, parts)
        return groups.of, bag

    def _with_child(self, alias: str, first: Ints, child: str, bag: Bag, parts: Mapping[str, str]) -> Bag:
        """A bag of rows, each with what lies below one child; `first` are the rows that its owners stand for."""
        edge = self._grouped(alias, self._compared(alias, child), first)
        return bag.joined(edge.of[bag.owner], self._met(alias, first[edge.first], child, parts))

    def _met(self, alias: str, asking: Ints, child: str, parts: Mapping[str, str]) -> Bag:
        """What lies below a child for each row that asks."""
        if (ordered := self._ordered(alias, child)) is None:
            return self._met_by_pairs(alias, asking, child, parts)
        return self._met_in_order(alias, asking, child, parts, ordered)

    def _met_by_pairs(self, alias: str, asking: Ints, child: str, parts: Mapping[str, str]) -> Bag:
        """The same, by the rows of the child that it meets."""
        place, met = self.matcher.pairs({alias: asking}, child, parts[child])
        if (able := self._able(child, met)) is not None:
            place, met = place[able], met[able]
        rows = union([met])
        group, below = self._below(child, rows, alias, parts)
        met_group = group[np.searchsorted(rows, met)]
        pairs = grouped([place, met_group], len(place)).first
        asked = Bag(place[pairs], {}, np.ones(len(pairs), np.int64), {})
        told = asked.joined(met_group[pairs], below)
        return told.owned(told.owner)

    def _ordered(self, alias: str, child: str) -> LimitedColumn | None:
        """The column of a child that all conditions of an edge but its keys limit, where running sums will do."""
        predicates = self.matcher.predicates(frozenset({alias}), child)
        columns = {(p.left.column, p.ticks is None) for p in predicates}
        if len(columns) != 1 or child not in self._summable(child, alias):
            return None
        ((column, in_codes),) = columns
        kind = self.synopses[child].kind(column)
        if kind is None or (in_codes and not is_coded(kind)):
            return None
        return LimitedColumn(column, "codes" if in_codes else "ticks", predicates)

    def _summable(self, alias: str, parent: str) -> frozenset[str]:
        """The streams from one down the tree; none if one has a measure that running sums cannot give."""
        found = frozenset({alias})
        for measure in self.aggregate.measures_of(alias):
            is_float = measure.fold is Fold.SUM and len(columns_of_measure(self.plan, measure)) < _EXACT
            if measure.fold in (Fold.MIN, Fold.MAX) or is_float:
                return frozenset()
        for child in self.neighbours[alias]:
            if child != parent:
                below = self._summable(child, alias)
                if not below:
                    return below
                found |= below
        return found

    def _met_in_order(
        self, alias: str, asking: Ints, child: str, parts: Mapping[str, str], ordered: LimitedColumn
    ) -> Bag:
        """The same, by its key and a range of the child's ordered column."""
        own, synopsis = self.synopses[alias], self.synopses[child]
        axes = self.matcher.shared_axes(frozenset({alias}), child)
        keys = grouped([own.arrow(column, asking) for _, column, _ in axes], len(asking))
        conditions = []
        for p in ordered.predicates:
            values = own.codes(p.right.column, asking) if p.ticks is None else own.ticks(p.right.column, asking)
            conditions.append((p.op, values, p.ticks or 0))
        low, high = limits(conditions, len(asking))
        key: Ints = np.zeros(len(synopsis.ids(parts[child])) if not axes else 0, np.int64)
        met = synopsis.ids(parts[child])
        if axes:
            source = Keyed(own, tuple(column for _, column, _ in axes))
            target = Keyed(synopsis, tuple(column for _, _, column in axes))
            key, met = match_keys(source, asking[keys.first], target, parts[child])
        if (able := self._able(child, met)) is not None:
            met, key = met[able], key[able]
        order = np.argsort(met, kind="stable")
        met, key = met[order], key[order]
        values = synopsis.gather(met, lambda s: getattr(s, ordered.how)(ordered.column))
        near = np.flatnonzero((values >= low.min()) & (values <= high.max())) if len(met) and len(asking) else met[:0]
        met, key, values = met[near], key[near], values[near]
        group, below = self._below(child, met, alias, parts)
        first = np.zeros(int(group.max()) + 1 if len(group) else 0, np.int64)
        first[group[::-1]] = np.arange(len(group) - 1, -1, -1)
        member = first[below.owner]
        return RangeSums(below, key[member], values[member]).between(keys.of, low, high)[1]

    def _compared(self, alias: str, other: str) -> tuple[str, ...]:
        """The columns of a stream that a neighbour looks at."""
        bound = frozenset({other})
        axes = [own for _, _, own in self.matcher.shared_axes(bound, alias)]
        return (*axes, *(p.left.column for p in self.matcher.predicates(bound, alias)))

    def _grouped(self, alias: str, columns: tuple[str, ...], ids: Ints, beside: Iterable[Any] = ()) -> Groups:
        """The rows of a stream that agree on columns of it, and on others that are `beside` them."""
        synopsis = self.synopses[alias]
        names, others = tuple(dict.fromkeys(columns)), tuple(beside)
        if not names:
            return grouped(others, len(ids))
        # By a hash of the columns of the stream alone: what it tells apart need not agree on the others.
        return grouped_by_hashes(
            combine([synopsis.hashes(name, ids) for name in names]),
            lambda places: [
                *(synopsis.arrow(name, ids[places]) for name in names),
                *(column.take(pa.array(places)) for column in others),
            ],
        )

    def _rows(self, alias: str, ids: Ints) -> Bag:
        """Rows of a stream as a bag, each its own owner."""
        there: Bools = ids != ABSENT
        if not there.all():
            return self._rows(alias, ids[there]).where(there)
        synopsis = self.synopses[alias]
        columns = {o.name: synopsis.arrow(o.column, ids) for o in self.plan.outputs if o.alias == alias}
        columns |= {w.name: synopsis.arrow(w.name, ids) for w in self.aggregate.windows_of(alias)}
        measures = {}
        for measure in self.aggregate.measures_of(alias):
            names = columns_of_measure(self.plan, measure)
            measures[measure.name] = from_columns(
                measure.fold, {name: synopsis.arrow(name, ids) for name in names}, measure.name
            )
        return Bag(np.arange(len(ids)), columns, stands_for(synopsis, ids), measures)


class OuterMatches(CountAlongTree):
    """Works out, for one cell, what the matches of a batch add to the groups, and marks the rows that matched."""

    def __init__(self, plan: Plan, aggregate: AggregatePlan, node: Node) -> None:
        super().__init__(plan, aggregate, node.meeting.matcher)
        self.node = node

    @property
    def counts_matches(self) -> bool:
        """It is what it is for."""
        return True

    def _able(self, alias: str, ids: Ints) -> Bools | None:
        return self.node.matcher.able({alias: ids})

    def added(self, clock: Clock, across: ArrivalOrder | None) -> Any:
        """What the matches of a batch add; see CountAlongTree."""
        found = super().added(clock, across)
        for side, keeps in enumerate(self.node.plan.preserves):
            if keeps:
                self.node.sides[side].mark(self.node.first_matches(side))
        return found


def carrying_of(plan: Plan, aggregate: AggregatePlan, matcher: Matcher, tree: JoinTree) -> CountAlongTree:
    """What works out the groups of one cell."""
    if plan.inner or aggregate.tree is None:
        return CountAlongTree(plan, aggregate, matcher)
    (node,) = tree.nodes.values()
    return OuterMatches(plan, aggregate, node)
