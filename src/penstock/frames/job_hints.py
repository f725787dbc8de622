"""What whoever adopts a job allows or asks for, as arguments, printed as the hints and policies of the language.

    penstock.adopt(df, budget="100000 rows", evict="prob")      /*+ BUDGET(100000 ROWS), EVICT(prob) */

What is no value at all is refused here, as the argument that it is; whether one fits the query is for the front end to
say: the text goes the way of every script.
"""

from __future__ import annotations

import re
from typing import TypedDict

from penstock.errors import UsageError
from penstock.model.hints import BUDGET_UNITS, EVICTION_POLICIES
from penstock.model.names import nearest
from penstock.model.schemes import Policy


class JobHints(TypedDict, total=False):
    """The arguments of `adopt`, `check` and `explain` that are not about how a query is called or written."""

    budget: str
    """`"100000 rows"`, `"64 MB"`: a hard limit on the state."""
    evict: str
    """What leaves over a budget: `gain`, `prob`, `life` or `rand`."""
    value: str
    """What a result is worth, in SQL over the columns of the streams as `to_sql` names them."""
    archive: str
    """A folder for what leaves over a budget."""
    shed_input: bool
    """Whether rows are shed where batches fall behind."""
    error: str
    """`"5 percent"`, `"5 percent with bounds"`: by how much an answer may be off if that removes the join."""
    monitor: tuple[float, float, int]
    """How closely the k of constraints is watched: c, p, W."""
    on_violation: str
    """What happens to a row that is later than its watermark allows: `trust` if it is left out."""


NO_HINTS: JobHints = {}
_ERROR = re.compile(r"\d+(\.\d+)?\s+percent(\s+with\s+bounds)?", re.IGNORECASE)
_BUDGET = re.compile(rf"\d+\s*({'|'.join(BUDGET_UNITS)})", re.IGNORECASE)


def hints_text(hints: JobHints) -> str:
    """The hints of a SELECT, with a blank after them; empty if there are none."""
    unknown = [name for name in hints if name not in JobHints.__annotations__]
    if unknown:
        close = nearest(unknown[0], list(JobHints.__annotations__))
        known = f"did you mean {close}?" if close else f"there are: {', '.join(JobHints.__annotations__)}"
        raise UsageError(f"there is no argument {unknown[0]}", hint=known)
    found = []
    if "budget" in hints:
        if _BUDGET.fullmatch(str(hints["budget"]).strip()) is None:
            raise UsageError(f'budget is such as "100000 rows" or "64 MB", not {hints["budget"]!r}')
        found.append(f"BUDGET({hints['budget'].upper()})")
    if "evict" in hints:
        if hints["evict"].lower() not in EVICTION_POLICIES:
            raise UsageError(f"evict is one of {', '.join(EVICTION_POLICIES)}, not {hints['evict']}")
        found.append(f"EVICT({hints['evict'].lower()})")
    if "value" in hints:
        found.append(f"VALUE({hints['value']})")
    if "archive" in hints:
        found.append("ARCHIVE('" + hints["archive"].replace("\\", "\\\\").replace("'", "\\'") + "')")
    if hints.get("shed_input"):
        found.append("SHED(INPUT)")
    if "error" in hints:
        if _ERROR.fullmatch(str(hints["error"]).strip()) is None:
            raise UsageError(f'error is such as "5 percent" or "5 percent with bounds", not {hints["error"]!r}')
        found.append(f"ERROR({hints['error'].upper()})")
    if "monitor" in hints:
        found.append(f"MONITOR({', '.join(map(str, hints['monitor']))})")
    return f"/*+ {', '.join(found)} */ " if found else ""


def late_policy(hints: JobHints) -> str:
    """What happens to rows that are later than their watermark allows, as ON VIOLATION has it."""
    policy = hints.get("on_violation", Policy.TRUST).upper()
    if policy not in Policy.__members__:
        raise UsageError(f"on_violation is one of {', '.join(one.lower() for one in Policy)}, not {policy.lower()}")
    return policy
