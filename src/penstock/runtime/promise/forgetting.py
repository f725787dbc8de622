"""When a punctuation itself may go: punctuations purged by punctuations (SAFETY 5.1; DESIGN section 1).

A promise row `a = v` of x is needed by a stream i that carries the value while i stores it, or while a tuple of i that
carries it may still come. It may not once a promise on i closes v: i's own punctuation, its key, or an ordered column
that equals `a` and has passed v. Where several streams carry the values of one punctuation between them, it is enough
that one of its values can come no more: no partial result will name them all. Where another scheme closes i -> x
anyway, or i's own [ROWS n] lets its tuples go, only tuples stored now need it, unless a LIFESPAN bounds it. What closes
is noted on the promise rows of all streams before any of them goes, so that two that close each other go together.

Not decided: a punctuation that comes again after it was forgotten may stay, since what closed it was forgotten too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from penstock.plan.closer_plans import Closer, CloserKind, JointCloser
from penstock.plan.plan import Plan
from penstock.plan.promise_expiry import ABOUT_VALUES, ending, is_closed_otherwise
from penstock.plan.promise_plans import PromiseKind, PromisePlan
from penstock.runtime.columns.codes import Bools, Ints, empty_ids, union
from penstock.runtime.match.key_matching import Keyed, agreeing, meeting_any, reached
from penstock.runtime.promise.marks import mark_name
from penstock.runtime.promise.watch import WatchStep
from penstock.runtime.state.synopsis import OLD, Synopsis


@dataclass(frozen=True)
class Carrier:
    """A stream that carries values which a promise row names, and what says that they can come no more on it."""

    alias: str
    columns: tuple[str, ...]
    named: tuple[str, ...]
    """The columns of the promise row that they equal."""
    enders: tuple[Closer, ...]
    otherwise_closed: bool
    """Whether all its tuples leave without the punctuation: by another scheme, or by [ROWS n]."""


class Need:
    """Who may still need the promise rows of one scheme."""

    def __init__(
        self, plan: Plan, promise: PromisePlan, users: list[Closer], joint: list[JointCloser], *, bounded: bool
    ) -> None:
        carry = partial(_carrier, plan, promise, bounded=bounded)
        self.alone = [carry(c.source, c.columns, c.target_columns) for c in users]
        self.together = [
            [
                [carry(ref.alias, (ref.column,), (column,)) for ref in refs]
                for column, refs in zip(closer.target_columns, closer.partners, strict=True)
            ]
            for closer in joint
        ]
        self._all = [*self.alone, *(c for choices in self.together for carriers in choices for c in carriers)]
        enders = [e for carrier in self._all for e in carrier.enders if not carrier.otherwise_closed]
        self.marking = tuple(dict.fromkeys(e for e in enders if e.kind in ABOUT_VALUES))
        """The promises of others that say of the values of promise rows that they can come no more."""

    @property
    def marks(self) -> tuple[str, ...]:
        """The masks that the promise rows carry, one for each of these."""
        return tuple(mark_name(closer) for closer in self.marking)

    def stirred(self, step: WatchStep, removed: Mapping[str, Ints], held: Synopsis) -> Ints:
        """The old promise rows that a row named which left; those of this batch are asked about anyway."""
        found = [empty_ids()]
        for carrier in self._all:
            gone = removed.get(carrier.alias, empty_ids())
            source, own = Keyed(step.synopses[carrier.alias], carrier.columns), Keyed(held, carrier.named)
            if len(gone) < held.size(OLD):
                found.append(reached(source, gone, own, OLD))
            else:
                named = held.ids(OLD)
                found.append(named[agreeing(own, named, source, gone)])
        return union(found)

    def of(self, step: WatchStep, held: Synopsis, ids: Ints) -> Bools:
        """Which of the promise rows may still close something, or be broken to some stored row's loss."""
        needed: Bools = np.zeros(len(ids), np.bool_)
        for carrier in self.alone:
            asked = np.flatnonzero(~needed)
            needed[asked] = _possible(step, held, ids[asked], carrier)
        for choices in self.together:
            all_possible: Bools = np.ones(len(ids), np.bool_)
            for carriers in choices:
                all_possible &= np.logical_or.reduce([_possible(step, held, ids, carrier) for carrier in carriers])
            needed |= all_possible
        return needed


def _carrier(
    plan: Plan, promise: PromisePlan, alias: str, columns: tuple[str, ...], named: tuple[str, ...], *, bounded: bool
) -> Carrier:
    ended = [*ending(plan, promise.alias, alias, named)]
    if promise.kind is PromiseKind.CLUSTERED:
        # A cluster stands for rows that came: what follows them within so many rows can come no more after these.
        followed = [c for c in plan.closers_between(promise.alias, alias) if c.kind is CloserKind.FOLLOWS]
        ended += [c for c in followed if set(c.columns) <= set(named)]
    otherwise_closed = not bounded and is_closed_otherwise(plan, alias, promise.alias)
    return Carrier(alias, columns, named, tuple(ended), otherwise_closed)


def _possible(step: WatchStep, held: Synopsis, ids: Ints, carrier: Carrier) -> Bools:
    """Whether the stream stores the values, or a tuple that carries them may still come."""
    possible: Bools = np.full(len(ids), not carrier.otherwise_closed)
    for ender in () if carrier.otherwise_closed else carrier.enders:
        possible &= ~step.closing.closed_by(ender, held, ids)
    ended = np.flatnonzero(~possible)
    stored = Keyed(step.synopses[carrier.alias], carrier.columns)
    possible[ended[meeting_any(Keyed(held, carrier.named), ids[ended], stored)]] = True
    return possible
