"""Where closing is a matter of one key: every stream meets every other on it, and every promise is about its value.

Theorem. Let one class of equal columns tie all streams, and nothing else tie any; let every closer look at the column
of that class alone, and let whatever closes x for the rows of one stream close it for those of all others. Then x is
closed for a value, whoever carries it. If u leaves as dead or complete, every stored row p of its value for which u's
stream is closed is dead or complete by itself: the streams that closed for u closed for p at the same time, and that
one of them stores no row of the value is as true for p. So rows that leave by the rule stir no others, and one look at
each other stream decides (a star for a purge tree).

A promise about a value is remembered while a row that carries it is stored, so a row that comes later learns of it
too; one that ends by LIFESPAN is not, nor any under a budget. A key stands while its row is stored, and once that has
left no row is left that it closed. Once a broken promise was widened this may fail, and is given up. FOLLOWS closes row
by row, and bands of other columns do not look at the key: there the theorem says nothing.
"""

from __future__ import annotations

from penstock.plan.plan import Closer, CloserKind, Plan, PromiseKind
from penstock.runtime.promise.value_closers import key_closers

_BY_VALUE = (CloserKind.KEY, CloserKind.CLUSTER, CloserKind.PUNCTUATION, CloserKind.BAND, CloserKind.ORDER)


def closes_by_key(plan: Plan) -> bool:
    """Whether the theorem holds for the plan."""
    if len(plan.axes) != 1 or plan.predicates or plan.agreements or plan.joint_closers or not plan.inner:
        return False
    axis = plan.axes[0]
    if plan.evict is not None or any(axis.column(alias) is None for alias in plan.aliases):
        return False
    if any(p.kind is PromiseKind.PUNCTUATED and p.high is not None for p in plan.promises):
        return False
    marked = key_closers(plan)
    for target in plan.aliases:
        closers = [c for c in plan.closers if c.target == target and (c.kind is not CloserKind.KEY or c in marked)]
        if not all(_is_about(c, axis.column(c.source)) for c in closers):
            return False
        ways = {
            frozenset((c.kind, c.target_columns, c.constraints) for c in closers if c.source == source)
            for source in plan.aliases
            if source != target
        }
        if len(ways) > 1:
            return False
    return True


def _is_about(closer: Closer, column: str | None) -> bool:
    """Whether a closer looks at that column alone, and at its very value."""
    return closer.kind in _BY_VALUE and closer.columns == (column,) and closer.is_exact
