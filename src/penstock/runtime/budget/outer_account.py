"""The account of what eviction loses where two streams meet by an outer join, EXISTS or NOT EXISTS.

A pair that is lost has one row that was evicted before the other came: the sample of `account.py` finds it when the
other comes, and it counts as often as the sampled row stands for. Of a row that **waits** to know whether it matches
anything (the kept side of an outer join, the rows of EXISTS and NOT EXISTS) there are two cases more:

- it was evicted itself: if it is sampled, it goes on in the sample. What comes meets it there, and when the promises
  close it, it is known whether a row without a match, or one of EXISTS, is lost;
- a partner may have been evicted before it came: it is in doubt (`runtime/budget/evicted_keys.py`). If the sample holds
  that partner, it is found: the row has a match. If the sample is all that was evicted and holds none, it has none, and
  was withheld in vain: lost. Otherwise it is **unsure**.

While the sample holds all evicted rows, what is due is known to the last result. After that, of the unsure rows that
end without an answer as many are taken to be in doubt by chance as the filled buckets say: if f of them are filled, for
(1 - f) new rows that are not in doubt f are by chance. The error leaves all of them open.

A promise that was forgotten, or that an evicted row stood for, closes nothing. Where nothing else closes what waits,
rows without a match are never due in the sample: the account is then blind, as without a sample.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.model.nodes import NodeKind
from penstock.plan.plan import Plan
from penstock.plan.promise_expiry import ABOUT_VALUES
from penstock.runtime.budget.account import MOST_VARIANCE, Account
from penstock.runtime.budget.loss import DEVIATIONS, Loss
from penstock.runtime.budget.sample import Sample
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.input.arrival_order import ArrivalOrder
from penstock.runtime.input.clock import Clock
from penstock.runtime.join.join_tree import JoinTree
from penstock.runtime.join.merge import Merge
from penstock.runtime.join.purged import Purged
from penstock.runtime.join.rows import ABSENT, Rows, count
from penstock.runtime.join.settling import Settling
from penstock.runtime.join.sides import StreamSide
from penstock.runtime.match.matching import Matcher, Partial
from penstock.runtime.match.node_matching import NodeMatcher
from penstock.runtime.match.rows_windows import RowsWindows
from penstock.runtime.promise.closing import Closedness
from penstock.runtime.promise.marks import DOUBTED, FOUND, MATCHED, UNSURE
from penstock.runtime.state.synopsis import ALL, FRESH, Synopsis


class OuterAccount(Account):
    """The sampled rows of one cell, and what is known of those that wait."""

    numbers = (*Account.numbers, "maybe", "unsure", "chance")

    def __init__(self, plan: Plan, synopses: Mapping[str, Synopsis], merge: Merge, tree: JoinTree) -> None:
        super().__init__(plan, synopses, merge)
        assert not plan.inner
        self.tree = tree
        self.node = plan.tree.root
        left, right = (side.alias for side in tree.streams)
        self.pair = (left, right)
        assert tree.lost is not None
        self.doubts = {sketch.asking.aliases[0]: sketch for sketch in tree.lost.sketches.values()}
        """By the stream whose rows may have had a partner that was evicted."""
        self.answers = self.node.kind in (NodeKind.SEMI, NodeKind.ANTI)
        """Whether a row of the left leaves at its first match."""
        self.maybe = 0.0
        """Rows that ended without an answer, of which nobody knows whether they were due."""
        self.unsure = 0
        self.chance = 0.0
        """How many rows were unsure as they came, and about how many of these by chance."""

    def join(
        self,
        matcher: Matcher,  # noqa: ARG002 - what the account of inner joins asks
        clock: Clock,
        across: ArrivalOrder | None,
    ) -> list[Partial]:
        """See Account."""
        self.lost_now = 0
        (found,) = self.tree.join()
        for asking, gone in (self.pair, self.pair[::-1]):
            self._meet_sample(asking, gone, clock, across)
        return [found]

    def shed(self, alias: str, ids: Ints) -> None:
        """Let fresh rows go before they are joined: what they would have met is not known."""
        self.blind = True
        self.synopses[alias].kill(ids)

    def _sampled(self, alias: str) -> Synopsis:
        """The sampled rows of a stream by themselves."""
        found = Synopsis(self.synopses[alias].columns)
        segment = self.samples[alias].segment
        found.segments = [] if segment is None else [segment]
        found.rebase()
        return found

    def _matcher(self, synopses: Mapping[str, Synopsis], windows: RowsWindows) -> NodeMatcher:
        left, right = self.pair
        sides = frozenset({left}), frozenset({right})
        return NodeMatcher(self.plan, self.node, sides, synopses=synopses, windows=windows, absent=self.tree.absent)

    def _meet_sample(self, asking: str, gone: str, clock: Clock, across: ArrivalOrder | None) -> None:
        """Let the new rows of one stream meet the sampled ones of the other."""
        synopsis, sample = self.synopses[asking], self.samples[gone]
        ids = synopsis.ids(FRESH)
        met, places = ids[:0], ids[:0]
        if len(ids) and len(sample):
            both = {asking: synopsis, gone: self._sampled(gone)}
            side = StreamSide(gone, both[gone], retained=False)
            windows = RowsWindows(self.plan, both, clock, across)
            first, places = self._matcher(both, windows).with_stream({asking: ids}, side, ALL)
            met = ids[first]
            self._note_pairs(both, {asking: met, gone: places}, sample, gone)
        if asking in self.doubts:
            self._note_doubts(asking, ids, met, is_all=self.samples[gone].is_all)
        if gone in self.doubts and sample.segment is not None and len(places):
            sample.segment.marks[MATCHED][places] = True

    def _note_pairs(self, both: Mapping[str, Synopsis], pairs: Rows, sample: Sample, gone: str) -> None:
        """Count results that are lost because one of the two rows is no longer stored."""
        assert sample.segment is not None
        if not self.answers:
            lost = self.tree.results(pairs, both)[gone]
        elif self.node.kind is NodeKind.SEMI and gone in self.doubts:
            lost = np.unique(pairs[gone])
            lost = lost[~sample.segment.marks[MATCHED][lost]]
        else:
            return
        self._lose(sample, np.bincount(lost, minlength=len(sample)))

    def _lose(self, sample: Sample, results: Ints) -> None:
        """Count results that sampled rows have missed, so many each."""
        self.lost += float((sample.weight * results).sum())
        self.lost_now += int(results.sum())
        sample.tally += results

    def _note_doubts(self, asking: str, ids: Ints, met: Ints, *, is_all: bool) -> None:
        """What the sample knows of new rows in doubt."""
        synopsis, doubts = self.synopses[asking], self.doubts[asking]
        synopsis.mark(FOUND, met)
        if is_all or not len(ids):
            return
        doubted = synopsis.marked(DOUBTED, ids)
        unsure = ids[doubted & ~synopsis.marked(FOUND, ids)]
        synopsis.mark(UNSURE, unsure)
        likely = doubts.by_chance({asking: ids[~doubted]}).clip(max=0.99)
        self.unsure += len(unsure)
        self.chance += min(float((likely / (1.0 - likely)).sum()), float(len(unsure)))

    def outlive(
        self,
        purged: Purged,
        closing: Closedness,  # noqa: ARG002 - what the account of inner joins asks
        clock: Clock,  # noqa: ARG002
        across: ArrivalOrder | None,  # noqa: ARG002
    ) -> None:
        """Count stored rows that left without the answer that was due."""
        for alias in self.doubts:
            ids = purged.of(alias)
            if not len(ids):
                continue
            synopsis = self.synopses[alias]
            marks = {name: synopsis.marked(name, ids) for name in (MATCHED, DOUBTED, FOUND, UNSURE)}
            lost, maybe = self._ended(marks, marks[DOUBTED] & self._shown({alias: ids}, self.synopses))
            self.lost += int(lost.sum())
            self.lost_now += int(lost.sum())
            self.maybe += int(maybe.sum())

    def _ended(self, marks: Mapping[str, Bools], asked: Bools) -> tuple[Bools, Bools]:
        """Of rows that can match no more and were not given: which are lost, and which may be."""
        open_ = asked & ~marks[MATCHED]
        lost = marks[FOUND] if self.node.kind is NodeKind.SEMI else ~marks[FOUND] & ~marks[UNSURE]
        return open_ & lost, open_ & marks[UNSURE] & ~marks[FOUND]

    def _shown(self, rows: Rows, synopses: Mapping[str, Synopsis]) -> Bools:
        """Which rows of one stream pass WHERE where they match nothing."""
        (alias,) = rows
        size = count(rows)
        other = self.pair[self.pair[0] == alias]
        if self.plan.aggregate is not None and any(w.alias == other for w in self.plan.aggregate.windows):
            return np.zeros(size, np.bool_)  # What has no time is in no window.
        bare = {alias: rows[alias], other: np.full(size, ABSENT, np.int64)}
        found: Bools = np.zeros(size, np.bool_)
        shown = self.tree.results({**bare, "": np.arange(size)}, {**self.synopses, **synopses})
        found[shown[""]] = True
        return found

    def expire(self, closing: Closedness, clock: Clock, across: ArrivalOrder | None) -> None:
        """Let sampled rows go that can miss nothing more, and count those that were due without a match."""
        for alias, other in zip(self.pair, (self.node.right, self.node.left), strict=True):
            sample = self.samples[alias]
            if sample.segment is None:
                continue
            assert other is not None
            rows, synopses = {alias: np.arange(len(sample))}, {alias: self._sampled(alias)}
            windows = RowsWindows(self.plan, synopses, clock, across)
            settling = Settling(self.plan, synopses, closing, windows)
            gone = settling.settled(rows, self._matcher(synopses, windows), other)
            marks = sample.segment.marks
            if alias in self.doubts:
                lost, maybe = self._ended(marks, gone & self._shown(rows, synopses))
                self._lose(sample, lost.astype(np.int64))
                self.maybe += float(sample.weight[maybe].sum())
                gone = gone | marks[MATCHED] if self.answers else gone
            if gone.any():
                self._variance += sample.drop(gone)

    def note(self, alias: str, ids: Ints) -> None:
        """See Account; what is known of a row as it is evicted need not be sampled."""
        self._blinded(alias)
        if self.answers and alias in self.doubts:
            found = self.synopses[alias].marked(FOUND, ids)
            if self.node.kind is NodeKind.SEMI:
                self.lost += int(found.sum())
                self.lost_now += int(found.sum())
            ids = ids[~found]
        super().note(alias, ids)

    def forgot(self) -> None:
        """Promise rows were forgotten."""
        for waiting in self.doubts:
            self.blind |= self._rests_on_values(waiting)

    def _blinded(self, alias: str) -> None:
        """A row that is evicted may have stood for a promise about its key."""
        beyond_keys = self.node.predicates or self.node.windows or self.node.tests
        for waiting, doubts in self.doubts.items():
            self.blind |= doubts.gone == alias and bool(beyond_keys) and self._rests_on_values(waiting)

    def _rests_on_values(self, waiting: str) -> bool:
        """Whether only promises about values say that a row which waits can match no more."""
        closers = self.plan.closers_between(waiting, self.doubts[waiting].gone)
        others = [c for c in closers if c.kind not in ABOUT_VALUES]
        return bool(closers) and not others and not self.plan.by_alias[waiting].has_rows_window

    def loss(self, evicted: int, needed: int) -> Loss:
        """See Account."""
        by_chance = min(1.0, self.chance / self.unsure) if self.unsure else 0.0
        is_due = 1.0 - by_chance if self.node.kind is NodeKind.SEMI else by_chance
        told = super().loss(evicted, needed)
        due = self.emitted + round(self.lost + self.maybe * is_due) + self._found_and_waiting()
        # In all cells the unsure ones may be off to the same side: their errors add up, not their squares.
        off = self.maybe * max(is_due, 1.0 - is_due) / DEVIATIONS
        variance = min(told.variance + round(self.cells * off**2), MOST_VARIANCE)
        return Loss(evicted, needed, self.lost_now, self.emitted, due, variance)

    def _found_and_waiting(self) -> int:
        """Stored rows of EXISTS that are due, as they had a match; another may come, and then they are given."""
        if self.node.kind is not NodeKind.SEMI:
            return 0
        segments = self.synopses[self.pair[0]].segments
        return int(sum(np.count_nonzero(segment.marks[FOUND] & segment.alive) for segment in segments))


class BlindAccount(Account):
    """Counts what is emitted, and says that what was lost is not known once anything was evicted."""

    def __init__(self, plan: Plan, synopses: Mapping[str, Synopsis], merge: Merge, tree: JoinTree) -> None:
        super().__init__(plan, synopses, merge)
        self.tree = tree

    def join(self, matcher: Matcher, clock: Clock, across: ArrivalOrder | None) -> list[Partial]:  # noqa: ARG002
        """See Account."""
        return self.tree.join()

    def shed(self, alias: str, ids: Ints) -> None:
        """Let fresh rows go before they are joined: what they would have met is not known."""
        self.blind = True
        self.synopses[alias].kill(ids)

    def note(self, alias: str, ids: Ints) -> None:  # noqa: ARG002
        """See Account."""
        self.blind |= len(ids) > 0
