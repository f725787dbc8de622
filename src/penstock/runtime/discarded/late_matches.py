"""RECOVER under outer joins and EXISTS of three streams or more: what a late row changes is worked out anew.

A late row may complete rows of a join whose tuples have left, make one of them a match that was emitted with NULLs, and
change what the joins above made of that. So all that leaves is set aside, and it is remembered what was emitted.

Two tuples are **linked** if they agree at some node or in some block on all that ties their two streams there, by a key
if there is one. Tuples of one row are linked, some with others, for rows are made by matches; where nothing ties the
two sides of a node, all are linked. The **component** of a batch is what the links lead to from its rows, stored or set
aside. So no row that any node makes lies in it and outside of it: it can be worked out by itself.

A row of the batch is **late** if, at some node, a tuple that it leads to within its side is linked there with one
that has left the other side, or stood in a row that did (`decided`), or is set aside, or is in a row that was emitted
and waits anew (`EmittedRows.pending`): a match of that one contradicts what was emitted. Theorem: if no row is late,
the joins are right as they are: what they lack are the rows that left their sides, and whatever new row matches one of
these holds a row of the batch, and with it a tuple that links the two.

Else the component is joined anew by a tree that kills no tuple (`join/join_tree.py`):

- what the tree gives, by the promises as they are, and does not stand (`emitted_rows.py`), is emitted now;
- what stands and is not in the answer over the component, all streams ended, is **contradicted**: counted, once. Should
  a later late row make it right after all, it is emitted again.

Then what waits in that tree waits, and what it is done with leaves, to be set aside again.

Not decided: whether a promise was broken. A row of EXISTS that has its answer has left, so each further match of it is
taken to be late, which costs time and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from penstock.plan.parts import KeyAxis, PairPredicate
from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import Bools, Ints, empty_ids, union
from penstock.runtime.discarded.emitted_rows import EmittedRows, among
from penstock.runtime.join.join_tree import JoinTree
from penstock.runtime.join.purged import Asking
from penstock.runtime.join.rows import ABSENT, Rows, take, together
from penstock.runtime.join.sides import arrivals
from penstock.runtime.match.matching import Matcher, PartTies
from penstock.runtime.promise.closing import Closedness
from penstock.runtime.promise.marks import LEFT, MATCHED, decided, decided_marks
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import ALL, FRESH, Synopsis

_TOLD = (MATCHED, LEFT)


def component(plan: Plan, synopses: Mapping[str, Synopsis]) -> dict[str, Bools]:
    """By alias, which tuples are linked with rows of the batch, by one link or by several."""
    ties = [tie for number in range(len(plan.nodes)) for tie in tuple_links(plan, number)]
    return _reached(synopses, ties, {alias: synopsis.ids(FRESH) for alias, synopsis in synopses.items()})


def _reached(
    synopses: Mapping[str, Synopsis],
    ties: Sequence[PartTies],
    frontier: dict[str, Ints],
    left_out: Mapping[str, tuple[int, int]] = MappingProxyType({}),
) -> dict[str, Bools]:
    """By alias, which tuples links lead to; some, by their ids from the first to before the last, are left out."""
    reached: dict[str, Bools] = {alias: np.zeros(synopsis.rows, np.bool_) for alias, synopsis in synopses.items()}
    linked = [(tie, Matcher(tie, synopses)) for tie in ties]
    while frontier:
        alias, ids = frontier.popitem()
        ids = ids[~reached[alias][ids]]
        reached[alias][ids] = True
        for tie, matcher in linked if len(ids) else ():
            if alias not in tie.aliases:
                continue
            other = tie.aliases[tie.aliases[0] == alias]
            found = union([right for _, right in matcher.pieces({alias: ids}, other, ALL)])
            first, end = left_out.get(other, (0, 0))
            found = found[~reached[other][found] & ((found < first) | (found >= end))]
            if len(found):
                frontier[other] = union([frontier.get(other, empty_ids()), found])
    return reached


def is_late(
    plan: Plan,
    synopses: Mapping[str, Synopsis],
    left: Mapping[str, tuple[int, int]],
    pending: Mapping[str, Ints] = MappingProxyType({}),
) -> bool:
    """Whether a row of the batch, or one that it is part of, may match a row that left or was emitted.

    `left` are tuples set aside, by their ids; `pending` those of rows that wait anew, by their places.
    """
    inner: dict[int, dict[str, Ints]] = {}
    below: dict[int, list[PartTies]] = {}
    for number, node in enumerate(plan.nodes):
        own = list(tuple_links(plan, number))
        sides = [side for side in (node.left, node.right) if side is not None]
        begun = {alias: synopses[alias].ids(FRESH) for alias in node.aliases} if not sides else {}
        for side in sides:
            begun |= inner[side]
        if not sides:
            # In a block a row may be new by a tuple that what left met only over others.
            begun = _where(_reached(synopses, own, begun, left))
        for tie in own:
            matcher = Matcher(tie, synopses)
            for place, alias in enumerate(tie.aliases):
                other, ids = tie.aliases[1 - place], begun.get(alias, empty_ids())
                met = union([found for _, found in matcher.pieces({alias: ids}, other, ALL)]) if len(ids) else ids
                mark = decided(number) if decided(number) in decided_marks(plan, other) else LEFT
                if len(met) and (
                    _has_left(synopses[other], met, left.get(other, (0, 0)), mark)
                    or np.isin(arrivals(synopses[other], met), pending.get(other, empty_ids())).any()
                ):
                    return True
        below[number] = [*own, *(tie for side in sides for tie in below[side])]
        inner[number] = _where(_reached(synopses, below[number], dict(begun), left))
    return False


def _where(reached: Mapping[str, Bools]) -> dict[str, Ints]:
    return {alias: np.flatnonzero(mask) for alias, mask in reached.items() if mask.any()}


def _has_left(synopsis: Synopsis, ids: Ints, aside: tuple[int, int], mark: str) -> bool:
    """Whether one of the tuples is done at a node, as the mark says, or set aside."""
    return bool(((ids >= aside[0]) & (ids < aside[1])).any() or synopsis.marked(mark, ids).any())


def tuple_links(plan: Plan, number: int) -> Iterator[PartTies]:
    """Each pair of streams whose tuples are linked at a node, or in a block, with what ties them there.

    Whatever matches at a node agrees on each of its equalities, so one of them links it. What equalities link is found
    among the rows that were set aside, too (`recall.py`); where a node or a block has none, these are all there.
    """
    node = plan.nodes[number]
    if node.block is not None:
        ties = list(_tied(node.aliases, node.aliases, node.block.axes, node.block.predicates))
        keyed = [tie for tie in ties if tie.axes]
        ties = keyed if len(list(_parts(node.aliases, keyed))) == 1 else ties
        yield from ties
        for one, other in pairwise(_parts(node.aliases, ties)):
            yield PartTies((one, other), (), ())
        return
    assert node.left is not None
    assert node.right is not None
    left, right = plan.nodes[node.left].aliases, plan.nodes[node.right].aliases
    ties = list(_tied(left, right, node.equalities, node.predicates))
    keyed = [tie for tie in ties if tie.axes] or ties
    yield from keyed[:1]
    if not ties:
        yield from (PartTies((one, other), (), ()) for one in left for other in right)


def _tied(
    left: tuple[str, ...], right: tuple[str, ...], axes: tuple[KeyAxis, ...], predicates: tuple[PairPredicate, ...]
) -> Iterator[PartTies]:
    for one in left:
        for other in right:
            if one == other or (left is right and left.index(one) > right.index(other)):
                continue
            equal = tuple(axis for axis in axes if axis.column(one) is not None and axis.column(other) is not None)
            compared = tuple(p for p in predicates if {p.left.alias, p.right.alias} == {one, other})
            if equal or compared:
                yield PartTies((one, other), equal, compared)


def _parts(aliases: tuple[str, ...], ties: list[PartTies]) -> Iterator[str]:
    """One stream of each part of a block that nothing ties to the others."""
    rest = list(aliases)
    while rest:
        part = {rest[0]}
        while grown := {a for tie in ties if part & {*tie.aliases} for a in tie.aliases} - part:
            part |= grown
        yield rest[0]
        rest = [alias for alias in rest if alias not in part]


@dataclass(frozen=True)
class Anew:
    """The tuples of a component, by alias and by id."""

    plan: Plan
    tree: JoinTree
    emitted: EmittedRows
    ids: Mapping[str, Ints]

    def work_out(self) -> tuple[Rows, int, dict[str, Ints]]:
        """What is emitted now, by stored ids; how many emitted rows it contradicts; what left."""
        own = {alias: self._by_arrival(alias, ids) for alias, ids in self.ids.items()}
        after, found = self._joined(own, self.tree.closing)
        now = self.emitted.name(found, after.synopses)
        tuples = {alias: self._arrivals(alias, ids) for alias, ids in own.items()}
        old = {alias: self._arrivals(alias, ids[ids < self._first_fresh(alias)]) for alias, ids in own.items()}
        stood = self.emitted.standing(now, tuples, old)
        is_new = ~among(now, stood)
        doubtful = stood[~among(stood, now)]
        wrong = self._wrong(own, doubtful)
        self.emitted.note(doubtful[wrong], -1)
        self.emitted.note(now[is_new], 1)
        self.emitted.settle(tuples, doubtful[~wrong])
        # The last one of these stands for what is absent.
        given = {alias: np.append(own[alias], ABSENT)[ids] for alias, ids in take(found, is_new).items()}
        return given, int(np.count_nonzero(wrong)), self._install(after, own)

    def _wrong(self, own: Mapping[str, Ints], stood: Ints) -> Bools:
        """Which of the rows are in no answer over the component."""
        if not len(stood):
            return np.zeros(0, np.bool_)
        ended = copy(self.tree.closing)
        ended.ended = True
        tree, found = self._joined(own, ended)
        return ~among(stood, self.emitted.name(found, tree.synopses))

    def _first_fresh(self, alias: str) -> int:
        synopsis = self.tree.synopses[alias]
        return synopsis.first_fresh if synopsis.has_fresh else synopsis.rows

    def _arrivals(self, alias: str, ids: Ints) -> Ints:
        found: Ints = self.tree.synopses[alias].gather(ids, lambda s: s.arrival)
        return found

    def _by_arrival(self, alias: str, ids: Ints) -> Ints:
        return ids[np.argsort(self._arrivals(alias, ids), kind="stable")]

    def _joined(self, ids: Mapping[str, Ints], closing: Closedness) -> tuple[JoinTree, Rows]:
        """A tree over the tuples, all of which come at once, and what it gives, by places in these."""
        synopses = {alias: _copied(self.tree.synopses[alias], rows) for alias, rows in ids.items()}
        real = self.tree
        tree = JoinTree(
            self.plan,
            Matcher(self.plan, synopses),
            closing,
            real.clock,
            across=real.across,
            absent=real.absent,
            of_account=True,
        )
        found = tree.join()
        certain, _ = tree.settle({}, Asking.ALL, {})
        return tree, together([*found, *certain], self.plan.tree.root.aliases)

    def _install(self, after: JoinTree, own: Mapping[str, Ints]) -> dict[str, Ints]:
        """Let the tuples and the waiting rows of the component be as they are in a tree over it; gives what left."""
        gone = {}
        for side, theirs in zip(self.tree.waiting, after.waiting, strict=True):
            side.leave(union([side.naming(a, own[a]) for a in side.aliases]))
            side.add_as_on(theirs)
        for alias, ids in own.items():
            every = np.arange(len(ids))
            gone[alias] = np.sort(ids[after.is_done(alias, every)])
            synopsis, copied = self.tree.synopses[alias], after.synopses[alias]
            told = {name: copied.marked(name, every) for name in _TOLD if len(ids)}
            for segment, mine, rows in synopsis.split(ids):
                for name, values in told.items():
                    segment.marks[name][rows] = values[mine]
                for name in decided_marks(self.plan, alias):
                    segment.marks[name][rows] = True
                segment.touched = True
            synopsis.kill(gone[alias])
        return gone


def put_in_order(synopsis: Synopsis) -> None:
    """Between steps: rewrite all segments as one, in the order of arrival."""
    synopsis.gone += [segment.name for segment in synopsis.segments if segment.name is not None]
    kept = [segment for segment in synopsis.segments if segment.live]
    whole = [Segment.merged(kept)] if kept else []
    synopsis.segments = [segment.taken(np.argsort(segment.arrival, kind="stable")) for segment in whole]
    synopsis.rebase()


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
