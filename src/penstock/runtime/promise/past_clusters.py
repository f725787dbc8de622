"""Ended clusters that nothing needs any more, remembered to see their values come again (KMON 5.3).

The end of a cluster is forgotten once no stored or future row needs it, which is often at once: under a PRIMARY KEY of
the other side, as soon as the row that carries the value has left. Then a value that comes again would count as a new
one, and a k that is too small would never show. So what is forgotten stays here, as a value and a number: surely while
at most c times k rows with other values have followed its first row, so that a rise of k up to c times k is seen for
certain; then a sample with probability p. It closes nothing.

Left out where a BUDGET counts every promise row, and under TRUST, which does not look.
"""

from __future__ import annotations

import numpy as np

from penstock.plan.doubting import remembers_past_clusters
from penstock.plan.plan import Plan, PromisePlan
from penstock.runtime.columns.codes import Bools, Ints, empty_ids
from penstock.runtime.promise.sampling import MOST_SAMPLED, is_sampled
from penstock.runtime.state.component import Component
from penstock.runtime.state.synopsis import ALL, Synopsis


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

    def review(self, count: int, k: int | None) -> Ints:
        """After a batch with which so many rows have come: let go of the old; gives those that k leaves open."""
        ids = self.rows.ids(ALL)
        if k is None or not len(ids):
            return empty_ids()
        distance = count - self.rows.counts(ids)
        old: Bools = distance > k * self.monitor.factor
        if old.any():
            aged = ids[old]
            sampled = is_sampled(self.monitor, self.rows.gather(aged, lambda s: s.arrival))
            surplus = max(np.count_nonzero(sampled) - MOST_SAMPLED, 0)
            self.rows.kill(np.concatenate([aged[~sampled], aged[sampled][:surplus]]))
        return ids[distance <= k]
