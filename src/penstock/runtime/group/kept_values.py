"""The values of groups, for aggregates that must know them one by one: count(DISTINCT x), median(x), collect_list(x).

Each different value of a group is kept once, with how often it came; a NULL is none, nor are several of which one is
NULL. How many different ones a group
has is counted as they come. Everything else is worked out when the group is shown; so is that count where groups may
become one (`sessions.py`): how many values two have together is not known from how many either has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.model.clauses import COLLECTS, QUANTILES
from penstock.plan.aggregate import COUNT, AggregateColumn, AggregatePlan, Fold
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.group.finals import final_values, lists, no_sums, percentiles
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
        return (*self.keys, *self.columns[number].columns)

    def is_key(self, column: AggregateColumn) -> bool:
        """Whether the values of each group are one, which is grouped by."""
        return column.keeps_values and column.function in ("count", *QUANTILES) and {*column.columns} <= {*self.keys}

    def made_when_shown(self, column: AggregateColumn) -> bool:
        """Whether an aggregate is worked out from the values of a group as it is shown."""
        is_counted = column.function == "count" and not self.groups_merge
        return column.keeps_values and not is_counted and not self.is_key(column)

    def add(self, batch: int, number: int, columns: Columns, groups: Groups) -> Totals:
        """Add the values of rows; gives how many of each group are new to it."""
        count = columns[COUNT].to_numpy(zero_copy_only=False)
        there: Ints = np.flatnonzero(_all_valid([columns[name] for name in self.columns[number].columns]))
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
        if column.function == "count":
            return pa.array(np.bincount(places, minlength=size).astype(np.int64))
        values = tally.values(column.columns[0], ids)
        held = tally.measured(ids)[COUNT]
        assert isinstance(held, Totals)
        if column.share is not None:
            return percentiles(size, places, values, held.held, column.share)
        if column.function in COLLECTS:
            often = held.held if column.function == "collect_list" else np.ones(len(ids), np.int64)
            return lists(size, places, values, often)
        if not len(ids):
            return no_sums(column, size)
        # A value more of each group, which is NULL and adds nothing, so that none is without.
        every = pa.concat_arrays([pa.nulls(size, values.type), values])
        of = np.concatenate([np.arange(size), places])
        return final_values(column, measured(Fold.SUM, every).summed(Groups(of, np.arange(size))))

    def of_key(self, column: AggregateColumn, keys: Columns) -> Any:
        """count(DISTINCT x) or median(x) of groups that x itself is a column of."""
        if column.distinct:
            return pa.array(_all_valid([keys[name] for name in column.columns]).astype(np.int64))
        return keys[column.columns[0]].cast(pa.float64(), safe=False)


def _all_valid(columns: Sequence[Any]) -> Bools:
    """In which rows no value is NULL."""
    return np.all([column.is_valid().to_numpy(zero_copy_only=False) for column in columns], axis=0)  # type: ignore[no-any-return] # of Arrow
