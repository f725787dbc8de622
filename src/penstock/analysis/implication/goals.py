"""The constraint in question, denied: the rows that would break it, for a chase to refute or to complete.

A rule is implied if and only if no model keeps the declarations and holds the rows that break it (REWRITE, Theorem 9).
Those rows are few: two that agree as the rule's premise says, or for a FOREIGN KEY one that has no partner.
"""

from __future__ import annotations

from penstock.analysis.decider_reasons import ProofStep
from penstock.analysis.implication.chase_state import ChaseState
from penstock.analysis.implication.rules import Apart, OneRow, Partner, Reach, Rule, SameValues, StreamShape
from penstock.analysis.reasons import Reason
from penstock.model.spans import span_of_ticks

LEFT, RIGHT = 0, 1
"""The rows that break a rule are the first ones of a state."""


def deny(rule: Rule, shapes: tuple[StreamShape, ...], required: tuple[tuple[bool, ...], ...]) -> list[ChaseState]:
    """The rows that break a rule, one state for each way; it is implied if all of them are refuted."""
    premise = rule.premise
    state = ChaseState(shapes, required)
    left = state.add(premise.left)
    if isinstance(rule, Partner):
        for column, _ in premise.pairs:
            state.have_value(left, column)
        state.steps.append(ProofStep.SUPPOSE_ALONE(state.name(left)))
        return [state]
    right = state.add(premise.right)
    for i, j in premise.pairs:
        state.join(state.term(left, i), state.term(right, j))
        state.have_value(left, i)
    columns = [_paired(shapes, rule, pair) for pair in premise.pairs]
    agreed = ProofStep.SUPPOSE(state.name(left), state.name(right))
    if columns:
        agreed = ProofStep.THAT_AGREE(agreed, columns)
    if not premise.when.is_everything:
        agreed = ProofStep.WITH_LAG_IN(agreed, _lag(state), window_text(shapes[premise.left], premise.when))
        if not state.times.put_in(left, right, premise.when):
            return []
    match rule:
        case OneRow():
            state.steps.append(ProofStep.ARE_TWO(agreed))
            return [state]
        case SameValues():
            state.steps.append(ProofStep.NOT_ON_ALL(agreed))
            return [state]
        case Apart(then=then):
            return _outside(state, then, agreed)


def _outside(state: ChaseState, then: Reach, agreed: Reason) -> list[ChaseState]:
    found = []
    shape = state.shapes[state.facts[LEFT].stream]
    before, after = state.copy(), state.copy()
    if before.times.put_before(LEFT, RIGHT, then, shape.step):
        before.steps.append(ProofStep.LAG_BELOW(agreed, _lag(state), span_text(shape, then.low)))
        found.append(before)
    if after.times.put_after(LEFT, RIGHT, then, shape.step):
        after.steps.append(ProofStep.LAG_ABOVE(agreed, _lag(state), span_text(shape, then.high)))
        found.append(after)
    return found


def broken(rule: Rule, state: ChaseState) -> bool:
    """Whether the first rows of a state still break the rule."""
    match rule:
        case OneRow():
            return RIGHT in state.alive
        case SameValues(values=values):
            right = RIGHT if RIGHT in state.alive else LEFT
            return not state.same(LEFT, right, values)
        case _:
            return True


def _lag(state: ChaseState) -> Reason:
    return ProofStep.LAG(state.name(RIGHT), state.name(LEFT))


def _paired(shapes: tuple[StreamShape, ...], rule: Rule, pair: tuple[int, int]) -> str:
    left = shapes[rule.premise.left].columns[pair[0]]
    right = shapes[rule.premise.right].columns[pair[1]]
    return left if left == right else f"{left} = {right}"


def span_text(shape: StreamShape, ticks: int | None) -> str:
    """A number of ticks as the clock of a stream spells it."""
    return "*" if ticks is None else str(span_of_ticks(ticks, instants=shape.step != 1))


def window_text(shape: StreamShape, reach: Reach) -> str:
    """A window as the clock of a stream spells it."""
    return f"[{span_text(shape, reach.low)}, {span_text(shape, reach.high)}]"
