"""The account of inner joins: what is emitted are the results without a sampled row, so one join gives both.

Rows that are shed before they are joined are joined all the same if they are sampled, and go then. What a row waits for
may depend on a third stream from three streams on: there, rows that are purged are asked whether they go on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.plan.plan import Plan
from penstock.runtime.budget.account import Account
from penstock.runtime.budget.rates import Floats
from penstock.runtime.budget.with_sampled import ToldApart
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.join.join_tree import JoinTree
from penstock.runtime.join.merge import stand_together, stands_for
from penstock.runtime.join.purged import Purged
from penstock.runtime.join.rows import count
from penstock.runtime.match.matching import Partial
from penstock.runtime.state.segment import Segment

_LEAST_CHAIN = 3
"""Streams from which on what a row of an inner join waits for may depend on a third."""


@dataclass(frozen=True)
class _Shed:
    """Fresh rows that were shed and are sampled: their ids, what each stands for, what each has missed."""

    ids: Ints
    weight: int
    tally: Floats


class BlockAccount(Account):
    """The account of a block of inner joins."""

    def __init__(self, plan: Plan, tree: JoinTree) -> None:
        super().__init__(plan, tree)
        self._shed: dict[str, _Shed] = {}

    @property
    def is_missing(self) -> bool:
        """See Account."""
        return bool(self._shed) or any(len(sample) for sample in self.samples.values())

    def shed(self, alias: str, ids: Ints) -> None:
        """See Account. Those that are sampled go after the join."""
        synopsis = self.synopses[alias]
        ids = np.sort(ids)
        picked, weight, variance = self.samples[alias].picks(synopsis.segments[-1], ids - synopsis.first_fresh)
        self._variance += variance
        synopsis.kill(ids[~picked])
        self._shed[alias] = _Shed(ids[picked], weight, np.zeros(int(picked.sum())))

    def _leave(self, alias: str) -> None:
        """The sampled ones of the rows that were shed go too."""
        shed = self._shed[alias]
        if len(shed.ids):
            arrival: Ints = self.synopses[alias].gather(shed.ids, lambda s: s.arrival)
            self.note(alias, shed.ids)
            self.synopses[alias].kill(shed.ids)
            self.samples[alias].missed(arrival, shed.tally)

    def join(self) -> list[Partial]:
        """See Account."""
        self.lost_now = 0
        if self.is_missing:
            self.with_sampled.stand()
            found = [self._kept(partial) for partial in self.due.join()]
        else:
            found = self.tree.join()
        for partial in found if self.plan.aggregate is None else ():
            weight = stand_together(self.synopses, partial)
            self.emitted += count(partial) if weight is None else int(weight.sum())
        for alias in self._shed:
            self._leave(alias)
        self._shed = {}
        return found

    def _kept(self, partial: Partial) -> Partial:
        """The combinations of stored rows alone, by their own ids; the others are noted as lost."""
        rows = {alias: self._told_apart(alias, ids) for alias, ids in partial.items()}
        lost = np.logical_or.reduce([row.weight > 0 for row in rows.values()])
        if lost.any():
            self.lost_now += self._note(rows, np.flatnonzero(lost))
        return {alias: row.own[~lost] for alias, row in rows.items()}

    def _told_apart(self, alias: str, ids: Ints) -> ToldApart:
        found, shed = super()._told_apart(alias, ids), self._shed.get(alias)
        if shed is not None:
            found.weight[~found.sampled & np.isin(found.own, shed.ids)] = shed.weight
        return found

    def _stand_for(self, alias: str, ids: Ints) -> Ints:
        return stands_for(self.synopses[alias], ids)

    def _gave_each(self, alias: str, ids: Ints, missed: Floats) -> None:
        if (shed := self._shed.get(alias)) is not None and len(shed.ids):
            places = np.searchsorted(shed.ids, ids)
            np.add(shed.tally, np.bincount(places, missed, len(shed.ids)), out=shed.tally)

    def outlive(self, purged: Purged) -> None:
        """See Account."""
        if not self.is_missing or len(self.plan.aliases) < _LEAST_CHAIN:
            return
        gone = {alias: np.sort(purged.by_promises(alias)) for alias in self.plan.aliases}
        copies = {alias: self._copied(alias, ids) for alias, ids in gone.items() if len(ids)}
        self.with_sampled.stand(copies)
        ends = {alias: self.with_sampled.both[alias].rows for alias in copies}
        ids = {alias: np.arange(end - len(gone[alias]), end) for alias, end in ends.items()}
        missed = {alias: gone[alias][~self.due.is_done(alias, rows)] for alias, rows in ids.items()}
        for alias, rows in missed.items():
            self.note(alias, rows)

    def _is_over(self, alias: str, segment: Segment) -> Bools:
        source = self.plan.by_alias[alias]
        if source.window_rows is None or self.tree.across is not None:
            return super()._is_over(alias, segment)
        over: Bools = segment.arrival < self.tree.clock.count[source.stream] - source.window_rows
        return over

    def note(self, alias: str, ids: Ints) -> None:
        """See Account."""
        if not len(ids) or self.blind:
            return
        ids = np.sort(ids)
        self._variance += self.samples[alias].add(self._copied(alias, ids), stands_for(self.synopses[alias], ids))
