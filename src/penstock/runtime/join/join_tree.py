"""The joins of one cell, a tree of nodes: drives them from below, twice a step.

An inner join is the tree of one block, whose combinations are results. Under outer joins and EXISTS tuples are stored
once, in the synopsis of their stream, whichever rows of whichever nodes they are part of. A tuple leaves when it is
done in the block or the node that it feeds, and no waiting row names it.

The account of a budget runs the same tree over stored and sampled rows (`budget/account.py`). There no tuple leaves by
the tree: it is marked as done; and rows in doubt go on as unsure ones (`node.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.model.nodes import NodeKind
from penstock.plan.doubting import works_anew
from penstock.plan.plan import Plan
from penstock.plan.tree import NodePlan
from penstock.runtime.budget.doubt import Doubt
from penstock.runtime.columns.codes import Bools, Ints, empty_ids, union
from penstock.runtime.input.arrival_order import ArrivalOrder
from penstock.runtime.input.clock import Clock
from penstock.runtime.join.node import Left, Node, is_empty
from penstock.runtime.join.purge import Purge
from penstock.runtime.join.purged import IN_NO_RESULT, Asking, Purged
from penstock.runtime.join.rows import ABSENT, GivenRows, Rows, by_presence, given_together, nothing, take, together
from penstock.runtime.join.settling import Settling
from penstock.runtime.join.sides import Side, StreamSide, WaitingSide
from penstock.runtime.match.delta_join import delta_join
from penstock.runtime.match.matching import Matcher, PartTies
from penstock.runtime.match.node_matching import NO_TESTS, NodeMatcher, Truth, asks_few, truth
from penstock.runtime.match.row_conditions import RowConditions
from penstock.runtime.match.rows_windows import RowsWindows
from penstock.runtime.promise.closing import Closedness
from penstock.runtime.promise.marks import DOUBTED, LEFT, MATCHED, UNSURE, decided
from penstock.runtime.state.component import Component
from penstock.runtime.state.synopsis import ALL, FRESH, Synopsis


class JoinTree(Component):
    """The nodes of one cell; `matcher` is that of the whole query."""

    numbers = ("has_evicted",)
    parts = ("waiting", "lost", "root")

    def __init__(
        self,
        plan: Plan,
        matcher: Matcher,
        closing: Closedness,
        clock: Clock,
        *,
        across: ArrivalOrder | None = None,
        absent: Truth = NO_TESTS,
        of_account: bool = False,
    ) -> None:
        self.plan = plan
        self.of_account = of_account
        self.unsure: Bools | None = None
        """Of an account, which of the rows that were last given may be none."""
        self.synopses = matcher.synopses
        self.closing = closing
        self.clock = clock
        self.across = across
        self.absent = absent
        self.windows = RowsWindows(plan, self.synopses, clock, across)
        self.settling = Settling(plan, self.synopses, closing, self.windows)
        self.nodes: dict[int, Node] = {}
        self.blocks: dict[int, Purge] = {}
        self.waiting: list[WaitingSide] = []
        self.streams: list[StreamSide] = []
        for number, node in enumerate(plan.nodes):
            if node.kind is not NodeKind.BLOCK:
                self._add_node(number, node)
            elif node is plan.tree.root or len(node.aliases) > 1:
                assert node.block is not None
                ties = PartTies(node.aliases, node.block.axes, node.block.predicates)
                retained = frozenset() if node is plan.tree.root else frozenset(node.aliases)
                own = Matcher(ties, self.synopses, retained)
                self.blocks[number] = Purge(plan, node, own, closing, self.windows)
        self.root = self.blocks.get(len(plan.nodes) - 1)
        """The rule of the block that gives the answer; None where a join or an EXISTS does."""
        self._notes_decided = works_anew(plan)
        self._left: dict[int, list[Rows]] = {}
        """By node, the rows that left its sides in this step."""
        self._done: dict[str, list[Ints]] = {}
        """By stream, the tuples that this step was done with somewhere, or that stood in a row which left."""
        self._closed_now: dict[str, Ints] = {}
        """See `_changed`."""
        self._asks_all = True
        """Whether it is asked of all tuples if they may go: nothing was kept of the step before."""
        is_budgeted = plan.evict is not None and self.root is None
        doubt = Doubt(plan, self.nodes, self.settling, closing, counts_chances=of_account) if is_budgeted else None
        self.lost = doubt
        """Under a budget, which rows may have had a partner that was evicted."""
        self.has_evicted = False
        """Whether tuples were evicted since rows were last settled, for which others may have waited."""
        self._passed: dict[str, int] = {}
        """By stream with [ROWS n] the last place that was out of reach when its tuples were last asked about."""

    def _add_node(self, number: int, node: NodePlan) -> None:
        assert node.left is not None
        assert node.right is not None
        sides = self._side(number, node.left), self._side(number, node.right)
        below = [frozenset(self.plan.nodes[side].aliases) for side in (node.left, node.right)]
        matcher = NodeMatcher(
            self.plan, node, (below[0], below[1]), synopses=self.synopses, windows=self.windows, absent=self.absent
        )
        self.nodes[number] = Node(node, sides, matcher, gives_unsure=self.of_account)
        self.settling.sides[number] = sides

    def _side(self, above: int, number: int) -> Side:
        node = self.plan.nodes[number]
        if node.kind is NodeKind.BLOCK and len(node.aliases) == 1:
            (alias,) = node.aliases
            is_waited_for = self.plan.tree.parent(above) is not None and alias in self.plan.nodes[above].aliases
            side = StreamSide(alias, self.synopses[alias], is_waited_for or self.of_account)
            self.streams.append(side)
            return side
        marks: tuple[str, ...] = (MATCHED,) if self.plan.evict is None else (MATCHED, DOUBTED)
        marks += (UNSURE,) if self.of_account else ()
        waiting = WaitingSide(node, self.synopses, marks)
        self.waiting.append(waiting)
        return waiting

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:  # noqa: ARG002 - the same in every cell
        """See Component."""
        self.has_evicted = any(one.has_evicted for one in members)

    def join(self) -> list[Rows]:
        """The results that follow from matches of the batch, and what is certain of them."""
        if self.root is not None:
            return delta_join(self.plan, self.root.matcher, self.clock, self.across, self.plan.tree.root.asked)
        return [self._pass(late=False)]

    def doubt(self) -> None:
        """A promise was widened: see Purge."""
        for purge in self.blocks.values():
            purge.doubt()

    def evicting(self, alias: str, ids: Ints, *, unmet: bool = False) -> None:
        """Remember tuples that are evicted, and let the rows go that they are part of; see Doubt."""
        if self.lost is None or not len(ids):
            return
        self.lost.evicted(alias, ids, unmet=unmet)
        self.has_evicted = True
        arrivals = self.synopses[alias].gather(ids, lambda s: s.arrival)
        for side in self.waiting:
            if alias in side.aliases:
                side.evicting(alias, arrivals)

    def _pass(self, *, late: bool) -> Rows:
        given: dict[int, GivenRows] = {}
        for side in self.streams:
            side.late = late
        for number, node in enumerate(self.plan.nodes):
            if node.kind is NodeKind.BLOCK:
                given[number] = GivenRows(nothing(node.aliases) if late else self._fresh(number, node))
            elif not late:
                given[number] = self._met(number, self._below(node, given))
            else:
                given[number] = self._settled(number, self._below(node, given))
        answer = given[len(self.plan.nodes) - 1]
        shown = self._shown(answer.rows, self.synopses)
        self.unsure = answer.unsure if shown is None or answer.unsure is None else answer.unsure[shown]
        return answer.rows if shown is None else take(answer.rows, shown)

    def _met(self, number: int, new: tuple[GivenRows, GivenRows]) -> GivenRows:
        found = self.nodes[number].meet(new, self.clock.batch)
        if self.lost is not None:
            self.lost.arrived(number)
        return found

    def _below(self, node: NodePlan, given: Mapping[int, GivenRows]) -> tuple[GivenRows, GivenRows]:
        assert node.left is not None
        assert node.right is not None
        return given[node.left], given[node.right]

    def _fresh(self, number: int, node: NodePlan) -> Rows:
        if number not in self.blocks:
            (alias,) = node.aliases
            return {alias: self.synopses[alias].ids(FRESH)}
        purge = self.blocks[number]
        found = delta_join(self.plan, purge.matcher, self.clock, self.across, node.asked)
        return together(found, node.aliases)

    def settle(self, touched: Mapping[str, Ints], asking: Asking, met: Mapping[str, Ints]) -> tuple[list[Rows], Purged]:
        """With the promises of the batch made: the results that are certain only now, and the tuples that left.

        `touched` are the tuples that promises about values are about, `met` those that only a stored key closed.
        """
        if self.root is not None:
            return [], self.root.run(touched, asking, met)
        self._purged = Purged()
        self._marked = marked = {
            alias: union([found[alias] for found in (touched, met) if alias in found]) for alias in (*touched, *met)
        }
        self._left, self._done, self._closed_now = {}, {}, {}
        self._asks_all |= self.has_evicted
        for purge in self.blocks.values():
            # Where tuples were evicted, others may have waited for them.
            of = Asking.ALL if asking is Asking.ALL and self.lost is not None else Asking.CHANGED
            left = purge.run(marked, of)
            for rule, gone in left.counts.items():
                self._purged.counts[rule] = self._purged.counts.get(rule, 0) + gone
            self._done |= {alias: list(ids) for alias, ids in left.rows.items()}
        self._drop_hopeless()
        for number, node in self.nodes.items():
            self._note(number, node.let_go())
        rows = self._pass(late=True)
        for side in self.streams:
            side.late = False
        self._leave()
        self.has_evicted = False
        return [rows], self._purged

    def _settled(self, number: int, late: tuple[GivenRows, GivenRows]) -> GivenRows:
        node = self.nodes[number]
        given = [] if is_empty(late) else [self._met(number, late)]
        self._note(number, node.let_go())
        if self.lost is not None:
            self.lost.settling_now(number)
        certain, gone = node.settle(self.settling, (self._asked(number, 0), self._asked(number, 1)))
        self._note(number, gone)
        if self.lost is not None:
            for rows in node.withheld:
                self.lost.withheld(number, rows)
        return given_together([*given, certain], node.plan.aliases)

    def _asked(self, number: int, side: int) -> Ints | None:
        """The rows of a side, by key, whose answer may have changed; None where that is not known.

        A row waits for the promises about streams of the other side, and for rows that wait within that side: it is
        asked as it comes, when a promise closes something for one of its tuples, and when one of those has left that
        agrees with it, the promises having been made long before.
        """
        node = self.nodes[number]
        own, other = node.sides[side], (node.plan.right, node.plan.left)[side]
        assert other is not None
        if self.closing.ended or not self._asks_single_tuples(other):
            return None
        stirred = self._stirred(node, own, other)
        if stirred is None:
            return None
        if isinstance(own, StreamSide):
            return union([own.synopsis.ids(FRESH), self._changed(own.alias), *stirred])
        assert isinstance(own, WaitingSide)
        if not asks_few(max(len(self._changed(alias)) for alias in own.aliases), own):
            return None
        touched = [own.naming(alias, self._changed(alias)) for alias in own.aliases]
        return union([own.added_in(self.clock.batch), *touched, *stirred])

    def _asks_single_tuples(self, other: int) -> bool:
        """Whether each promise about a side is about a single tuple of the row that waits for it."""
        return not any(closer.target in self.plan.nodes[other].aliases for closer in self.plan.joint_closers)

    def _changed(self, alias: str) -> Ints:
        """The stored tuples of a stream for which a promise of this batch closed something, or that a window passed."""
        if alias not in self._closed_now:
            synopsis = self.synopses[alias]
            found = [self.closing.newly_closed(alias, synopsis), self._marked.get(alias, empty_ids())]
            if alias in self.windows.rows:
                before, now = self._passed.get(alias, -1), self.windows.passed(alias)
                found.append(synopsis.arrived(lambda s: s.arrival, before, now, ALL))
                self._passed[alias] = now
            self._closed_now[alias] = union(found)
        return self._closed_now[alias]

    def _stirred(self, node: Node, own: Side, other: int) -> list[Ints] | None:
        """The rows of a side, by key, that agree with rows which left a node on the other side of its own."""
        plan = self.plan.nodes[other]
        if plan.block is not None and len(plan.aliases) == 1:
            return []
        if self.has_evicted:
            return None
        if plan.left is None or plan.right is None:
            return [self._near_changed(node, own, alias) for alias in plan.aliases]
        found: list[Ints] = []
        for rows in self._left.get(other, ()):
            found += [node.matcher.near(present, own, ALL)[1] for present, _ in by_presence(rows)]
        for below in (plan.left, plan.right):
            stirred = self._stirred(node, own, below)
            if stirred is None:
                return None
            found += stirred
        return found

    def _near_changed(self, node: Node, own: Side, alias: str) -> Ints:
        """The rows of a side, by key, that agree with tuples of a block which left it, or for which something closed.

        What a block may still give is asked by expansion from the row, over tuples that agree with it on every key that
        the two share: so no other tuple can have been in the way.
        """
        ids = union([self._changed(alias), *self._done.get(alias, [])])
        return node.matcher.near({alias: ids}, own, ALL)[1] if len(ids) else ids

    def _drop_hopeless(self) -> None:
        """As a block does of its own streams (`purge.py`), let the tuples of a hopeless one go; kept rows wait on."""
        for node in self.nodes.values():
            for side, keeps in zip(node.sides, node.plan.preserves, strict=True):
                if isinstance(side, StreamSide) and not keeps and self.plan.by_alias[side.alias].is_hopeless:
                    ids = side.rows(ALL)[1]
                    if self.of_account or not side.retained:
                        side.leave(ids)
                        self._purged.add(side.alias, IN_NO_RESULT, ids)

    def _note(self, number: int, gone: list[Left]) -> None:
        for left in gone:
            if not len(left.keys):
                continue
            side = self.nodes[number].sides[left.side]
            rows = side.rows_of(left.keys)
            self._left.setdefault(number, []).append(rows)
            for alias, ids in rows.items() if self._notes_decided and isinstance(side, WaitingSide) else ():
                self.synopses[alias].mark(decided(number), ids[ids != ABSENT])
            if isinstance(side, StreamSide) and not side.retained:
                self._purged.add(side.alias, left.rule, left.keys)
                continue
            self._purged.counts[left.rule] = self._purged.counts.get(left.rule, 0) + len(left.keys)
            for alias, ids in rows.items():
                self._done.setdefault(alias, []).append(ids[ids != ABSENT])

    def _leave(self) -> None:
        """Let the tuples go that are done and that no waiting row names.

        Only those are asked about that this step was done with, or whose rows left in it: of others nothing changed.
        """
        if self.of_account:
            return
        of_blocks = [alias for purge in self.blocks.values() for alias in purge.aliases]
        for alias in dict.fromkeys([*of_blocks, *(s.alias for s in self.streams if s.retained)]):
            synopsis = self.synopses[alias]
            ids = synopsis.ids(ALL) if self._asks_all else synopsis.alive(union(self._done.get(alias, [])))
            ids = ids[self.is_done(alias, ids)]
            if len(ids):
                synopsis.kill(ids)
                self._purged.rows.setdefault(alias, []).append(ids)
        self._asks_all = False

    def is_done(self, alias: str, ids: Ints) -> Bools:
        """Which tuples of a stream stand in no result to come, as they are marked or as the rule of the block says."""
        if self.root is not None:
            return self.root.useless(alias, ids)
        done: Bools = np.zeros(len(ids), np.bool_)
        if len(ids):
            done |= self.synopses[alias].marked(LEFT, ids)
        for side in self.waiting:
            if alias in side.aliases and done.any():
                done[done] = ~side.names(alias, ids[done])
        return done

    def begin_as(self, other: JoinTree) -> None:
        """Let the rows wait that wait in another tree of the same query."""
        for side, theirs in zip(self.waiting, other.waiting, strict=True):
            side.begin_as(theirs)

    def results(self, rows: Rows, synopses: Mapping[str, Synopsis]) -> Rows:
        """The rows that pass the conditions of WHERE that wait for the joined row."""
        shown = self._shown(rows, synopses)
        return rows if shown is None else take(rows, shown)

    def _shown(self, rows: Rows, synopses: Mapping[str, Synopsis]) -> Bools | None:
        found: Bools | None = None
        for test in self.plan.tree.tests:
            if test.column in self.plan.tree.results:
                passes = truth(synopses[test.alias], test.column, rows[test.alias], self.absent)
                found = passes if found is None else found & passes
        passes_all = RowConditions(self.plan.tree.conditions, synopses).passing(rows)
        if passes_all is None or found is None:
            return passes_all if found is None else found
        return found & passes_all

    @property
    def nbytes(self) -> int:
        """The bytes of the rows that wait."""
        return sum(side.waiting.nbytes for side in self.waiting)
