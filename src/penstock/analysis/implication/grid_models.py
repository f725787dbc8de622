"""Counter-models on a grid of times: rows that come once, or for ever in one direction or both.

Where the windows are few steps of a common unit long, a model is sought among the rows at the times of a grid: in the
middle each comes once, before it and after it each comes again every period, without end. Which rows rule each other
out (keys, STREAM KEYs, COOCCURS) and which call for others (FOREIGN KEYs) is worked out beforehand, by the exact
checks of `models.py`; then rows are taken, and what they call for, until nothing is called for.

The values are those of the rows in question, with every choice of which are equal. Full FOREIGN KEYs need no others;
the open columns of one that is not full take one of these. Not found: models whose times need a finer grid, several
periods, or windows of very different lengths. It proposes only: the chase checks what it finds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from penstock.analysis.implication.goals import broken, deny
from penstock.analysis.implication.models import Row, agree, holds, meets, occurrences
from penstock.analysis.implication.rules import Apart, OneRow, Partner, Rule, SameValues, StreamShape, ends_of

_MOST_STEPS = 12
"""The longest window, in steps of the grid."""
_MOST_COLOURS = 24
_MOST_CHOICES = 1_000
"""Choices of which values are equal; rows of seven columns in question have no more."""
_MOST_TAKEN = 300
"""Rows that are taken, in all ways tried, before a way to break the rule is left; so many times in all."""
_MOST_IN_ALL = 20 * _MOST_TAKEN
_MOST_COMPARED = 2_000_000
"""Pairs of rows that are compared in all: a second or two."""

Colour = tuple[int, tuple[int, ...]]
"""A stream, by its place, and the values of a row but its time."""
Known = dict[tuple[object, ...], bool]
"""What rows that agree keep, by the rule and where they stand on a grid: whatever their values are."""


def models_on_a_grid(shapes: tuple[StreamShape, ...], rules: Sequence[Rule], goal: Rule) -> Iterator[tuple[Row, ...]]:
    """Rows that keep the rules and break the one in question, as far as a grid shows; small ones first."""
    ends = [abs(end) for rule in (*rules, goal) for end in ends_of(rule) if end]
    unit = math.gcd(*ends) if ends else max(shape.step for shape in shapes) or 1
    chosen = list(_choices(shapes, rules, goal))
    left, uncompared = _MOST_IN_ALL, _MOST_COMPARED
    for parts in (1, 2) if all(shape.step == 0 for shape in shapes) else (1,):
        step = Fraction(unit, parts)
        most = math.ceil(max(ends, default=0) / step)
        if most > _MOST_STEPS:
            return
        # In the longest period two rows take turns, each out of the other's reach.
        periods = {1, 2, 3, most, most + 1, 2 * (most + 1)} - {0}
        sizes = sorted(itertools.product(periods, (0, 1, most + 1)), key=sum)
        for period, half in sizes:
            known: Known = {}
            for rows, colours in chosen:
                grid = _Grid(rules, goal, rows, colours, known)
                yield from grid.models(step, period, half)
                left -= grid.taken_in_all
                uncompared -= grid.compared
                if left < 0 or uncompared < 0:
                    return


def _choices(
    shapes: tuple[StreamShape, ...], rules: Sequence[Rule], goal: Rule
) -> Iterator[tuple[tuple[Colour, ...], tuple[Colour, ...]]]:
    """The colours of the rows in question, and of all that they can call for; for every choice of equal values."""
    valued = tuple((True,) * len(shape.columns) for shape in shapes)
    for denied in deny(goal, shapes, valued)[:1]:
        terms = sorted({term for row in denied.alive for term in denied.terms(row)})
        for groups in itertools.islice(_groupings(len(terms)), _MOST_CHOICES):
            state = denied.copy()
            for term, group in zip(terms, groups, strict=True):
                state.join(terms[groups.index(group)], term)
            if broken(goal, state):
                rows = tuple((state.facts[row].stream, state.terms(row)) for row in state.alive)
                colours = _reached(shapes, rules, rows)
                if colours is not None:
                    yield rows, colours


def _groupings(count: int) -> Iterator[tuple[int, ...]]:
    """Every way to put so many things into groups, as the number of each one's group; few groups first."""

    def onward(groups: tuple[int, ...], wanted: int) -> Iterator[tuple[int, ...]]:
        known, left = max(groups, default=-1) + 1, count - len(groups)
        if not left:
            yield groups
            return
        # As many things must be left as groups are still to be begun.
        for group in range(min(known + 1, wanted)) if left > wanted - known else (known,):
            yield from onward((*groups, group), wanted)

    for wanted in range(min(count, 1), count + 1):
        yield from onward((), wanted)


def _reached(
    shapes: tuple[StreamShape, ...], rules: Sequence[Rule], rows: Sequence[Colour]
) -> tuple[Colour, ...] | None:
    """These colours and those that FOREIGN KEYs lead to from them; None if they are too many."""
    values = sorted({value for _, row in rows for value in row})
    found = list(dict.fromkeys(rows))
    for stream, row in found:  # it grows meanwhile
        for rule in rules:
            if not isinstance(rule, Partner) or rule.premise.left != stream:
                continue
            given = {j: row[i] for i, j in rule.premise.pairs}
            width = len(shapes[rule.premise.right].columns)
            partners = itertools.product(*([given[j]] if j in given else values for j in range(width)))
            for one in partners:
                if (rule.premise.right, one) not in found:
                    found.append((rule.premise.right, one))
                if len(found) > _MOST_COLOURS:
                    return None
    return tuple(found)


class _Grid:
    """The rows of some colours at the times of a grid, numbered; sets of rows are the bits of a number."""

    def __init__(
        self, rules: Sequence[Rule], goal: Rule, rows: tuple[Colour, ...], colours: tuple[Colour, ...], known: Known
    ) -> None:
        self.rules, self.goal = rules, goal
        self.broken_by = rows
        self.colours = colours
        self._known = known
        self.taken = self.taken_in_all = self.compared = 0

    def models(self, step: Fraction, period: int, half: int) -> Iterator[tuple[Row, ...]]:
        """One model for each way to break the rule, if one is found.

        So many steps before and after zero rows come once; beyond, for ever. Where that is 0, they all come for ever.
        """
        self.step = step
        self.times = range(-half - period, half + period + (half > 0))
        # Where a row stands, and which way it comes for ever: what follows hangs on these whole numbers alone.
        ever = [(at > half or not half) - (at < -half) for at in self.times]
        self.places = [(at, way) for _ in self.colours for at, way in zip(self.times, ever, strict=True)]
        self.rows = [
            Row(*colour, at * step, way * period * step)
            for colour in self.colours
            for at, way in zip(self.times, ever, strict=True)
        ]
        self._against: dict[int, int] = {}
        self._calls: dict[int, tuple[int, ...]] = {}
        left = self.colours.index(self.broken_by[0]) * len(self.times) - self.times[0]
        if isinstance(self.goal, Partner):
            row = self.rows[left]
            once = Row(row.stream, row.values, row.time)
            yield from self._closed(1 << left, self._partners(self.goal, once))
            return
        start = self.colours.index(self.broken_by[1]) * len(self.times)
        for right in sorted(range(start, start + len(self.times)), key=lambda n: abs(self.rows[n].time)):
            if left == right and isinstance(self.goal, OneRow):
                row = self.rows[left]
                # Two rows that are alike in everything, which a key of the stream forbids.
                if not any(isinstance(r, OneRow) and r.premise.left == row.stream for r in self.rules):
                    twin = Row(row.stream, row.values, row.time, row.period)
                    yield from ((twin, *model) for model in self._closed(1 << left, 0))
            elif not holds(self.goal, self.rows[left], self.rows[right]):
                yield from self._closed(1 << left | 1 << right, 0)

    def _closed(self, chosen: int, never: int) -> Iterator[tuple[Row, ...]]:
        self.taken = 0
        for number in _members(chosen):
            never |= self._conflicts(number)
        found = self._complete(chosen, never)
        if found is not None:
            yield tuple(self.rows[number] for number in _members(found))

    def _complete(self, chosen: int, never: int) -> int | None:
        """The chosen rows and what they call for, none of them ruled out; None if that is not found."""
        if chosen & never or self.taken > _MOST_TAKEN:
            return None
        self.taken += 1
        self.taken_in_all += 1
        wanting = [call & ~never for n in _members(chosen) for call in self._called(n) if not call & chosen]
        if not wanting:
            return chosen
        # The hardest call first, and for it the row that calls for least besides what is there.
        hardest = min(wanting, key=int.bit_count)
        for number in sorted(_members(hardest), key=lambda n: sum(not call & chosen for call in self._called(n))):
            found = self._complete(chosen | 1 << number, never | self._conflicts(number))
            if found is not None:
                return found
            never |= 1 << number
        return None

    def _conflicts(self, number: int) -> int:
        """The rows that cannot be where a row is; itself, if it cannot be at all."""
        if number not in self._against:
            stream, found = self.rows[number].stream, 0
            for rule in self.rules:
                if isinstance(rule, Partner) or stream not in (rule.premise.left, rule.premise.right):
                    continue
                # Whether rows agree is a matter of their colours alone.
                for first in range(0, len(self.rows), len(self.times)):
                    there = agree(rule.premise, self.rows[number], self.rows[first])
                    back = agree(rule.premise, self.rows[first], self.rows[number])
                    self.compared += len(self.times) * (there + back)
                    for other in range(first, first + len(self.times)) if there or back else ():
                        kept = (not there or self._keep(rule, number, other)) and (
                            not back or self._keep(rule, other, number)
                        )
                        found |= 0 if kept else 1 << other
            self._against[number] = found
        return self._against[number]

    def _keep(self, rule: OneRow | SameValues | Apart, one: int, other: int) -> bool:
        """Whether two rows that agree as a rule says keep it."""
        left, right = self.rows[one], self.rows[other]
        same = isinstance(rule, SameValues) and all(left.values[i] == right.values[j] for i, j in rule.values)
        (at, way), (its, other_way) = self.places[one], self.places[other]
        case = (rule.text, its - at, way, other_way, one == other, same)
        if case not in self._known:
            self._known[case] = holds(rule, left, right)
        return self._known[case]

    def _called(self, number: int) -> tuple[int, ...]:
        """For each partner that a row must have, whenever it comes, the rows that would be it."""
        if number not in self._calls:
            row = self.rows[number]
            wide = abs(self.rows[0].time) * 2
            self._calls[number] = tuple(
                self._partners(rule, one)
                for rule in self.rules
                if isinstance(rule, Partner) and rule.premise.left == row.stream
                for one in occurrences(row, rule.premise, wide)
            )
        return self._calls[number]

    def _partners(self, rule: Partner, row: Row) -> int:
        found = 0
        at, whither = int(row.time / self.step), (row.period > 0) - (row.period < 0)
        for number, (other, (its, way)) in enumerate(zip(self.rows, self.places, strict=True)):
            if agree(rule.premise, row, other):
                case = (rule.text, its - at, whither, way)
                if case not in self._known:
                    self._known[case] = meets(rule.premise, row, other)
                found |= self._known[case] << number
        return found


def _members(bits: int) -> Iterator[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
