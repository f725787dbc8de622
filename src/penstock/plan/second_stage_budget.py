"""What of a budget is for the second stage (DISTINCT or GROUP BY), and what each of its buckets may hold.

Rows that DISTINCT has given and groups that were begun cannot be evicted: the first would be given twice, the others
begin again from nothing. So the second stage has a part of the budget of its own: what declarations bound it to, at
most half. When its part is full, results that would need more room are lost, and counted; all that was begun goes on.
Buckets are dealt rows by hash, so they have equal parts; the one group of a query without GROUP BY has all of it.
"""

from __future__ import annotations

from penstock.plan.plan import Plan

_MOST_BYTES_A_ROW = 4 << 10
"""What a remembered row takes, about and at most, where declarations bound their number and a budget is in bytes."""


def second_room(plan: Plan) -> int:
    """What of the budget is the second stage's, in the unit of the budget; 0 where there is none."""
    if plan.evict is None or (plan.aggregate is None and not plan.distinct):
        return 0
    half = max(1, plan.evict.limit // 2)
    known = plan.second_stage[0].rows if plan.second_stage else None
    each = 1 if plan.evict.rows is not None else _MOST_BYTES_A_ROW
    return half if known is None else min(half, known * each)


def bucket_room(plan: Plan, number: int, buckets: int) -> int | None:
    """What one of so many buckets may hold, in the unit of the budget; None where there is no budget."""
    if plan.evict is None:
        return None
    room = second_room(plan)
    if plan.aggregate is not None and not plan.aggregate.keys:
        return room if number == 0 else 0
    return room * (number + 1) // buckets - room * number // buckets
