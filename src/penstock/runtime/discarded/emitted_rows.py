"""Which rows were emitted, for as long as a late row may show that one of them is none. On disk, as `cold_segments.py`.

Needed where RECOVER stands under several outer joins or EXISTS (`late_matches.py`). A row is named by the places of its
tuples in the order of arrival, -1 where a stream is absent, and has a weight: +1 as it is emitted, -1 as it is
found to be contradicted; the sum says whether it stands. So a pile is written once.

Theorem: a row without NULLs, where no EXISTS decides, is emitted in the batch that brings the last of its tuples. So
of such rows none is noted: it stands iff all its tuples came before.

Promises that were widened may leave open what they had decided. A row that stands and waits anew is **pending**: it is
not emitted a second time, and a match that shows it to be none is worked out anew like one that came late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.model.nodes import NodeKind
from penstock.plan.plan import Plan
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.columns.hashing import hashes
from penstock.runtime.discarded.cold_segments import ColdSegments
from penstock.runtime.join.rows import ABSENT, Rows, take
from penstock.runtime.join.sides import arrivals
from penstock.runtime.state.component import Component
from penstock.runtime.state.segment import Segment
from penstock.runtime.state.synopsis import Synopsis


class EmittedRows(Component):
    """The rows that one cell has emitted."""

    tables = ("log",)
    arrays = ("pending",)

    def __init__(self, plan: Plan) -> None:
        self.aliases = plan.tree.root.aliases
        self.are_matches_prompt = not any(node.kind in (NodeKind.SEMI, NodeKind.ANTI) for node in plan.nodes)
        self.log = ColdSegments("(emitted)", self.aliases, (), on_disk=True)
        self.pending: Any = None
        """Rows that stand and wait anew, if there are any."""

    def fetch_by(self, fetch: Callable[[str], Any]) -> None:
        """Say how entries of the store are read."""
        self.log.fetch = fetch

    def name(self, rows: Rows, synopses: Mapping[str, Synopsis]) -> Ints:
        """Rows by the places of their tuples."""
        return np.stack([arrivals(synopses[alias], rows[alias]) for alias in self.aliases], axis=1)

    def emit(self, rows: Rows, synopses: Mapping[str, Synopsis]) -> Rows:
        """Note rows that are about to be emitted; gives those that were not before."""
        named = self.name(rows, synopses)
        if self.pending is not None:
            known = among(named, self.pending)
            waits_still = ~among(self.pending, named)
            self.pending = self.pending[waits_still] if waits_still.any() else None
            rows, named = take(rows, ~known), named[~known]
        self.note(named, 1)
        return rows

    def note(self, named: Ints, weight: int) -> None:
        """Note rows with a weight."""
        named = named[~self._is_prompt(named)]
        if len(named):
            self.log.add(self.segment(named, weight), {})

    def segment(self, named: Ints, weight: int = 1) -> Segment:
        """Rows, by the places of their tuples, as a segment."""
        table = pa.table({alias: pa.array(named[:, n]) for n, alias in enumerate(self.aliases)})
        zeros = np.zeros(len(named), np.int64)
        found = Segment(table, zeros, zeros, np.ones(len(named), np.bool_), {})
        found.counts = np.full(len(named), weight, np.int64)
        return found

    def standing(self, answer: Ints, tuples: Mapping[str, Ints], old: Mapping[str, Ints]) -> Ints:
        """The rows that stand of some tuples, given by their places, of which some are old.

        `answer` is what the tuples give: of rows that are not noted, those that stand are among it.
        """
        is_old = np.logical_and.reduce([np.isin(answer[:, n], old[alias]) for n, alias in enumerate(self.aliases)])
        found, weights = [answer[is_old & self._is_prompt(answer)]], []
        weights.append(np.ones(len(found[0]), np.int64))
        for pile in self.log.piles:
            wanted = {alias: hashes(pa.array(places)) for alias, places in tuples.items() if alias in pile.filters}
            if not any(pile.filters[alias].has(keys).any() for alias, keys in wanted.items() if len(keys)):
                continue
            segment = self.log.rows_of(pile)
            rows = np.stack([segment.codes(alias) for alias in self.aliases], axis=1)
            mine = np.logical_or.reduce([np.isin(rows[:, n], tuples[a]) for n, a in enumerate(self.aliases)])
            assert segment.counts is not None
            found.append(rows[mine])
            weights.append(segment.counts[mine])
        rows, places = np.unique(np.concatenate(found), axis=0, return_inverse=True)
        total = np.bincount(places.reshape(-1), np.concatenate(weights), len(rows))
        return rows[total > 0]

    def pending_tuples(self) -> dict[str, Ints]:
        """By alias, the places of the tuples of pending rows."""
        if self.pending is None:
            return {}
        return {alias: self.pending[self.pending[:, n] != ABSENT, n] for n, alias in enumerate(self.aliases)}

    def settle(self, tuples: Mapping[str, Ints], pending: Ints) -> None:
        """Of the rows of some tuples, these are pending and no others."""
        if self.pending is not None:
            mine = np.logical_or.reduce([np.isin(self.pending[:, n], tuples[a]) for n, a in enumerate(self.aliases)])
            pending = np.concatenate([self.pending[~mine], pending])
        self.pending = pending if len(pending) else None

    def _is_prompt(self, named: Ints) -> Bools:
        found: Bools = (named != ABSENT).all(axis=1) & self.are_matches_prompt
        return found


def among(rows: Ints, known: Ints) -> Bools:
    """Which of the rows are among others."""
    if not len(rows) or not len(known):
        return np.zeros(len(rows), np.bool_)
    number = np.unique(np.concatenate([known, rows]), axis=0, return_inverse=True)[1].reshape(-1)
    found: Bools = np.isin(number[len(known) :], number[: len(known)])
    return found
