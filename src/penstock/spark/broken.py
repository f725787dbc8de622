"""What a run says of broken promises: each constraint once, when its first row breaks it (DESIGN section 3, policies).

A promise that breaks under ADAPT is widened, or no longer closes the values that broke it. Where a bound rested on it,
that bound is lost, and somebody who only watches the run must hear of it. How often a promise broke stands in the
metrics; what cannot be seen to break is said at the start, where the policy is FAIL.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.model.query import Query
from penstock.model.schemes import Policy
from penstock.plan.doubting import has_k, has_shadows, sets_aside
from penstock.plan.plan import Plan
from penstock.plan.watching import unseen

_LOST = "lost"


class BrokenPromises:
    """What was said already, by query."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def notes(self, plan: Plan, line: dict[str, Any]) -> Iterator[str]:
        """What a batch's metrics show that was not yet said, a sentence for each."""
        for constraint, count in line["violations"].items():
            if count and self._is_new(plan, constraint):
                yield f"{_rows(count)} {constraint}; {_answer(plan, constraint, line['k'])}"
        if line["lost"] and self._is_new(plan, _LOST):
            yield f"results are known to be lost, {line['lost']:,} in this batch; `lost` in --metrics counts them"

    def _is_new(self, plan: Plan, what: str) -> bool:
        is_new = (plan.query, what) not in self._told
        self._told.add((plan.query, what))
        return is_new


def unwatched_failures(query: Query, plan: Plan) -> Iterator[str]:
    """The declarations ON VIOLATION FAIL that may break without being seen, and why."""
    failing = {p.constraint for p in plan.promises if p.policy is Policy.FAIL}
    for source in plan.sources:
        for phrase in unseen(query, plan, source.alias):
            if any(phrase.startswith(f"{constraint}: ") for constraint in failing):
                yield f"FAIL sees what is still remembered; {phrase}"


def _rows(count: int) -> str:
    return "1 row breaks" if count == 1 else f"{count:,} rows break"


def _answer(plan: Plan, constraint: str, k: dict[str, Any]) -> str:
    policy = next((p.policy for p in plan.promises if p.constraint == constraint), Policy.ADAPT)
    match policy:
        case Policy.QUARANTINE:
            return "QUARANTINE keeps what breaks it out of the query"
        case Policy.TRUST:
            return "TRUST goes on as if it held"
        case Policy.RECOVER:
            return "RECOVER finds what was set aside"
        case _:
            widened = f"ADAPT widens it, to {k[constraint]:,} now" if k.get(constraint) is not None else None
            adapted = widened or "ADAPT no longer closes values by it that broke it"
            resting = _resting_on(plan, constraint)
            lost = f"; the stated bound of {' and '.join(resting)} is lost by it" if resting else ""
            return f"{adapted}{lost}{_uncounted(plan, constraint)}"


def _uncounted(plan: Plan, constraint: str) -> str:
    """That the results which a broken k may have lost are not counted, if that is so."""
    broken = [p for p in plan.promises if p.constraint == constraint and has_k(p)]
    if not sets_aside(plan) or not broken or has_shadows(plan, broken[0]):
        return ""
    return "; results that this may lose are counted with MONITOR"


def _resting_on(plan: Plan, constraint: str) -> list[str]:
    """The streams whose bound is a chain of closes that this constraint makes one of."""
    closing = {c.source for c in plan.closers if c.certain and constraint in c.constraints}
    closing |= {r.alias for c in plan.joint_closers if constraint == c.constraint for refs in c.partners for r in refs}
    return [s.alias for s in plan.sources if s.alias in closing and s.state.verdict == "bounded"]
