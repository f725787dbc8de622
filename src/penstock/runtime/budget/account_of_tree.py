"""The account of outer joins and EXISTS: a tree of its own runs over stored and sampled rows.

A row that meets a sampled partner has another answer than one that meets none. So the tree over both
(`join/join_tree.py`) has marks and waiting rows of its own, from the first eviction on; it begins as the other one
stands. While the sample is all, it gives what the query without a budget would. Of evicted rows that are not sampled it
knows by a sketch (`doubt.py`), as the other tree does of all evicted ones: rows that these may have matched are
**unsure**. Of the results made of such rows as many are taken to be in doubt by chance as the filled buckets say, and
the error leaves all of them open.

It is blind too where rows are shed before they are joined, and where nothing but promises about values closes what
waits and one of these was forgotten, or left with the row that stood for it: in the sample rows without a match would
then never be due.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.model.nodes import NodeKind
from penstock.plan.plan import Plan
from penstock.plan.promise_expiry import closed_by_values_alone
from penstock.runtime.budget.account import Account
from penstock.runtime.columns.codes import Bools, Ints, empty_ids, union
from penstock.runtime.join.join_tree import JoinTree
from penstock.runtime.join.purged import Asking, Purged
from penstock.runtime.join.rows import ABSENT, Rows, count
from penstock.runtime.join.sides import StreamSide
from penstock.runtime.match.matching import Partial
from penstock.runtime.promise.marks import LEFT, MATCHED, of_account
from penstock.runtime.promise.watch import WatchStep


class TreeAccount(Account):
    """The account of a tree with an outer join or EXISTS in it."""

    def __init__(self, plan: Plan, tree: JoinTree) -> None:
        super().__init__(plan, tree)
        self._by_values = dict(closed_by_values_alone(plan))
        """The streams that only promises about values close for rows that wait; whether more than keys ties them."""

    @property
    def is_missing(self) -> bool:
        """See Account."""
        return self._runs and not self.blind

    def shed(self, alias: str, ids: Ints) -> None:
        """See Account."""
        self.blind = True
        self.synopses[alias].kill(np.sort(ids))

    def join(self) -> list[Partial]:
        """See Account."""
        self.lost_now = 0
        if self.is_missing:
            self.with_sampled.stand()
            self._count_due(self.due.join())
        return self.tree.join()

    def settle(self, step: WatchStep, touched: Mapping[str, Ints], met: Mapping[str, Ints], asking: Asking) -> None:
        """See Account."""
        learnt = self._mark(step)
        if not self.is_missing:
            return
        self.with_sampled.stand()
        marked = {a: [self.with_sampled.sampled(a)[places] for places in found] for a, found in learnt.items()}
        for alias in {**touched, **met}:
            own = [self.with_sampled.ids(alias, found[alias]) for found in (touched, met) if alias in found]
            marked.setdefault(alias, []).extend(own)
        certain, _ = self.due.settle({alias: union(ids) for alias, ids in marked.items()}, asking, {})
        self._count_due(certain)

    def gave(self, results: int) -> None:
        """See Account."""
        super().gave(results)
        if self.is_missing:
            self.lost -= results
            self._known -= results
            known = self._known - self._waiting_for_an_answer()
            self.lost_now = max(0, known - self._told)
            self._told += self.lost_now

    def _waiting_for_an_answer(self) -> int:
        """At most so many stored rows of EXISTS are due and will be given yet, by a further match."""
        waiting = 0
        for node in self.tree.nodes.values():
            if node.plan.kind is NodeKind.SEMI:
                left = node.sides[0]
                if isinstance(left, StreamSide):
                    found = [s.alive & s.marks[of_account(MATCHED)] & ~s.marks[LEFT] for s in left.synopsis.segments]
                    waiting += int(sum(np.count_nonzero(mask) for mask in found))
                else:
                    waiting += left.size
        return waiting

    def _count_due(self, results: list[Rows]) -> None:
        """Count what the joins over both have given."""
        for given in results:
            size = count(given)
            if not size:
                continue
            rows = {alias: self._told_apart(alias, ids) for alias, ids in given.items()}
            asked: Bools = np.ones(size, np.bool_)
            for window in () if self.plan.aggregate is None else self.plan.aggregate.windows:
                asked &= given[window.alias] != ABSENT  # What has no time is in no window.
            unsure = np.zeros(size, np.bool_) if self.due.unsure is None else self.due.unsure
            self._known += self._note(rows, np.flatnonzero(asked & ~unsure))
            weights = [np.maximum(row.weight[asked & unsure], 1.0) for row in rows.values()]
            self.maybe += float(np.prod(weights, axis=0).sum())

    def outlive(self, purged: Purged) -> None:
        """See Account."""
        if not self.is_missing:
            return
        gone = {alias: np.sort(purged.of(alias)) for alias in self.plan.aliases}
        self.with_sampled.stand()
        ids = {alias: self.with_sampled.ids(alias, rows) for alias, rows in gone.items() if len(rows)}
        missed = {alias: gone[alias][~self.due.is_done(alias, rows)] for alias, rows in ids.items()}
        for alias, rows in missed.items():
            self.note(alias, rows)

    def note(self, alias: str, ids: Ints) -> None:
        """See Account."""
        if not len(ids) or self.blind:
            return
        ids = np.sort(ids)
        self.blind |= self._by_values.get(alias, False)
        if not self._runs:
            self._runs = True
            self.with_sampled.begin_as_stored()
            self.due.begin_as(self.tree)
        self.with_sampled.stand()
        both = self.with_sampled.both[alias]
        needed = ~self.due.is_done(alias, self.with_sampled.ids(alias, ids))
        ids = ids[needed]
        if not len(ids):
            return
        leaving = np.concatenate([self.with_sampled.ids(alias, ids), self.with_sampled.sampled(alias)])
        arrival: Ints = both.gather(leaving, lambda s: s.arrival)
        sample = self.samples[alias]
        self._variance += sample.add(self._copied(alias, ids), np.ones(len(ids), np.int64))
        kept = empty_ids() if sample.segment is None else sample.segment.arrival
        self.due.evicting(alias, np.sort(leaving[~np.isin(arrival, kept)]))

    def forgot(self) -> None:
        """See Account."""
        self.blind |= bool(self._by_values)

    @property
    def _share_of_unsure(self) -> float:
        doubt = self.due.lost
        by_chance = min(1.0, doubt.chance / doubt.unsure) if doubt is not None and doubt.unsure else 0.0
        return 1.0 - by_chance if self.plan.tree.root.kind is NodeKind.SEMI else by_chance
