"""Can every row of a stream be purged? SAFETY's graphs, asked of every promise scheme of the language.

Reachability is Definition 9's fixpoint over the closings of edges.py: a target is reached once each need of one of
its closings names a source that is reached, or the source itself. A row of i can be purged iff every other source is
reachable from i (Theorems 1 and 3, on equalities closed transitively). For whole queries Definition 11, corrected,
gives the same answer in polynomial time: merge what reaches each other, ask the needs of whole merged nodes, repeat;
the query is safe iff one node is left. The edge that Definition 11 forgets, from a single stream that meets all needs
of a scheme of several attributes, is drawn here like any other (ERRATA).

Under outer joins and EXISTS, a step over k beyond the first is taken only if k stands in every result that i and the
target stand in: a row of i that k is absent from then has no target to wait for. Uncertain closings, which close only
values that arrive, are no part of a reach. That a stream which is not reached can never be purged is not decided
here: purge_witness.py looks for an input that shows it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from penstock.analysis.closings.candidate_closings import candidate_closings
from penstock.analysis.closings.edges import Closing, Missing, declared_closings
from penstock.analysis.closings.outer_join_purge import Leaving, Stuck, beyond
from penstock.analysis.facts.together import Facts
from penstock.analysis.reasons import BoundedBy, Reason, WaitsUntil
from penstock.model.clauses import RowsWindow
from penstock.model.nodes import nodes_of
from penstock.model.schemes import Clustered, Follows, Ordered
from penstock.model.simplify import simplified
from penstock.model.spans import Auto
from penstock.records import record

Node = tuple[str, ...]
"""The sources that are merged into one, in the order of FROM."""


@record
class ChainStep:
    """One step of a chain: `target` is closed for rows of `sources` that stand together."""

    closing: Closing
    carriers: tuple[str, ...]
    """Who meets its needs, one for each."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Those whose rows stand together."""
        return tuple(dict.fromkeys(self.carriers))

    @property
    def source(self) -> str:
        """The first of the sources; the only one but for a generalized edge."""
        return self.carriers[0]

    @property
    def target(self) -> str:
        """What is closed."""
        return self.closing.target

    @property
    def wait(self) -> Reason:
        """What must happen first."""
        return self.closing.wait(self.carriers)


@record
class Reachability:
    """What a source reaches: for each target the edge that gets there, in the order of discovery."""

    edges: tuple[ChainStep, ...]
    unreached: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every other source is reached."""
        return not self.unreached


class ClosingGraph:
    """The closings between the sources of a query: those there are, and those that more declarations would make."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.query = facts.query
        self.aliases = tuple(source.alias for source in self.query.all_sources)
        self._is_inner = self.query.is_inner
        self._known: dict[tuple[str, frozenset[Missing]], Reachability] = {}
        self._hoped: dict[str, tuple[str, ...]] = {}

    @cached_property
    def leaving(self) -> Leaving | None:
        """Where rows wait under outer joins and EXISTS; None if all joins are inner ones in truth."""
        query = simplified(self.query)
        if query.is_inner:
            return None
        nodes = nodes_of(query)
        counted = frozenset(s.alias for s in query.all_sources if isinstance(s.window, RowsWindow))
        blocks = [() if node.left is not None else beyond(query, node.aliases) for node in nodes]
        return Leaving(nodes, blocks, counted)

    def stuck(self, added: frozenset[Missing] = frozenset()) -> tuple[Stuck, ...]:
        """The rows that never leave a join in which they wait, with some declarations added."""
        opened = [c for c in self.candidates if added.issuperset(c.missing)] if added else []
        closings = (*self.closings, *opened)

        def closes(there: frozenset[str], target: str) -> bool:
            return any(c.target == target and all(not there.isdisjoint(n) for n in c.needs) for c in closings)

        return () if self.leaving is None else tuple(self.leaving.stuck(closes))

    @cached_property
    def declared(self) -> tuple[Closing, ...]:
        """The closings that the declarations give, the uncertain ones included; the preferred first for each target."""
        return tuple(
            c for source in self.query.all_sources for c in _by_preference(declared_closings(self.facts, source))
        )

    @cached_property
    def closings(self) -> tuple[Closing, ...]:
        """Those that close every value in the end."""
        return tuple(closing for closing in self.declared if closing.certain)

    @cached_property
    def learned(self) -> tuple[str, ...]:
        """The declarations WITHIN AUTO by which something closes: what comes later than was learned finds it closed."""
        found: dict[str, None] = {}
        for closing in self.declared:
            match closing.scheme:
                case Follows(slack=Auto()) as scheme:
                    found[scheme.on(self.query.by_alias[closing.needs[0][0]].stream.name)] = None
                case (Ordered(slack=Auto()) | Clustered(slack=Auto())) as scheme:
                    found[scheme.on(self.query.by_alias[closing.target].stream.name)] = None
                case _:
                    continue
        return tuple(found)

    @cached_property
    def candidates(self) -> tuple[Closing, ...]:
        """The closings that one or two more declarations would give."""
        return tuple(
            c for source in self.query.all_sources for c in _by_preference(candidate_closings(self.facts, source))
        )

    def reach(self, alias: str, added: frozenset[Missing] = frozenset()) -> Reachability:
        """What is reachable from a source, with some declarations added (Definition 9)."""
        key = alias, added
        if key not in self._known:
            self._known[key] = self._reach(alias, added)
        return self._known[key]

    def usable(self, alias: str, closing: Closing, reached: Iterable[str]) -> tuple[str, ...] | None:
        """For each need, the first of the reached sources that meets it; None if one is not met."""
        ordered = tuple(reached)
        found = []
        for need in closing.needs:
            via = next((a for a in ordered if a in need and self.stands_between(alias, a, closing.target)), None)
            if via is None:
                return None
            found.append(via)
        return tuple(found)

    def reachable_if_arrived(self, alias: str) -> tuple[str, ...]:
        """A source and what it reaches where uncertain closings count too, as they do for values that did arrive."""
        if alias not in self._hoped:
            reached = [alias]
            for via in reached:
                for closing in self._declared_index.get(via, ()):
                    if closing.target not in reached and self.usable(alias, closing, reached) is not None:
                        reached.append(closing.target)
            self._hoped[alias] = tuple(reached)
        return self._hoped[alias]

    def components(self) -> tuple[Node, ...]:
        """What is left of Definition 11's graph when no two nodes reach each other; one node: the query is safe.

        Sources whose rows all leave by a window, or are never stored, do not count as purged here: a component is a
        set of sources that close each other.
        """
        nodes: dict[str, Node] = {alias: (alias,) for alias in self.aliases}
        while True:
            edges = self._between({member: node for node in nodes.values() for member in node})
            merged = _merged(tuple(dict.fromkeys(nodes.values())), edges)
            if len(merged) == len(set(nodes.values())):
                return merged
            nodes = {member: node for node in merged for member in node}

    def _reach(self, alias: str, added: frozenset[Missing]) -> Reachability:
        path: list[ChainStep] = []
        left = dict.fromkeys(a for a in self.aliases if a != alias)
        frontier = [alias]
        index = self._index_with(added)
        # Breadth first, so that each source is reached over as few others as can be.
        for via in frontier:
            for closing in index.get(via, ()):
                if closing.target in left:
                    carriers = self.usable(alias, closing, frontier)
                    if carriers is not None:
                        del left[closing.target]
                        frontier.append(closing.target)
                        path.append(ChainStep(closing, carriers))
            if not left:
                break
        return Reachability(tuple(path), tuple(left))

    @cached_property
    def _index(self) -> dict[str, list[Closing]]:
        return _indexed(self.closings)

    @cached_property
    def _declared_index(self) -> dict[str, list[Closing]]:
        return _indexed(self.declared)

    def _index_with(self, added: frozenset[Missing]) -> dict[str, list[Closing]]:
        if not added:
            return self._index
        opened = [c for c in self.candidates if added.issuperset(c.missing)]
        return _indexed((*self.closings, *opened))

    def stands_between(self, alias: str, via: str, target: str) -> bool:
        """Whether `via` is in every result of the other two, so that a path may lead over it."""
        return self._is_inner or via == alias or via in self.facts.of(alias, target).present

    def _between(self, node_of: dict[str, Node]) -> set[tuple[Node, Node]]:
        """The edges between merged nodes: all needs of a closing met within one node."""
        found: set[tuple[Node, Node]] = set()
        for closing in self.closings:
            target = node_of[closing.target]
            meeting = [{node_of[alias] for alias in need} for need in closing.needs]
            found.update((node, target) for node in set.intersection(*meeting) if node != target)
        return found


def _by_preference(closings: Iterable[Closing]) -> list[Closing]:
    return sorted(closings, key=lambda closing: (len(closing.needs) > 1, closing.way))


def _indexed(closings: Iterable[Closing]) -> dict[str, list[Closing]]:
    index: dict[str, list[Closing]] = {}
    for closing in closings:
        for alias in dict.fromkeys(a for need in closing.needs for a in need):
            index.setdefault(alias, []).append(closing)
    return index


def _merged(nodes: tuple[Node, ...], edges: set[tuple[Node, Node]]) -> tuple[Node, ...]:
    """The strongly connected components, in the order of their first members (Kosaraju)."""
    forward: dict[Node, list[Node]] = {node: [] for node in nodes}
    backward: dict[Node, list[Node]] = {node: [] for node in nodes}
    for start, end in sorted(edges):
        forward[start].append(end)
        backward[end].append(start)
    finished: list[Node] = []
    seen: set[Node] = set()
    for root in nodes:
        stack = [(root, iter(forward[root]))] if root not in seen else []
        seen.add(root)
        while stack:
            node, following = stack[-1]
            step = next((n for n in following if n not in seen), None)
            if step is None:
                finished.append(node)
                stack.pop()
            else:
                seen.add(step)
                stack.append((step, iter(forward[step])))
    component: dict[Node, Node] = {}
    for root in reversed(finished):
        reached = [root] if root not in component else []
        for node in reached:
            component[node] = root
            reached += [n for n in backward[node] if n not in component and n not in reached]
    groups: dict[Node, list[str]] = {}
    for node in nodes:
        groups.setdefault(component[node], []).extend(node)
    return tuple(tuple(members) for members in groups.values())


def kept_until(reach: Reachability, alias: str) -> Reason:
    """When a row leaves."""
    steps = []
    for edge in reach.edges:
        met = [source for source in edge.sources if source != alias]
        steps.append(WaitsUntil.FOR_EACH_MET(met, edge.wait) if met else edge.wait)
    return BoundedBy.KEPT_UNTIL(steps)
