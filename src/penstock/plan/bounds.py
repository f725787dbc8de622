"""Upper bounds on differences of columns, event times above all, closed transitively.

A bound says `later - earlier <= ticks` (or `<`) wherever tuples of the two stand in one result. Columns that are
equal in every result go by one of them. Chaining bounds adds them; the least chain is the tightest bound. The closure
is small data, so a cell can redo it when ADAPT widens one of the bounds. It does not decide whether a column is
ordered: that is a closer's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.model.expressions import ColumnRef


@dataclass(frozen=True)
class TimeBound:
    """`later - earlier <= ticks`, or `<` where strict; `constraint` is the declaration it rests on, if any."""

    earlier: ColumnRef
    later: ColumnRef
    ticks: int
    strict: bool
    text: str
    constraint: str | None = None


@dataclass(frozen=True)
class Reach:
    """The tightest bound for a pair of columns, and the bounds that it was chained from."""

    ticks: int
    strict: bool
    texts: tuple[str, ...]
    constraints: tuple[str, ...] = ()

    @property
    def rank(self) -> tuple[int, bool]:
        """Less is tighter: a strict bound before one that is not."""
        return (self.ticks, not self.strict)

    def then(self, other: Reach) -> Reach:
        """The bound that the two give one after the other."""
        return Reach(
            self.ticks + other.ticks,
            self.strict or other.strict,
            tuple(dict.fromkeys(self.texts + other.texts)),
            tuple(dict.fromkeys(self.constraints + other.constraints)),
        )


Reaches = dict[tuple[ColumnRef, ColumnRef], Reach]
"""The tightest bound for each (earlier, later) that has one."""


def tabled(bounds: Iterable[TimeBound], widened: Mapping[str, int] | None = None) -> Reaches:
    """The bounds as they are, none chained; `widened` adds ticks to a declaration's bounds."""
    extra = widened or {}
    best: dict[tuple[ColumnRef, ColumnRef], Reach] = {}
    for bound in bounds:
        constraint = () if bound.constraint is None else (bound.constraint,)
        ticks = bound.ticks + (extra.get(bound.constraint, 0) if bound.constraint is not None else 0)
        _keep(best, (bound.earlier, bound.later), Reach(ticks, bound.strict, (bound.text,), constraint))
    return best


def close(bounds: Iterable[TimeBound], widened: Mapping[str, int] | None = None) -> Reaches:
    """The bounds chained in every way; `widened` as before."""
    best = tabled(bounds, widened)
    nodes = sorted({node for pair in best for node in pair})
    for via in nodes:
        for start in nodes:
            for end in nodes:
                if start != end and (start, via) in best and (via, end) in best:
                    _keep(best, (start, end), best[start, via].then(best[via, end]))
    return best


def _keep(best: Reaches, pair: tuple[ColumnRef, ColumnRef], reach: Reach) -> None:
    if pair not in best or reach.rank < best[pair].rank:
        best[pair] = reach
