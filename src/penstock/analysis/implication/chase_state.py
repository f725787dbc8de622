"""What is known of some rows during a chase: which values are equal, which rows are one, how their times lie.

Values are terms, joined as they are found equal (union and find). A term may be known to be a value, or may still be
NULL; NULL agrees with nothing. Where NULLs are left out of account, all terms are values. Every change that follows
from what is known already is a no-op and says so, so that a chase ends where nothing new follows.

Event times are known only by how far apart they lie. Whether a window is certain, impossible or open is read off the
tightest limits both ways (`facts/differences.py`), which are kept closed as a chase adds to them. Over whole numbers
and days a strict limit is rounded to the step before, so the same table serves dense and stepped clocks.
"""

from __future__ import annotations

from penstock.analysis.facts.differences import Differences, Limit
from penstock.analysis.implication.rules import Premise, Reach, StreamShape
from penstock.analysis.reasons import Told
from penstock.records import record

_ANY = Reach()


@record
class ChasedRow:
    """A row: its stream (by place), its terms, its name in a proof; the row whose FOREIGN KEY it answers, and where."""

    stream: int
    terms: tuple[int, ...]
    name: str
    parent: int | None
    lag: Reach
    invents: bool
    """Whether its FOREIGN KEY left some of its values open."""


class ChaseState:
    """Some rows, and what is known of them."""

    def __init__(self, shapes: tuple[StreamShape, ...], required: tuple[tuple[bool, ...], ...]) -> None:
        self.shapes = shapes
        self.required = required
        """For each column of each stream, whether every row has a value there."""
        self.facts: list[ChasedRow] = []
        self.alive: list[int] = []
        """The rows, by number, that are not known to be another one."""
        self.times = Times()
        self.steps: list[Told] = []
        """What was concluded since the last case split."""
        self.repeats: dict[int, int] = {}
        """Rows that are an earlier one again, one period later."""
        self.period = 0
        self._joined: list[int] = []
        self._valued: list[bool] = []

    def copy(self) -> ChaseState:
        """The same, to be changed; it starts with no steps."""
        twin = ChaseState(self.shapes, self.required)
        twin.facts, twin.alive = list(self.facts), list(self.alive)
        twin.times, twin.repeats, twin.period = self.times.copy(), dict(self.repeats), self.period
        twin._joined, twin._valued = list(self._joined), list(self._valued)
        return twin

    def add(
        self, stream: int, parent: int | None = None, given: dict[int, int] | None = None, lag: Reach = _ANY
    ) -> int:
        """A new row; `given` are the terms of some of its columns."""
        terms = []
        for column, required in enumerate(self.required[stream]):
            if given is not None and column in given:
                terms.append(given[column])
            else:
                self._joined.append(len(self._joined))
                self._valued.append(required)
                terms.append(len(self._joined) - 1)
        count = sum(fact.stream == stream for fact in self.facts) + 1
        invents = len(given or ()) < len(terms)
        self.facts.append(ChasedRow(stream, tuple(terms), f"{self.shapes[stream].name}#{count}", parent, lag, invents))
        self.alive.append(len(self.facts) - 1)
        return len(self.facts) - 1

    def term(self, row: int, column: int) -> int:
        """What stands for the value of a row in a column."""
        return self._root(self.facts[row].terms[column])

    def terms(self, row: int) -> tuple[int, ...]:
        """All terms of a row."""
        return tuple(self._root(term) for term in self.facts[row].terms)

    def is_value(self, row: int, column: int) -> bool:
        """Whether it is known not to be NULL."""
        return self._valued[self.term(row, column)]

    def have_value(self, row: int, column: int) -> bool:
        """Demand a value; True if that is new."""
        root = self.term(row, column)
        new = not self._valued[root]
        self._valued[root] = True
        return new

    def join(self, one: int, other: int) -> bool:
        """Two terms are equal; True if that is new."""
        first, second = sorted((self._root(one), self._root(other)))
        if first == second:
            return False
        self._joined[second] = first
        self._valued[first] = self._valued[first] or self._valued[second]
        return True

    def _root(self, term: int) -> int:
        while self._joined[term] != term:
            term = self._joined[term]
        return term

    def agree(self, premise: Premise, left: int, right: int) -> bool:
        """Whether two rows are known to agree, on values, in the columns of a premise."""
        return (
            self.facts[left].stream == premise.left
            and self.facts[right].stream == premise.right
            and all(self.term(left, i) == self.term(right, j) and self.is_value(left, i) for i, j in premise.pairs)
        )

    def same(self, left: int, right: int, columns: tuple[tuple[int, int], ...]) -> bool:
        """Whether two rows are known to have the same in some columns, be it NULL."""
        return all(self.term(left, i) == self.term(right, j) for i, j in columns)

    def merge(self, one: int, other: int) -> bool:
        """Two rows are one; False if their times say otherwise."""
        kept, gone = sorted((one, other))
        self.alive.remove(gone)
        for first, second in zip(self.facts[kept].terms, self.facts[gone].terms, strict=True):
            self.join(first, second)
        return self.times.put_together(kept, gone)

    def ancestors(self, row: int) -> list[int]:
        """The rows that a row answers, nearest first."""
        found = []
        parent = self.facts[row].parent
        while parent is not None:
            found.append(parent)
            parent = self.facts[parent].parent
        return found

    def name(self, row: int) -> str:
        """A row as a proof calls it."""
        return self.facts[row].name


class Times(Differences[int, None]):
    """The limits between the event times of some rows, by number; a copy is independent."""

    def put_in(self, left: int, right: int, reach: Reach) -> bool:
        """Demand that right's time lies in left's window; False if that contradicts what is known, as below."""
        return (reach.high is None or self.demand(right, left, Limit(reach.high), None)) and (
            reach.low is None or self.demand(left, right, Limit(-reach.low), None)
        )

    def put_before(self, left: int, right: int, reach: Reach, step: int) -> bool:
        """Demand that right's time lies before left's window."""
        return reach.low is not None and self.demand(right, left, Limit(reach.low, True).rounded(step), None)

    def put_after(self, left: int, right: int, reach: Reach, step: int) -> bool:
        """Demand that right's time lies after left's window."""
        return reach.high is not None and self.demand(left, right, Limit(-reach.high, True).rounded(step), None)

    def put_together(self, left: int, right: int) -> bool:
        """Demand that the two times are one."""
        return self.put_in(left, right, Reach(0, 0))

    def inside(self, left: int, right: int, reach: Reach) -> bool | None:
        """Whether right's time is certain to lie in left's window, certain not to, or neither."""
        most, least = self.upper(right, left), self.upper(left, right)
        high = None if reach.high is None else Limit(reach.high)
        low = None if reach.low is None else Limit(-reach.low)
        if (high is None or (most is not None and most <= high)) and (
            low is None or (least is not None and least <= low)
        ):
            return True
        beyond = high is not None and least is not None and (high + least).is_contradiction
        before = low is not None and most is not None and (low + most).is_contradiction
        return False if beyond or before else None
