"""The marks that stored rows carry: what promises about values closed for them, and how they stand in outer joins.

Which promises are worth a mark is the plan's decision (`plan/purge_decisions.py`). A mark is a mask of a segment, by
its name.
"""

from __future__ import annotations

from penstock.plan.closer_plans import Closer, CloserKind
from penstock.plan.doubting import works_anew
from penstock.plan.plan import Plan

_SIGNS = {CloserKind.KEY: "", CloserKind.PUNCTUATION: "!", CloserKind.CLUSTER: "~"}

MATCHED, LEFT = "#matched", "#left"
"""Under outer joins: the row has matched, so it is given with no NULLs; it is done where it first meets others, and
stored only because rows that it is part of wait."""

DOUBTED, UNSURE = "#doubted", "#unsure"
"""Where a budget evicts partners: one that was evicted may have matched the row; the row itself may be none, as what it
is made of was in doubt."""

_DECIDED = "#decided"

_ACCOUNT = "account:"
TWICE = (MATCHED, LEFT, DOUBTED)
"""The marks that a row has twice under a budget: as what is stored makes them, and as the account's sample does too."""


def mark_name(closer: Closer) -> str:
    """The name of the mask that holds, for rows of the source, whether a promise of the target closed them."""
    by = _SIGNS[closer.kind]
    return f"{closer.source}>{closer.target}{by}({','.join(closer.target_columns)})"


def decided(number: int) -> str:
    """Where what a late row changes is worked out anew: the tuple stood in a row that left a side of a node.

    Of a side that is a stream, LEFT says so.
    """
    return f"{_DECIDED}{number}"


def decided_marks(plan: Plan, alias: str) -> tuple[str, ...]:
    """The marks of the nodes one of whose sides is no stream, and has rows with tuples of the alias."""
    sides = [(n, side) for n, node in enumerate(plan.nodes) for side in (node.left, node.right) if side is not None]
    is_stream = {n: node.block is not None and len(node.aliases) == 1 for n, node in enumerate(plan.nodes)}
    return tuple(decided(n) for n, side in sides if not is_stream[side] and alias in plan.nodes[side].aliases)


def of_account(mark: str) -> str:
    """The name under which the account keeps its own of a mark."""
    return _ACCOUNT + mark


def mark_names(plan: Plan, alias: str) -> tuple[str, ...]:
    """The masks that rows of an alias carry."""
    closers = [c for c in plan.closers if c.is_marked]
    own: tuple[str, ...] = () if plan.inner else (MATCHED, LEFT)
    own += decided_marks(plan, alias) if works_anew(plan) else ()
    evicting = () if plan.inner or plan.evict is None else (DOUBTED, *map(of_account, TWICE))
    return (*dict.fromkeys(mark_name(c) for c in closers if c.source == alias), *own, *evicting)
