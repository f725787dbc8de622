"""By which key classes rows are dealt to cells: classes that the same streams carry are one axis, hashed together.

Of a key of several columns no single one, which may have few values or a frequent one, then decides where rows go. The
rows of a match agree on all classes that their streams carry, so they meet wherever the classes are dealt by.

What is promised of some of these columns only would have to be told to every cell along the axis, and what breaks it
would not meet there. So an axis is dealt by those classes alone that all such promises name; where these have none in
common, by the first class.
"""

from __future__ import annotations

from penstock.plan.plan import Plan
from penstock.plan.promise_plans import MATCHES, PromiseKind, PromisePlan

_ABOUT_VALUES = (PromiseKind.PRIMARY_KEY, PromiseKind.CLUSTERED, PromiseKind.PUNCTUATED, *MATCHES)
"""What is promised of rows that have given values."""


def dealt_together(plan: Plan, number: int) -> tuple[int, ...]:
    """The key classes that an axis is dealt by; none where another axis stands for it, which is not cut then."""
    own = {ref.alias for ref in plan.axes[number].columns}
    carried = [n for n, axis in enumerate(plan.axes) if {ref.alias for ref in axis.columns} == own]
    named = [found for p in plan.promises if p.kind in _ABOUT_VALUES and (found := _named(plan, p, carried))]
    chosen = [n for n in carried if all(n in axes for axes in named)] or carried[:1]
    return tuple(chosen) if chosen[0] == number else ()


def dealt_columns(plan: Plan, number: int, alias: str) -> list[str]:
    """What a stream is dealt by along an axis; nothing where it lacks it."""
    found = (plan.axes[n].column(alias) for n in dealt_together(plan, number))
    return [column for column in found if column is not None]


def _named(plan: Plan, promise: PromisePlan, axes: list[int]) -> set[int]:
    """Those of the axes of which a promise names the column."""
    return {n for n in axes if plan.axes[n].column(promise.alias) in promise.columns}
