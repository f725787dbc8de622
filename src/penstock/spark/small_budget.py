"""What to say of a budget that is less than one batch needs. It is held all the same, and most of each batch is lost.

A batch is joined whole before anything is evicted, so such a budget makes no wrong answer; but of what the batch
brought little is there when the next one comes. What a batch needs is known when it has been read: the rows that
purging left of it, and for a budget in bytes the statistics beside them.
"""

from __future__ import annotations

from penstock.plan.plan import Plan
from penstock.plan.second_stage_budget import second_room

_KB = 1 << 10


def too_small(plan: Plan, needed: int) -> str | None:
    """The sentence for a batch that needs so much, in the unit of the budget; None where the budget suffices."""
    if plan.evict is None:
        return None
    in_rows = plan.evict.rows is not None
    if not in_rows:
        # A fifth is for statistics.
        needed = -(-needed * 5 // 4)
    if (second := second_room(plan)) > 0:
        # DISTINCT or GROUP BY has what it is bound to, or else as much as the rows of the join.
        needed += second if 2 * second < plan.evict.limit - 1 else needed
    if needed <= plan.evict.limit:
        return None
    asked = f"{plan.evict.limit} ROWS" if in_rows else f"{plan.evict.limit // _KB} KB"
    enough = f"{needed} ROWS" if in_rows else f"{-(-needed // _KB)} KB"
    return (
        f"BUDGET({asked}) is less than one batch needs: this one was joined whole and then mostly evicted; "
        f"BUDGET({enough}) would hold it, or read less in a batch (maxFilesPerTrigger)"
    )
