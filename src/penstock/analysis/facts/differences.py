"""How far apart can two of several values lie? The one solver of difference constraints.

A demand says `later - earlier <= ticks`, or `< ticks` if strict, of two named values, and carries a reason. All that
follows from several demands is a path: its ticks add up, and it is strict if one of its steps is.

Theorem (Bellman; Dechter, Meiri and Pearl). Demands can hold together iff no cycle lies below zero, or at zero with a
strict step. If they can, the tightest limit of `later - earlier` is that of the shortest path from earlier to later,
and whatever is chosen for some values within the limits between them can be extended to all (`assignment`).

Theorem. Demands of the kind `high >= f(low)`, f never falling, and `value in D` hold of the least values that they
allow above given starts, if of any: the minimum of two solutions is one (`least`). So raising what is too low until
nothing is finds it.

Paths are found when they are asked for, from one value at a time: potentials make every step non-negative (Johnson),
then Dijkstra. So a chain of hundreds of values costs what is asked of it. What has been found is kept closed as more
is demanded, so the same object serves a search that adds one demand after another. Of two limits that are equal the
one over fewer steps is kept, for its reasons are fewer.

Preconditions: fewer than 2^19 demands; values are dense, and whoever knows that they have steps rounds the limits
first (`Limit.rounded`), which loses nothing where all values of a path have the same steps. Not decided: sums of more
than two values, disjunctions.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Generic, Self, TypeVar

from penstock.records import record

Name = TypeVar("Name", bound=Hashable)
Reason = TypeVar("Reason")

_TICK, _STRICT = 40, 20
"""A path is one number: ticks in the high bits, less its strict steps, plus its steps in the low ones."""


@record
class Limit:
    """At most so many ticks; fewer if strict."""

    ticks: int
    strict: bool = False

    def __lt__(self, other: Limit) -> bool:
        """Whether it is tighter."""
        return (self.ticks, not self.strict) < (other.ticks, not other.strict)

    def __le__(self, other: Limit) -> bool:
        return not other < self

    def __add__(self, other: Limit) -> Limit:
        """The limit over two steps."""
        return Limit(self.ticks + other.ticks, self.strict or other.strict)

    @property
    def is_contradiction(self) -> bool:
        """Whether nothing can be so far from itself."""
        return self < ZERO

    def allows(self, apart: int) -> bool:
        """Whether two values may lie so far apart."""
        return apart < self.ticks if self.strict else apart <= self.ticks

    def rounded(self, step: int) -> Limit:
        """The limit between values that are whole steps apart; a step of 0 is for dense values."""
        return Limit((self.ticks - self.strict) // step * step) if step else self


ZERO = Limit(0)


@record
class Demand(Generic[Name, Reason]):
    """`later - earlier` is within a limit, and why."""

    later: Name
    earlier: Name
    limit: Limit
    reason: Reason


_Way = tuple[frozenset[str], tuple[int, ...]]
"""A path: the names of what may stretch it, and the numbers of its demands."""

_Row = dict[Name, tuple[int, int]]
"""From one value: for each later one the weight of the shortest path, and the number of its last demand."""


class Differences(Generic[Name, Reason]):
    """Some demands, and what follows from them."""

    def __init__(self, demands: Iterable[Demand[Name, Reason]] = ()) -> None:
        self._demands: list[Demand[Name, Reason]] = []
        self._steps: dict[Name, dict[Name, tuple[int, int]]] = {}
        """By the earlier and the later value: the weight and the number of the tightest demand between them."""
        self._rows: dict[Name, _Row[Name]] = {}
        self._paths: dict[Name, dict[Name, tuple[Demand[Name, Reason], ...]]] = {}
        self._ways: dict[Name, dict[Name, list[_Way]]] = {}
        self._is_rigid: bool | None = None
        """Whether nothing may stretch any of the demands; None if that was not asked."""
        self._potentials: dict[Name, int] | None = None
        self._conflict: tuple[Demand[Name, Reason], ...] = ()
        for demand in demands:
            self._add(demand)

    def copy(self) -> Self:
        """The same demands, to be added to."""
        twin = type(self)()
        twin._demands = list(self._demands)
        twin._steps = {name: dict(steps) for name, steps in self._steps.items()}
        twin._rows = {name: dict(row) for name, row in self._rows.items()}
        twin._potentials, twin._conflict = self._potentials, self._conflict
        return twin

    def demand(self, later: Name, earlier: Name, limit: Limit, reason: Reason) -> bool:
        """Add a demand; False if it contradicts what is known, after which nothing more follows."""
        if not self._conflict:
            added = Demand(later, earlier, limit, reason)
            back = self._row(later).get(earlier)
            if back is not None and back[0] + _weight(limit) < 0:
                self._conflict = (*self._path(later, earlier), added)
                self._rows.clear()
            else:
                self._add(added)
        return not self._conflict

    @property
    def conflict(self) -> tuple[Demand[Name, Reason], ...]:
        """Demands that cannot all hold, one after the other around a cycle; nothing if all can."""
        self._settled()
        return self._conflict

    def upper(self, later: Name, earlier: Name) -> Limit | None:
        """The tightest limit of `later - earlier`; None if there is none, or a conflict."""
        if later == earlier:
            return ZERO
        found = self._row(earlier).get(later)
        return None if found is None else _limit(found[0])

    def because(self, later: Name, earlier: Name) -> tuple[Demand[Name, Reason], ...]:
        """The demands that the tightest limit adds up, from the earlier value on."""
        return self._path(earlier, later) if later in self._row(earlier) else ()

    def ways(
        self, later: Name, earlier: Name, stretched_by: Callable[[Reason], str | None], most: int = 3
    ) -> tuple[tuple[Demand[Name, Reason], ...], ...]:
        """The tightest path, and those that may become the tightest once the limits of some demands are stretched.

        `stretched_by` names what may stretch a demand of that reason; it is always the same function. Each path rests
        on less of that than any tighter one does, and all but one on something; of those only the first `most` are
        looked for. Where the demands contradict each other anything follows, and it is the tightest single demand.
        """
        if self.conflict:
            direct = [d for d in self._demands if (d.later, d.earlier) == (later, earlier)]
            return ((min(direct, key=lambda d: (d.limit.ticks, not d.limit.strict)),),) if direct else ()
        if self._is_rigid is None:
            self._is_rigid = all(stretched_by(d.reason) is None for d in self._demands)
        if self._is_rigid:
            path = self.because(later, earlier)
            return (path,) if path else ()
        if earlier not in self._ways:
            self._ways[earlier] = self._ways_from(earlier, stretched_by, most)
        demands = self._demands
        return tuple(tuple([demands[number] for number in way]) for _, way in self._ways[earlier].get(later, ()))

    def equal_to(self, name: Name) -> tuple[Name, ...]:
        """The other values that must equal one."""
        above = [other for other, (weight, _) in self._row(name).items() if other != name and _limit(weight) == ZERO]
        return tuple(other for other in above if self.upper(name, other) == ZERO)

    def assignment(self, wanted: Iterable[Name], unit: Callable[[Name], int]) -> dict[Name, Fraction]:
        """Values that keep all demands; zero, or round, where there is a choice. There must be no conflict."""
        chosen: dict[Name, Fraction] = {}
        for one in wanted:
            low: tuple[Fraction, bool] | None = None
            high: tuple[Fraction, bool] | None = None
            for other, value in chosen.items():
                if (most := self.upper(one, other)) is not None:
                    end = (value + most.ticks, not most.strict)
                    high = end if high is None else min(high, end)
                if (least_ := self.upper(other, one)) is not None:
                    end = (value - least_.ticks, least_.strict)
                    low = end if low is None else max(low, end)
            chosen[one] = next(value for value in _candidates(low, high, unit(one)) if _fits(value, low, high))
        return chosen

    def _add(self, demand: Demand[Name, Reason]) -> None:
        number, weight = len(self._demands), _weight(demand.limit)
        self._demands.append(demand)
        self._ways.clear()
        self._paths.clear()
        self._is_rigid = None
        later, earlier = demand.later, demand.earlier
        if later == earlier:
            if demand.limit.is_contradiction and not self._conflict:
                self._conflict = (demand,)
            return
        known = self._steps.setdefault(earlier, {}).get(later)
        self._steps.setdefault(later, {})
        if known is not None and known[0] <= weight:
            return
        self._steps[earlier][later] = weight, number
        height = self._potentials
        if height is not None:
            kept = earlier in height and later in height and height[later] <= height[earlier] + weight
            self._potentials = height if kept else None
        for row in self._rows.values():
            if earlier in row:
                first = row[earlier][0] + weight
                if later not in row or first < row[later][0]:
                    for name, (length, last) in tuple(self._rows[later].items()):
                        if name not in row or first + length < row[name][0]:
                            row[name] = first + length, number if name == later else last

    def _row(self, earlier: Name) -> _Row[Name]:
        """The shortest paths from one value (Dijkstra, over steps that the potentials make non-negative)."""
        row = self._rows.get(earlier)
        if row is None:
            row = self._rows[earlier] = {earlier: (0, -1)}
            height = self._settled()
            if self._conflict or not self._steps.get(earlier):
                return row
            found: set[Name] = set()
            queue = [(0, 0, earlier)]
            count = 0
            while queue:
                reduced, _, name = heapq.heappop(queue)
                if name in found:
                    continue
                found.add(name)
                length, base = row[name][0], height[name]
                for later, (weight, number) in self._steps[name].items():
                    if later not in row or length + weight < row[later][0]:
                        row[later] = length + weight, number
                        count += 1
                        heapq.heappush(queue, (reduced + weight + base - height[later], count, later))
        return row

    def _ways_from(
        self, start: Name, stretched_by: Callable[[Reason], str | None], most: int
    ) -> dict[Name, list[_Way]]:
        """The paths from one value that no tighter one beats for resting on less; the tightest come first."""
        height = self._settled()
        steps: dict[Name, list[tuple[int, frozenset[str], int]]] = {}
        for number, d in enumerate(self._demands):
            named = stretched_by(d.reason)
            rests = frozenset[str]() if named is None else frozenset({named})
            steps.setdefault(d.earlier, []).append((_weight(d.limit), rests, number))
        found: dict[Name, list[_Way]] = {}
        queue: list[tuple[int, int, Name, _Way]] = [(0, 0, start, (frozenset(), ()))]
        count = 0
        while queue:
            reduced, _, name, (rests, way) = heapq.heappop(queue)
            known = found.setdefault(name, [])
            if any(less <= rests for less, _ in known) or (len(known) >= most and rests):
                continue
            known.append((rests, way))
            for weight, more, number in steps.get(name, ()):
                later = self._demands[number].later
                if later != start:
                    count += 1
                    onward = rests | more, (*way, number)
                    heapq.heappush(queue, (reduced + weight + height[name] - height[later], count, later, onward))
        return found

    def _settled(self) -> dict[Name, int]:
        """The potentials: values that keep every demand (Bellman and Ford); notes a conflict, if there is one."""
        if self._potentials is not None or self._conflict:
            return self._potentials or {}
        height = dict.fromkeys(self._steps, 0)
        last: dict[Name, int] = {}
        queue, waiting = deque(height), set(height)
        times = dict.fromkeys(height, 0)
        while queue:
            name = queue.popleft()
            waiting.discard(name)
            for later, (weight, number) in self._steps[name].items():
                if height[name] + weight < height[later]:
                    height[later], last[later] = height[name] + weight, number
                    if later not in waiting:
                        times[later] += 1
                        if times[later] > len(height) and (cycle := self._cycle(last)):
                            self._conflict = cycle
                            return {}
                        queue.append(later)
                        waiting.add(later)
        self._potentials = height
        return height

    def _cycle(self, last: Mapping[Name, int]) -> tuple[Demand[Name, Reason], ...]:
        """A cycle among the demands that lowered values last: it lies below zero."""
        passed: dict[Name, int] = {}
        for turn, start in enumerate(last):
            name = start
            while name in last and name not in passed:
                passed[name] = turn
                name = self._demands[last[name]].earlier
            if passed.get(name) == turn:
                found = [self._demands[last[name]]]
                while found[0].earlier != name:
                    found.insert(0, self._demands[last[found[0].earlier]])
                return tuple(found)
        return ()

    def _path(self, earlier: Name, later: Name) -> tuple[Demand[Name, Reason], ...]:
        """The shortest path; each is that of the value before, and one step more."""
        row, known = self._row(earlier), self._paths.setdefault(earlier, {earlier: ()})
        onward = []
        while later not in known:
            last = self._demands[row[later][1]]
            onward.append((later, last))
            later = last.earlier
        path = known[later]
        for name, last in reversed(onward):
            path = known[name] = (*path, last)
        return path


Rise = Callable[[int], int]


def least(
    starts: Mapping[Name, int],
    rises: Iterable[tuple[Name, Name, Rise]],
    raised: Callable[[Name, int], int | None] = lambda _, value: value,
) -> dict[Name, int] | None:
    """The least values, none below its start, with `high >= rise(low)` for each (low, high, rise), each in its domain.

    `raised` gives the least value of a domain that is no lower, or None. None if there are no such values; or if some
    value is raised more often than there are values, which without domains means the same. Starts in an order in which
    each comes after what it must not be below cost one step each.
    """
    above: dict[Name, list[tuple[Name, Rise]]] = {name: [] for name in starts}
    for low, high, rise in rises:
        above[low].append((high, rise))
    values: dict[Name, int] = {}
    for name, start in starts.items():
        value = raised(name, start)
        if value is None:
            return None
        values[name] = value
    queue, waiting = deque(values), set(values)
    times = dict.fromkeys(values, 0)
    while queue:
        name = queue.popleft()
        waiting.discard(name)
        for high, rise in above[name]:
            wanted = rise(values[name])
            if wanted <= values[high]:
                continue
            value = raised(high, wanted)
            times[high] += high not in waiting
            if value is None or times[high] > len(values):
                return None
            values[high] = value
            if high not in waiting:
                queue.append(high)
                waiting.add(high)
    return values


def _weight(limit: Limit) -> int:
    return (limit.ticks << _TICK) - (limit.strict << _STRICT) + 1


def _limit(weight: int) -> Limit:
    ticks, rest = divmod(weight, 1 << _TICK)
    # A strict path lies just below its ticks.
    return Limit(ticks + 1, True) if rest >= 1 << _TICK - 1 else Limit(ticks)


_End = tuple[Fraction, bool] | None


def _candidates(low: _End, high: _End, unit: int) -> Iterator[Fraction]:
    yield Fraction(0)
    for end in (low, high):
        if end is not None:
            yield end[0]
    if low is not None:
        yield low[0] + unit
    if high is not None:
        yield high[0] - unit
    if low is not None and high is not None:
        yield (low[0] + high[0]) / 2


def _fits(value: Fraction, low: _End, high: _End) -> bool:
    """Whether a value lies above one end, the end itself included unless it says strict, and below the other."""
    above = low is None or value > low[0] or (not low[1] and value == low[0])
    return above and (high is None or value < high[0] or (high[1] and value == high[0]))
