"""What was read and is not decided yet, in words: rows that may still be emitted, groups that are not closed.

A row of a side whose rows are kept (LEFT, FULL, NOT EXISTS) waits until it is certain that no match will come; of those
stored, some have matched already, so that their number is the most that can still come. A group that is emitted once
waits until nothing can add to it. Rows that only wait for partners are not told: an inner join owes them nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.analysis.finding import Bounded, Verdict
from penstock.analysis.reasons import Final, Reason
from penstock.explain.reason_words import told
from penstock.plan.plan import Plan

GROUPS = "(groups)"


def undecided(plan: Plan, verdict: Verdict, held: Mapping[str, int]) -> Iterator[str]:
    """What may still be emitted once the streams have moved on, a sentence for each; `held` is the state by alias.

    Of a block below, what it may still emit to the block above; its aliases have its name before them.
    """
    for block, below in zip(plan.blocks, verdict.blocks, strict=True):
        own = {
            alias.removeprefix(f"{block.query}."): count
            for alias, count in held.items()
            if alias.startswith(f"{block.query}.")
        }
        yield from (f"{block.query}: {sentence}" for sentence in undecided(block, below.verdict, own))
    groups = held.get(GROUPS, 0)
    if groups and plan.aggregate is not None and plan.aggregate.emits_once:
        (finding,) = (state.finding for state in verdict.streams if state.alias == GROUPS)
        until = f": {told(finding.bound)}" if isinstance(finding, Bounded) else ""
        yield f"{many(groups, 'group')} not closed yet{until}"
    waiting = [(alias, held[alias]) for alias in plan.aliases if alias in _kept(plan) and held.get(alias)]
    if waiting:
        rows = " and ".join(f"{many(count, 'row')} of {alias}" for alias, count in waiting)
        sentences = [told(r) for r in verdict.finality if not isinstance(r, Reason) or r.kind is not Final.FIRST_MATCH]
        yield f"up to {rows} may still be emitted: {'; '.join(sentences)}"


def _kept(plan: Plan) -> frozenset[str]:
    """The streams of sides whose rows are given though nothing matches them."""
    sides = [
        plan.nodes[side].aliases
        for node in plan.nodes
        for side, keeps in zip((node.left, node.right), node.preserves, strict=True)
        if keeps and side is not None
    ]
    return frozenset(alias for aliases in sides for alias in aliases)


def many(count: int, what: str) -> str:
    """So many of them."""
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"
