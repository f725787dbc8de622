"""Which rows of a tree of joins may not be given as rows without a match, as what they match may have been lost.

Soundness under a budget: what is emitted is a part of the exact answer. Matches are, whoever else was evicted. A row l
that waits at a node is given without a match only if no row r of the other side that would match it can be **lost**.
A row of a side is lost iff one of its tuples was evicted, or if a row that it is made of was itself **withheld** at a
node below: it could match no more, had met nothing, and was in doubt. So doubt passes up the tree: what is lost below
a node is remembered there (`evicted_keys.py`), and

- a row that comes to the other side is asked once, as it comes, against all that was lost until then;
- what is lost is asked against the rows that wait on the other side. Of a single stream this is not needed: its tuples
  are evicted after they were joined, so whatever waits has met them, and carries its mark.

Theorem: a row that waits and that a lost row would have matched carries a mark, of a match or of doubt. For what r is
lost by was lost before l came, and is found by l's question, or after, and finds l by its own. In one pass a node
below is settled before the one above it, so what is withheld there is known when this one is settled.

Withheld rows are asked by all their tuples, and remembered by the one that the node above tells apart best. What no row
to come from the other side can match (`join/settling.py`) is not remembered. Not decided: whether what is lost would
ever have become a row of its side; so l may be withheld in vain, as by a sketch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.plan.plan import Plan
from penstock.runtime.budget.evicted_keys import EvictedKeySketch
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.join.node import Node
from penstock.runtime.join.rows import ABSENT, Rows, by_presence, count, take
from penstock.runtime.join.settling import Settling
from penstock.runtime.promise.closing import Closedness
from penstock.runtime.state.component import Component
from penstock.runtime.state.synopsis import ALL, FRESH

_SIDES = 2


@dataclass(frozen=True)
class _Opposite:
    """A side of a node whose rows wait, and the sketches of what was lost below the other one, by stream."""

    number: int
    side: int
    sketches: dict[str, EvictedKeySketch]
    joins_streams: bool
    """Whether rows of the other side are more than the tuples of one stream."""


class Doubt(Component):
    """What was lost below the nodes of one cell."""

    numbers = ("unsure", "chance")
    parts = ("sketches",)

    def __init__(
        self,
        plan: Plan,
        nodes: Mapping[int, Node],
        settling: Settling,
        closing: Closedness,
        *,
        counts_chances: bool = False,
    ) -> None:
        self.plan = plan
        self.counts_chances = counts_chances
        self.unsure = 0
        self.chance = 0.0
        """How many rows were in doubt as they came, and about how many of these by chance, where that is counted."""
        self.nodes = nodes
        self.settling = settling
        self.closing = closing
        self._opposite: dict[tuple[int, int], _Opposite] = {}
        """By node and side below which something may be lost: those who then are in doubt."""
        for number, node in nodes.items():
            numbers = (node.plan.left, node.plan.right)
            for side in range(_SIDES):
                if not node.plan.waits[1 - side]:
                    continue
                own, asking = (plan.nodes[numbers[n] or 0] for n in (side, 1 - side))
                sketches = {a: EvictedKeySketch(node.matcher, a, asking, closing) for a in own.aliases}
                joined = own.left is not None or len(own.aliases) > 1
                self._opposite[number, side] = _Opposite(number, 1 - side, sketches, joined)
        self._below: dict[int, list[tuple[_Opposite, Rows]]] = {}
        """By node, what was withheld below it in this pass, until it is settled itself."""
        self.sketches = {
            f"{number}.{side}.{alias}": sketch
            for (number, side), opposite in self._opposite.items()
            for alias, sketch in opposite.sketches.items()
        }

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:
        """See Component."""
        self.unsure = sum(one.unsure for one in members) if is_first else 0
        self.chance = sum(one.chance for one in members) if is_first else 0.0

    def arrived(self, number: int) -> None:
        """Ask the rows that came to a node in this pass."""
        for side in range(_SIDES):
            opposite = self._opposite.get((number, 1 - side))
            if opposite is None or all(sketch.is_empty for sketch in opposite.sketches.values()):
                continue
            rows, keys = self.nodes[number].sides[side].rows(FRESH)
            if len(keys):
                found: Bools = np.zeros(len(keys), np.bool_)
                for sketch in opposite.sketches.values():
                    if not sketch.is_empty:
                        found |= sketch.of(rows)
                self.nodes[number].sides[side].doubt(keys[found])
                if self.counts_chances:
                    self._count_chances(opposite, rows, found)

    def _count_chances(self, opposite: _Opposite, rows: Rows, found: Bools) -> None:
        """If f of the buckets that a row could fall into are filled, for (1 - f) not in doubt f are by chance."""
        sure = take(rows, ~found)
        clear = np.ones(count(sure))
        for sketch in opposite.sketches.values():
            if not sketch.is_empty:
                clear *= 1.0 - sketch.by_chance(sure).clip(max=0.99)
        in_doubt = int(found.sum())
        self.unsure += in_doubt
        self.chance += min(float((1.0 / clear - 1.0).sum()), float(in_doubt))

    def evicted(self, alias: str, ids: Ints, *, unmet: bool = False) -> None:
        """Remember tuples that are evicted; `unmet` ones leave before they were joined."""
        block = next(n for n, node in enumerate(self.plan.nodes) if node.left is None and alias in node.aliases)
        for opposite in self._above(block, {alias: ids}) if len(ids) else ():
            self._lose(opposite, {alias: ids}, met=not unmet)

    def withheld(self, number: int, rows: Rows) -> None:
        """Rows that a node has withheld; the nodes above it are told as they come to be settled, in the same pass."""
        for opposite in self._above(number, rows) if count(rows) else ():
            self._below.setdefault(opposite.number, []).append((opposite, rows))

    def settling_now(self, number: int) -> None:
        """All rows that come to a node in this pass are there: ask and remember what was withheld below it."""
        for opposite, rows in self._below.pop(number, ()):
            self._lose(opposite, rows, met=False)

    def _lose(self, opposite: _Opposite, rows: Rows, *, met: bool) -> None:
        node = self.nodes[opposite.number]
        lost = take(rows, node.matcher.able(rows))
        if not count(lost):
            return
        if opposite.joins_streams or not met:
            self._doubt_those_who_wait(opposite, lost)
        asking = (node.plan.left, node.plan.right)[opposite.side]
        assert asking is not None
        lost = take(lost, ~self.settling.settled(lost, node.matcher, asking))
        for alias in sorted(lost, key=lambda a: opposite.sketches[a].sharpness, reverse=True):
            there = lost[alias] != ABSENT
            opposite.sketches[alias].lose(lost[alias][there])
            lost = take(lost, ~there)

    def _above(self, number: int, rows: Rows) -> Iterator[_Opposite]:
        """Who is in doubt when rows of a node are lost, from below; tuples of EXISTS stand in no row above it."""
        parent = self.plan.tree.parent(number)
        while parent is not None:
            node = self.plan.nodes[parent]
            found = self._opposite.get((parent, 0 if node.left == number else 1))
            if found is not None:
                yield found
            if not set(rows) <= set(node.aliases):
                return
            number, parent = parent, self.plan.tree.parent(parent)

    def _doubt_those_who_wait(self, opposite: _Opposite, lost: Rows) -> None:
        node = self.nodes[opposite.number]
        side = node.sides[opposite.side]
        rows, keys = side.rows(ALL)
        for partial, places in by_presence(rows):
            agrees: Bools = np.zeros(len(places), np.bool_)
            for those, _ in by_presence(lost):
                implied = tuple(p for alias in those for p in self.closing.implied(frozenset(partial), alias))
                agrees |= node.matcher.agreeing(partial, those, implied)
            side.doubt(keys[places[agrees]])

    def begin_anew(self) -> None:
        """Forget what can no longer matter."""
        for sketch in self.sketches.values():
            sketch.begin_anew()

    @property
    def nbytes(self) -> int:
        """The room that it takes."""
        return sum(sketch.nbytes for sketch in self.sketches.values())

    def fit(self, room: int) -> None:
        """Make it fit into so many bytes from now on."""
        for sketch in self.sketches.values():
            sketch.shrink(room // len(self.sketches))

    def expect(self, rows: int) -> None:
        """Size what begins from now on for so many stored rows, of all streams together."""
        for sketch in self.sketches.values():
            sketch.rows = max(1, 2 * rows // len(self.plan.aliases))
