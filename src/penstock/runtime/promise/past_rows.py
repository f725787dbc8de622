"""What promises let go, remembered to see them broken after all (KMON 4.3 and 5.3). It closes nothing.

**Followers.** A match that breaks FOLLOWS is with a row that has left, so the stored rows do not show it. What stays
here of that row are its columns that FOLLOWS names, and how many rows of the parent had come before it. What the match
would have given is not known by it: that takes the shadows of `discarded/`. Left out where these are there anyway (the
k is learned, MONITOR, RECOVER).

**Clusters.** The end of a cluster is forgotten once no stored or future row needs it, which is often at once: under a
PRIMARY KEY of the other side, as soon as the row that carries the value has left. Then a value that comes again would
count as a new one, and a k that is too small would never show. So it stays here, as a value and a number.

Either is remembered surely while fewer than c times k rows have followed, so that a rise of k up to c times k is seen
for certain; then a sample with probability p. Sampling is by a hash of a row's place on its stream, so a replayed batch
samples the same rows. Left out where a BUDGET counts every promise row, and under TRUST, which does not look.

A sample that nobody asked for costs next to nothing: a hundredth of the rows that the cell keeps, and a few. MONITOR
asks for it.
"""

from __future__ import annotations

from math import ceil

import numpy as np
import pyarrow as pa

from penstock.plan.doubting import remembers_past_clusters, remembers_past_followers
from penstock.plan.parts import MonitorPlan
from penstock.plan.plan import Plan
from penstock.plan.promise_plans import PromisePlan
from penstock.runtime.columns.codes import Bools, Ints, empty_ids, union
from penstock.runtime.columns.hashing import Hashes, mix
from penstock.runtime.match.key_matching import Keyed, agree, keys_of
from penstock.runtime.match.key_ranges import most_pairs
from penstock.runtime.state.component import Component
from penstock.runtime.state.key_index import spread
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, Synopsis

MOST_SAMPLED = 1_000
"""Rows of one source, or ended clusters of one column, that are remembered as a sample; the eldest go first."""
LEAST_SAMPLED = 16
"""So many of them where few rows are kept."""
_KEPT_FOR_ONE = 100
"""Without MONITOR, one is remembered for so many rows that are kept."""


def is_sampled(monitor: MonitorPlan, arrival: Ints) -> Bools:
    """Which of the rows that arrived at these places belong to the sample."""
    chosen: Bools = mix(arrival.view(np.uint64)) < np.uint64(min(monitor.probability, 1.0) * (2.0**64 - 2**12))
    return chosen


def most_sampled(monitor: MonitorPlan, kept: int) -> int:
    """How many rows a sample may have beside so many that are kept."""
    return MOST_SAMPLED if monitor.declared else min(max(kept // _KEPT_FOR_ONE, LEAST_SAMPLED), MOST_SAMPLED)


_SLOTS = 32
"""Slots for each hash that is looked for: about one in so many of the others is looked at more closely."""


class PastFollowers(Component):
    """What one FOLLOWS has let go: values, and in `counts` the rows of the parent that came before each row."""

    tables = ("rows",)

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        self.monitor = plan.monitor
        self.columns = promise.columns
        self.rows = Synopsis(promise.columns)
        self.is_kept = remembers_past_followers(plan, promise)

    def met_by(self, parent: Keyed, ids: Ints) -> tuple[Ints, Ints]:
        """All (place in ids, rows of the parent before the row) of remembered rows that rows of the parent match."""
        own = Keyed(self.rows, self.columns)
        every = parent.keys(ids)
        asked, remembered = self._near(own, every)
        keys = every[asked]
        if not len(remembered) or not len(keys):
            return empty_ids(), empty_ids()
        begin, end, remembered = _found(own, keys, remembered)
        if int((end - begin).sum()) > most_pairs(len(keys) + len(remembered)):
            # Of a hot key the row that had fewest rows before it tells how far it lies.
            by_count = remembered[np.argsort(self.rows.counts(remembered), kind="stable")]
            begin, end, remembered = _found(own, keys, by_count[keys_of(own, by_count).first])
        place, met = np.repeat(asked, end - begin), remembered[spread(begin, end - begin)]
        if not own.exact:
            equal = agree(parent, ids[place], own, met)
            place, met = place[equal], met[equal]
        return place, self.rows.counts(met) if len(met) else empty_ids()

    def _near(self, own: Keyed, keys: Hashes) -> tuple[Ints, Ints]:
        """Places of keys, and remembered rows: all that share a hash are among them, and few others."""
        if self.rows.live * _SLOTS <= len(keys):
            remembered = self.rows.ids(ALL)
            return np.flatnonzero(_Slots(own.keys(remembered)).holds(keys)), remembered
        slots = _Slots(keys)
        near = [empty_ids()]
        for base, segment in self.rows.part(ALL):
            if len(segment) > _SLOTS * len(keys):
                # An index is made once of a segment that is large, and lasts.
                rows = union([segment.index(self.columns).probe(keys)[1]])
                near.append(rows[segment.alive[rows]] + base)
            else:
                near.append(np.flatnonzero(slots.holds(segment.key(self.columns)) & segment.alive) + base)
        return np.arange(len(keys)), np.concatenate(near)

    def remember(self, child: Keyed, ids: Ints, before: Ints, limit: int) -> None:
        """Take in rows; of those that had no more rows of the parent before them than `limit`, only a sample."""
        arrival: Ints = child.synopsis.gather(ids, lambda s: s.arrival)
        kept: Bools = before > limit
        sampled = np.flatnonzero(~kept & is_sampled(self.monitor, arrival))
        kept[sampled[-MOST_SAMPLED:]] = True
        if kept.any():
            table = pa.table({column: child.synopsis.arrow(column, ids[kept]) for column in self.columns})
            size = table.num_rows
            made = Segment(table, arrival[kept], np.zeros(size, np.int64), np.ones(size, np.bool_), {})
            made.counts = before[kept]
            self.rows.segments.append(made)
            self.rows.rebase()

    def review(self, limit: int, most: int) -> None:
        """Let go of rows that had no more rows of the parent before them than `limit`, but for a sample of `most`."""
        sampled = 0
        for base, segment in reversed(list(self.rows.part(ALL))):
            assert segment.counts is not None
            if segment.least_count() > limit:
                continue
            old = np.flatnonzero((segment.counts <= limit) & segment.alive)
            if not len(old):
                continue
            chosen = is_sampled(self.monitor, segment.arrival[old])
            surplus = max(sampled + int(np.count_nonzero(chosen)) - most, 0)
            chosen[np.flatnonzero(chosen)[:surplus]] = False
            sampled += int(np.count_nonzero(chosen))
            if not chosen.all():
                self.rows.kill(old[~chosen] + base)

    def limit(self, came: int, k: int) -> int:
        """With so many rows of the parent before it, a row has had c times k of them after it."""
        return came - ceil(k * self.monitor.factor)


class _Slots:
    """A table over the low ends of hashes, by which few are found among many."""

    def __init__(self, few: Hashes) -> None:
        self._end = np.uint64((1 << max(8, (len(few) * _SLOTS).bit_length())) - 1)
        self._taken = np.zeros(int(self._end) + 1, np.bool_)
        self._taken[(few & self._end).view(np.int64)] = True

    def holds(self, many: Hashes) -> Bools:
        """Which may be among the few: all that are, and about one in so many others."""
        return self._taken[(many & self._end).view(np.int64)]


class PastClusters(Component):
    """The forgotten clusters of one column, with the numbers of `clustered.py`."""

    tables = ("rows",)

    def __init__(self, plan: Plan, promise: PromisePlan) -> None:
        self.monitor = plan.monitor
        self.rows = Synopsis(promise.columns)
        self.is_kept = remembers_past_clusters(plan, promise)

    def stays(self, count: int, k: int | None, counts: Ints, arrival: Ints) -> Bools:
        """Which clusters with these numbers `review` would not let go of at once."""
        staying: Bools = np.full(len(counts), k is None)
        if k is not None:
            staying = count - counts <= k * self.monitor.factor
            staying[~staying] = is_sampled(self.monitor, arrival[~staying])
        return staying

    def review(self, count: int, k: int | None, most: int) -> Ints:
        """After a batch with which so many rows have come: let go of the old but `most`; gives what k leaves open."""
        ids = self.rows.ids(ALL)
        if k is None or not len(ids):
            return empty_ids()
        distance = count - self.rows.counts(ids)
        old: Bools = distance > k * self.monitor.factor
        if old.any():
            aged = ids[old]
            sampled = is_sampled(self.monitor, self.rows.gather(aged, lambda s: s.arrival))
            surplus = max(np.count_nonzero(sampled) - most, 0)
            self.rows.kill(np.concatenate([aged[~sampled], aged[sampled][:surplus]]))
        return ids[distance <= k]


def _found(own: Keyed, keys: Hashes, remembered: Ints) -> tuple[Ints, Ints, Ints]:
    """For each key where the remembered rows with its hash begin and end; and the rows in that order."""
    there = own.keys(remembered)
    order = np.argsort(there, kind="stable")
    begin, end = (np.searchsorted(there[order], keys, side) for side in ("left", "right"))
    return begin, end, remembered[order]
