"""What of a budget is for the second stage (DISTINCT or GROUP BY), and what each of its buckets may hold.

Rows that DISTINCT has given and groups that were begun cannot be evicted: the first would be given twice, the others
begin again from nothing. So the second stage has a part of the budget of its own: what declarations bound it to, at
most half. When its part is full, results that would need more room are lost, and counted; all that was begun goes on.
Buckets are dealt rows by hash, so they have equal parts; the one group of a query without GROUP BY has all of it.
"""

from __future__ import annotations

from penstock.plan.plan import Plan


def second_room(plan: Plan) -> int:
    """The rows of the budget that are the second stage's; 0 where there is none."""
    if plan.evict is None or plan.evict.rows is None or (plan.aggregate is None and not plan.distinct):
        return 0
    half = max(1, plan.evict.rows // 2)
    known = plan.second_stage[0].rows if plan.second_stage else None
    return half if known is None else min(half, known)


def bucket_room(plan: Plan, number: int, buckets: int) -> int | None:
    """The rows that one of so many buckets may hold; None where there is no budget."""
    if plan.evict is None:
        return None
    room = second_room(plan)
    if plan.aggregate is not None and not plan.aggregate.keys:
        return room if number == 0 else 0
    return room * (number + 1) // buckets - room * number // buckets
