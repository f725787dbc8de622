"""Rows of two synopses that agree on a list of columns, and rows of one that repeat an earlier one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.runtime.columns.codes import INT64, Bools, Ints, codes, empty_ids, is_coded, same
from penstock.runtime.columns.hashing import Hashes, combine, hashes, mix, sharing_hashes
from penstock.runtime.group.numbering import Groups, grouped
from penstock.runtime.match.key_ranges import most_pairs
from penstock.runtime.state.key_index import TooManyPairs, among, is_dense
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, FRESH, OLD, Synopsis


@dataclass(frozen=True)
class Keyed:
    """A synopsis, and the columns of it that are compared."""

    synopsis: Synopsis
    columns: tuple[str, ...]

    def keys(self, ids: Ints) -> Hashes:
        """The hashes of rows."""
        return combine([self._hashes(column, ids) for column in self.columns])

    def _hashes(self, column: str, ids: Ints) -> Hashes:
        if len(ids) and is_coded(self.synopsis.kind(column)) and not self.synopsis.is_fresh(ids):
            # Of these rows alone, not of whole segments.
            return mix(self.synopsis.codes(column, ids).view(np.uint64))
        return self.synopsis.hashes(column, ids)

    @property
    def exact(self) -> bool:
        """Whether equal hashes are equal values."""
        return len(self.columns) == 1 and is_coded(self.synopsis.kind(self.columns[0]))


@dataclass(frozen=True)
class Met:
    """What all fresh rows of a source were found to meet."""

    ids: Ints
    """The rows."""
    left: Ints
    right: Ints
    """Pairs: place in the rows, row that it meets."""
    deaths: int
    """How often rows of the target had been killed when all of these were alive; -1 where some may have been dead."""


def match_keys(
    source: Keyed, ids: Ints, target: Keyed, part: str, most: int | None = None, *, by_hash: bool = False
) -> tuple[Ints, Ints]:
    """All (place in ids, living row of target) whose values agree; TooManyPairs where they are more than about `most`.

    `by_hash` gives those whose hashes do: these, and one more in 2 to the 64. No value is looked at, so that texts are
    not picked out of all that is stored. For who loses nothing by a pair that does not agree.

    A batch is asked for the same matches several times, by the join, the watches and the purge: what all fresh rows
    of a source meet is kept until the step ends, or the rows are numbered anew. Rows only die meanwhile, so it is
    enough to look who still lives.
    """
    if not len(ids) or target.synopsis.size(part) == 0:
        return empty_ids(), empty_ids()
    asked: tuple[Any, ...] = (id(source.synopsis), source.synopsis.numbering, source.columns, part, target.columns)
    known: Met | None = target.synopsis.probes.get(asked)
    if known is None and by_hash and not target.exact:
        asked = (*asked, by_hash)
        known = target.synopsis.probes.get(asked)
    elif known is None and part == ALL:
        known = _from_both_sides(source, target)
        if known is not None:
            target.synopsis.probes[asked] = known
    deaths = target.synopsis.deaths
    if known is None or not (known.ids is ids or (ids[1:] > ids[:-1]).all()):
        left, right = _look_up(source, ids, target, part, most, by_hash=by_hash)
        if ids is source.synopsis.ids(FRESH):
            target.synopsis.probes[asked] = Met(ids, left, right, deaths)
        return left, right
    if known.deaths != deaths:
        living = _living(target, known.right)
        known = Met(known.ids, known.left[living], known.right[living], deaths)
        target.synopsis.probes[asked] = known
    if known.ids is ids:
        return known.left, known.right
    left, right, others = recalled(ids, known)
    if len(others):
        more_left, more_right = _look_up(source, ids[others], target, part, most, by_hash=by_hash)
        left, right = np.concatenate([left, others[more_left]]), np.concatenate([right, more_right])
    return left, right


def _look_up(
    source: Keyed, ids: Ints, target: Keyed, part: str, most: int | None, *, by_hash: bool
) -> tuple[Ints, Ints]:
    if target.exact:
        values = source.synopsis.codes(source.columns[0], ids)
        left, right = target.synopsis.probe_values(part, target.columns[0], values, most, lambda: source.keys(ids))
    else:
        left, right = target.synopsis.probe(part, target.columns, source.keys(ids), most)
        if not by_hash:
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
        return synopsis.probe_values(ALL, column, codes(values))
    left, right = synopsis.probe(ALL, (column,), hashes(values))
    equal = same(values.take(left), synopsis.arrow(column, right))
    return left[equal], right[equal]


def _from_both_sides(source: Keyed, target: Keyed) -> Met | None:
    """What all fresh rows of source meet, if it is known of the old rows of target, and fresh ones were looked up."""
    met, back = _known(source, target, OLD), _known(target, source, ALL)
    if met is None or back is None or not len(met.ids):
        return None
    first, last = met.ids[0], met.ids[-1]
    inside = np.flatnonzero((back.right >= first) & (back.right <= last))
    place_of = np.full(int(last - first) + 1, -1, np.int64)
    place_of[met.ids - first] = np.arange(len(met.ids))
    place = place_of[back.right[inside] - first]
    asked = place >= 0
    right = np.concatenate([met.right, back.ids[back.left[inside[asked]]]])
    return Met(met.ids, np.concatenate([met.left, place[asked]]), right, -1)


def meeting(source: Keyed, ids: Ints, target: Keyed, *, by_hash: bool = False) -> Bools:
    """Which of the rows, in ascending order, agree with some living row of target; what is known is not looked up."""
    if not len(ids) or target.synopsis.size(ALL) == 0:
        return np.zeros(len(ids), np.bool_)
    met: Bools = np.zeros(source.synopsis.rows, np.bool_)
    others: Bools = np.ones(source.synopsis.rows, np.bool_)
    known = _known(source, target, ALL)
    if known is not None:
        others[known.ids] = False
        left = known.left if known.deaths == target.synopsis.deaths else known.left[_living(target, known.right)]
        met[known.ids[left]] = True
    back = _known(target, source, OLD)
    if back is not None:
        met[back.right[_living(target, back.ids[back.left])]] = True
    others &= ~met
    unknown = ids[others[ids]]
    met[unknown[meets(source, unknown, target, ALL, by_hash=by_hash)]] = True
    return met[ids]


def meets(source: Keyed, ids: Ints, target: Keyed, part: str, *, by_hash: bool = False) -> Bools:
    """Which of the rows agree with some living row of a part of target; a hot key's pairs are not made."""
    found: Bools = np.zeros(len(ids), np.bool_)
    try:
        most = most_pairs(len(ids) + target.synopsis.size(part))
        found[match_keys(source, ids, target, part, most, by_hash=by_hash)[0]] = True
    except TooManyPairs:
        keys = keys_of(source, ids)
        found[match_keys(source, ids[keys.first], target, part)[0]] = True
        return found[keys.of]
    return found


def reached(source: Keyed, ids: Ints, target: Keyed, part: str) -> Ints:
    """The living rows of a part of target that agree with some of the rows, in any order, perhaps more than once."""
    try:
        return match_keys(source, ids, target, part, most_pairs(len(ids) + target.synopsis.size(part)))[1]
    except TooManyPairs:
        return match_keys(source, ids[keys_of(source, ids).first], target, part)[1]


def met_values(
    source: Keyed, ids: Ints, target: Keyed, part: str, read: Callable[[Ints], tuple[Ints, Bools | None]]
) -> tuple[Ints, Ints]:
    """(place in ids, value of a row that it agrees with), of all such rows or of those with extreme values alone.

    `read` gives the values of rows, and which of them are NULL and left out; None for none. Of a hot key only the least
    and the largest value are given, so that no more than two are made of a row.
    """
    try:
        places, rows = match_keys(source, ids, target, part, most_pairs(len(ids) + target.synopsis.size(part)))
    except TooManyPairs:
        keys = keys_of(source, ids)
        key, rows = match_keys(source, ids[keys.first], target, part)
        key, values = _known_values(key, *read(rows))
        least, largest = np.full(keys.count, INT64.max), np.full(keys.count, INT64.min)
        np.minimum.at(least, key, values)
        np.maximum.at(largest, key, values)
        met: Bools = np.zeros(keys.count, np.bool_)
        met[key] = True
        places = np.flatnonzero(met[keys.of])
        return np.tile(places, 2), np.concatenate([least[keys.of[places]], largest[keys.of[places]]])
    return _known_values(places, *read(rows))


def _known_values(places: Ints, values: Ints, missing: Bools | None) -> tuple[Ints, Ints]:
    return (places, values) if missing is None else (places[~missing], values[~missing])


def keys_of(keyed: Keyed, ids: Ints) -> Groups:
    """Rows by key; NULL is one."""
    return grouped([keyed.synopsis.arrow(column, ids) for column in keyed.columns], len(ids))


def _known(source: Keyed, target: Keyed, part: str) -> Met | None:
    asked = (id(source.synopsis), source.synopsis.numbering, source.columns, part, target.columns)
    found: Met | None = target.synopsis.probes.get(asked)
    return found


def _living(keyed: Keyed, ids: Ints) -> Bools:
    living: Bools = keyed.synopsis.gather(ids, lambda s: s.alive).astype(np.bool_)
    return living


def recalled(ids: Ints, known: Met) -> tuple[Ints, Ints, Ints]:
    """What is known of some of the ids, each named once, as (place in ids, row met); and the places of the others."""
    first, last = known.ids[0], known.ids[-1]
    near = (ids >= first) & (ids <= last)
    if not near.any():
        return empty_ids(), empty_ids(), np.arange(len(ids))
    reach = int(last - first) + 1
    is_known = np.zeros(reach, np.bool_)
    is_known[known.ids - first] = True
    asked: Bools = near if near.all() else near.copy()
    asked[near] = is_known[ids[near] - first]
    place = np.full(reach, -1, np.int64)
    place[ids[asked] - first] = np.flatnonzero(asked)
    found = place[known.ids[known.left] - first]
    return found[found >= 0], known.right[found >= 0], np.flatnonzero(~asked)


def new_pairs(one: Keyed, other: Keyed) -> tuple[Ints, Ints]:
    """All pairs of living rows (of one, of other) that agree and of which one at least is fresh.

    The fresh rows of the larger batch look up and are not indexed. TooManyPairs where a hot key has very many.
    """
    if one.synopsis.size(FRESH) < other.synopsis.size(FRESH):
        others, ones = new_pairs(other, one)
        return ones, others
    fresh = one.synopsis.ids(FRESH)
    most = most_pairs(one.synopsis.rows + other.synopsis.rows)
    left, right = match_keys(one, fresh, other, ALL, most)
    fewer = other.synopsis.ids(FRESH)
    left_back, right_back = match_keys(other, fewer, one, OLD, most)
    return np.concatenate([fresh[left], right_back]), np.concatenate([right, fewer[left_back]])


def newly_met(one: Keyed, other: Keyed) -> Ints:
    """The living rows of other, in any order, that `new_pairs` has; one may be named more than once."""
    fresh, theirs = one.synopsis.ids(FRESH), other.synopsis.ids(FRESH)
    if not len(fresh) and one.synopsis.size(OLD) == 0:
        return empty_ids()
    if len(fresh) < len(theirs):
        if one.synopsis.size(ALL) <= len(theirs) and other.exact and _known(other, one, ALL) is None:
            named = theirs[agreeing(other, theirs, one, one.synopsis.ids(ALL))]
        else:
            named = theirs[meets(other, theirs, one, ALL)]
        return np.concatenate([named, reached(one, fresh, other, OLD)])
    return np.concatenate([reached(one, fresh, other, ALL), theirs[meets(other, theirs, one, OLD)]])


def agreeing(source: Keyed, ids: Ints, target: Keyed, others: Ints) -> Bools:
    """Which of the rows, all alive, agree with one of the others, dead or alive. Values are listed, not indexed."""
    if not len(ids) or not len(others):
        return np.zeros(len(ids), np.bool_)
    if source.exact and not _has_nulls(source) and not _has_nulls(target):
        (own,), (theirs,) = source.columns, target.columns
        return among(target.synopsis.codes(theirs, others), source.synopsis.codes(own, ids))
    return np.isin(ids, reached(target, others, source, ALL))


def meeting_any(source: Keyed, ids: Ints, target: Keyed) -> Bools:
    """Which of the rows agree with some living row of target; the fresh rows of target are listed, not indexed."""
    if not len(ids) or not source.exact:
        return meets(source, ids, target, ALL)
    found = meets(source, ids, target, OLD)
    rest = np.flatnonzero(~found)
    found[rest[agreeing(source, ids[rest], target, target.synopsis.ids(FRESH))]] = True
    return found


def _has_nulls(keyed: Keyed) -> bool:
    synopsis = keyed.synopsis
    return any(s.column(name).null_count for name in keyed.columns for s in synopsis.segments)


def agree(source: Keyed, ids: Ints, target: Keyed, other_ids: Ints) -> Bools:
    """Whether the values of rows at the same place are equal."""
    equal: Bools = np.ones(len(ids), np.bool_)
    for column, target_column in zip(source.columns, target.columns, strict=True):
        if not len(ids):
            break
        if is_coded(target.synopsis.kind(target_column)):
            equal &= source.synopsis.codes(column, ids) == target.synopsis.codes(target_column, other_ids)
        else:
            # Segment by segment: no string is copied more than once.
            for segment, mine, rows in target.synopsis.split(other_ids):
                theirs = segment.column(target_column).take(pa.array(rows))
                equal[mine] &= same(source.synopsis.arrow(column, ids[mine]), theirs)
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


def about_distinct(keyed: Keyed, ids: Ints) -> Ints:
    """Places that hold every value at least once, and most of them no more than once: by a table, not by sorting."""
    if not keyed.exact:
        return keys_of(keyed, ids).first
    keys = keyed.keys(ids)
    size = 1 << max(4, int(len(keys) * 2).bit_length())
    slot = (keys & np.uint64(size - 1)).astype(np.int64)
    owner = np.zeros(size, np.int64)
    places = np.arange(len(keys))
    owner[slot] = places
    held = owner[slot]
    return np.flatnonzero((held == places) | (keys[held] != keys))


def all_differ(values: Ints, keys: Callable[[], Hashes] | None = None) -> bool:
    """Whether no code comes twice; `keys` gives their hashes, where someone knows them."""
    if (values[1:] > values[:-1]).all():
        return True
    low, high = int(values.min()), int(values.max())
    if not is_dense(low, high, len(values)):
        return not may_repeat(mix(values.view(np.uint64)) if keys is None else keys())
    seen = np.zeros(high - low + 1, np.bool_)
    seen[values - low] = True
    return int(np.count_nonzero(seen)) == len(values)


def repeated(keyed: Keyed, ids: Ints) -> tuple[Ints, Ints]:
    """Pairs (earlier, later) of places with equal values, none NULL, each later one with the one just before it."""
    keys = keyed.keys(ids)
    if keyed.exact:
        return _by_twins(keys, sharing_hashes(keys))
    # Values of one hash may differ, and lie among each other: so they are numbered by what they are.
    suspects = sharing_hashes(keys)
    columns = [keyed.synopsis.arrow(column, ids[suspects]) for column in keyed.columns]
    earlier, later = _by_twins(grouped(columns, len(suspects)).of, np.arange(len(suspects)))
    return suspects[earlier], suspects[later]


def _by_twins(numbers: Ints | Hashes, places: Ints) -> tuple[Ints, Ints]:
    """Of the places those, in pairs, that have equal numbers."""
    order = places[np.argsort(numbers[places], kind="stable")]
    twin = np.flatnonzero(numbers[order[1:]] == numbers[order[:-1]]) if len(order) else empty_ids()
    return order[twin], order[twin + 1]


def may_repeat(keys: Hashes) -> bool:
    """Whether some hash comes twice; where values have codes, whether some value does."""
    ordered = np.sort(keys)
    return bool((ordered[1:] == ordered[:-1]).any())
