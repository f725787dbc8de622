"""Do rules imply a rule? A chase with case splits on time: REWRITE, Theorems 3 and 9.

Start from the rows that would break the rule (`goals.deny`) and draw every conclusion: rows with a common key become
one, STREAM KEYs equate values, COOCCURS limits times. Where the premise of a rule hangs on a window that the known
limits leave open, split: inside, before, after. Where a row lacks the partner that a FOREIGN KEY demands, add it. If
every case ends in a contradiction the rule is implied, and the steps are the proof. A case in which nothing more
follows is a counter-model.

Full FOREIGN KEYs invent no values, so what may go on for ever is only a sequence of rows alike but for their times. The
first pass follows new rows alone, the oldest row that lacks a partner first, so that every conclusion is drawn some
time: it finds all refutations. Where it does not end soon, a counter-model is looked for on a grid of times
(`grid_models.py`); then the first pass goes further; then a last one looks for a counter-model off the grid, of a
single value first, and may also let an existing row be the partner, or let a row be an earlier one again one period
later, and so on for ever.

Preconditions: rules as `rules.py` makes them. Not decided: what goes beyond the limits below, which takes a FOREIGN
KEY that is not full, an endless model of several periods, or a contradiction of an endless sequence as a whole that
`rising.py` does not see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from penstock.analysis.decider_reasons import ProofStep
from penstock.analysis.implication.chase_state import ChaseState
from penstock.analysis.implication.goals import LEFT, broken, deny, window_text
from penstock.analysis.implication.grid_models import models_on_a_grid
from penstock.analysis.implication.models import Row, keeps
from penstock.analysis.implication.rising import outgrown, overtaken
from penstock.analysis.implication.rules import (
    Apart,
    OneRow,
    Partner,
    Premise,
    Reach,
    Rule,
    SameValues,
    StreamShape,
    ends_of,
)
from penstock.analysis.reasons import Reason, Told
from penstock.model.spans import Unit
from penstock.records import record


@record
class SearchLimits:
    """How far a search goes: the rows of a case, and the cases."""

    rows: int
    cases: int


QUICK = SearchLimits(8, 100)
"""Proofs of scripts take three or four rows."""
FULL = SearchLimits(16, 400)
LAST = SearchLimits(12, 200)


@record
class Refuted:
    """No rows break the rule; the steps say why."""

    steps: tuple[Told, ...]


@record
class CounterExample:
    """These rows keep all rules and break the one in question."""

    rows: tuple[Row, ...]


@record
class GaveUp:
    """The search came to a limit."""


Outcome = Refuted | CounterExample | GaveUp


@dataclass
class Chase:
    """One question: the rules, the rule in question, and how much of the search is left."""

    shapes: tuple[StreamShape, ...]
    rules: tuple[Rule, ...]
    goal: Rule
    required: tuple[tuple[bool, ...], ...]
    accepts: Callable[[tuple[Row, ...]], bool] = lambda _: True
    """Whether rows that keep the rules also keep what is no rule."""
    limits: SearchLimits = FULL
    cases: int = field(default=0, init=False)
    rows: int = field(default=0, init=False)
    """The most rows of a case so far."""
    borrows: bool = field(default=False, init=False)
    """Whether partners may be rows that are there already."""

    def run(self) -> Outcome:
        """Refute every way to break the rule, or complete one to a counter-model."""
        self.limits = QUICK
        outcome = self.follow()
        if isinstance(outcome, GaveUp):
            for rows in models_on_a_grid(self.shapes, self.rules, self.goal):
                if self._is_counter_model(rows):
                    return CounterExample(rows)
            self.limits = FULL
            outcome = self.follow()
        return self._borrowed() if isinstance(outcome, GaveUp) else outcome

    def _borrowed(self) -> Outcome:
        """The last pass: partners may be rows that are there already."""
        self.borrows, self.limits = True, LAST
        outcome: Outcome = GaveUp()
        for states in (self._of_one_value(), deny(self.goal, self.shapes, self.required)):
            self.cases = 0
            outcome = self._all(states)
            if isinstance(outcome, CounterExample):
                return outcome
        return outcome

    def _of_one_value(self) -> list[ChaseState]:
        """The rows that would break the rule with one value everywhere, where that breaks it: a small place to look."""
        found = []
        for state in deny(self.goal, self.shapes, self.required):
            terms = [term for row in state.alive for term in state.terms(row)]
            for term in terms[1:]:
                state.join(terms[0], term)
            if broken(self.goal, state):
                found.append(state)
        return found

    def follow(self) -> Outcome:
        """The first pass alone: enough for a refutation."""
        self.cases = self.rows = 0
        return self._all(deny(self.goal, self.shapes, self.required))

    def _all(self, states: list[ChaseState], before: tuple[Told, ...] = ()) -> Outcome:
        steps = list(before)
        gave_up = False
        for number, state in enumerate(states, start=1):
            outcome = self._one(state)
            if isinstance(outcome, CounterExample):
                return outcome
            if isinstance(outcome, GaveUp):
                gave_up = True
            else:
                steps += (
                    [ProofStep.CASE(number, len(states), outcome.steps[0]), *outcome.steps[1:]]
                    if len(states) > 1
                    else outcome.steps
                )
        return GaveUp() if gave_up else Refuted(tuple(steps))

    def _one(self, state: ChaseState) -> Outcome:
        self.cases += 1
        self.rows = max(self.rows, len(state.alive))
        if self.cases > self.limits.cases:
            return GaveUp()
        if (why := self._saturate(state)) is not None:
            return Refuted((*state.steps, why))
        cases = self._split(state)
        if cases is not None:
            return self._all(cases, tuple(state.steps))
        wanting = next(self._wanting(state), None)
        if wanting is None:
            return self._complete(state)
        return self._supply(state, *wanting)

    def _saturate(self, state: ChaseState) -> Told | None:
        """Draw every conclusion that is certain; a contradiction, if there is one."""
        changed = True
        while changed:
            changed = False
            for rule, left, right in self._matches(state):
                if not {left, right} <= set(state.alive):
                    continue
                if state.times.inside(left, right, rule.premise.when) is not True:
                    continue
                step = self._conclude(state, rule, left, right)
                if step is not None:
                    state.steps.append(ProofStep.BY(rule.text, step[0]))
                    changed = True
                    if not step[1]:
                        return ProofStep.CONTRADICTED()
                if not broken(self.goal, state):
                    return ProofStep.UNBROKEN()
            if not changed and (met := next(overtaken(state, self.rules), None)) is not None:
                step = self._conclude(state, *met)
                assert step is not None
                again = ProofStep.COME_INTO_WINDOW(met[0].text)
                state.steps.append(ProofStep.BY(again, step[0]))
                changed = True
        if not broken(self.goal, state):
            return ProofStep.UNBROKEN()
        partner = self._denied(state)
        if partner is not None:
            return ProofStep.PARTNER_AFTER_ALL(state.name(partner), state.name(LEFT))
        return outgrown(state, self.rules, self.goal)

    def _denied(self, state: ChaseState) -> int | None:
        """A partner of the row that is to have none."""
        if isinstance(self.goal, Partner):
            for right in state.alive:
                if state.agree(self.goal.premise, LEFT, right) and state.times.inside(
                    LEFT, right, self.goal.premise.when
                ):
                    return right
        return None

    def _matches(self, state: ChaseState) -> Iterator[tuple[OneRow | SameValues | Apart, int, int]]:
        for rule in self.rules:
            if isinstance(rule, Partner):
                continue
            for left in tuple(state.alive):
                if state.facts[left].stream == rule.premise.left:
                    for right in tuple(state.alive):
                        if state.agree(rule.premise, left, right):
                            yield rule, left, right

    def _conclude(
        self, state: ChaseState, rule: OneRow | SameValues | Apart, left: int, right: int
    ) -> tuple[Reason, bool] | None:
        """What a rule newly says of two rows, and whether it can be; None if nothing new."""
        if _is_known(state, rule, left, right):
            return None
        one, other = state.name(left), state.name(right)
        match rule:
            case OneRow():
                return ProofStep.SAME_ROW(max(one, other), min(one, other)), state.merge(left, right)
            case SameValues(values=values):
                for i, j in values:
                    state.join(state.term(left, i), state.term(right, j))
                columns = [self.shapes[rule.premise.left].columns[i] for i, _ in values]
                return ProofStep.AGREE(one, other, columns), True
            case Apart(then=then):
                shape = self.shapes[rule.premise.left]
                said = ProofStep.APART(other, one, window_text(shape, then))
                return said, state.times.put_in(left, right, then)

    def _split(self, state: ChaseState) -> list[ChaseState] | None:
        """The cases of a window that is open and on which a rule hangs; None if there is none."""
        for rule, left, right in self._matches(state):
            reach = rule.premise.when
            if not _is_known(state, rule, left, right) and state.times.inside(left, right, reach) is None:
                return [*self._outside(state, rule.premise, left, right), *self._inside(state, reach, left, right)]
        if isinstance(self.goal, Partner):
            premise = self.goal.premise
            for right in state.alive:
                if state.agree(premise, LEFT, right) and state.times.inside(LEFT, right, premise.when) is None:
                    return self._outside(state, premise, LEFT, right)
        return None

    def _outside(self, state: ChaseState, premise: Premise, left: int, right: int) -> list[ChaseState]:
        found = []
        shape = self.shapes[premise.left]
        named = state.name(right), window_text(shape, premise.when), state.name(left)
        for put, lies in (("put_after", ProofStep.AFTER), ("put_before", ProofStep.BEFORE)):
            case = state.copy()
            if getattr(case.times, put)(left, right, premise.when, shape.step):
                case.steps.append(lies(*named))
                found.append(case)
        return found

    def _inside(self, state: ChaseState, reach: Reach, left: int, right: int) -> list[ChaseState]:
        case = state.copy()
        shape = self.shapes[state.facts[left].stream]
        case.steps.append(ProofStep.INSIDE(state.name(right), window_text(shape, reach), state.name(left)))
        return [case] if case.times.put_in(left, right, reach) else []

    def _wanting(self, state: ChaseState) -> Iterator[tuple[Partner, int]]:
        """The rows that lack a partner, the oldest first."""
        for left in state.alive:
            for rule in self.rules:
                if isinstance(rule, Partner) and left not in state.repeats and self._wants(state, rule, left):
                    yield rule, left

    @staticmethod
    def _wants(state: ChaseState, rule: Partner, left: int) -> bool:
        premise = rule.premise
        if state.facts[left].stream != premise.left:
            return False
        if not all(state.is_value(left, column) for column, _ in premise.pairs):
            return False
        return not any(
            state.agree(premise, left, right) and state.times.inside(left, right, premise.when) for right in state.alive
        )

    def _supply(self, state: ChaseState, rule: Partner, left: int) -> Outcome:
        """A partner for a row: first one that is there, or the beginning of an endless sequence; then a new one."""
        borrowed = (*self._reused(state, rule, left), *self._repeated(state, left)) if self.borrows else ()
        for case in borrowed:
            outcome = self._one(case)
            if isinstance(outcome, CounterExample):
                return outcome
        if len(state.alive) >= self.limits.rows:
            return GaveUp()
        case = state.copy()
        case.steps = state.steps
        given = {j: state.term(left, i) for i, j in rule.premise.pairs}
        new = case.add(rule.premise.right, left, given, rule.premise.when)
        shape = self.shapes[rule.premise.left]
        named, when = (state.name(left), case.name(new)), rule.premise.when
        has = ProofStep.HAS_PARTNER(*named)
        if not when.is_everything:
            has = ProofStep.HAS_PARTNER_IN(*named, window_text(shape, when))
        case.steps.append(ProofStep.BY(rule.text, has))
        if not case.times.put_in(left, new, rule.premise.when):
            return Refuted((*case.steps, ProofStep.EMPTY_WINDOW()))
        return self._one(case)

    @staticmethod
    def _reused(state: ChaseState, rule: Partner, left: int) -> Iterator[ChaseState]:
        for right in state.alive:
            if state.agree(rule.premise, left, right):
                case = state.copy()
                if case.times.put_in(left, right, rule.premise.when):
                    yield case

    def _repeated(self, state: ChaseState, row: int) -> Iterator[ChaseState]:
        """A row as an earlier one again: whatever follows from that one follows again, one period later."""
        for earlier in state.ancestors(row):
            alike = state.facts[earlier].stream == state.facts[row].stream and state.terms(earlier) == state.terms(row)
            if earlier not in state.alive or not alike:
                continue
            for period in self._periods(state, earlier, row):
                case = state.copy()
                case.repeats[row], case.period = earlier, abs(period)
                if case.times.put_in(earlier, row, Reach(period, period)):
                    yield case

    def _periods(self, state: ChaseState, earlier: int, row: int) -> list[int]:
        """Lengths worth trying; all sequences of a model have one."""
        if state.period:
            return [state.period, -state.period]
        most, least = state.times.upper(row, earlier), state.times.upper(earlier, row)
        far = 2 * sum(abs(end) for rule in self.rules for end in ends_of(rule) if end is not None) + Unit.DAY.value
        high = most.ticks if most is not None else far - (least.ticks if least is not None else 0)
        low = -least.ticks if least is not None else high - 2 * far
        return [period for period in dict.fromkeys((high, low, (high + low) // 2)) if period]

    def _complete(self, state: ChaseState) -> Outcome:
        """Times for the rows of a case in which nothing more follows; checked, not believed."""
        unit = {i: self.shapes[fact.stream].step or Unit.SECOND.value for i, fact in enumerate(state.facts)}
        times = state.times.assignment(state.alive, unit.__getitem__)
        # The earlier one stands for a row that repeats it, one period on.
        alive = [row for row in state.alive if row not in state.repeats]
        for periods in _readings(state, times):
            found = tuple(Row(state.facts[r].stream, state.terms(r), times[r], periods.get(r, _ONCE)) for r in alive)
            if self._is_counter_model(found):
                return CounterExample(found)
        return GaveUp()

    def _is_counter_model(self, rows: tuple[Row, ...]) -> bool:
        kept = all(keeps(rule, rows) for rule in self.rules) and not keeps(self.goal, rows)
        return kept and self.accepts(rows)


_ONCE = Fraction(0)


def _readings(state: ChaseState, times: dict[int, Fraction]) -> Iterator[dict[int, Fraction]]:
    """Which rows come again, and after how long: where a row is an earlier one again, that leaves some choice.

    With the earlier row whatever it called for comes again; or only the rows between the two; or all rows do.
    """
    starts = {earlier: times[row] - times[earlier] for row, earlier in state.repeats.items()}
    called: dict[int, Fraction] = {}
    for row in state.alive:
        start = next((one for one in (row, *state.ancestors(row)) if one in starts), None)
        if start is not None:
            called[row] = starts[start]
    yield called
    if not starts:
        return
    between: dict[int, Fraction] = {}
    for row, earlier in state.repeats.items():
        for one in state.ancestors(row):
            between[one] = starts[earlier]
            if one == earlier:
                break
    yield between
    for period in dict.fromkeys(starts.values()):
        yield {row: called.get(row, period) for row in state.alive}


def _is_known(state: ChaseState, rule: OneRow | SameValues | Apart, left: int, right: int) -> bool:
    """Whether what a rule would say of two rows is known already."""
    match rule:
        case OneRow():
            return left == right
        case SameValues(values=values):
            return state.same(left, right, values)
        case Apart(then=then):
            return state.times.inside(left, right, then) is True
