"""What to declare so that every row of some sources can be purged: the smallest sets, and no part too many.

A fix is a set of declarations that is sufficient by the closing graph itself. Where a source does not reach all
others, whatever fix there is must open a closing whose needs are reached and whose target is not (the first new step
of Definition 9's fixpoint); so branching on these closings, smallest sets first, meets every smallest fix. Before
that, a fix is grown for each order of preference and what turns out not to be needed is dropped again: such a fix has
no part that can be left out. If it has few parts, the smallest are searched for; if it has many, or the search takes
more than `_MOST_STEPS`, it is given as it is, though another of fewer parts may exist. Beside
these one of clocks alone is given, with COOCCURS, which is no part of the others: its window is an example. For very
many streams that do not close each other no fix is given.
Under outer joins and EXISTS every row must also leave each join in which it waits (outer_join_purge.py).
Sources and declarations are bits of whole numbers here, so that a reach is a few machine operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush

from penstock.analysis.closings.between import Way
from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.closings.edges import Closing, Missing
from penstock.analysis.finding import Fix
from penstock.model.schemes import Cooccurs, NamedTime, reference_of
from penstock.records import record

_PREFERENCES = (
    (Way.CLOCK, Way.KEY, Way.FOLLOWS, Way.PUNCTUATION, Way.ORDER),
    (Way.FOLLOWS, Way.CLOCK, Way.KEY, Way.PUNCTUATION, Way.ORDER),
    (Way.ORDER, Way.CLOCK, Way.KEY, Way.FOLLOWS, Way.PUNCTUATION),
)
_MOST = 4
_MOST_PARTS = 25
"""Nodes of Definition 11's graph beyond which any fix would be as long as the script."""
_FEW = 6
_MOST_STEPS = 200_000
"""Closings looked at before a search gives up: some tens of milliseconds."""


@record
class _Step:
    """A closing in bits: sources that meet each need, the target, the declarations that it lacks."""

    needs: tuple[int, ...]
    target: int
    missing: int
    way: Way


def fixes_of(graph: ClosingGraph, aliases: Iterable[str]) -> tuple[Fix, ...]:
    """Declarations that would make all these sources purgeable: alternatives, the smallest and preferred first."""
    if len(graph.components()) > _MOST_PARTS:
        return ()
    goals = tuple(aliases)
    made = {(s.stream.name, c.name) for s in graph.query.all_sources for c in s.stream.columns if c.of_query}
    candidates = [c for c in graph.candidates if not any(_named(m) & made for m in c.missing)]
    search = _Search(graph, goals, [c for c in candidates if not _names_cooccurs(c)])
    found = sorted(dict.fromkeys(search.grown()), key=int.bit_count)
    if found and found[0].bit_count() <= _FEW:
        found = search.smallest(found[0].bit_count()) or found
    fixes = [search.fix(chosen) for chosen in found]
    by_clocks = _by_clocks(graph, goals, candidates)
    return (*fixes[: _MOST - len(by_clocks)], *by_clocks)


def _named(missing: Missing) -> set[tuple[str, str]]:
    """The columns that a declaration names, by stream: CREATE STREAM knows none that the query makes by `cast`."""
    stream, scheme = missing
    if isinstance(scheme, NamedTime):
        return {(stream, scheme.column)}
    reference = reference_of(scheme)
    others = set() if reference is None else {(reference.stream, column) for _, column in reference.pairs}
    return {(stream, column) for column in scheme.own_columns} | others


def _by_clocks(graph: ClosingGraph, goals: tuple[str, ...], candidates: Sequence[Closing]) -> list[Fix]:
    """The fix of clocks alone, and of how far they lie apart: the promise that many can make best."""
    search = _Search(graph, goals, [c for c in candidates if c.way is Way.CLOCK])
    fix = next((search.fix(chosen) for chosen in search.grown()), Fix(()))
    return [fix] if any(isinstance(scheme, Cooccurs) for _, scheme in fix.declarations) else []


def _names_cooccurs(closing: Closing) -> bool:
    return any(isinstance(scheme, Cooccurs) for _, scheme in closing.missing)


class _Search:
    """The closings of a graph in bits, for some goals."""

    def __init__(self, graph: ClosingGraph, goals: tuple[str, ...], candidates: Sequence[Closing]) -> None:
        self.graph = graph
        self.bit = {alias: 1 << place for place, alias in enumerate(graph.aliases)}
        self.goals = tuple(self.bit[alias] for alias in goals)
        self.all = (1 << len(graph.aliases)) - 1
        self.missing = tuple(dict.fromkeys(m for c in candidates for m in c.missing))
        self.number = {missing: 1 << place for place, missing in enumerate(self.missing)}
        closings = (*graph.closings, *candidates)
        self.any: tuple[_Step, ...] = ()
        """Of outer joins, whoever uses them."""
        if graph.query.is_inner:
            self.steps = dict.fromkeys(self.goals, tuple(self._step(closing, None) for closing in closings))
            self.index = dict.fromkeys(self.goals, self._indexed(self.steps[self.goals[0]]))
        else:
            self.any = tuple(self._step(closing, None) for closing in closings)
            self.steps = {self.bit[a]: tuple(self._step(closing, a) for closing in closings) for a in goals}
            self.index = {goal: self._indexed(steps) for goal, steps in self.steps.items()}
        self.looked_at = 0

    def fix(self, chosen: int) -> Fix:
        """The declarations that a number stands for."""
        return Fix(tuple(missing for missing in self.missing if chosen & self.number[missing]))

    def smallest(self, enough: int) -> list[int]:
        """The fixes of the least number of declarations, at most so many; nothing if none is found in time."""
        found: list[int] = []
        waiting: list[tuple[int, int, int]] = [(0, 0, 0)]
        seen: set[int] = set()
        self.looked_at = 0
        while waiting and self.looked_at < _MOST_STEPS:
            size, rank, chosen = heappop(waiting)
            if found and size > found[0].bit_count():
                break
            if chosen in seen:
                continue
            seen.add(chosen)
            openings = self._openings(chosen)
            if openings is None:
                found.append(chosen)
                continue
            for step in openings:
                larger = chosen | step.missing
                if larger.bit_count() <= enough:
                    heappush(waiting, (larger.bit_count(), rank + step.way, larger))
        return found

    def grown(self) -> Iterator[int]:
        """A fix for each order of preference, none of whose parts can be left out."""
        for preference in _PREFERENCES:
            chosen = 0
            while (openings := self._openings(chosen)) is not None:
                # One at a time: what it opens may make the others needless.
                best = min(openings, key=lambda step: preference.index(step.way), default=None)
                if best is None or self.looked_at > _MOST_STEPS:
                    return
                chosen |= best.missing
            for missing in reversed(self.missing):
                without = chosen & ~self.number[missing]
                if without != chosen and self._openings(without) is None:
                    chosen = without
            yield chosen

    def _step(self, closing: Closing, root: str | None) -> _Step:
        """A closing as a root may use it; None for any root, where every source is in every result."""
        needs = []
        for need in closing.needs:
            meeting = 0
            for alias in need:
                if root is None or self.graph.stands_between(root, alias, closing.target):
                    meeting |= self.bit[alias]
            needs.append(meeting)
        missing = 0
        for lacking in closing.missing:
            missing |= self.number[lacking]
        return _Step(tuple(needs), self.bit[closing.target], missing, closing.way)

    def _indexed(self, steps: tuple[_Step, ...]) -> dict[int, list[_Step]]:
        """The steps by each source that meets one of their needs."""
        index: dict[int, list[_Step]] = {}
        for step in steps:
            meeting = 0
            for need in step.needs:
                meeting |= need
            for bit in self.bit.values() if meeting.bit_count() > 1 else (meeting,):
                if meeting & bit:
                    index.setdefault(bit, []).append(step)
        return index

    def _openings(self, chosen: int) -> list[_Step] | None:
        """The closings that would lead on where a first goal is not reached; None if all are."""
        for goal in self.goals:
            reached = self._reached(goal, chosen)
            if reached != self.all:
                return self._leading_on(self.steps[goal], reached, self.all & ~reached)
        if self.graph.leaving is None:
            return None
        stuck = next(self.graph.leaving.stuck(lambda there, target: self._closes(there, target, chosen)), None)
        if stuck is None:
            return None
        return self._leading_on(self.any, self._bits(stuck.reached), self._bits(stuck.targets))

    def _bits(self, aliases: Iterable[str]) -> int:
        return sum(self.bit[alias] for alias in aliases)

    def _closes(self, there: frozenset[str], target: str, chosen: int) -> bool:
        reached, bit = self._bits(there), self.bit[target]
        self.looked_at += len(self.any)
        return any(s.target == bit and not s.missing & ~chosen and all(reached & n for n in s.needs) for s in self.any)

    def _leading_on(self, steps: Iterable[_Step], reached: int, targets: int) -> list[_Step]:
        """The closings that would close one more of the targets."""
        found = [s for s in steps if s.missing and s.target & targets and all(reached & need for need in s.needs)]
        self.looked_at += len(found)
        return found

    def _reached(self, goal: int, chosen: int) -> int:
        index = self.index[goal]
        reached, frontier = goal, [goal]
        for via in frontier:
            steps = index.get(via, ())
            self.looked_at += len(steps)
            for step in steps:
                if not reached & step.target and not step.missing & ~chosen and all(reached & n for n in step.needs):
                    reached |= step.target
                    frontier.append(step.target)
            if reached == self.all:
                break
        return reached
