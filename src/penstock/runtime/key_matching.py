"""Rows of two synopses that agree on a list of columns, and rows of one that repeat an earlier one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.runtime.codes import Bools, Hashes, Ints, codes, combine, empty_ids, hashes, is_coded, same
from penstock.runtime.segment import Segment
from penstock.runtime.synopsis import ALL, FRESH, OLD, Synopsis


@dataclass(frozen=True)
class Keyed:
    """A synopsis, and the columns of it that are compared."""

    synopsis: Synopsis
    columns: tuple[str, ...]

    def keys(self, ids: Ints) -> Hashes:
        """The hashes of rows."""
        return combine([self.synopsis.hashes(column, ids) for column in self.columns])

    @property
    def exact(self) -> bool:
        """Whether equal hashes are equal values."""
        return len(self.columns) == 1 and is_coded(self.synopsis.kind(self.columns[0]))


def match_keys(source: Keyed, ids: Ints, target: Keyed, part: str) -> tuple[Ints, Ints]:
    """All (place in ids, living row of target) whose values agree.

    A batch is asked for the same matches several times, by the join, the watches and the purge: what all fresh rows
    of a source meet is kept until the step ends, or the rows are numbered anew. Rows only die meanwhile, so it is
    enough to look who still lives.
    """
    if not len(ids) or target.synopsis.size(part) == 0:
        return empty_ids(), empty_ids()
    asked = (id(source.synopsis), source.synopsis.numbering, source.columns, part, target.columns)
    known = target.synopsis.probes.get(asked)
    if known is None and part == ALL:
        known = _from_both_sides(source, target)
        if known is not None:
            target.synopsis.probes[asked] = known
    if known is None or not (known[0] is ids or (ids[1:] > ids[:-1]).all()):
        left, right = _look_up(source, ids, target, part)
        if ids is source.synopsis.ids(FRESH):
            target.synopsis.probes[asked] = (ids, left, right)
        return left, right
    if known[0] is ids:
        _, left, right = known
        others = empty_ids()
    else:
        left, right, others = _recalled(ids, *known)
    living: Bools = target.synopsis.gather(right, lambda s: s.alive)
    if not living.all():
        left, right = left[living], right[living]
    if len(others):
        more_left, more_right = _look_up(source, ids[others], target, part)
        left, right = np.concatenate([left, others[more_left]]), np.concatenate([right, more_right])
    return left, right


def _look_up(source: Keyed, ids: Ints, target: Keyed, part: str) -> tuple[Ints, Ints]:
    values = source.synopsis.codes(source.columns[0], ids) if target.exact else None
    left, right = target.synopsis.probe(part, target.columns, source.keys(ids), values)
    if not target.exact:
        keep = agree(source, ids[left], target, right)
        left, right = left[keep], right[keep]
    for keyed, rows in ((source, ids), (target, None)):
        missing = nulls(keyed.synopsis, keyed.columns, right if rows is None else rows[left])
        if missing is not None:
            left, right = left[~missing], right[~missing]
    return left, right


def lookup(synopsis: Synopsis, column: str, values: Any) -> tuple[Ints, Ints]:
    """All (place in values, living row) that agree on a column; the values are an Arrow array without NULLs."""
    if synopsis.size(ALL) == 0:
        return empty_ids(), empty_ids()
    if is_coded(values.type):
        return synopsis.probe(ALL, (column,), hashes(values), codes(values))
    left, right = synopsis.probe(ALL, (column,), hashes(values))
    equal = same(values.take(left), synopsis.arrow(column, right))
    return left[equal], right[equal]


def _from_both_sides(source: Keyed, target: Keyed) -> tuple[Ints, Ints, Ints] | None:
    """What all fresh rows of source meet, if it is known of the old rows of target, and fresh ones were looked up."""
    met, back = _known(source, target, OLD), _known(target, source, ALL)
    if met is None or back is None or not len(met[0]):
        return None
    ids, left, right = met
    place = np.minimum(np.searchsorted(ids, back[2]), len(ids) - 1)
    asked = ids[place] == back[2]
    return ids, np.concatenate([left, place[asked]]), np.concatenate([right, back[0][back[1][asked]]])


def meeting(source: Keyed, ids: Ints, target: Keyed) -> Bools:
    """Which of the rows, in ascending order, agree with some living row of target; what is known is not looked up."""
    if not len(ids) or target.synopsis.size(ALL) == 0:
        return np.zeros(len(ids), np.bool_)
    met: Bools = np.zeros(int(ids[-1]) + 1, np.bool_)
    is_known = met.copy()
    known = _known(source, target, ALL)
    if known is not None:
        asked, left, right = known
        is_known[asked[asked < len(met)]] = True
        own = asked[left[_living(target, right)]]
        met[own[own < len(met)]] = True
    back = _known(target, source, OLD)
    if back is not None:
        asked, left, right = back
        own = right[_living(target, asked[left])]
        met[own[own < len(met)]] = True
    others = ids[~(is_known | met)[ids]]
    left, _ = match_keys(source, others, target, ALL)
    met[others[left]] = True
    return met[ids]


def _known(source: Keyed, target: Keyed, part: str) -> tuple[Ints, Ints, Ints] | None:
    """What the fresh rows of source were found to meet: the rows, then pairs (place in them, row of target)."""
    asked = (id(source.synopsis), source.synopsis.numbering, source.columns, part, target.columns)
    return target.synopsis.probes.get(asked)


def _living(keyed: Keyed, ids: Ints) -> Bools:
    living: Bools = keyed.synopsis.gather(ids, lambda s: s.alive).astype(np.bool_)
    return living


def _recalled(ids: Ints, known: Ints, left: Ints, right: Ints) -> tuple[Ints, Ints, Ints]:
    """What is known of some of the ids, each named once, as (place in ids, row met); and the places of the others."""
    first, reach = known[0], int(known[-1] - known[0]) + 1
    is_known = np.zeros(reach, np.bool_)
    is_known[known - first] = True
    near = (ids >= first) & (ids <= known[-1])
    recalled: Bools = near if near.all() else near.copy()
    recalled[near] = is_known[ids[near] - first]
    place = np.full(reach, -1, np.int64)
    place[ids[recalled] - first] = np.flatnonzero(recalled)
    found = place[known[left] - first]
    return found[found >= 0], right[found >= 0], np.flatnonzero(~recalled)


def new_pairs(one: Keyed, other: Keyed) -> tuple[Ints, Ints]:
    """All pairs of living rows (of one, of other) that agree and of which one at least is fresh.

    The fresh rows of the larger batch look up and are not indexed.
    """
    if one.synopsis.size(FRESH) < other.synopsis.size(FRESH):
        others, ones = new_pairs(other, one)
        return ones, others
    fresh = one.synopsis.ids(FRESH)
    left, right = match_keys(one, fresh, other, ALL)
    fewer = other.synopsis.ids(FRESH)
    left_back, right_back = match_keys(other, fewer, one, OLD)
    return np.concatenate([fresh[left], right_back]), np.concatenate([right, fewer[left_back]])


def agree(source: Keyed, ids: Ints, target: Keyed, other_ids: Ints) -> Bools:
    """Whether the values of rows at the same place are equal."""
    equal: Bools = np.ones(len(ids), np.bool_)
    for column, target_column in zip(source.columns, target.columns, strict=True):
        if not len(ids):
            break
        if is_coded(target.synopsis.kind(target_column)):
            equal &= source.synopsis.codes(column, ids) == target.synopsis.codes(target_column, other_ids)
        else:
            equal &= same(source.synopsis.arrow(column, ids), target.synopsis.arrow(target_column, other_ids))
    return equal


def nulls(synopsis: Synopsis, columns: tuple[str, ...], ids: Ints) -> Bools | None:
    """Which rows have a NULL in one of the columns; None where there is none to be seen. NULL agrees with nothing."""
    found: Bools | None = None
    for name in columns:
        if name in synopsis.columns and any(s.column(name).null_count for s in synopsis.segments):
            missing: Bools = synopsis.gather(ids, _null_reader(name)).astype(np.bool_)
            found = missing if found is None else found | missing
    return found


def _null_reader(name: str) -> Callable[[Segment], Bools]:
    return lambda segment: segment.column(name).is_null().to_numpy(zero_copy_only=False)


def about_distinct(keys: Hashes) -> Ints:
    """Places that hold every hash at least once, and most of them no more than once: by a table, not by sorting."""
    size = 1 << max(4, int(len(keys) * 2).bit_length())
    slot = (keys & np.uint64(size - 1)).astype(np.int64)
    owner = np.zeros(size, np.int64)
    places = np.arange(len(keys))
    owner[slot] = places
    held = owner[slot]
    return np.flatnonzero((held == places) | (keys[held] != keys))


def repeated(keys: Hashes) -> tuple[Ints, Ints]:
    """Pairs (earlier, later) of places with equal hashes, each later one with the one just before it.

    Most keys differ from all others: a table over the low end of the hash finds the few that may not, and only
    they are sorted.
    """
    size = 1 << max(4, int(len(keys) * 4).bit_length())
    slot = (keys & np.uint64(size - 1)).astype(np.int64)
    owner = np.zeros(size, np.int32)
    places = np.arange(len(keys), dtype=np.int32)
    owner[slot] = places
    crowded = np.zeros(size, np.bool_)
    crowded[slot[owner[slot] != places]] = True
    suspects = np.flatnonzero(crowded[slot])
    order = suspects[np.argsort(keys[suspects], kind="stable")]
    twin = np.flatnonzero(keys[order[1:]] == keys[order[:-1]]) if len(order) else empty_ids()
    return order[twin], order[twin + 1]
