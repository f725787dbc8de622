"""The values of groups, for aggregates that must know them one by one: count(DISTINCT x), sum(DISTINCT x), median(x).

Each different value of a group is kept once, with how often it came; a NULL is none. How many different ones a group
has is counted as they come. Everything else is worked out when the group is shown; so is that count where groups may
become one (`sessions.py`): how many values two have together is not known from how many either has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.aggregate import COUNT, AggregateColumn, AggregatePlan, Fold
from penstock.runtime.columns.codes import Ints
from penstock.runtime.group.finals import final_values, medians, no_sums
from penstock.runtime.group.measures import measured
from penstock.runtime.group.numbering import Groups, grouped
from penstock.runtime.group.tally import Columns, Kept, Tally
from penstock.runtime.group.totals import Totals


class KeptValues:
    """The values of all groups of a bucket: a tally for each aggregate that needs them, by its number."""

    def __init__(self, aggregate: AggregatePlan, keys: tuple[str, ...], *, groups_merge: bool) -> None:
        self.keys = keys
        self.groups_merge = groups_merge
        self.columns = {
            n: c
            for n, c in enumerate(aggregate.columns)
            if c.keeps_values and c.value is not None and not self.is_key(c)
        }
        self.tallies = {n: Tally(self.names(n), (Kept(COUNT, Fold.COUNT),), len(keys)) for n in self.columns}

    def names(self, number: int) -> tuple[str, ...]:
        """The columns by which the values of an aggregate are told apart: those of the group, and their own."""
        value = self.columns[number].value
        assert value is not None
        return (*self.keys, value)

    def is_key(self, column: AggregateColumn) -> bool:
        """Whether the values of each group are one, which is grouped by."""
        return column.keeps_values and column.value in self.keys and column.function in ("count", "median")

    def made_when_shown(self, column: AggregateColumn) -> bool:
        """Whether an aggregate is worked out from the values of a group as it is shown."""
        is_counted = column.function == "count" and not self.groups_merge
        return column.keeps_values and not is_counted and not self.is_key(column)

    def add(self, batch: int, number: int, columns: Columns, groups: Groups) -> Totals:
        """Add the values of rows; gives how many of each group are new to it."""
        values = columns[self.names(number)[-1]]
        count = columns[COUNT].to_numpy(zero_copy_only=False)
        there: Ints = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
        own = {name: columns[name].take(pa.array(there)) for name in self.names(number)}
        pairs = grouped(list(own.values()), len(there))
        keys = {name: c.take(pa.array(pairs.first)) for name, c in own.items()}
        new: Ints = np.zeros(0, np.int64)
        if pairs.count:
            new = self.tallies[number].add(batch, keys, {COUNT: Totals(None, None, count[there]).summed(pairs)})
        fresh = np.bincount(groups.of[there][pairs.first][new], minlength=groups.count)
        return Totals(None, None, fresh.astype(np.int64))

    def shown(self, number: int, groups: Columns, size: int) -> Any:
        """What the values of so many groups come to."""
        column, tally = self.columns[number], self.tallies[number]
        places, ids = tally.find_group(groups)
        values = tally.values(self.names(number)[-1], ids)
        if column.function == "median":
            held = tally.measured(ids)[COUNT]
            assert isinstance(held, Totals)
            return medians(size, places, values, held.held)
        if column.function == "count":
            return pa.array(np.bincount(places, minlength=size).astype(np.int64))
        if not len(ids):
            return no_sums(column, size)
        # A value more of each group, which is NULL and adds nothing, so that none is without.
        every = pa.concat_arrays([pa.nulls(size, values.type), values])
        of = np.concatenate([np.arange(size), places])
        return final_values(column, measured(Fold.SUM, every).summed(Groups(of, np.arange(size))))

    def of_key(self, column: AggregateColumn, keys: Columns) -> Any:
        """count(DISTINCT x) or median(x) of groups that x itself is a column of."""
        values = keys[column.value or ""]
        return values.is_valid().cast(pa.int64()) if column.distinct else values.cast(pa.float64(), safe=False)
