"""Which rows that were set aside may stand in one result with a fresh row?

Rows meet along the axes, the classes of columns that are equal in every result; under outer joins and EXISTS along the
equalities of each node and block too. So from the fresh rows, along these, to rows set aside and to stored ones, and on
from these until nothing new is met: every result with a fresh row whose other rows are stored or set aside lies within
what is reached. A pile is read only if its filter has one of the keys. More may be reached than stands in a result; the
join decides. Where these links do not connect all sources, or not the two sides of every node, every row is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from penstock.plan.parts import KeyAxis
from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.columns.hashing import Hashes
from penstock.runtime.discarded.cold_segments import ColdSegment, ColdSegments
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import FRESH, OLD, Synopsis


@dataclass
class Recall:
    """One search, from the fresh rows of a batch."""

    plan: Plan
    synopses: Mapping[str, Synopsis]
    piles: Mapping[str, ColdSegments]
    _frontier: list[tuple[str, dict[str, Hashes]]] = field(default_factory=list)
    _taken: dict[int, tuple[str, Segment, Bools]] = field(default_factory=dict)
    _stored: dict[str, Bools] = field(default_factory=dict)

    def run(self) -> dict[str, list[Segment]]:
        """The rows reached, by alias."""
        if not any(piles.rows for piles in self.piles.values()):
            return {}
        if not any(s.size(FRESH) for s in self.synopses.values()):
            return {}
        if _connected(self.plan):
            for alias, synopsis in self.synopses.items():
                self._go_on_from_stored(alias, synopsis.ids(FRESH))
            while self._frontier:
                self._meet(*self._frontier.pop())
        else:
            for alias, piles in self.piles.items():
                for pile in piles.piles:
                    self._open(alias, pile)[2][:] = True
        found: dict[str, list[Segment]] = {}
        for alias, segment, chosen in self._taken.values():
            if chosen.any():
                found.setdefault(alias, []).append(segment.taken(np.flatnonzero(chosen)))
        return found

    def take_out(self, alias: str, places: Ints) -> None:
        """Take rows that were reached out of the piles, by their places in the order of arrival."""
        for number, (one, segment, _) in self._taken.items():
            stays = ~np.isin(segment.arrival, places)
            if one == alias and not stays.all():
                pile = next(pile for pile in self.piles[alias].piles if id(pile) == number)
                self.piles[alias].take_out(pile, segment, np.flatnonzero(stays))

    def _meet(self, alias: str, keys: dict[str, Hashes]) -> None:
        for axis in links(self.plan):
            own = axis.column(alias)
            if own is None:
                continue
            wanted = np.unique(keys[own])
            for other in self.plan.aliases:
                column = axis.column(other)
                if other == alias or column is None:
                    continue
                self._meet_piles(other, column, wanted)
                if len(self.plan.aliases) > 2:
                    self._meet_stored(other, column, wanted)

    def _meet_piles(self, alias: str, column: str, wanted: Hashes) -> None:
        for pile in self.piles[alias].piles:
            hit = wanted[pile.filters[column].has(wanted)]
            if len(hit):
                _, segment, chosen = self._open(alias, pile)
                rows = np.flatnonzero(np.isin(segment.hashes(column), hit) & ~chosen)
                if len(rows):
                    chosen[rows] = True
                    self._frontier.append((alias, {c: segment.hashes(c)[rows] for c in pile.filters}))

    def _open(self, alias: str, pile: ColdSegment) -> tuple[str, Segment, Bools]:
        if id(pile) not in self._taken:
            segment = self.piles[alias].rows_of(pile)
            self._taken[id(pile)] = (alias, segment, np.zeros(len(segment), np.bool_))
        return self._taken[id(pile)]

    def _meet_stored(self, alias: str, column: str, wanted: Hashes) -> None:
        synopsis = self.synopses[alias]
        ids = np.unique(synopsis.probe(OLD, (column,), wanted)[1])
        if len(ids):
            size = sum(len(segment) for segment in synopsis.segments)
            met = self._stored.setdefault(alias, np.zeros(size, np.bool_))
            ids = ids[~met[ids]]
            met[ids] = True
            self._go_on_from_stored(alias, ids)

    def _go_on_from_stored(self, alias: str, ids: Ints) -> None:
        if len(ids):
            columns = axis_columns(self.plan, alias)
            self._frontier.append((alias, {c: self.synopses[alias].hashes(c, ids) for c in columns}))


def axis_columns(plan: Plan, alias: str) -> tuple[str, ...]:
    """The columns by which rows of an alias meet others, one for each axis."""
    found = (axis.column(alias) for axis in links(plan))
    return tuple(dict.fromkeys(column for column in found if column is not None))


def links(plan: Plan) -> tuple[KeyAxis, ...]:
    """The classes of columns by whose values rows meet."""
    blocks = [axis for node in plan.nodes if node.block is not None for axis in node.block.axes]
    return tuple(dict.fromkeys((*plan.axes, *(axis for node in plan.nodes for axis in node.equalities), *blocks)))


def _connected(plan: Plan) -> bool:
    if plan.inner:
        return _connect(plan.axes, plan.aliases)
    return all(
        node.equalities if node.block is None else _connect(node.block.axes, node.aliases) for node in plan.nodes
    )


def _connect(axes: tuple[KeyAxis, ...], aliases: tuple[str, ...]) -> bool:
    reached = {aliases[0]}
    while True:
        further = {ref.alias for axis in axes for ref in axis.columns if any(axis.column(a) for a in reached)}
        if further <= reached:
            return reached >= set(aliases)
        reached |= further
