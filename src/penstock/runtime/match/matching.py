"""Which rows agree, by the predicates that tie their streams. Columns in, pairs out.

Given rows are matched with the stored tuples of one more source, as a block and its purge go from source to source; or
with other given rows, as the two sides of a node are (`node_matching.py`).

Equalities drive: the hashes of all key classes that the sides share are probed, then verified on the values unless
one coded column makes the hash exact. Where no class is shared, comparisons and bands drive: the target is searched
in the order of one of its columns. Where nothing is shared it is a cross product. All other predicates are checked on
the pairs found. Where keys, or their lack, would make many more pairs than there are rows, keys and bands drive
together, and what is found comes in pieces: memory follows the rows and the pairs that agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow.compute as pc

from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Op
from penstock.plan.parts import KeyAxis, PairPredicate
from penstock.runtime.columns.codes import INT64, Bools, Ints, is_coded
from penstock.runtime.columns.hashing import combine
from penstock.runtime.group.numbering import grouped
from penstock.runtime.match.key_matching import Keyed, agree, match_keys, meeting
from penstock.runtime.match.key_ranges import KeyRanges, joined, limits, most_pairs, pieces
from penstock.runtime.promise.marks import LEFT
from penstock.runtime.state.key_index import TooManyPairs
from penstock.runtime.state.synopsis import ALL, Synopsis

Partial = dict[str, Ints]
"""Facts of rows: for each alias the ids, all of one length."""

COMPARE = {Op.EQ: np.equal, Op.LT: np.less, Op.LE: np.less_equal, Op.GT: np.greater, Op.GE: np.greater_equal}
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


class Reaching(Protocol):
    """What else limits which rows meet: windows of rows."""

    def reach(self, rows: Partial, target: str, ids: Ints) -> tuple[Ints, Ints, Ints] | None:
        """A number of each row of a target, and from which to which of them each of the rows may meet; None for all."""


@dataclass(frozen=True)
class PartTies:
    """What ties some of the streams of a plan: those of a block, or of the two sides of a node."""

    aliases: tuple[str, ...]
    axes: tuple[KeyAxis, ...]
    predicates: tuple[PairPredicate, ...]

    def closed(self) -> PartTies:
        """The same with what follows: columns that equal one column equal each other, whatever lies between them.

        Partial results grow stream by stream, and two that no condition names together would not be compared.
        """
        equal = [set(axis.columns) for axis in self.axes]
        equal += [{p.left, p.right} for p in self.predicates if p.op is Op.EQ and p.ticks is None]
        classes: list[set[ColumnRef]] = []
        for columns in equal:
            meeting = [found for found in classes if not found.isdisjoint(columns)]
            classes = [found for found in classes if found.isdisjoint(columns)]
            classes.append(columns.union(*meeting))
        known = [set(axis.columns) for axis in self.axes]
        more = [KeyAxis(tuple(sorted(columns))) for columns in classes if columns not in known]
        return replace(self, axes=(*self.axes, *more))


class Matcher:
    """Finds agreeing rows among the synopses of one cell.

    A tuple of a stream that is `retained` may be done here, and stored for rows that wait elsewhere: it meets nothing.
    `by_hash` takes rows whose keys have one hash for rows that agree (`key_matching.match_keys`).
    """

    def __init__(
        self,
        plan: Ties,
        synopses: Mapping[str, Synopsis],
        retained: frozenset[str] = frozenset(),
        *,
        by_hash: bool = False,
    ) -> None:
        self.plan = plan
        self.synopses = synopses
        self.retained = retained
        self.by_hash = by_hash

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
        return _facing(target, bound, self.plan.predicates)

    def pairs(
        self, partial: Partial, target: str, part: str, implied: tuple[PairPredicate, ...] = ()
    ) -> tuple[Ints, Ints]:
        """All (place in the partial, row of target) that agree; `implied` has the target on the left."""
        return joined(self.pieces(partial, target, part, implied))

    def pieces(
        self,
        partial: Partial,
        target: str,
        part: str,
        implied: tuple[PairPredicate, ...] = (),
        windows: Reaching | None = None,
    ) -> Iterator[tuple[Ints, Ints]]:
        """The pairs, in one piece unless a hot key, or no key, would make too many that do not agree.

        Pairs that are out of the `windows` may be left out then.
        """
        synopsis = self.synopses[target]
        if not _size(partial) or synopsis.size(part) == 0:
            return
        predicates = self.predicates(frozenset(partial), target) + implied
        for left, right in self._candidates(partial, target, part, predicates, windows):
            for predicate in predicates:
                if len(left):
                    keep = self._holds(predicate, partial, target, left, right)
                    left, right = left[keep], right[keep]  # noqa: PLW2901
            if target in self.retained and len(right) and (done := synopsis.marked(LEFT, right)).any():
                left, right = left[~done], right[~done]  # noqa: PLW2901
            yield left, right

    def meeting(self, alias: str, ids: Ints, target: str, implied: tuple[PairPredicate, ...] = ()) -> Bools:
        """Which of the rows, in ascending order, agree with some row of target."""
        bound = frozenset({alias})
        axes = self.shared_axes(bound, target)
        predicates = self.predicates(bound, target) + implied
        if axes and target not in self.retained and not predicates:
            own, theirs = tuple(column for _, column, _ in axes), tuple(column for _, _, column in axes)
            source, wanted = Keyed(self.synopses[alias], own), Keyed(self.synopses[target], theirs)
            return meeting(source, ids, wanted, by_hash=self.by_hash)
        found: Bools = np.zeros(len(ids), np.bool_)
        for left, _ in self.pieces({alias: ids}, target, ALL, implied):
            found[left] = True
        return found

    def _candidates(
        self,
        partial: Partial,
        target: str,
        part: str,
        predicates: tuple[PairPredicate, ...],
        windows: Reaching | None,
    ) -> Iterator[tuple[Ints, Ints]]:
        """Pairs that agree on all keys, or in the order of a column where no key is shared: all that agree, or more."""
        axes = self.shared_axes(frozenset(partial), target)
        most = most_pairs(_size(partial) + self.synopses[target].size(part))
        try:
            if axes:
                found = self._keyed(partial, target, part, axes, most)
            else:
                found = self._ranged(partial, target, part, predicates, most)
        except TooManyPairs:
            yield from self._crowded(partial, target, part, predicates, windows)
        else:
            yield found

    def _crowded(
        self,
        partial: Partial,
        target: str,
        part: str,
        predicates: tuple[PairPredicate, ...],
        windows: Reaching | None,
    ) -> Iterator[tuple[Ints, Ints]]:
        """The same where they are many: by ranges of each key's rows (`key_ranges.py`)."""
        synopsis, size = self.synopses[target], _size(partial)
        most = most_pairs(size + synopsis.size(part))
        axes = self.shared_axes(frozenset(partial), target)
        keys = grouped([self.synopses[holder].arrow(own, partial[holder]) for holder, own, _ in axes], size)
        if axes:
            # One row of each key finds all rows of the target, each once.
            key, rows = self._keyed(_taken(partial, keys.first), target, part, axes)
        else:
            rows = synopsis.ids(part)
            key = np.zeros(len(rows), np.int64)
        chosen = self._limited(predicates)
        if not chosen:
            ranges = KeyRanges(key)
            begin, end = ranges.all_of(keys.of)
        else:
            in_ticks, column = chosen[0].ticks is not None, chosen[0].left.column
            ranges = KeyRanges(key, self._values(target, column, rows, in_ticks) if len(rows) else key)
            begin, end = ranges.between(keys.of, *self._range_asked(chosen, partial))
        if windows is not None and (reach := windows.reach(partial, target, rows)) is not None:
            numbers, low, high = reach
            by_windows = KeyRanges(key, numbers)
            fewer = by_windows.between(keys.of, low, high)
            if int((fewer[1] - fewer[0]).sum()) < int((end - begin).sum()):
                ranges, (begin, end) = by_windows, fewer
        for left, place in pieces(begin, end, most):
            yield left, rows[ranges.order[place]]

    def ties_any(self, left: Partial, right: Partial) -> bool:
        """Whether a key class ties streams of the two."""
        return any(_holder(axis, left) and _holder(axis, right) for axis in self.plan.axes)

    def between(self, left: Partial, right: Partial, implied: tuple[PairPredicate, ...] = ()) -> tuple[Ints, Ints]:
        """All (place on the left, place on the right) of combinations that agree, all of them given: no index is asked.

        Only what ties streams that are there is looked at, and none of the combinations may lack one of those.
        """
        ties = [(axis, _holder(axis, left), _holder(axis, right)) for axis in self.plan.axes]
        ties = [(axis, one, other) for axis, one, other in ties if one and other]
        there = left.keys() | right.keys()
        predicates = [p for p in (*self.plan.predicates, *implied) if {p.left.alias, p.right.alias} <= there]
        found = []
        for first, second in self._of_equal_hashes(left, right, ties, predicates):
            for axis, one, other in ties:
                own, wanted = (Keyed(self.synopses[a], (axis.column(a) or "",)) for a in (one, other))
                keep = agree(own, left[one][first], wanted, right[other][second])
                first, second = first[keep], second[keep]  # noqa: PLW2901
            for predicate in predicates:
                keep = self.holds(predicate, {**_taken(left, first), **_taken(right, second)})
                first, second = first[keep], second[keep]  # noqa: PLW2901
            found.append((first, second))
        return joined(found)

    def _of_equal_hashes(
        self,
        left: Partial,
        right: Partial,
        ties: list[tuple[KeyAxis, str, str]],
        predicates: list[PairPredicate],
    ) -> Iterator[tuple[Ints, Ints]]:
        """Pairs with one hash of all key classes that both hold, by sorting the hashes of the fewer; else all pairs.

        They come in pieces, as in `pieces`, and where they are many only those in the range of a condition.
        """
        mine, theirs = np.zeros(_size(left), np.uint64), np.zeros(_size(right), np.uint64)
        if ties:
            mine = combine([self.synopses[one].hashes(axis.column(one) or "", left[one]) for axis, one, _ in ties])
            theirs = combine([self.synopses[o].hashes(axis.column(o) or "", right[o]) for axis, _, o in ties])
        is_swapped = len(mine) < len(theirs)
        many, few = (theirs, mine) if is_swapped else (mine, theirs)
        most = most_pairs(len(many) + len(few))
        order = np.argsort(few, kind="stable")
        begin, end = (np.searchsorted(few[order], many, side) for side in ("left", "right"))
        if int((end - begin).sum()) > most:
            asking, asked = (right, left) if is_swapped else (left, right)
            limiting = [p for alias in asked for p in _facing(alias, frozenset(asking), predicates)]
            if chosen := self._limited(limiting):
                # A hash is numbered by where it begins in the order of the fewer.
                column, own = chosen[0].left, np.empty(len(few), np.int64)
                own[order] = np.searchsorted(few[order], few[order], "left")
                numbers = self._values(column.alias, column.column, asked[column.alias], chosen[0].ticks is not None)
                ranges = KeyRanges(own, numbers)
                is_there = end > begin
                begin, end = ranges.between(begin, *self._range_asked(chosen, asking))
                order, end = ranges.order, np.where(is_there, end, begin)
        for place, found in pieces(begin, end, most):
            yield (order[found], place) if is_swapped else (place, order[found])

    def _keyed(
        self,
        partial: Partial,
        target: str,
        part: str,
        axes: tuple[tuple[str, str, str], ...],
        most: int | None = None,
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
            return match_keys(source, partial[holder], wanted, part, most, by_hash=self.by_hash)
        keys = combine([self.synopses[holder].hashes(column, partial[holder]) for holder, column, _ in axes])
        left, right = synopsis.probe(part, tuple(own for _, _, own in axes), keys, most)
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
            held: Bools = COMPARE[p.op](own, other)
            return held
        compared = _ARROW_COMPARE[p.op](own, other)
        known = pc.fill_null(compared, False) if compared.null_count else compared
        return known.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]

    def _ranged(
        self, partial: Partial, target: str, part: str, predicates: tuple[PairPredicate, ...], most: int
    ) -> tuple[Ints, Ints]:
        """Pairs by the order of the target's most constrained column; all pairs if there is no such column."""
        synopsis, size = self.synopses[target], _size(partial)
        chosen = self._limited(predicates)
        if not chosen:
            ids = synopsis.ids(part)
            if size * len(ids) > most:
                raise TooManyPairs
            return np.repeat(np.arange(size), len(ids)), np.tile(ids, size)
        how = "codes" if chosen[0].ticks is None else "ticks"
        return synopsis.between(part, how, chosen[0].left.column, self._range_asked(chosen, partial), most)

    def _limited(self, predicates: Iterable[PairPredicate]) -> list[PairPredicate]:
        """The conditions on the column on the left that most of them limit, as far as it has numbers."""
        ways: dict[tuple[bool, ColumnRef], list[PairPredicate]] = {}
        for p in predicates:
            if p.ticks is not None or is_coded(self.synopses[p.left.alias].kind(p.left.column)):
                ways.setdefault((p.ticks is None, p.left), []).append(p)
        return max(ways.values(), key=len, default=[])

    def _range_asked(self, chosen: list[PairPredicate], partial: Partial) -> tuple[Ints, Ints]:
        """From where to where each row asks for the column that the conditions limit."""
        conditions = []
        for p in chosen:
            other = self._values(p.right.alias, p.right.column, partial[p.right.alias], p.ticks is not None)
            conditions.append((p.op, other, p.ticks or 0))
        return limits(conditions, _size(partial))


def _size(rows: Partial) -> int:
    return len(next(iter(rows.values())))


def _facing(target: str, bound: frozenset[str], predicates: Iterable[PairPredicate]) -> tuple[PairPredicate, ...]:
    """The conditions between the target and the bound streams, the target on the left."""
    found = []
    for p in predicates:
        if p.left.alias == target and p.right.alias in bound:
            found.append(p)
        elif p.right.alias == target and p.left.alias in bound:
            ticks = None if p.ticks is None else -p.ticks
            found.append(PairPredicate(p.right, p.op.mirrored, p.left, ticks, p.text))
    return tuple(found)


def _holder(axis: KeyAxis, rows: Partial) -> str:
    """The first stream of a key class that is there."""
    return next((ref.alias for ref in axis.columns if ref.alias in rows), "")


def _taken(rows: Partial, places: Ints) -> Partial:
    return {alias: ids[places] for alias, ids in rows.items()}


def _difference_holds(own: Ints, other: Ints, op: Op, ticks: int) -> Bools:
    """own - other op ticks, right at the ends of the range too, where the difference itself would wrap."""
    difference = own - other
    wrapped = ((own ^ other) & (own ^ difference)) < 0
    held: Bools = COMPARE[op](difference, np.int64(max(min(ticks, INT64.max), INT64.min)))
    if not wrapped.any():
        return held
    upper = op in (Op.GE, Op.GT)
    return np.where(wrapped, (own > other) == upper if op is not Op.EQ else np.False_, held)
