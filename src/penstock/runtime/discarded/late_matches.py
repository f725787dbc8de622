"""RECOVER under outer joins and EXISTS of three streams or more: what a late row changes is worked out anew.

A late row may complete rows of a join whose tuples have left, make one of them a match that was given with NULLs, and
change what the joins above made of that. So all that leaves is set aside, and where a row comes **late**, every tuple
that may stand in a result with a row of the batch, stored or set aside, its **component**, is joined anew, twice, by
trees that kill no tuple (`join/join_tree.py`):

- *before*: without the batch; a row is decided iff it waits no more. That is what was given;
- *after*: with the batch; a row is decided if the promises say so, or if it was before.

What is after and was not before is given now; what was before and is not after was given wrongly: it is counted as
**contradicted**. Then what waits in the second tree waits, and what it is done with leaves, to be set aside again.

**Late** is a row x that agrees with a tuple which has left, or is done where it first met others, or for which x's
stream was ever closed. Theorem: if no row of a batch is late, the joins are right as they are. For a row that x
matches, or that a row with x in it matches, was decided only by closing a stream for one of its tuples, and every row
of a closed stream that agrees with the tuple is late. Promises that were widened say less than they did: so the
furthest limits are remembered. Where a punctuation closes for several tuples together, agreeing is enough.

Components are apart: rows match only by the equalities of a node or a block, so what is not reached along these from
the batch (`recall.py`) matches nothing in it. Costs follow the component, and are paid for late rows alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass

import numpy as np

from penstock.plan.plan import Closer, Plan
from penstock.runtime.columns.codes import Bools, Ints, union
from penstock.runtime.discarded.recall import links
from penstock.runtime.join.join_tree import JoinTree
from penstock.runtime.join.purged import Asking, Purged
from penstock.runtime.join.rows import ABSENT, Rows, take, together
from penstock.runtime.join.settling import Settling
from penstock.runtime.join.sides import StreamSide, WaitingSide, arrivals, places
from penstock.runtime.match.matching import Matcher, PartTies
from penstock.runtime.match.node_matching import NodeMatcher
from penstock.runtime.promise.closing import Closedness, Limit
from penstock.runtime.promise.marks import LEFT, MATCHED
from penstock.runtime.state.component import Component
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import FRESH, OLD, Synopsis

_TOLD = (MATCHED, LEFT)


class FurthestLimits(Component):
    """For each closer the furthest limit that it ever had."""

    numbers = ("limits",)

    def __init__(self, plan: Plan, closing: Closedness) -> None:
        self.closing = closing
        self.closers = plan.closers
        self.limits: list[int | None] = [None] * len(plan.closers)

    def note(self) -> None:
        """Look at the limits of now."""
        for number, closer in enumerate(self.closers):
            limit = self.closing.limits[closer]
            if isinstance(limit, int):
                known = self.limits[number]
                self.limits[number] = limit if known is None else max(known, limit)

    @property
    def ever(self) -> Closedness:
        """What was closed at any time."""
        found = copy(self.closing)
        limits: dict[Closer, Limit] = dict(self.closing.limits)
        limits |= {c: n for c, n in zip(self.closers, self.limits, strict=True) if n is not None}
        found.limits, found.ended = limits, False
        return found


def is_late(plan: Plan, tree: JoinTree, furthest: FurthestLimits, left: Mapping[str, tuple[int, int]]) -> bool:
    """Whether a row of the batch is late; `left` are, by alias, the ids of tuples that had left."""
    blocks = [node.block for node in plan.nodes if node.block is not None]
    predicates = [p for node in plan.nodes for p in node.predicates] + [p for b in blocks for p in b.predicates]
    matcher = Matcher(PartTies(plan.aliases, links(plan), tuple(predicates)), tree.synopses)
    ever = furthest.ever
    joint = {closer.target for closer in plan.joint_closers}
    for alias, synopsis in tree.synopses.items():
        fresh = synopsis.ids(FRESH)
        for other, stored in tree.synopses.items() if len(fresh) else ():
            if other == alias or not stored.size(OLD):
                continue
            bound = frozenset({alias})
            if not matcher.shared_axes(bound, other) and not matcher.predicates(bound, other):
                if other in left:
                    return True
                ids = stored.ids(OLD)
            else:
                ids = union([matcher.pairs({alias: fresh}, other, OLD)[1]])
            first, end = left.get(other, (0, 0))
            gone = (ids >= first) & (ids < end)
            if len(ids) and (gone.any() or alias in joint or stored.marked(LEFT, ids).any()):
                return True
            if len(ids) and ever.closed(other, alias, stored, ids).any():
                return True
    return False


@dataclass(frozen=True)
class Anew:
    """The tuples of a component, by alias and by id; `left` are those that had left."""

    plan: Plan
    tree: JoinTree
    ids: Mapping[str, Ints]
    left: Mapping[str, tuple[int, int]]

    def work_out(self) -> tuple[Rows, int, Purged]:
        """What is given now, by stored ids; how many given rows it contradicts; what left."""
        own = {alias: self._by_arrival(alias, ids) for alias, ids in self.ids.items()}
        old = {alias: ids[ids < self._first_fresh(alias)] for alias, ids in own.items()}
        before, given_before = self._joined(old, _AsItWaits(self))
        assert isinstance(before.settling, _AsItWaits)
        after, given_after = self._joined(own, _DecidedBefore(self, before.settling.decided))
        was, now = _named(before.synopses, given_before), _named(after.synopses, given_after)
        new = take(given_after, ~_among(now, was))
        # The last one of these stands for what is absent.
        given = {alias: np.append(own[alias], ABSENT)[ids] for alias, ids in new.items()}
        return given, int(np.count_nonzero(~_among(was, now))), self._install(after, own)

    def _first_fresh(self, alias: str) -> int:
        synopsis = self.tree.synopses[alias]
        return synopsis.first_fresh if synopsis.has_fresh else synopsis.rows

    def _by_arrival(self, alias: str, ids: Ints) -> Ints:
        arrival: Ints = self.tree.synopses[alias].gather(ids, lambda s: s.arrival)
        return ids[np.argsort(arrival, kind="stable")]

    def _joined(self, ids: Mapping[str, Ints], settling: _ByArrival) -> tuple[JoinTree, Rows]:
        """A tree over some tuples, all of which come at once, and what it gives, by places in these."""
        synopses = {alias: _copied(self.tree.synopses[alias], rows) for alias, rows in ids.items()}
        real = self.tree
        tree = JoinTree(
            self.plan,
            Matcher(self.plan, synopses),
            real.closing,
            real.clock,
            across=real.across,
            absent=real.absent,
            of_account=True,
        )
        settling.take_over(tree)
        found = tree.join()
        certain, _ = tree.settle({}, Asking.ALL, {})
        return tree, together([*found, *certain], self.plan.tree.root.aliases)

    def _install(self, after: JoinTree, own: Mapping[str, Ints]) -> Purged:
        """Let the tuples and the waiting rows of the component be as they are in a tree over it."""
        purged = Purged()
        for side, theirs in zip(self.tree.waiting, after.waiting, strict=True):
            side.leave(union([side.naming(a, own[a]) for a in side.aliases]))
            side.add_as_on(theirs)
        for alias, ids in own.items():
            every = np.arange(len(ids))
            done = after.is_done(alias, every)
            synopsis, copied = self.tree.synopses[alias], after.synopses[alias]
            told = {name: copied.marked(name, every) for name in _TOLD if len(ids)}
            for segment, mine, rows in synopsis.split(ids):
                for name, values in told.items():
                    segment.marks[name][rows] = values[mine]
                segment.touched = True
            synopsis.kill(np.sort(ids[done]))
            purged.add(alias, "settled", np.sort(ids[done]))
        return purged


class _ByArrival(Settling):
    """Settling that knows of rows by the places of their tuples in the order of arrival."""

    def __init__(self, anew: Anew) -> None:
        self.anew = anew

    def take_over(self, tree: JoinTree) -> None:
        """Say what a tree asks."""
        super().__init__(self.anew.plan, tree.synopses, tree.closing, tree.windows)
        self.sides = tree.settling.sides
        tree.settling = self

    def _place(self, matcher: NodeMatcher, other: int) -> tuple[int, int]:
        """Node and side of rows that wait for another node."""
        number = next(n for n, node in enumerate(self.nodes) if node is matcher.node)
        return number, 0 if matcher.node.right == other else 1


class _AsItWaits(_ByArrival):
    """A row is decided iff it waits no more; these are noted."""

    def __init__(self, anew: Anew) -> None:
        super().__init__(anew)
        self.decided: dict[tuple[int, int], list[Ints]] = {}

    def settled(self, rows: Rows, matcher: NodeMatcher, other: int) -> Bools:
        """See Settling."""
        number, side = self._place(matcher, other)
        named = _named(self.synopses, rows)
        found = ~self._waits(self.anew.tree.nodes[number].sides[side], named)
        self.decided.setdefault((number, side), []).append(named[found])
        return found

    def _waits(self, side: object, named: Ints) -> Bools:
        if isinstance(side, StreamSide):
            ids = places(side.synopsis, named[:, 0])
            first, end = self.anew.left.get(side.alias, (0, 0))
            waits: Bools = (ids < first) | (ids >= end)
            waits[waits] = np.isin(ids[waits], side.only_in_play(ids[waits]))
            return waits
        assert isinstance(side, WaitingSide)
        keys = side.waiting.ids("all")
        known = np.stack([side.waiting.codes(alias, keys) for alias in side.aliases], axis=1)
        return _among(named, known)


class _DecidedBefore(_ByArrival):
    """A row is decided as the promises say, or as it was before."""

    def __init__(self, anew: Anew, decided: Mapping[tuple[int, int], list[Ints]]) -> None:
        super().__init__(anew)
        self.decided = decided

    def settled(self, rows: Rows, matcher: NodeMatcher, other: int) -> Bools:
        """See Settling."""
        found = super().settled(rows, matcher, other)
        known = self.decided.get(self._place(matcher, other))
        return found if not known else found | _among(_named(self.synopses, rows), np.concatenate(known))


def put_in_order(synopsis: Synopsis) -> None:
    """Between steps: rewrite all segments as one, in the order of arrival."""
    synopsis.gone += [segment.name for segment in synopsis.segments if segment.name is not None]
    kept = [segment for segment in synopsis.segments if segment.live]
    whole = [Segment.merged(kept)] if kept else []
    synopsis.segments = [segment.taken(np.argsort(segment.arrival, kind="stable")) for segment in whole]
    synopsis.rebase()


def _named(synopses: Mapping[str, Synopsis], rows: Rows) -> Ints:
    """Rows by the places of their tuples in the order of arrival."""
    return np.stack([arrivals(synopses[alias], ids) for alias, ids in rows.items()], axis=1)


def _among(rows: Ints, known: Ints) -> Bools:
    """Which of the rows are among others."""
    if not len(rows) or not len(known):
        return np.zeros(len(rows), np.bool_)
    number = np.unique(np.concatenate([known, rows]), axis=0, return_inverse=True)[1].reshape(-1)
    return np.isin(number[len(known) :], number[: len(known)])


def _copied(synopsis: Synopsis, ids: Ints) -> Synopsis:
    """Some tuples, in the order given, as the rows of one batch that have met nothing yet."""
    found = Synopsis(synopsis.columns)
    if not len(ids):
        return found
    order = np.argsort(ids, kind="stable")
    pieces = [segment.taken(rows) for segment, _, rows in synopsis.split(ids[order])]
    whole = pieces[0] if len(pieces) == 1 else Segment.merged(pieces)
    back = np.empty(len(ids), np.int64)
    back[order] = np.arange(len(ids))
    copied = whole.taken(back)
    for name in _TOLD:
        copied.marks[name] = np.zeros(len(ids), np.bool_)
    found.begin(copied)
    return found
