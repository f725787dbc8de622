"""Which rows of a stream meet some row of another at all: a semi-join that makes no pairs, however often they meet.

A row asks by its keys. Where the other conditions limit one column of the other stream, a band of event times above
all, it asks for a range of that column: among the rows of its key, in the order of that column, some lie in the range
iff more stand before its end than before its beginning. Where they limit several columns the pairs are made.

Pairs are found faster where rows meet seldom, so EXISTS and NOT EXISTS come here only if there would be many of them.
Preconditions: a single stream on either side, no [ROWS n], which asks which row of a pair came last, and no condition
that must be evaluated on pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.plan.parts import PairPredicate
from penstock.runtime.columns.codes import Bools, Ints, is_coded, union
from penstock.runtime.group.numbering import grouped
from penstock.runtime.join.sides import StreamSide
from penstock.runtime.match.key_matching import Keyed, match_keys, reached
from penstock.runtime.match.key_ranges import KeyRanges, limits, most_pairs
from penstock.runtime.match.matching import Matcher, PartTies
from penstock.runtime.match.node_matching import NodeMatcher
from penstock.runtime.promise.marks import LEFT
from penstock.runtime.state.synopsis import ALL, FRESH, OLD


@dataclass(frozen=True)
class _Asking:
    """Rows of a side, each with the number of its key."""

    side: StreamSide
    ids: Ints
    key: Ints

    def numbers(self, column: str, in_codes: bool) -> Ints:
        """A column of them."""
        read = self.side.synopsis.codes if in_codes else self.side.synopsis.ticks
        return read(column, self.ids)


class SemiJoinMatches:
    """Asks rows of the two sides of one node whether they meet."""

    def __init__(self, conditions: NodeMatcher) -> None:
        self.conditions = conditions
        self.synopses = conditions.synopses
        predicates = (*conditions.ties.predicates, *conditions.node.windows)
        self.matcher = Matcher(PartTies(conditions.ties.aliases, conditions.node.equalities, predicates), self.synopses)

    def is_crowded(self, one: StreamSide, other: StreamSide) -> bool:
        """Whether a batch would make many more pairs than it has rows and meets; `one` has more new rows."""
        asked = ((one, FRESH, other, ALL), (other, FRESH, one, OLD))
        sizes = [(own.synopsis.size(part), theirs.synopsis.size(there)) for own, part, theirs, there in asked]
        if sum(mine * theirs for mine, theirs in sizes) <= most_pairs(0):
            return False
        pairs = 0
        for own, part, theirs, there in asked:
            source, target = self._keyed(own, theirs)
            ids = own.synopsis.ids(part)
            if not source.columns:
                pairs += len(ids) * theirs.synopsis.size(there)
            elif len(ids):
                pairs += theirs.synopsis.near(there, target.columns, source.keys(ids))
        return pairs > most_pairs(sum(mine + theirs for mine, theirs in sizes))

    def met(self, kept: StreamSide, other: StreamSide) -> Ints:
        """The rows of a side that a batch gives their first match, or a further one."""
        fresh = self._only_usable(kept, kept.rows(FRESH)[1])
        stored = self._only_usable(kept, self._near(kept, other))
        stored = stored[~kept.is_matched(stored)] if len(stored) else stored
        return union([fresh[self._meets(kept, fresh, other, ALL)], stored[self._meets(kept, stored, other, FRESH)]])

    def _usable(self, side: StreamSide, ids: Ints) -> Bools:
        """Which of the rows are in play, and can match at all."""
        found = self.conditions.able({side.alias: ids})
        return found & ~side.synopsis.marked(LEFT, ids) if side.retained and len(ids) else found

    def _only_usable(self, side: StreamSide, ids: Ints) -> Ints:
        return ids[self._usable(side, ids)]

    def _keyed(self, own: StreamSide, other: StreamSide) -> tuple[Keyed, Keyed]:
        """The columns of either side that must be equal."""
        axes = self.matcher.shared_axes(frozenset({own.alias}), other.alias)
        mine, theirs = (tuple(axis[place] for axis in axes) for place in (1, 2))
        return Keyed(own.synopsis, mine), Keyed(other.synopsis, theirs)

    def _near(self, kept: StreamSide, other: StreamSide) -> Ints:
        """The stored rows that agree with a new row of the other side on their keys, each once."""
        coming = self._only_usable(other, other.rows(FRESH)[1])
        source, target = self._keyed(other, kept)
        if not len(coming) or not source.columns:
            return kept.synopsis.ids(OLD) if len(coming) else coming
        return union([reached(source, coming, target, OLD)])

    def _meets(self, kept: StreamSide, ids: Ints, other: StreamSide, part: str) -> Bools:
        """Which of the rows meet some row of a part of the other side."""
        found: Bools = np.zeros(len(ids), np.bool_)
        if not len(ids):
            return found
        predicates = self.matcher.predicates(frozenset({kept.alias}), other.alias)
        columns = {(p.left.column, p.ticks is None) for p in predicates}
        if len(columns) > 1 or not all(self._has_order(other, *column) for column in columns):
            place, theirs = self.matcher.pairs({kept.alias: ids}, other.alias, part)
            found[place[self._usable(other, theirs)]] = True
            return found
        source, target = self._keyed(kept, other)
        keys = grouped([kept.synopsis.arrow(name, ids) for name in source.columns], len(ids))
        if source.columns:
            key, theirs = match_keys(source, ids[keys.first], target, part)
        else:
            theirs = other.synopsis.ids(part)
            key = np.zeros(len(theirs), np.int64)
        usable = self._usable(other, theirs)
        key, theirs = key[usable], theirs[usable]
        if not predicates:
            has: Bools = np.zeros(keys.count, np.bool_)
            has[key] = True
            return has[keys.of]
        return self._in_range(_Asking(kept, ids, keys.of), _Asking(other, theirs, key), predicates)

    def _has_order(self, other: StreamSide, column: str, in_codes: bool) -> bool:
        kind = other.synopsis.kind(column)
        return kind is not None and (not in_codes or is_coded(kind))

    def _in_range(self, kept: _Asking, other: _Asking, predicates: tuple[PairPredicate, ...]) -> Bools:
        """Which of the rows have a row of their key in the range that they ask for."""
        in_codes, column = predicates[0].ticks is None, predicates[0].left.column
        values = other.numbers(column, in_codes)
        conditions = [(p.op, kept.numbers(p.right.column, in_codes), p.ticks or 0) for p in predicates]
        low, high = limits(conditions, len(kept.ids))
        begin, end = KeyRanges(other.key, values).between(kept.key, low, high)
        found: Bools = end > begin
        return found
