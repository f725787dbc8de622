"""A synopsis: what is stored of one source, as a short list of segments in order of arrival.

A row's id is its place in the list of all rows of all segments; ids hold for one step. The rows of the running batch
are the last segment, `fresh`. At the end of a step, what survives of it is stored, and several neighbours of like size
become one (`tiers.py`); large segments are left alone. Where more than half of all rows are dead, segments that mostly
are get rewritten; until then a segment stays as it is: rows whose time passes leave together, and with the last of them
it is gone, never written again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.runtime.columns.codes import Bools, Ints, empty_ids, union
from penstock.runtime.columns.hashing import Hashes, mix
from penstock.runtime.state.encoding import plain
from penstock.runtime.state.key_index import refuse_more, spread
from penstock.runtime.state.segment import MERGE_BELOW, Segment
from penstock.runtime.state.tiers import to_merge

_COPIED = 4
"""So many values are copied in a row in the time in which one is picked out by its place."""
_COPIED_VALUES = 2
"""The same of values of any length."""

OLD, FRESH, ALL = "old", "fresh", "all"
"""The parts of a synopsis that a probe may look at."""


class Synopsis:
    """The stored rows of one source."""

    def __init__(self, columns: tuple[str, ...], *, encodes: bool = False) -> None:
        self.columns = columns
        self.encodes = encodes
        """Whether columns that repeat are held as dictionaries once they are saved."""
        self.segments: list[Segment] = []
        self.has_fresh = False
        self._bases = [0]
        """The id of the first row of each segment, and the number of all rows."""
        self.deaths = 0
        """How often rows were killed: as long as it stays, who lived lives."""
        self.numbering = 0
        """How often rows were numbered anew: what was found for ids of another numbering is void."""
        self.probes: dict[tuple[Any, ...], Any] = {}
        """What fresh rows of another source met here, while the step lasts; see `key_matching`."""
        self.gone: list[str] = []
        """The names of segments that are still in the store and no longer here."""
        self._ids: dict[str, Ints] = {}
        """The ids of parts already asked for; void once a row dies or comes."""

    def rebase(self) -> None:
        """Number the rows anew; ids given before are void."""
        self._ids = {}
        self.probes = {}
        self.numbering += 1
        self._bases = [0, *accumulate(len(segment) for segment in self.segments)]

    def derive_as(self, other: Synopsis) -> None:
        """Take over what another has derived of segments that are here too."""
        known = {segment.name: segment for segment in other.segments if segment.name is not None}
        for segment in self.segments:
            if segment.name in known:
                segment.derive_as(known[segment.name])

    def begin(self, fresh: Segment) -> None:
        """Start a step with the rows of its batch."""
        self.segments.append(fresh)
        self.has_fresh = True
        self.rebase()

    @property
    def first_fresh(self) -> int:
        """The id of the first row of the running batch."""
        return self._bases[-2]

    @property
    def rows(self) -> int:
        """All rows, those that died and are still there with them: ids lie below it."""
        return self._bases[-1]

    @property
    def live(self) -> int:
        """The rows that still matter."""
        return sum(s.live for s in self.segments)

    def part(self, which: str) -> list[tuple[int, Segment]]:
        """The segments of a part that hold a living row, each with the id of its first row."""
        last = len(self.segments) - 1 if self.has_fresh else len(self.segments)
        wanted = slice(last, None) if which == FRESH else slice(0, last if which == OLD else None)
        pairs = zip(self._bases[wanted], self.segments[wanted], strict=False)
        return [(base, segment) for base, segment in pairs if segment.live]

    def size(self, which: str) -> int:
        """The living rows of a part."""
        if which == FRESH:
            return self.segments[-1].live if self.has_fresh else 0
        fresh = self.segments[-1].live if which == OLD and self.has_fresh else 0
        return self.live - fresh

    def ids(self, which: str) -> Ints:
        """The living rows of a part."""
        if which not in self._ids:
            found = [segment.living() + base if base else segment.living() for base, segment in self.part(which)]
            self._ids[which] = (found[0] if len(found) == 1 else np.concatenate(found)) if found else empty_ids()
        return self._ids[which]

    def is_fresh(self, ids: Ints) -> bool:
        """Whether these are, as they were given, the rows of the running batch."""
        return ids is self._ids.get(FRESH)

    def split(self, ids: Ints) -> Iterator[tuple[Segment, Any, Ints]]:
        """The ids by segment: (segment, which of the ids, rows of the segment)."""
        if not len(ids):
            return
        first = last = 0
        if len(self.segments) > 1:
            first, last = (bisect_right(self._bases, int(end)) - 1 for end in (ids.min(), ids.max()))
        if first == last:
            yield self.segments[first], slice(None), ids - self._bases[first] if first else ids
            return
        if (ids[1:] >= ids[:-1]).all():
            cuts = np.searchsorted(ids, self._bases[first : last + 2])
            for number, low, high in zip(range(first, last + 1), cuts[:-1], cuts[1:], strict=True):
                if low < high:
                    part = slice(int(low), int(high))
                    yield self.segments[number], part, ids[part] - self._bases[number]
            return
        for number in range(first, last + 1):
            start, end = self._bases[number], self._bases[number + 1]
            mine = np.flatnonzero((ids >= start) & (ids < end))
            if len(mine):
                yield self.segments[number], mine, ids[mine] - start

    def gather(self, ids: Ints, read: Callable[[Segment], Any]) -> Any:
        """One numpy value for each id; not to be written to."""
        if self.is_fresh(ids) and len(ids):
            fresh = self.segments[-1]
            if fresh.live < len(fresh):
                return read(fresh)[ids - self._bases[-2]]
            own = read(fresh).view()
            own.flags.writeable = False
            return own
        if len(self.segments) > 1 and self.rows <= _COPIED * len(ids):
            # To copy whole columns costs less than to split the ids.
            return np.concatenate([read(segment) for segment in self.segments])[ids]
        out: Any = None
        for segment, mine, rows in self.split(ids):
            values = read(segment)
            if len(rows) == len(ids):
                return values[rows]
            if out is None:
                out = np.empty(len(ids), values.dtype)
            out[mine] = values[rows]
        return out if out is not None else np.empty(0, np.int64)

    def codes(self, name: str, ids: Ints) -> Ints:
        """The codes of a column."""
        found: Ints = self.gather(ids, lambda s: s.codes(name))
        return found

    def ticks(self, name: str, ids: Ints) -> Ints:
        """The ticks of a column."""
        found: Ints = self.gather(ids, lambda s: s.ticks(name))
        return found

    def hashes(self, name: str, ids: Ints) -> Hashes:
        """The hashes of a column."""
        found = self.gather(ids, lambda s: s.hashes(name))
        return found if len(found) else np.empty(0, np.uint64)

    def arrow(self, name: str, ids: Ints) -> Any:
        """The values of a column as one Arrow array."""
        if len(self.segments) > 1 and self.rows <= _COPIED_VALUES * len(ids) and (ids[1:] < ids[:-1]).any():
            return pa.concat_arrays([plain(s.stored.column(name)) for s in self.segments]).take(pa.array(ids))
        pieces, places = [], []
        for segment, mine, rows in self.split(ids):
            pieces.append(segment.pick(name, rows))
            places.append(mine)
        if not pieces:
            return self.segments[0].column(name).slice(0, 0) if self.segments else pa.nulls(0)
        if len(pieces) == 1:
            return pieces[0]
        if isinstance(places[0], slice):
            return pa.concat_arrays(pieces)
        back = np.empty(len(ids), np.int64)
        back[np.concatenate(places)] = np.arange(len(ids))
        return pa.concat_arrays(pieces).take(pa.array(back))

    def kind(self, name: str) -> Any:
        """The Arrow type of a column; None while nothing is stored."""
        return self.segments[0].column(name).type if self.segments else None

    def alive(self, ids: Ints) -> Ints:
        """Those of the ids that still matter."""
        if not len(ids) or self.live == self.rows:
            return ids
        mask: Bools = self.gather(ids, lambda s: s.alive)
        return ids if mask.all() else ids[mask]

    def kill(self, ids: Ints) -> None:
        """Mark rows as purged; each must be alive and named once."""
        self._ids = {}
        self.deaths += 1
        for segment, _, rows in self.split(ids):
            segment.kill(rows)

    def mark(self, name: str, ids: Ints) -> Ints:
        """Set a mark on rows; gives those that did not have it."""
        if not len(ids):
            return ids
        ids = union([ids])
        new = []
        for segment, mine, rows in self.split(ids):
            mask = segment.marks[name]
            had = mask[rows]
            found = ids[mine][~had] if had.any() else ids[mine]
            if len(found):
                mask[rows] = True
                segment.touched = True
            new.append(found)
        return new[0] if len(new) == 1 else np.concatenate(new)

    def marked(self, name: str, ids: Ints) -> Bools:
        """Which rows have a mark."""
        found: Bools = self.gather(ids, lambda s: s.marks[name])
        return found

    def add(self, ids: Ints, counts: Ints) -> None:
        """Let rows stand for so many more; each must be named once."""
        for segment, mine, rows in self.split(ids):
            assert segment.counts is not None
            segment.counts[rows] += counts[mine]
            segment.touched = True

    def counts(self, ids: Ints) -> Ints:
        """How many rows each stands for, where that is counted."""
        found: Ints = self.gather(ids, lambda s: s.counts)
        return found

    def probe(self, which: str, names: tuple[str, ...], keys: Hashes, most: int | None = None) -> tuple[Ints, Ints]:
        """All pairs (place in keys, living row) whose hashes agree on the columns.

        TooManyPairs where a segment has more than `most` of them.
        """
        return _paired((base, segment, *segment.index(names).probe(keys, most)) for base, segment in self.part(which))

    def probe_values(
        self,
        which: str,
        name: str,
        values: Ints,
        most: int | None = None,
        keys: Callable[[], Hashes] | None = None,
    ) -> tuple[Ints, Ints]:
        """All pairs (place in values, living row) whose codes agree on a column that has codes; `most` as in `probe`.

        `keys` gives their hashes, which whoever has the values may know; they are not always needed.

        Of keys that mostly rise, as numbers do that are given out in turn, few lie within the reach of a segment. One
        out of reach is not even indexed.
        """
        return _paired(self._probed(which, name, values, most, keys or (lambda: mix(values.view(np.uint64)))))

    def _probed(
        self, which: str, name: str, values: Ints, most: int | None, keys: Callable[[], Hashes]
    ) -> Iterator[tuple[int, Segment, Ints, Ints]]:
        if not len(values):
            return
        least, largest = int(values.min()), int(values.max())
        hashed: Hashes | None = None
        for base, segment in self.part(which):
            low, high = segment.span(name)
            if largest < low or least > high:
                continue
            near = None if low <= least and largest <= high else np.flatnonzero((values >= low) & (values <= high))
            by_value = segment.index_by_value(name)
            if by_value is None:
                hashed = keys() if hashed is None else hashed
                left, rows = segment.index((name,)).probe(hashed if near is None else hashed[near], most)
            else:
                left, rows = by_value.probe(values if near is None else values[near], most)
            yield base, segment, left if near is None else near[left], rows

    def reaches(self, name: str, values: Ints) -> bool:
        """Whether some value may be there: it lies between the least and the largest of a segment's."""
        if not len(values):
            return False
        least, most = int(values.min()), int(values.max())
        spans = (segment.span(name) for _, segment in self.part(ALL))
        return any(low <= most and least <= high for low, high in spans)

    def near(self, which: str, names: tuple[str, ...], keys: Hashes) -> int:
        """About how many pairs `probe` would find, and not fewer."""
        return sum(segment.index(names).near(keys) for _, segment in self.part(which))

    def between(
        self, which: str, how: str, name: str, limits: tuple[Ints, Ints], most: int | None = None
    ) -> tuple[Ints, Ints]:
        """All pairs (place, living row) with low <= value <= high, the limits; `most` as in `probe`."""
        low, high = limits
        found = []
        for base, segment in self.part(which):
            values, order = segment.sorted_by(how, name)
            first = np.searchsorted(values, low, "left")
            count = np.maximum(np.searchsorted(values, high, "right") - first, 0)
            refuse_more(most, count)
            found.append((base, segment, np.repeat(np.arange(len(low)), count), order[spread(first, count)]))
        return _paired(found)

    def in_range(self, how: str, name: str, above: int, upto: int, which: str = OLD) -> Ints:
        """The living rows with above < value <= upto; touches only segments that reach into the range."""
        found = [segment.in_range(how, name, above, upto) + base for base, segment in self.part(which)]
        return np.concatenate(found) if found else empty_ids()

    def risen_to(self, name: str, upto: int) -> int | None:
        """The id below which the codes of a column are at most so large, and from which on they are larger.

        None where the column does not rise in the order of the rows.
        """
        found, last = self.rows, None
        for base, segment in zip(self._bases, self.segments, strict=False):
            if not len(segment):
                continue
            read = segment.codes(name)
            if not segment.rises("codes", name) or (last is not None and read[0] < last):
                return None
            last = read[-1]
            if last > upto:
                found = min(found, base + int(np.searchsorted(read, upto, "right")))
        return found

    def arrived(self, read: Callable[[Segment], Ints], above: int, upto: int, which: str = OLD) -> Ints:
        """The living rows with above < value <= upto, for a value that never falls in order of arrival."""
        found = []
        for base, segment in self.part(which):
            values = read(segment)
            if values[-1] <= above or values[0] > upto:
                continue
            rows = np.arange(np.searchsorted(values, above, "right"), np.searchsorted(values, upto, "right"))
            found.append(rows[segment.alive[rows]] + base)
        return np.concatenate(found) if found else empty_ids()

    def finish(self) -> None:
        """End a step: store what survived of the batch, merge and rewrite."""
        if not self.segments:
            return
        fresh = self.segments[-1] if self.has_fresh else None
        if fresh is not None:
            fresh.narrow(self.columns)
            self.has_fresh = False
        living = self.live
        # What is dead of the batch is not stored in any case.
        stored = sum(s.live if s is fresh else len(s) for s in self.segments if s.live)
        kept: list[Segment] = []
        for segment in self.segments:
            if segment.live and (segment.live * 2 > len(segment) or segment is fresh or stored <= 2 * living):
                kept.append(segment)
                continue
            self._drop(segment)
            if segment.live:
                kept.append(Segment.merged([segment]))
        self.segments = []
        for segment in sorted(kept, key=in_order):
            self.segments.append(segment)
            self._merge_tail()
        if fresh is not None and fresh.live < len(fresh):
            # What no merge has rewritten of the batch is rewritten here, without the rows that have left.
            self.segments = sorted((Segment.merged([s]) if s is fresh else s for s in self.segments), key=in_order)
        self.rebase()

    def compact(self) -> None:
        """Rewrite every segment that holds a dead row. Only between steps."""
        self._drop(*(s for s in self.segments if s.live < len(s)))
        rewritten = (s if s.live == len(s) else Segment.merged([s]) for s in self.segments if s.live)
        self.segments = sorted(rewritten, key=in_order)
        self.rebase()

    def _merge_tail(self) -> None:
        while count := to_merge([s.live for s in self.segments], MERGE_BELOW):
            last = self.segments[-count:]
            self._drop(*last)
            self.segments[-count:] = [Segment.merged(last)]

    def _drop(self, *segments: Segment) -> None:
        self.gone += [segment.name for segment in segments if segment.name is not None]

    @property
    def nbytes(self) -> int:
        """The bytes of all segments."""
        return sum(segment.nbytes() for segment in self.segments)


def in_order(segment: Segment) -> tuple[int, int]:
    """Where a segment stands among those of a synopsis, whoever wrote it and when: by the arrival of its first row."""
    return int(segment.batch[0]), int(segment.arrival[0])


def _paired(probed: Iterable[tuple[int, Segment, Ints, Ints]]) -> tuple[Ints, Ints]:
    """Of what was found in each segment, with the id of its first row, the pairs with living rows."""
    lefts, rights = [], []
    for base, segment, left, rows in probed:
        if len(rows):
            if segment.live < len(segment):
                living = segment.alive[rows]
                left, rows = left[living], rows[living]  # noqa: PLW2901
            lefts.append(left)
            rights.append(rows + base)
    if not lefts:
        return empty_ids(), empty_ids()
    return (lefts[0], rights[0]) if len(lefts) == 1 else (np.concatenate(lefts), np.concatenate(rights))
