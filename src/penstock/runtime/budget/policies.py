"""Which rows are worth their room: PROB, LIFE and RAND of SHED 4.2, and GAIN, which is ours.

PROB ranks a row by how often its key arrives on the streams that it meets, LIFE by that times its remaining life, RAND
by chance that is the same on every run. SHED 4.2.2 says what is missing: the *expected* life of a row, which may be
evicted before it expires; and PROB knows neither a distribution that changes nor a stream two joins away.

GAIN ranks a row by the results that it may still give, less what its room would earn otherwise:

    expected new results of the row while it lives  -  price * its remaining life

New results are those with at least one row to come: the product over the streams that it joins of (what is stored +
what is expected to come), less the product of what is stored, each along the whole tree of joins. What
is expected to come is had from faded sketches of what came, each row counted by what it would have met in turn. The
price is the rate of results at which rows were last evicted: the dual price of a slot in the offline optimum. A row
that earns more than the price is worth the more the longer it lives, one that earns less is a burden as long as it
lives. Where no row expires, GAIN is PROB with statistics that fade, over the whole join.

What the stored rows of a stream tell along the tree is summed up over all of them. Where many stand the sums are worked
out anew only after an eighth as many rows came, so that a batch costs what it brings.

The tree is, for each stream of the query, one over the others, by shared keys. A node is a stream seen from its parent,
by the columns that the two share; a stream that shares no key with any that is reached hangs under the root, by no
columns: every row of it may meet. Nodes that look alike below (same stream, same columns, same children) are one,
whatever the root, so that statistics about them are kept once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.plan.plan import Plan
from penstock.runtime.budget.lifetimes import Lifetimes
from penstock.runtime.budget.outer_gain import OuterGain
from penstock.runtime.budget.rates import Floats, Rates
from penstock.runtime.columns.codes import Ints
from penstock.runtime.columns.hashing import Hashes, mix
from penstock.runtime.input.wire_columns import value_columns
from penstock.runtime.join.merge import stands_for
from penstock.runtime.state.component import Component
from penstock.runtime.state.synopsis import ALL, Synopsis

GAIN, PROB, LIFE, RAND = "gain", "prob", "life", "rand"

_MOST_WIDTH, _USUAL_WIDTH, _LEAST_WIDTH = 1 << 14, 1 << 6, 1 << 3
"""Of sketches: the most, the least by the budget, and the least where bytes are short; below it there are none."""
_PRICE_KEPT = 0.9
_HALF_LIVES = (80.0, 5.0, 0.4)
"""Of the statistics, the steadiest first, in steps for each row of the budget."""
MANY_STORED, PART_RENEWED = 1 << 13, 8
"""From so many stored rows on, what is known of all of them is worked out anew once one in so many more came."""
_MOST_WORTH = 1e30
"""What a value is held to, so that the product over several streams is still a number."""
_LEAST_ROWS = 100.0
"""A budget of fewer rows is taken to be of so many."""


@dataclass(frozen=True)
class PathNode:
    """A stream below a parent; `columns` are its own, `parent_columns` those of the parent that must be equal."""

    alias: str
    columns: tuple[str, ...]
    children: tuple[PathNode, ...]
    parent_columns: tuple[str, ...] = field(compare=False)

    def below(self) -> Iterator[PathNode]:
        """It and all nodes under it, children first."""
        for child in self.children:
            yield from child.below()
        yield self


@dataclass(frozen=True)
class Message:
    """What the stored rows of a node tell its parent, by key: results with rows to come, and without."""

    expected: Floats
    stored: Floats

    def of(self, keys: Hashes) -> tuple[Floats, Floats]:
        """The two sums for each key."""
        places = mix(keys) & np.uint64(len(self.stored) - 1)
        return self.expected[places], self.stored[places]


class Ranking(Component):
    """Statistics of what arrives, and the worth of stored rows by them."""

    numbers = ("price", "_is_blind")
    parts = ("_statistics",)

    def __init__(
        self,
        plan: Plan,
        policy: str,
        synopses: Mapping[str, Synopsis],
        lifetimes: Lifetimes,
        rows: int,
        *,
        outer: OuterGain | None = None,
    ) -> None:
        self.plan = plan
        self.policy = policy
        self.synopses = synopses
        self.lifetimes = lifetimes
        self.outer = outer
        """What results to come are worth under outer joins and EXISTS."""
        find = {GAIN: paths_from, PROB: neighbours_of, LIFE: neighbours_of}.get(policy)
        self.under: dict[str, tuple[PathNode, ...]] = {a: find(plan, a) if find else () for a in plan.aliases}
        every = [node for nodes in self.under.values() for child in nodes for node in child.below()]
        width = min(_MOST_WIDTH, max(_USUAL_WIDTH, 1 << (2 * rows).bit_length()))
        budget = max(_LEAST_ROWS, float(rows))
        half_lives = tuple(times * budget for times in _HALF_LIVES) if policy == GAIN else (None,)
        self.rates = {node: Rates(width, half_lives) for node in dict.fromkeys(every)}
        # PROB and LIFE are SHED's, which asks the one stream.
        self.kin = {node: self._kin_of(node) if policy == GAIN else () for node in self.rates}
        self._statistics = list(self.rates.values())
        self._is_blind = False
        """Whether there was no room for any statistics."""
        self.price = 0.0
        self._messages: dict[PathNode, Message] = {}
        self._came = 0
        """Rows that came since the messages were worked out."""

    @property
    def nbytes(self) -> int:
        """The room that the statistics take."""
        return sum(rates.nbytes for rates in self.rates.values())

    def shrink(self, room: int) -> None:
        """Make the statistics fit into so many bytes; the least that they can be is none."""
        while self.nbytes > room and self.rates:
            if next(iter(self.rates.values())).sketches[0].width <= _LEAST_WIDTH:
                self._give_up()
            for rates in self.rates.values():
                rates.fold()

    def _give_up(self) -> None:
        self._is_blind = True
        for rates in self._statistics:
            rates.empty()
        self.rates, self.kin, self.under = {}, {}, dict.fromkeys(self.plan.aliases, ())

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:  # noqa: ARG002 - the same in every cell
        """See Component."""
        self.price = sum(one.price for one in members) / len(members)
        if any(one._is_blind for one in members) and not self._is_blind:
            self._give_up()

    def resume(self) -> None:
        """See Component."""
        if self._is_blind:
            self._give_up()

    def _kin_of(self, node: PathNode) -> tuple[Rates, ...]:
        """What is known of other streams that are met by the same classes of columns."""
        return tuple(
            rates
            for other, rates in self.rates.items()
            if other.alias != node.alias and self._classes(other) == self._classes(node)
        )

    def _classes(self, node: PathNode) -> tuple[int, ...]:
        axes = list(enumerate(self.plan.axes))
        return tuple(n for column in node.columns for n, axis in axes if axis.column(node.alias) == column)

    def observe(self, fresh: Mapping[str, Ints], stood: Mapping[str, Ints]) -> None:
        """Count what arrived in a batch: fresh rows by alias, purged since or not, and how many rows each was."""
        steps = sum(len(ids) for ids in fresh.values())
        self.lifetimes.advance(steps)
        self._came += steps
        self._renew()
        # Worth is by what was known before the batch: first all that is to be added, then the adding.
        added = []
        for node, rates in self.rates.items():
            ids = fresh[node.alias]
            came = self._value(node.alias, ids) * stood[node.alias]
            weights = self._expected(node.alias, ids, node.children, came)[0]
            added.append((rates, self._keys(node.alias, node.columns, ids), weights))
            rates.listen(*added[-1][1:], self.kin[node])
        for rates, keys, weights in added:
            rates.add(keys, weights, steps)
        self._renew()

    def _renew(self) -> None:
        """Forget what stored rows tell, unless they are many and few came since."""
        stored = sum(synopsis.live for synopsis in self.synopses.values())
        if stored < MANY_STORED or self._came * PART_RENEWED >= stored:
            self._messages, self._came = {}, 0

    def worth_of(
        self, ids: Mapping[str, Ints], batch: int, evicting: int = 0, *, unjoined: bool = False
    ) -> dict[str, Floats]:
        """For stored rows, by alias, what it is worth to keep each; so many will leave.

        `unjoined` ones have results with what is stored to come as well.
        """
        if self.policy == RAND or not self.rates:
            return {alias: self._by_chance(alias, rows, batch) for alias, rows in ids.items()}
        self._renew()
        if self.policy != GAIN:
            return {alias: self._frequency(alias, rows, self.under[alias]) for alias, rows in ids.items()}
        gains: dict[str, Floats] = {}
        lives: dict[str, Floats] = {}
        for alias, rows in ids.items():
            brought = self._brought(alias, rows)
            expected, stored, life = self._expected(alias, rows, self.under[alias], brought, to_come=not unjoined)
            gains[alias], lives[alias] = expected if unjoined else expected - stored, np.maximum(life, 1.0)
            if self.outer is not None:
                keys = self._keys(alias, self.under[alias][0].parent_columns, rows)
                gains[alias] = self.outer.of(alias, rows, gains[alias], brought, keys=keys, lives=lives[alias])
        self._learn_price(np.concatenate([gains[alias] / lives[alias] for alias in ids]), evicting)
        return {alias: gains[alias] - self.price * lives[alias] for alias in ids}

    def _learn_price(self, rates: Floats, evicting: int) -> None:
        """The price is the rate of the last row that would leave if rows left by their rate."""
        if 0 < evicting <= len(rates):
            found = float(np.partition(rates, evicting - 1)[evicting - 1])
            self.price = found if self.price == 0 else self.price * _PRICE_KEPT + found * (1 - _PRICE_KEPT)

    def _frequency(self, alias: str, ids: Ints, nodes: tuple[PathNode, ...]) -> Floats:
        """PROB's and LIFE's priority; over several streams, the product."""
        found = self._brought(alias, ids)
        lives: list[Floats] = []
        for node in nodes:
            rates = self.rates[node]
            found = found * rates.of(self._keys(alias, node.parent_columns, ids))
            lives.append(self.lifetimes.left(alias, node.alias, ids, rates.horizon))
        return found * np.minimum.reduce(lives) if self.policy == LIFE and lives else found

    def _expected(
        self, alias: str, ids: Ints, nodes: tuple[PathNode, ...], brought: Floats, *, to_come: bool = False
    ) -> tuple[Floats, Floats, Floats]:
        """What rows give with all that is stored or to come below the nodes, with what is stored alone; their life.

        If only the difference is wanted, `to_come`, then of a single stream what is stored need not be known.
        """
        if to_come and len(nodes) == 1 and not nodes[0].children:
            rates = self.rates[nodes[0]]
            life = self.lifetimes.left(alias, nodes[0].alias, ids, rates.horizon)
            keys = self._keys(alias, nodes[0].parent_columns, ids)
            return brought * life * rates.of(keys, self.kin[nodes[0]]), np.zeros(len(ids)), life
        expected = stored = brought
        life = np.zeros(len(ids))
        for node in nodes:
            keys = self._keys(alias, node.parent_columns, ids)
            with_more, alone = self._message(node).of(keys)
            left = self.lifetimes.left(alias, node.alias, ids, self.rates[node].horizon)
            expected = expected * (with_more + left * self.rates[node].of(keys, self.kin[node]))
            stored = stored * alone
            life = np.maximum(life, left)
        return expected, stored, life

    def _message(self, node: PathNode) -> Message:
        if node not in self._messages:
            ids = self.synopses[node.alias].ids(ALL)
            expected, stored, _ = self._expected(node.alias, ids, node.children, self._brought(node.alias, ids))
            size = 1 << max(4, (4 * len(ids)).bit_length())
            places = (mix(self._keys(node.alias, node.columns, ids)) & np.uint64(size - 1)).view(np.int64)
            sums = [np.bincount(places, weights, size).astype(np.float64) for weights in (expected, stored)]
            self._messages[node] = Message(*sums)
        return self._messages[node]

    def _keys(self, alias: str, columns: tuple[str, ...], ids: Ints) -> Hashes:
        if not columns or not len(ids):
            return np.zeros(len(ids), np.uint64)
        found: Hashes = self.synopses[alias].gather(ids, lambda s: s.key(columns))
        return found

    def _brought(self, alias: str, ids: Ints) -> Floats:
        """What a row brings into the worth of its results: its value, for each row that it stands for."""
        return self._value(alias, ids) * stands_for(self.synopses[alias], ids)

    def _value(self, alias: str, ids: Ints) -> Floats:
        """The value of a row; one that is NULL, NaN or negative is worth nothing."""
        synopsis = self.synopses[alias]
        found: Floats = np.ones(len(ids))
        for column in value_columns(self.plan, alias) if len(ids) else ():
            given = synopsis.arrow(column, ids).to_numpy(zero_copy_only=False).astype(np.float64)
            found = np.where(np.isfinite(given) & (given > 0), np.minimum(given, _MOST_WORTH), 0.0)
        return found

    def _by_chance(self, alias: str, ids: Ints, batch: int) -> Floats:
        synopsis = self.synopses[alias]
        if not len(ids):
            return np.zeros(0)
        arrival: Ints = synopsis.gather(ids, lambda s: s.arrival)
        salt = mix(np.array([batch * 64 + self.plan.aliases.index(alias)], np.uint64))
        return (mix(mix(arrival.view(np.uint64)) + salt) >> np.uint64(11)).astype(np.float64)


def paths_from(plan: Plan, root: str) -> tuple[PathNode, ...]:
    """The nodes that hang directly under a stream."""
    parent_of: dict[str, str] = {}
    reached = [root]
    for alias in reached:
        for other in plan.aliases:
            if other not in reached and _shared(plan, alias, other)[0]:
                parent_of[other] = alias
                reached.append(other)
    for other in plan.aliases:
        if other not in reached:
            parent_of[other] = root
            reached.append(other)
    return _children(plan, root, parent_of)


def neighbours_of(plan: Plan, root: str) -> tuple[PathNode, ...]:
    """The streams that share a key with a stream, without what lies behind them."""
    found = []
    for other in plan.aliases:
        own, theirs = _shared(plan, root, other)
        if other != root and own:
            found.append(PathNode(other, theirs, (), own))
    return tuple(found)


def _children(plan: Plan, alias: str, parent_of: dict[str, str]) -> tuple[PathNode, ...]:
    found = []
    for other in plan.aliases:
        if parent_of.get(other) == alias:
            own, theirs = _shared(plan, alias, other)
            found.append(PathNode(other, theirs, _children(plan, other, parent_of), own))
    return tuple(found)


def _shared(plan: Plan, alias: str, other: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of the two that are equal in every result."""
    pairs = []
    for axis in plan.axes:
        own, theirs = axis.column(alias), axis.column(other)
        if own is not None and theirs is not None:
            pairs.append((own, theirs))
    return tuple(own for own, _ in pairs), tuple(theirs for _, theirs in pairs)
