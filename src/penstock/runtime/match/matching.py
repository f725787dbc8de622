"""Which rows agree, by the predicates that tie their streams. Columns in, pairs out.

Given rows are matched with the stored tuples of one more source, as a block and its purge go from source to source; or
with other given rows, as the two sides of a node are (`node_matching.py`).

Equalities drive: the hashes of all key classes that the sides share are probed, then verified on the values unless
one coded column makes the hash exact. Where no class is shared, comparisons and bands drive: the target is searched
in the order of one of its columns. Where nothing is shared it is a cross product. All other predicates are checked on
the pairs found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow.compute as pc

from penstock.model.predicates import Op
from penstock.plan.parts import KeyAxis, PairPredicate
from penstock.runtime.columns.codes import INT64, Bools, Ints, is_coded
from penstock.runtime.columns.hashing import Hashes, combine
from penstock.runtime.match.key_matching import Keyed, agree, match_keys, meeting
from penstock.runtime.promise.marks import LEFT
from penstock.runtime.state.key_index import spread
from penstock.runtime.state.synopsis import ALL, Synopsis

Partial = dict[str, Ints]
"""Facts of rows: for each alias the ids, all of one length."""

_COMPARE = {Op.EQ: np.equal, Op.LT: np.less, Op.LE: np.less_equal, Op.GT: np.greater, Op.GE: np.greater_equal}
_ARROW_COMPARE = {Op.EQ: pc.equal, Op.LT: pc.less, Op.LE: pc.less_equal, Op.GT: pc.greater, Op.GE: pc.greater_equal}


class Ties(Protocol):
    """What ties streams together: a plan, or the part of one."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """The streams, in the order of FROM."""

    @property
    def axes(self) -> tuple[KeyAxis, ...]:
        """The classes of equal columns."""

    @property
    def predicates(self) -> tuple[PairPredicate, ...]:
        """The other conditions between two streams."""


@dataclass(frozen=True)
class PartTies:
    """What ties some of the streams of a plan: those of a block, or of the two sides of a node."""

    aliases: tuple[str, ...]
    axes: tuple[KeyAxis, ...]
    predicates: tuple[PairPredicate, ...]


class Matcher:
    """Finds agreeing rows among the synopses of one cell.

    A tuple of a stream that is `retained` may be done here, and stored for rows that wait elsewhere: it meets nothing.
    """

    def __init__(self, plan: Ties, synopses: Mapping[str, Synopsis], retained: frozenset[str] = frozenset()) -> None:
        self.plan = plan
        self.synopses = synopses
        self.retained = retained

    def shared_axes(self, bound: frozenset[str], target: str) -> tuple[tuple[str, str, str], ...]:
        """(bound alias, its column, target's column) for each key class that the target shares with the bound ones."""
        found = []
        for axis in self.plan.axes:
            own = axis.column(target)
            holder = next((a for a in self.plan.aliases if a in bound and axis.column(a) is not None), None)
            if own is not None and holder is not None:
                column = axis.column(holder)
                assert column is not None
                found.append((holder, column, own))
        return tuple(found)

    def predicates(self, bound: frozenset[str], target: str) -> tuple[PairPredicate, ...]:
        """The comparisons and bands between the target and the bound ones, the target on the left."""
        found = []
        for p in self.plan.predicates:
            if p.left.alias == target and p.right.alias in bound:
                found.append(p)
            elif p.right.alias == target and p.left.alias in bound:
                ticks = None if p.ticks is None else -p.ticks
                found.append(PairPredicate(p.right, p.op.mirrored, p.left, ticks, p.text))
        return tuple(found)

    def pairs(
        self, partial: Partial, target: str, part: str, implied: tuple[PairPredicate, ...] = ()
    ) -> tuple[Ints, Ints]:
        """All (place in the partial, row of target) that agree; `implied` has the target on the left."""
        bound = frozenset(partial)
        size = len(next(iter(partial.values())))
        synopsis = self.synopses[target]
        axes = self.shared_axes(bound, target)
        predicates = self.predicates(bound, target) + implied
        if size == 0 or synopsis.size(part) == 0:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        if axes:
            left, right = self._keyed(partial, target, part, axes)
        else:
            left, right = self._ranged(partial, target, part, predicates, size)
        for predicate in predicates:
            if len(left):
                keep = self._holds(predicate, partial, target, left, right)
                left, right = left[keep], right[keep]
        if target in self.retained and len(right) and (done := synopsis.marked(LEFT, right)).any():
            return left[~done], right[~done]
        return left, right

    def meeting(self, alias: str, ids: Ints, target: str, implied: tuple[PairPredicate, ...] = ()) -> Bools:
        """Which of the rows, in ascending order, agree with some row of target."""
        bound = frozenset({alias})
        axes = self.shared_axes(bound, target)
        if axes and not implied and target not in self.retained and not self.predicates(bound, target):
            own, theirs = tuple(column for _, column, _ in axes), tuple(column for _, _, column in axes)
            return meeting(Keyed(self.synopses[alias], own), ids, Keyed(self.synopses[target], theirs))
        found: Bools = np.zeros(len(ids), np.bool_)
        found[self.pairs({alias: ids}, target, ALL, implied)[0]] = True
        return found

    def ties_any(self, left: Partial, right: Partial) -> bool:
        """Whether a key class ties streams of the two."""
        return any(_holder(axis, left) and _holder(axis, right) for axis in self.plan.axes)

    def between(self, left: Partial, right: Partial, implied: tuple[PairPredicate, ...] = ()) -> tuple[Ints, Ints]:
        """All (place on the left, place on the right) of combinations that agree, all of them given: no index is asked.

        Only what ties streams that are there is looked at, and none of the combinations may lack one of those.
        """
        first, second = self._equal(left, right)
        for predicate in (*self.plan.predicates, *implied):
            if {predicate.left.alias, predicate.right.alias} <= left.keys() | right.keys():
                keep = self.holds(predicate, {**_taken(left, first), **_taken(right, second)})
                first, second = first[keep], second[keep]
        return first, second

    def _equal(self, left: Partial, right: Partial) -> tuple[Ints, Ints]:
        """Pairs that agree on every key class that both hold, by sorting the hashes of the fewer; else all pairs."""
        ties = [(axis, _holder(axis, left), _holder(axis, right)) for axis in self.plan.axes]
        ties = [(axis, one, other) for axis, one, other in ties if one and other]
        if not ties:
            many, few = (len(next(iter(rows.values()))) for rows in (left, right))
            return np.repeat(np.arange(many), few), np.tile(np.arange(few), many)
        mine = combine([self.synopses[one].hashes(axis.column(one) or "", left[one]) for axis, one, _ in ties])
        theirs = combine([self.synopses[o].hashes(axis.column(o) or "", right[o]) for axis, _, o in ties])
        if len(mine) < len(theirs):
            second, first = _same(theirs, mine)
        else:
            first, second = _same(mine, theirs)
        for axis, one, other in ties:
            own, wanted = (Keyed(self.synopses[a], (axis.column(a) or "",)) for a in (one, other))
            keep = agree(own, left[one][first], wanted, right[other][second])
            first, second = first[keep], second[keep]
        return first, second

    def _keyed(
        self, partial: Partial, target: str, part: str, axes: tuple[tuple[str, str, str], ...]
    ) -> tuple[Ints, Ints]:
        """Pairs that agree on the key classes shared with one source, or with several."""
        synopsis = self.synopses[target]
        sides: dict[str, tuple[Keyed, Keyed]] = {}
        for holder in dict.fromkeys(holder for holder, _, _ in axes):
            own = tuple(column for h, column, _ in axes if h == holder)
            targets = tuple(column for h, _, column in axes if h == holder)
            sides[holder] = (Keyed(self.synopses[holder], own), Keyed(synopsis, targets))
        if len(sides) == 1:
            ((holder, (source, wanted)),) = sides.items()
            return match_keys(source, partial[holder], wanted, part)
        keys = combine([self.synopses[holder].hashes(column, partial[holder]) for holder, column, _ in axes])
        left, right = synopsis.probe(part, tuple(own for _, _, own in axes), keys)
        for holder, (source, wanted) in sides.items():
            keep = agree(source, partial[holder][left], wanted, right)
            left, right = left[keep], right[keep]
        return left, right

    def _values(self, alias: str, column: str, ids: Ints, in_ticks: bool) -> Any:
        """The column as numbers where it can be, else as an Arrow array."""
        synopsis = self.synopses[alias]
        if in_ticks:
            return synopsis.ticks(column, ids)
        return synopsis.codes(column, ids) if is_coded(synopsis.kind(column)) else synopsis.arrow(column, ids)

    def _holds(self, p: PairPredicate, partial: Partial, target: str, left: Ints, right: Ints) -> Bools:
        return self.holds(p, {target: right, p.right.alias: partial[p.right.alias][left]})

    def holds(self, p: PairPredicate, rows: Partial) -> Bools:
        """Of which combinations a condition holds; a NULL in a column that has numbers counts as 0."""
        if not len(rows[p.left.alias]):
            return np.zeros(0, np.bool_)  # A stream that has had no row so far has no types either.
        in_ticks = p.ticks is not None
        own = self._values(p.left.alias, p.left.column, rows[p.left.alias], in_ticks)
        other = self._values(p.right.alias, p.right.column, rows[p.right.alias], in_ticks)
        if isinstance(own, np.ndarray):
            if p.ticks is not None:
                return _difference_holds(own, other, p.op, p.ticks)
            held: Bools = _COMPARE[p.op](own, other)
            return held
        compared = _ARROW_COMPARE[p.op](own, other)
        known = pc.fill_null(compared, False) if compared.null_count else compared
        return known.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]

    def _ranged(
        self, partial: Partial, target: str, part: str, predicates: tuple[PairPredicate, ...], size: int
    ) -> tuple[Ints, Ints]:
        """Pairs by the order of the target's most constrained column; all pairs if there is no such column."""
        synopsis = self.synopses[target]
        ways: dict[tuple[str, str], list[PairPredicate]] = {}
        for p in predicates:
            if p.ticks is not None or is_coded(synopsis.kind(p.left.column)):
                ways.setdefault(("codes" if p.ticks is None else "ticks", p.left.column), []).append(p)
        if not ways:
            ids = synopsis.ids(part)
            return np.repeat(np.arange(size), len(ids)), np.tile(ids, size)
        (how, column), chosen = max(ways.items(), key=lambda item: len(item[1]))
        low = np.full(size, INT64.min)
        high = np.full(size, INT64.max)
        for p in chosen:
            other = self._values(p.right.alias, p.right.column, partial[p.right.alias], how == "ticks")
            edge = _shifted(other, p.ticks or 0)
            if p.op in (Op.GE, Op.GT, Op.EQ):
                low = np.maximum(low, edge)
            if p.op in (Op.LE, Op.LT, Op.EQ):
                high = np.minimum(high, edge)
        return synopsis.between(part, how, column, low, high)


def _holder(axis: KeyAxis, rows: Partial) -> str:
    """The first stream of a key class that is there."""
    return next((ref.alias for ref in axis.columns if ref.alias in rows), "")


def _taken(rows: Partial, places: Ints) -> Partial:
    return {alias: ids[places] for alias, ids in rows.items()}


def _same(many: Hashes, few: Hashes) -> tuple[Ints, Ints]:
    """All pairs of places with equal hashes."""
    order = np.argsort(few, kind="stable")
    ordered = few[order]
    start = np.searchsorted(ordered, many, "left")
    size = np.searchsorted(ordered, many, "right") - start
    return np.repeat(np.arange(len(size)), size), order[spread(start, size)]


def _shifted(values: Ints, ticks: int) -> Ints:
    """values + ticks, held at the ends of the range instead of wrapping round."""
    if ticks >= 0:
        return np.where(values > INT64.max - ticks, INT64.max, values + ticks)
    return np.where(values < INT64.min - ticks, INT64.min, values + ticks)


def _difference_holds(own: Ints, other: Ints, op: Op, ticks: int) -> Bools:
    """own - other op ticks, right at the ends of the range too, where the difference itself would wrap."""
    difference = own - other
    wrapped = ((own ^ other) & (own ^ difference)) < 0
    held: Bools = _COMPARE[op](difference, np.int64(max(min(ticks, INT64.max), INT64.min)))
    if not wrapped.any():
        return held
    upper = op in (Op.GE, Op.GT)
    return np.where(wrapped, (own > other) == upper if op is not Op.EQ else np.False_, held)
