"""A bag: rows with a count and measures, of which only what is carried is still told apart.

Joining two bags multiplies counts, and each side's sums by the other side's count; projecting adds up what has become
equal. So a bag of results is worked out from bags of rows without one result being made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.aggregate import COUNT
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.group.measures import Measured, among_absent
from penstock.runtime.group.numbering import Groups, grouped
from penstock.runtime.group.totals import added
from penstock.runtime.state.key_index import spread


@dataclass(frozen=True)
class Bag:
    """Rows: what they belong to, their carried columns, how many each stands for, and its measures."""

    owner: Ints
    """The number of what each row belongs to; a bag that others are joined with has them in order."""
    columns: Mapping[str, Any]
    count: Ints
    measures: Mapping[str, Measured]

    def __len__(self) -> int:
        return len(self.count)

    def take(self, places: Ints) -> Bag:
        """The rows at the given places."""
        chosen = pa.array(places)
        return Bag(
            self.owner[places],
            {name: column.take(chosen) for name, column in self.columns.items()},
            self.count[places],
            {name: measure.take(places) for name, measure in self.measures.items()},
        )

    def where(self, there: Bools) -> Bag:
        """These rows in the places that are there; in the others rows of NULLs, each standing for one."""
        count = np.ones(len(there), np.int64)
        count[there] = self.count
        columns = {name: among_absent(column, there) for name, column in self.columns.items()}
        measures = {name: measure.where(there) for name, measure in self.measures.items()}
        return Bag(np.arange(len(there)), columns, count, measures)

    def owned(self, owner: Ints) -> Bag:
        """The same rows, with other owners, added up where owner and carried columns agree."""
        groups = grouped([owner, *self.columns.values()], len(self))
        together = self.together(groups, owner[groups.first])
        return together.take(np.argsort(together.owner, kind="stable"))

    def together(self, groups: Groups, owner: Ints) -> Bag:
        """The rows of each group, which agree on the carried columns, as one; owners by group."""
        if groups.count == len(self):
            # Groups are numbered as they first come: each row is one.
            return replace(self, owner=owner)
        chosen = pa.array(groups.first)
        return Bag(
            owner,
            {name: column.take(chosen) for name, column in self.columns.items()},
            added(self.count, groups),
            {name: measure.summed(groups) for name, measure in self.measures.items()},
        )

    def joined(self, keys: Ints, other: Bag) -> Bag:
        """Each row with all rows of the other bag that `keys` says own it; a row that meets none is gone."""
        owners = np.bincount(other.owner, minlength=int(keys.max(initial=-1)) + 1)
        often = owners[keys]
        first = (np.cumsum(owners) - owners)[keys]
        return self.take(np.repeat(np.arange(len(self)), often)).times(other.take(spread(first, often)))

    def times(self, other: Bag) -> Bag:
        """Each row with the row of the other bag at the same place; the owners are its own."""
        return Bag(
            self.owner,
            {**self.columns, **other.columns},
            self.count * other.count,
            {name: measure.scaled(other.count) for name, measure in self.measures.items()}
            | {name: measure.scaled(self.count) for name, measure in other.measures.items()},
        )

    def table(self) -> Any:
        """As a table, owners left out."""
        columns = dict(self.columns) | {COUNT: pa.array(self.count)}
        for name, measure in self.measures.items():
            columns |= measure.columns(name)
        return pa.table({name: columns[name] for name in sorted(columns)})
