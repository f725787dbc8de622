"""Rows that rise, or fall, for ever: a contradiction that no part of an endless sequence makes, but the whole.

If FOREIGN KEYs lead from a row to one that is alike but for its time, and every way between them is at least one tick
forward, they lead on from there likewise: alike rows come at ever later times, beyond any bound. So they cannot all
stay within a window that is closed above, of one row that they all agree with; and one that is to have no partner in
a window that is open above has one after all. A row in whose window, open above, they must come some time agrees with
them as a STREAM KEY says. The same holds backward.

Preconditions: the rows of a state, with the FOREIGN KEY windows that made them. It refutes only; that rows can go on
for ever is shown by a model (`models.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.analysis.implication.goals import LEFT
from penstock.analysis.implication.rules import Apart, Partner, Reach, Rule, SameValues
from penstock.analysis.implication.state import State


def outgrown(state: State, rules: Sequence[Rule], goal: Rule) -> str | None:
    """Why an endless sequence cannot be, or breaks what is supposed; None if that is not seen."""
    for row, rises in _endless(state):
        way = "later" if rises else "earlier"
        again = f"rows like {state.name(row)} come again at ever {way} times"
        for rule in rules:
            if isinstance(rule, Apart) and rule.premise.when.is_everything and _is_left(state, rule, row, rises):
                return f"{again}, which {rule.text} forbids"
        if isinstance(goal, Partner) and state.agree(goal.premise, LEFT, row) and _is_open(goal.premise.when, rises):
            return f"{again}, so one is a partner of {state.name(LEFT)} after all"
    return None


def overtaken(state: State, rules: Sequence[Rule]) -> Iterator[tuple[SameValues, int, int]]:
    """Rows that a STREAM KEY makes agree, since one of them comes again until it is in the window of the other."""
    for row, rises in _endless(state):
        for rule in rules:
            if not isinstance(rule, SameValues):
                continue
            for other in state.alive:
                for left, right, above in ((other, row, rises), (row, other, not rises)):
                    meets = state.agree(rule.premise, left, right) and _is_open(rule.premise.when, above)
                    if meets and not state.same(left, right, rule.values):
                        yield rule, left, right


def _endless(state: State) -> Iterator[tuple[int, bool]]:
    """The rows that come again for ever, and whether they rise."""
    for row in state.alive:
        low: int | None = 0
        high: int | None = 0
        child = row
        for earlier in state.ancestors(row):
            lag = state.facts[child].lag
            low = None if low is None or lag.low is None else low + lag.low
            high = None if high is None or lag.high is None else high + lag.high
            child = earlier
            alike = state.facts[earlier].stream == state.facts[row].stream and state.terms(earlier) == state.terms(row)
            if alike and low is not None and low > 0:
                yield row, True
            elif alike and high is not None and high < 0:
                yield row, False


def _is_left(state: State, rule: Apart, row: int, rises: bool) -> bool:
    """Whether rows like this one leave the window that they are to lie in."""
    for other in state.alive:
        # t.ts - s.ts grows where t rises, and shrinks where s does.
        if state.agree(rule.premise, other, row) and not _is_open(rule.then, rises):
            return True
        if state.agree(rule.premise, row, other) and not _is_open(rule.then, not rises):
            return True
    return False


def _is_open(reach: Reach, above: bool) -> bool:
    return reach.high is None if above else reach.low is None
