"""Broken promises: what was found, and the answers to it (DESIGN section 3, ON VIOLATION)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.errors import PenstockError
from penstock.model.schemes import Policy
from penstock.plan.promise_plans import MATCHES, PromisePlan
from penstock.plan.tree import TEST
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.columns.readable import rows_read
from penstock.runtime.input.batch import Quarantined
from penstock.runtime.input.wire_columns import ORDER
from penstock.runtime.state.synopsis import Synopsis

MOST_NAMED = 10
"""Rows that FAIL names."""


@dataclass(frozen=True)
class BrokenRows:
    """Rows of one batch that break a constraint: how many, and some of them."""

    constraint: str
    alias: str
    rows: Any
    count: int

    @property
    def told(self) -> str:
        """How many break what."""
        many = f"a row of {self.alias} breaks" if self.count == 1 else f"{self.count:,} rows of {self.alias} break"
        return f"{many} {self.constraint}"


class PromiseBroken(PenstockError):
    """Rows broke a constraint that is declared ON VIOLATION FAIL; the batch must not be committed."""

    def __init__(self, broken: Sequence[BrokenRows]) -> None:
        self.broken = tuple(_by_constraint(broken))
        count = sum(one.count for one in self.broken)
        names: list[str] = []
        for one in self.broken:
            names += rows_read(one.rows.slice(0, MOST_NAMED - len(names)))
        more = f"; and {count - len(names):,} more" if count > len(names) else ""
        super().__init__(
            "; ".join(one.told for one in self.broken),
            detail=f"the row{' is' if count == 1 else 's are'}: {'; '.join(names)}{more}",
            hint="ON VIOLATION ADAPT, RECOVER, QUARANTINE or TRUST would go on",
        )
        self.constraint, self.alias, self.rows = (
            self.broken[0].constraint,
            self.broken[0].alias,
            self.broken[0].rows,
        )


def _by_constraint(broken: Sequence[BrokenRows]) -> Iterator[BrokenRows]:
    """What several cells found, together; of a constraint and an alias all rows are counted."""
    places = dict.fromkeys((one.constraint, one.alias) for one in broken)
    for constraint, alias in places:
        mine = [one for one in broken if (one.constraint, one.alias) == (constraint, alias)]
        rows = pa.concat_tables([one.rows for one in mine], promote_options="permissive")
        yield BrokenRows(constraint, alias, rows.slice(0, MOST_NAMED), sum(one.count for one in mine))


@dataclass(frozen=True)
class Breach:
    """Fresh rows of one alias that break a promise, and how wide the constraint would have to be for each."""

    promise: PromisePlan
    alias: str
    ids: Ints
    needed: Ints
    """The k or d, or the further ticks of a window, with which each row would have kept it; 0 where there is no k."""


@dataclass
class Answers:
    """The breaches of one step, answered by their policies."""

    streams: Mapping[str, str]
    """The stream of each alias."""
    _counted: dict[tuple[str, str], Ints] = field(default_factory=dict)
    """By constraint and stream, the rows that are counted, by arrival: a stream may stand under two aliases."""
    violations: dict[str, int] = field(default_factory=dict)
    quarantined: list[Quarantined] = field(default_factory=list)
    failed: list[BrokenRows] = field(default_factory=list)
    """What broke constraints that say FAIL: all of a batch is looked at before it ends."""

    def answer(self, breach: Breach, synopsis: Synopsis) -> bool:
        """Count, stop or keep out, as the policy says; gives whether the constraint is to adapt."""
        if not len(breach.ids):
            return False
        constraint = breach.promise.constraint
        counted = self._to_count(breach, synopsis)
        self.violations[constraint] = self.violations.get(constraint, 0) + len(counted)
        match breach.promise.policy:
            case Policy.FAIL:
                # A copy of a row that another cell counts ends the batch too.
                told = counted if len(counted) else breach.ids
                split = synopsis.split(np.sort(told)[:MOST_NAMED])
                named = [_declared(segment.table.take(rows)) for segment, _, rows in split]
                rows = pa.concat_tables(named, promote_options="permissive")
                self.failed.append(BrokenRows(constraint, breach.alias, rows, len(counted)))
                return False
            case Policy.QUARANTINE:
                for segment, _, rows in synopsis.split(counted):
                    taken = _declared(segment.table.take(rows))
                    stream = self.streams[breach.alias]
                    self.quarantined.append(Quarantined(constraint, breach.promise.into, breach.alias, stream, taken))
                synopsis.kill(breach.ids)
                return False
            case Policy.ADAPT | Policy.RECOVER:
                return True
            case Policy.TRUST:
                return False

    def _to_count(self, breach: Breach, synopsis: Synopsis) -> Ints:
        """The rows that are not counted yet, here or elsewhere: one that has copies or two aliases is one violation.

        What only a match shows is seen in the cell of the match, whichever copy it is of.
        """
        arrival: Ints = synopsis.gather(breach.ids, lambda s: s.arrival)
        new: Bools = synopsis.gather(breach.ids, lambda s: s.home).astype(np.bool_)
        if breach.promise.kind in MATCHES:
            new = np.ones(len(new), np.bool_)
        place = (breach.promise.constraint, self.streams[breach.alias])
        if place in self._counted:
            new &= ~np.isin(arrival, self._counted[place])
        self._counted[place] = np.concatenate([self._counted.get(place, arrival[:0]), arrival[new]])
        return breach.ids[new]


def _declared(rows: Any) -> Any:
    """The columns of the stream alone."""
    hidden = [name for name in rows.column_names if name == ORDER or name.startswith(TEST)]
    return rows.drop_columns(hidden) if hidden else rows
