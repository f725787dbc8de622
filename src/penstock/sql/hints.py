"""Hints, bound."""

from __future__ import annotations

from typing import Any

from penstock.errors import QueryMistake
from penstock.model.hints import EVICTION_POLICIES, NO_HINTS, Budget, ErrorAllowance, Hints, Monitoring
from penstock.sql.expressions import bind_expression
from penstock.sql.scope import Scope
from penstock.sql.tree import Hint, Stretch


def bind_hints(written: tuple[Hint, ...], scope: Scope) -> Hints:
    """The hints of a query; mistakes are left in the source."""
    made: dict[str, Any] = {}
    for hint in written:
        field = _FIELDS[hint.name]
        if field in made:
            scope.report(f"hint {hint.name} stands twice", hint.at)
            continue
        try:
            made[field] = _value(hint, scope)
        except ValueError as error:
            scope.source.report(QueryMistake, str(error), hint.at)
    try:
        return Hints(**made)
    except ValueError as error:
        at = Stretch(written[0].at.start, written[-1].at.end)
        scope.source.report(QueryMistake, str(error), at)
        return NO_HINTS


_FIELDS = {
    "BUDGET": "budget",
    "EVICT": "evict",
    "VALUE": "value",
    "ARCHIVE": "archive",
    "SHED": "shed_input",
    "ERROR": "error",
    "MONITOR": "monitor",
}


def _value(hint: Hint, scope: Scope) -> object:
    match hint.name:
        case "BUDGET":
            assert hint.number is not None
            if hint.number != hint.number.to_integral_value():
                raise ValueError("a budget is a whole number")
            return Budget(int(hint.number), hint.words[0])
        case "EVICT":
            if hint.words[0] not in EVICTION_POLICIES:
                raise ValueError(f"unknown policy {hint.words[0]}; these are: {', '.join(EVICTION_POLICIES)}")
            return hint.words[0]
        case "VALUE":
            assert hint.code is not None
            return bind_expression(hint.code, scope)
        case "ARCHIVE":
            return hint.text
        case "SHED":
            return True
        case "ERROR":
            assert hint.number is not None
            return ErrorAllowance(hint.number, bool(hint.words))
        case _:
            factor, probability, window = hint.numbers
            if window != window.to_integral_value():
                raise ValueError("W, a number of arrivals, is a whole number")
            return Monitoring(factor, probability, int(window))
