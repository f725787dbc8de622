"""Rows that rise, or fall, for ever: a contradiction that no part of an endless sequence makes, but the whole.

If FOREIGN KEYs lead from a row to one that is alike but for its time, and every way between them is at least one tick
forward, they lead on from there likewise: alike rows come at ever later times, beyond any bound. So they cannot all
stay within a window that is closed above, of one row that they all agree with. And they come to lie in every window
that they cannot step over: one that is open above, or one that is at least as long as their longest stride and that
they begin before, as is sure of a window that rises for ever itself. A row in whose window they must come some time
agrees with them as a STREAM KEY says; one that is to have no partner in such a window has one after all. The same holds
backward, and of the partners that such rows call for, if those cannot stay behind.

Preconditions: the rows of a state, with the FOREIGN KEYs that made them, all of them full: where one leaves a value
open, that two rows are alike may hang on where they lie, and the next one need not be. It refutes only; that rows can
go on for ever is shown by a model (`models.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from penstock.analysis.decider_reasons import ProofStep
from penstock.analysis.facts.differences import Limit
from penstock.analysis.implication.chase_state import ChaseState
from penstock.analysis.implication.goals import LEFT
from penstock.analysis.implication.rules import Apart, OneRow, Partner, Premise, Reach, Rule, SameValues
from penstock.analysis.reasons import Reason
from penstock.records import record


@record
class _Endless:
    """Alike rows that come for ever, from `first` on, of which `row` is one."""

    first: int
    row: int
    rises: bool
    stride: int | None
    """The longest step from one to the next, the way they go."""


def outgrown(state: ChaseState, rules: Sequence[Rule], goal: Rule) -> Reason | None:
    """Why an endless sequence cannot be, or breaks what is supposed; None if that is not seen."""
    for endless in _endless(state):
        way = "later" if endless.rises else "earlier"
        again = ProofStep.COME_EVER(state.name(endless.row), way)
        for rule in rules:
            if rule.premise.when.is_everything and _is_against(state, rule, endless):
                return ProofStep.FORBIDDEN(again, rule.text)
        if isinstance(goal, Partner) and _is_met(state, goal.premise, endless):
            return ProofStep.SO_ONE_IS_PARTNER(again, state.name(LEFT))
    return None


def overtaken(state: ChaseState, rules: Sequence[Rule]) -> Iterator[tuple[SameValues, int, int]]:
    """Rows that a STREAM KEY makes agree, since one of them comes again until it is in the window of the other."""
    found = _endless(state)
    for endless in found:
        along = {row for one in found if one.rises is endless.rises for row in (one.first, one.row)}
        for other in state.alive:
            differing = list(_differing(state, rules, endless.row, other))
            step = state.shapes[state.facts[other].stream].step
            for window, differ in _merged(differing, step):
                if _must_lie_in(state, endless, other, window, other in along):
                    yield differ
                    break


_Differing = tuple[SameValues, int, int]
"""A STREAM KEY and two rows, left and right, that it would make agree and that are not known to."""


def _differing(state: ChaseState, rules: Sequence[Rule], row: int, other: int) -> Iterator[tuple[Reach, _Differing]]:
    """The windows of a row, by which STREAM KEYs of both directions would make another agree with it."""
    for rule in rules:
        if isinstance(rule, SameValues):
            when = rule.premise.when
            for left, right, window in ((other, row, when), (row, other, when.reversed())):
                if state.agree(rule.premise, left, right) and not state.same(left, right, rule.values):
                    yield window, (rule, left, right)


def _merged(windows: list[tuple[Reach, _Differing]], step: int) -> Iterator[tuple[Reach, _Differing]]:
    """The windows, those that touch as one: two streams have the same columns in common, whichever key asks."""
    low_first = sorted(windows, key=lambda found: -math.inf if found[0].low is None else found[0].low)
    merged: list[tuple[Reach, _Differing]] = []
    for window, differ in low_first:
        last = merged[-1][0] if merged else None
        if last is not None and (last.high is None or window.low is None or window.low <= last.high + step):
            ends = (last.high, window.high)
            high = None if last.high is None or window.high is None else max(end for end in ends if end is not None)
            merged[-1] = (Reach(last.low, high), merged[-1][1])
        else:
            merged.append((window, differ))
    yield from merged


def _endless(state: ChaseState) -> list[_Endless]:
    """The rows that come again for ever: those that lead to themselves, then the partners that they call for."""
    found = [endless for row in state.alive for endless in _leading_to_themselves(state, row)]
    for endless in found:  # it grows meanwhile
        for row in state.alive:
            if state.facts[row].parent not in (endless.first, endless.row):
                continue
            lag = state.facts[row].lag
            goes_along = lag.low is not None if endless.rises else lag.high is not None
            new = all(row not in (other.first, other.row) for other in found)
            if goes_along and new and not state.facts[row].invents:
                found.append(_Endless(row, row, endless.rises, _sum(endless.stride, lag)))
    return found


def _sum(stride: int | None, lag: Reach) -> int | None:
    """The longest step between partners of rows that go by a stride."""
    if stride is None or lag.low is None or lag.high is None:
        return None
    return stride + lag.high - lag.low


def _leading_to_themselves(state: ChaseState, row: int) -> Iterator[_Endless]:
    low: int | None = 0
    high: int | None = 0
    child = row
    for earlier in state.ancestors(row):
        if state.facts[child].invents:
            return
        lag = state.facts[child].lag
        low = None if low is None or lag.low is None else low + lag.low
        high = None if high is None or lag.high is None else high + lag.high
        child = earlier
        if state.facts[earlier].stream != state.facts[row].stream or state.terms(earlier) != state.terms(row):
            continue
        if low is not None and low > 0:
            yield _Endless(earlier, row, True, high)
        elif high is not None and high < 0:
            yield _Endless(earlier, row, False, None if low is None else -low)


def _is_met(state: ChaseState, premise: Premise, endless: _Endless) -> bool:
    return state.agree(premise, LEFT, endless.row) and _must_lie_in(state, endless, LEFT, premise.when)


def _is_against(state: ChaseState, rule: Rule, endless: _Endless) -> bool:
    """Whether endless rows share a key, or leave the window that they are to lie in."""
    if isinstance(rule, OneRow):
        return state.agree(rule.premise, endless.row, endless.row)
    if not isinstance(rule, Apart):
        return False
    for other in state.alive:
        if state.agree(rule.premise, other, endless.row) and not _is_open(rule.then, endless):
            return True
        if state.agree(rule.premise, endless.row, other) and not _is_open(rule.then.reversed(), endless):
            return True
    return False


def _is_open(window: Reach, endless: _Endless) -> bool:
    """Whether a window is open where endless rows go."""
    return window.high is None if endless.rises else window.low is None


def _must_lie_in(state: ChaseState, endless: _Endless, other: int, window: Reach, goes_along: bool = False) -> bool:
    """Whether one of the endless rows is certain to lie in a window of another row, which may go the same way."""
    if _is_open(window, endless):
        return True
    reach = window if endless.rises else window.reversed()
    # From here on they rise: the first is not beyond the window, and none steps over it.
    near, far = (other, endless.first) if endless.rises else (endless.first, other)
    begin = state.times.upper(far, near)
    assert reach.high is not None
    if not goes_along and (begin is None or Limit(reach.high) < begin):
        return False
    if reach.low is None:
        return True
    step = state.shapes[state.facts[other].stream].step
    return endless.stride is not None and reach.high - reach.low >= endless.stride - step
