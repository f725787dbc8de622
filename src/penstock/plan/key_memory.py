"""Where the memory of closed keys (KMON's No component) pays: the choice of section 8, by cost.

A key of j that has left may still be named by rows of i to come. Remembered as a promise row it lets these go as they
arrive; forgotten, they stay until another constraint closes j for them. Where there is none, it is remembered. Where
FOLLOWS closes j within k_f rows of j, and a constraint on i ends the need for the key within k_e rows of i, either will
do, and the cheaper is chosen. Rows of i that leave by [ROWS n] need nothing remembered. In steady state, with
r_i and r_j the rows of each stream in the same time:

    remembered:  (share of keys that left) * r_j * (k_e / r_i)   promise rows
    forgotten:   (share of rows that name one) * r_i * (k_f / r_j)   stored rows that wait
                 (share of keys that left before their cluster of i ended) * k_f   clusters that are held for the key

So KMON's Figure 11 crosses: past some k_f it is cheaper to remember. Where no such end is declared, promise rows would
be needed for ever, and the key is forgotten. Either choice is right; only memory differs, and it can be made anew at
any time. Here it is made from the declarations, with equal rates and shares; a cell makes it anew from what it sees
(`runtime/promise/choosing.py`). A k that is still to be learned says nothing: then the key is forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.analysis.reasons import Reason
from penstock.plan.plan import Closer, CloserKind, Plan, PromiseKind
from penstock.plan.plan_reasons import MemoryChoice


@dataclass(frozen=True)
class KeyMemory:
    """Whether the keys of `closer.target` are remembered for the rows of `closer.source` that may still name them."""

    closer: Closer
    waits: tuple[str, ...]
    """The constraints in rows that would close the target for rows that name a forgotten key."""
    ends: tuple[str, ...]
    """The constraints in rows that end the need for a key."""
    kept: bool
    because: Reason


def key_memories(plan: Plan) -> tuple[KeyMemory, ...]:
    """The choice for each key closer."""
    return tuple(_choice(plan, c) for c in plan.closers if c.kind is CloserKind.KEY)


def keeping_is_cheaper(rows_waiting: float, rows_remembered: float) -> bool:
    """The choice itself."""
    return rows_remembered < rows_waiting


def _choice(plan: Plan, closer: Closer) -> KeyMemory:
    if plan.by_alias[closer.source].has_rows_window:
        return KeyMemory(closer, (), (), False, MemoryChoice.ROWS_LET_GO())
    others = [
        c
        for c in plan.closers_between(closer.source, closer.target)
        if c.certain and c.kind not in (CloserKind.KEY, CloserKind.PUNCTUATION, CloserKind.CLUSTER)
    ]
    if not others:
        return KeyMemory(closer, (), (), True, MemoryChoice.NOTHING_ELSE())
    if any(c.kind is not CloserKind.FOLLOWS for c in others):
        return KeyMemory(closer, (), (), False, MemoryChoice.AN_ORDER_CLOSES())
    waits = {constraint: c.rows for c in others for constraint in c.constraints}
    ends = _ends(plan, closer)
    if not ends:
        return KeyMemory(closer, tuple(waits), (), False, MemoryChoice.NOTHING_ENDS())
    known = [rows for rows in waits.values() if rows is not None], [rows for rows in ends.values() if rows is not None]
    wait, end = min(known[0], default=None), min(known[1], default=None)
    if wait is None or end is None:
        return KeyMemory(closer, tuple(waits), tuple(ends), False, MemoryChoice.K_UNKNOWN())
    kept = keeping_is_cheaper(wait, end)
    costs = MemoryChoice.KEYS_COST(wait, end)
    return KeyMemory(closer, tuple(waits), tuple(ends), kept, costs)


def _ends(plan: Plan, closer: Closer) -> dict[str, int | None]:
    """By constraint, the rows of the source after which no row of it names a key of the target that has come."""
    found: dict[str, int | None] = {}
    for back in plan.closers_between(closer.target, closer.source):
        named = set(back.columns) <= set(closer.target_columns)
        if back.kind is CloserKind.FOLLOWS or (back.kind is CloserKind.CLUSTER and named):
            found |= dict.fromkeys(back.constraints, back.rows)
        if back.kind in (CloserKind.ORDER, CloserKind.BAND) and named and back.is_exact:
            for promise in plan.promises:
                place = (promise.alias, promise.columns)
                if promise.kind is PromiseKind.ORDERED_ROWS and place == (closer.source, back.target_columns):
                    found[promise.constraint] = promise.rows
    return found
