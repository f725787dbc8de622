"""Among which stored rows the next to be evicted are sought, so that what an eviction costs follows what leaves.

To rank all stored rows costs what they cost, and a batch that brings few rows evicts few. So when all are ranked, the
eighth that is worth least is remembered in that order. An eviction ranks the first of these, sixteen for each row that
must leave, and the rows that came since the last one; those that stay and are worth as little as the eighth go on at
the front. What a row is worth changes slowly, as keys become frequent or rare and lives end. When an eighth of the
stored rows came, or too few are remembered, all are ranked again; so for every row that leaves a bounded number is
ranked.

With few stored rows all are ranked always. Rows are named by their places in the order of arrival. What is remembered
is no state: a cell that is restored ranks all once more.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.runtime.budget.policies import MANY_STORED, PART_RENEWED
from penstock.runtime.budget.rates import Floats
from penstock.runtime.columns.codes import INT64, Ints, union
from penstock.runtime.join.sides import places
from penstock.runtime.state.synopsis import ALL, Synopsis

_RANKED, _LEAST_RANKED = 16, 1 << 11
"""How many candidates are ranked for each row that must leave, and at least."""


class Candidates:
    """The candidates of one cell."""

    def __init__(self, synopses: Mapping[str, Synopsis]) -> None:
        self.synopses = synopses
        self._alias: Ints = np.zeros(0, np.int64)
        """Of the candidates that are in the order of their worth: the number of the stream, and the place of arrival.
        """
        self._arrival: Ints = np.zeros(0, np.int64)
        self._limit = 0.0
        """What the last of them was worth."""
        self._front: dict[str, Ints] = {}
        """Candidates that were ranked since, by alias their places of arrival."""
        self._last: dict[str, int] = {}
        """By alias, the last place that was ranked."""
        self._came = 0
        """Rows that came since all were ranked."""

    def among(self, evicting: int) -> dict[str, Ints] | None:
        """By alias, the rows among which so many are sought; None where all must be ranked."""
        stored = sum(synopsis.live for synopsis in self.synopses.values())
        if not self._last or stored < MANY_STORED:
            return None
        wanted = max(_RANKED * evicting, _LEAST_RANKED)
        front = sum(len(arrivals) for arrivals in self._front.values())
        taken, self._alias = np.split(self._alias, [max(0, wanted - front)])
        arrivals, self._arrival = np.split(self._arrival, [max(0, wanted - front)])
        found = {}
        for number, (alias, synopsis) in enumerate(self.synopses.items()):
            new = synopsis.arrived(lambda s: s.arrival, self._last[alias], INT64.max, ALL)
            self._came += len(new)
            known = places(synopsis, np.concatenate([self._front[alias], arrivals[taken == number]]))
            found[alias] = union([synopsis.alive(known[known >= 0]), new])
        if self._came * PART_RENEWED > stored or sum(map(len, found.values())) < 2 * evicting:
            return None
        return found

    def ranked(self, ids: Mapping[str, Ints], worth: Mapping[str, Floats], *, is_all: bool) -> None:
        """Rows were ranked: remember those that are worth least."""
        if is_all:
            self._choose(ids, np.concatenate(list(worth.values())))
            return
        for alias, rows in ids.items():
            arrival: Ints = self.synopses[alias].gather(rows, lambda s: s.arrival)
            self._front[alias] = arrival[worth[alias] <= self._limit]
            self._last[alias] = max(self._last[alias], int(arrival.max(initial=-1)))

    def _choose(self, ids: Mapping[str, Ints], worth: Floats) -> None:
        self._last, self._came = {}, 0
        if len(worth) < MANY_STORED:
            return
        wanted = len(worth) // PART_RENEWED
        chosen = np.argpartition(worth, wanted)[:wanted]
        chosen = chosen[np.argsort(worth[chosen], kind="stable")]
        self._limit = float(worth[chosen[-1]])
        arrivals = [self.synopses[alias].gather(rows, lambda s: s.arrival) for alias, rows in ids.items()]
        numbers = np.repeat(np.arange(len(arrivals)), [len(arrival) for arrival in arrivals])
        self._alias, self._arrival = numbers[chosen], np.concatenate(arrivals)[chosen]
        self._front = {alias: np.zeros(0, np.int64) for alias in ids}
        self._last = {a: int(arrival.max(initial=-1)) for a, arrival in zip(ids, arrivals, strict=True)}
