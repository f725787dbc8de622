"""The purge rule (DESIGN section 1), by message passing along the plan's purge trees.

For a row s and a child c of its tree: s is *dead in c* iff c is closed for s and every stored row of c that agrees
with s is dead in some child of its own; *complete in c* iff c is closed for s and every such row is dead or complete
in all its children. A row of the root is useless iff it is dead in some child or complete in all. Agreement is asked
of parent and child only, so on a graph that is no tree more rows stand in the way than the rule demands: what is left
there is asked by `expansion.py`, as it is where a punctuation closes for several rows together.

The rule is that of a block, a part of the query or the whole. Below other joins a tuple that is useless is marked as
done and stays, since rows that wait above may name it; what covers the block was joined, and waits there as a row of
its own. Where the streams of such a block do not close each other, the rule goes over streams that stand in every
result with them (`beyond`), looking at all their stored tuples, done or not: more than must be, never less.

Only rows whose answer may have changed are asked again: fresh rows; rows that a limit or a mark has newly closed;
and, up the tree, rows that agree with a row that changed below or left. A row that leaves was useless by itself, so
it hinders no other; rounds go on until nothing leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from penstock.plan.closer_plans import CloserKind
from penstock.plan.parts import PurgeTree
from penstock.plan.plan import Plan
from penstock.plan.tree import BlockPlan, NodePlan
from penstock.runtime.columns.codes import Bools, Ints, empty_ids, is_coded, places_in, union
from penstock.runtime.join.expansion import Expansion
from penstock.runtime.join.purged import IN_NO_RESULT, Asking, Purged, together
from penstock.runtime.match.key_matching import Keyed, about_distinct
from penstock.runtime.match.matching import Matcher, PartTies
from penstock.runtime.match.met_before import MetBefore
from penstock.runtime.match.rows_windows import RowsWindows
from penstock.runtime.promise.closing import Closedness
from penstock.runtime.promise.marks import LEFT
from penstock.runtime.state.component import Component
from penstock.runtime.state.synopsis import ALL, FRESH

LARGEST_CROSSING = 4_000_000
"""Pairs of rows that no predicate ties beyond which the rule is not asked: it stays undecided, and the rows stay."""

_LARGER = 16
"""Looking whether a row is closed costs about so many times less than finding the rows that it agrees with."""

NOTHING_MET: Mapping[str, Ints] = MappingProxyType({})


class Purge(Component):
    """Applies the rule to the tuples of one block, in one cell."""

    numbers = ("by_key",)

    def __init__(
        self,
        plan: Plan,
        node: NodePlan,
        matcher: Matcher,
        closing: Closedness,
        windows: RowsWindows,
    ) -> None:
        assert node.block is not None
        self.plan = plan
        self.aliases = node.aliases
        self.components = node.block.components
        self.is_root = node is plan.tree.root
        self.matcher = matcher
        self.alike = Matcher(matcher.plan, matcher.synopses, matcher.retained, by_hash=True)
        """Who agrees, and who only seems to: a row that stays for such a one stays longer than it must, no shorter."""
        self.synopses = matcher.synopses
        self.closing = closing
        self.windows = windows
        self.expansion = Expansion(matcher.plan, matcher, closing)
        self.expanded = node.block.expanded
        self.outside = self._outside(node.block)
        self.by_key = node.block.by_key
        trees = [tree for tree in node.block.purge_trees if self._can_close(tree)]
        self._all_trees = {a: [tree for tree in trees if tree.root == a] for a in self.aliases}
        self.trees = self._all_trees
        if self.by_key:
            self.trees = {a: [t for t in trees if _is_star(t)][:1] or trees for a, trees in self.trees.items()}
        self.sources = [plan.by_alias[alias] for alias in self.aliases]
        self._closed: dict[tuple[str, str], Ints] = {}
        """By both, the rows of a stream for which another is closed; while the rule is asked, no more are."""
        self._met = MetBefore(self.alike)
        self.stars = self._are_stars()
        self.timed = {id(tree) for trees in self._all_trees.values() for tree in trees if self._goes_by_time(tree)}

    def resume(self) -> None:
        """See Component."""
        if not self.by_key:
            self.doubt()

    def follow(self, members: Sequence[Any], *, is_first: bool) -> None:  # noqa: ARG002 - the same in every cell
        """See Component."""
        if not all(one.by_key for one in members):
            self.doubt()

    def doubt(self) -> None:
        """A promise was widened: what closed for a row may be open for another of its key (`purge_decisions`)."""
        self.by_key, self.trees = False, self._all_trees
        self.stars = self._are_stars()

    def _are_stars(self) -> bool:
        """Whether the rule looks from each row at every other stream by itself, and no further."""
        trees = [tree for trees in self.trees.values() for tree in trees]
        return self.is_root and not self.expanded and all(_is_star(tree) for tree in trees)

    def run(
        self,
        marked: Mapping[str, Ints],
        asking: Asking = Asking.CHANGED,
        met: Mapping[str, Ints] = NOTHING_MET,
    ) -> Purged:
        """Purge what is useless after a batch.

        `marked` are the rows that promises about values touched; `met` those that only a key of a stored row closed.
        Of these no row is dead by that. So where trees are stars one is asked about only if nothing is open for it.
        """
        purged = Purged()
        self.look_anew()
        if len(self.aliases) == 1:
            (alias,) = self.aliases
            self._leave(purged, alias, "stateless", self.synopses[alias].ids(ALL))
            return purged
        for source in self.sources:
            if source.is_hopeless:
                self._leave(purged, source.alias, IN_NO_RESULT, self.synopses[source.alias].ids(ALL))
        self._leave_windows(purged)
        if self.closing.ended:
            for alias in self.aliases:
                self._leave(purged, alias, "complete", self.synopses[alias].ids(ALL))
        if asking is Asking.NONE or self.closing.ended:
            return purged
        changed = {
            alias: together(
                [
                    self.closing.newly_closed(alias, self.synopses[alias]),
                    marked.get(alias, empty_ids()),
                    self._done(alias, met.get(alias, empty_ids())),
                ]
            )
            for alias in self.aliases
        }
        seen = {alias: dict.fromkeys(self.aliases, 0) for alias in self.aliases}
        largest_first = sorted(self.aliases, key=lambda a: -self.synopses[a].size(FRESH))
        first = True
        while True:
            before = sum(purged.counts.values())
            for root in largest_first:
                if not self.trees[root] and not self.expanded:
                    continue
                left = purged.otherwise if self.by_key else purged.rows
                gone = {alias: together(left.get(alias, [])[seen[root][alias] :]) for alias in self.aliases}
                seen[root] = {alias: len(left.get(alias, [])) for alias in self.aliases}
                asked = [self._fresh(root), changed[root]] if first else []
                if first and asking is Asking.ALL:
                    asked = [self.synopses[root].ids(ALL)]
                elif self.expanded:
                    asked.append(self._stirred_anyhow(root, changed if first else {}, gone))
                else:
                    asked += [self._stirred(tree, changed if first else {}, gone) for tree in self.trees[root]]
                ids = self._in_play(root, self.synopses[root].alive(union(asked)))
                if len(ids):
                    self._ask(purged, root, ids)
            first = False
            if sum(purged.counts.values()) == before:
                break
        if self.outside is not None:
            for alias in self.aliases:
                ids = self._in_play(alias, self.synopses[alias].ids(ALL))
                self._leave(purged, alias, "expanded", ids[self.outside.useless(alias, ids)])
        return purged

    def _done(self, root: str, ids: Ints) -> Ints:
        """Those of the rows for which no other stream is open; all, where the rule looks further."""
        if not self.stars:
            return ids
        for tree in self.trees[root]:
            for child in tree.children(root):
                ids = ids[self.closing.closed(root, child, self.synopses[root], ids)] if len(ids) else ids
        return ids

    def _fresh(self, root: str) -> Ints:
        """The rows of the batch that may be useless: a row is only if some stream is closed for it."""
        synopsis = self.synopses[root]
        if self.expanded or not self.is_root:
            return synopsis.ids(FRESH)
        return self.closing.closed_fresh(root, synopsis)

    def look_anew(self) -> None:
        """Forget what was found closed: promises were made, or rows came or left, since the rule was last asked."""
        self._closed = {}
        self._met.forget()

    def useless(self, root: str, ids: Ints) -> Bools:
        """Which rows of a stream are useless by themselves; they are left where they are."""
        self._met.forget()
        found: Bools = np.zeros(len(ids), np.bool_)
        for tree in self.trees[root]:
            found |= self._status(tree, root, ids)[1]
        if self.expanded and not found.all():
            found[~found] = self.expansion.useless(root, ids[~found])
        return found

    def _can_close(self, tree: PurgeTree) -> bool:
        """Whether some promise may close a child of the root for it: else no row of it is ever dead or complete."""
        return any(self.plan.closers_between(tree.root, child) for child in tree.children(tree.root))

    def _goes_by_time(self, tree: PurgeTree) -> bool:
        """Whether time alone closes every other stream for the root itself, so that its rows leave by their own age.

        A row whose partner leaves might then be dead a little before its time; looking for such rows would cost more
        than they do.
        """
        closers = [c for e in tree.edges for c in self.plan.closers_between(e.parent, e.child)]
        return tree.certain and all(
            [c.kind is CloserKind.BAND for c in closers] + [e.parent == tree.root for e in tree.edges]
        )

    def _outside(self, block: BlockPlan) -> Expansion | None:
        """The rule over the streams that stand in every result with the block, of which all stored tuples are asked."""
        if not block.beyond:
            return None
        ties = PartTies((*self.aliases, *block.beyond), (*block.axes, *self.plan.axes), block.predicates)
        own = frozenset(self.aliases)
        return Expansion(ties, Matcher(ties, self.synopses, own), self.closing, own)

    def _leave(self, purged: Purged, alias: str, rule: str, ids: Ints) -> None:
        if not len(ids):
            return
        if self.is_root:
            self.synopses[alias].kill(ids)
        else:
            ids = self.synopses[alias].mark(LEFT, ids)
        purged.add(alias, rule, ids)

    def _in_play(self, alias: str, ids: Ints) -> Ints:
        """Those of the tuples that are not done here."""
        return ids if self.is_root or not len(ids) else ids[~self.synopses[alias].marked(LEFT, ids)]

    def _leave_windows(self, purged: Purged) -> None:
        for alias in self.aliases:
            if alias in self.windows.rows:
                out = self.synopses[alias].arrived(lambda s: s.arrival, -1, self.windows.passed(alias), ALL)
                self._leave(purged, alias, "out of [ROWS]", out)

    def _stirred(self, tree: PurgeTree, changed: Mapping[str, Ints], gone: Mapping[str, Ints]) -> Ints:
        """The rows of the root below which something changed or left."""
        if id(tree) in self.timed:
            return empty_ids()
        stirred: dict[str, list[Ints]] = {}
        for edge in reversed(tree.edges):
            below = [gone[edge.child], *stirred.get(edge.child, [])]
            if tree.children(edge.child):
                below.append(changed.get(edge.child, empty_ids()))
            ids = union(below)
            if not len(ids):
                continue
            stirred.setdefault(edge.parent, []).append(self._concerned(edge.parent, edge.child, ids))
        return together(stirred.get(tree.root, []))

    def _concerned(self, parent: str, child: str, ids: Ints) -> Ints:
        """The rows of a parent whose answer may have changed with these rows of a child.

        They agree with them, and the child is closed for them. Most rows leave when it is, so few are: where the parent
        is not much larger than what changed, these are found faster than those that agree.
        """
        synopsis = self.synopses[parent]
        if not self._may_meet(child, ids, parent):
            return empty_ids()
        if (parent, child) not in self._closed and synopsis.size(ALL) <= _LARGER * len(ids):
            every = synopsis.ids(ALL)
            self._closed[parent, child] = every[self.closing.closed(parent, child, synopsis, every)]
        if (parent, child) in self._closed:
            closed = self._closed[parent, child] = synopsis.alive(self._closed[parent, child])
            if len(closed) <= len(ids):
                return closed
        return self._meeting(child, ids, parent)

    def _may_meet(self, alias: str, ids: Ints, other: str) -> bool:
        """Whether one of the rows may agree with one of another stream, by how far their keys reach."""
        for _, column, there in self.matcher.shared_axes(frozenset({alias}), other):
            synopsis = self.synopses[alias]
            if is_coded(synopsis.kind(column)):
                return self.synopses[other].reaches(there, synopsis.codes(column, ids))
        return True

    def _meeting(self, alias: str, ids: Ints, other: str) -> Ints:
        """The rows of another stream that agree with some of the rows; all of them where that cannot be asked."""
        if not self._askable(alias, other, len(ids)):
            return self.synopses[other].ids(ALL)
        bound, implied = frozenset({alias}), self.closing.implied(frozenset({alias}), other)
        axes = self.matcher.shared_axes(bound, other)
        if len(axes) == 1 and not implied and not self.matcher.predicates(bound, other):
            # One row of each key finds all that they meet: many rows of one key would find the same ones many times.
            ids = ids[about_distinct(Keyed(self.synopses[alias], (axes[0][1],)), ids)]
        return union([union([met]) for _, met in self.alike.pieces({alias: ids}, other, ALL, implied)])

    def _stirred_anyhow(self, root: str, changed: Mapping[str, Ints], gone: Mapping[str, Ints]) -> Ints:
        """The rows of the root that a row which changed or left may stand with, by whatever path they meet."""
        others = [alias for alias in self.aliases if alias != root]
        reached = {alias: union([changed.get(alias, empty_ids()), gone[alias]]) for alias in others}
        reached[root] = empty_ids()
        apart = [c for c in self.components if root not in c]
        if any(len(reached[alias]) for component in apart for alias in component):
            return self.synopses[root].ids(ALL)
        frontier = dict(reached)
        for _ in others:
            met: dict[str, list[Ints]] = {}
            for alias in others:
                for other in self.aliases if len(frontier[alias]) else ():
                    if other != alias and self._tied(alias, other):
                        met.setdefault(other, []).append(self._meeting(alias, frontier[alias], other))
            frontier = {a: np.setdiff1d(union(met.get(a, [])), reached[a]) for a in self.aliases}
            reached = {a: union([reached[a], frontier[a]]) for a in self.aliases}
        return reached[root]

    def _tied(self, alias: str, other: str) -> bool:
        bound = frozenset({alias})
        return bool(
            self.matcher.shared_axes(bound, other)
            or self.matcher.predicates(bound, other)
            or self.closing.implied(bound, other)
        )

    def _ask(self, purged: Purged, root: str, ids: Ints) -> None:
        for tree in self.trees[root]:
            dead, done = self._status(tree, root, ids)
            self._leave(purged, root, "dead", ids[dead])
            self._leave(purged, root, "complete", ids[done & ~dead])
            ids = ids[~done]
        if self.expanded and len(ids):
            self._leave(purged, root, "expanded", ids[self.expansion.useless(root, ids)])

    def _status(self, tree: PurgeTree, alias: str, ids: Ints) -> tuple[Bools, Bools]:
        """For rows of a stream, by what lies below it in the tree: dead; dead or complete."""
        dead: Bools = np.zeros(len(ids), np.bool_)
        complete: Bools = np.ones(len(ids), np.bool_)
        children = tree.children(alias)
        closed = {c: self.closing.closed(alias, c, self.synopses[alias], ids) for c in children}
        for child in children:
            complete &= closed[child]
        settled = complete if not any(tree.children(c) for c in children) else np.zeros(len(ids), np.bool_)
        for child in children:
            ask = np.flatnonzero(closed[child] & ~dead & ~settled)
            if not len(ask):
                continue
            # All of them as they came, where it is all: matches of a whole batch are known already.
            dead_here, done_here = self._edge(tree, alias, child, ids if len(ask) == len(ids) else ids[ask])
            dead[ask] |= dead_here
            complete[ask] &= done_here
        return dead, dead | complete

    def _edge(self, tree: PurgeTree, alias: str, child: str, ids: Ints) -> tuple[Bools, Bools]:
        """For rows for which the child is closed: dead in it; dead or complete in it."""
        if not self._askable(alias, child, len(ids)):
            return np.zeros(len(ids), np.bool_), np.zeros(len(ids), np.bool_)
        implied = self.closing.implied(frozenset({alias}), child)
        done: Bools = np.ones(len(ids), np.bool_)
        dead: Bools = np.ones(len(ids), np.bool_)
        if not tree.children(child):
            if not (implied or self.matcher.predicates(frozenset({alias}), child)):
                return ~self.alike.meeting(alias, ids, child), done
            for place, _ in self._met.pieces(alias, ids, child, implied):
                dead[place] = False
            return dead, done
        for place, met in self._met.pieces(alias, ids, child, implied):
            rows = union([met])
            which = places_in(rows, met)
            row_dead, row_done = self._status(tree, child, rows)
            dead[place[~row_dead[which]]] = False
            done[place[~row_done[which]]] = False
        return dead, done

    def _askable(self, alias: str, child: str, count: int) -> bool:
        return self._tied(alias, child) or count * self.synopses[child].size(ALL) <= LARGEST_CROSSING


def _is_star(tree: PurgeTree) -> bool:
    return all(edge.parent == tree.root for edge in tree.edges)
