"""Stored and sampled rows side by side, so that the same joins run over both: old ones, sampled ones, those of a batch.

A synopsis of both has the very segments of the stored one and the one of the sample, so that putting them together
copies no row, and what was derived of a segment (codes, indexes) is there already. Under outer joins and EXISTS the two
trees that run over a row see it under marks of their own: there the segments are twins, whose marks are the account's
(`promise/marks.py`), with one mask of who is alive.

Ids hold as long as nothing is put together anew. Between the join of a batch and the end of its purge neither the
stored segments nor the sample change their size, so there they hold throughout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.plan.plan import Plan
from penstock.runtime.budget.rates import Floats
from penstock.runtime.budget.sample import Sample
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.promise.marks import TWICE, of_account
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import Synopsis


@dataclass(frozen=True)
class ToldApart:
    """One column of combinations of stored and sampled rows, told apart."""

    own: Ints
    """Ids among the stored ones; for a sampled row without meaning."""
    place: Ints
    """Places in the sample; for others without meaning."""
    sampled: Bools
    weight: Floats
    """What a sampled row stands for; 0 for a stored one."""


class WithSampled:
    """The stored and the sampled rows of one cell."""

    def __init__(self, plan: Plan, synopses: Mapping[str, Synopsis], samples: Mapping[str, Sample]) -> None:
        self.synopses = synopses
        self.samples = samples
        self.both = {alias: Synopsis(synopses[alias].columns) for alias in plan.aliases}
        self._has_twins = not plan.inner
        self._twins: list[tuple[Segment, Segment]] = []
        self._first: dict[str, int] = {}
        """By alias, the id of the first sampled row."""
        self._size: dict[str, int] = {}
        """By alias, how many are sampled."""

    def stand(self, beside: Mapping[str, Segment] | None = None) -> None:
        """Put stored and sampled rows together, as they are now; and further old ones, at the end."""
        self.part()
        for alias, both in self.both.items():
            synopsis, sample = self.synopses[alias], self.samples[alias].segment
            old = synopsis.segments[:-1] if synopsis.has_fresh else synopsis.segments
            fresh = synopsis.segments[len(old) :]
            more = [] if beside is None or alias not in beside else [beside[alias]]
            every = [*old, *([] if sample is None else [sample]), *fresh, *more]
            both.segments = [self._twin(segment) for segment in every] if self._has_twins else every
            both.has_fresh = synopsis.has_fresh and beside is None
            both.rebase()
            self._first[alias] = sum(len(segment) for segment in old)
            self._size[alias] = 0 if sample is None else len(sample)

    def _twin(self, segment: Segment) -> Segment:
        marks = {name: mask for name, mask in segment.marks.items() if name not in TWICE}
        twin = segment.under(marks | {name: segment.marks[of_account(name)] for name in TWICE})
        twin.touched = False
        self._twins.append((segment, twin))
        return twin

    def part(self) -> None:
        """Hold no longer what stood together: segments may be rewritten."""
        for segment, twin in self._twins:
            segment.touched |= twin.touched
        self._twins, self._first, self._size = [], {}, {}
        for both in self.both.values():
            both.segments, both.has_fresh = [], False
            both.rebase()

    def begin_as_stored(self) -> None:
        """Let the account's marks of stored rows be those that they have."""
        for synopsis in self.synopses.values():
            for segment in synopsis.segments:
                for name in TWICE if self._has_twins else ():
                    segment.marks[of_account(name)] = segment.marks[name].copy()
                segment.touched = True

    def ids(self, alias: str, own: Ints) -> Ints:
        """The ids, among both, of stored rows."""
        return np.where(own < self._first[alias], own, own + self._size[alias])

    def sampled(self, alias: str) -> Ints:
        """The ids of the sampled rows."""
        return self._first[alias] + np.arange(self._size[alias])

    def told_apart(self, alias: str, ids: Ints) -> ToldApart:
        """Which of some rows are stored, and which sampled."""
        size = self._size[alias]
        place = ids - self._first[alias]
        sampled: Bools = (place >= 0) & (place < size)
        weight = np.zeros(len(ids))
        weight[sampled] = self.samples[alias].weight[place[sampled]]
        return ToldApart(np.where(place >= size, ids - size, ids), place, sampled, weight)
