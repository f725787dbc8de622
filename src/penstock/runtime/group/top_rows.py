"""The first rows of each group, in an order: what `ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) <= n` keeps.

Rows that agree in every column are one, with a count. Of rows that the order does not tell apart any may come first, as
in Spark; here a hash of the row decides, so that the choice depends on nothing but the rows. NULLs stand where the
order says, NaN is above every number, texts are compared by their bytes.

Theorem: a row that is not among the first n of its group never will be, for rows only come. So n of each are kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.aggregate import COUNT, Fold, OrderColumn, TopPlan
from penstock.runtime.columns.codes import Ints
from penstock.runtime.columns.row_values import ranks, row_hashes
from penstock.runtime.group.numbering import grouped
from penstock.runtime.group.tally import Columns, Kept, Tally
from penstock.runtime.group.totals import Totals


class TopRows:
    """The rows of all groups, which a tally holds."""

    def __init__(self, plan: TopPlan, keys: tuple[str, ...]) -> None:
        self.plan = plan
        self.keys = keys
        values = tuple(name for name in plan.columns if name not in keys)
        self.names = (*keys, *values)
        self.tally = Tally(self.names, (Kept(COUNT, Fold.COUNT),), len(keys))

    def add(self, batch: int, columns: Columns, groups: Columns) -> None:
        """Add rows to the given groups, and let go what is then not among the first."""
        count = columns[COUNT].to_numpy(zero_copy_only=False)
        rows = grouped([columns[name] for name in self.names], len(count))
        first = pa.array(rows.first)
        own = {name: columns[name].take(first) for name in self.names}
        self.tally.add(batch, own, {COUNT: Totals(None, None, count).summed(rows)})
        place, ids = self.tally.find_group(groups)
        order, before, _ = self._ranked(place, ids)
        self.tally.forget(ids[order[before >= self.plan.most]])

    def first(self, groups: Columns) -> tuple[Ints, dict[str, Any], Ints]:
        """The first rows of some groups, in order: the place of the group, the columns, the row's number in it."""
        place, ids = self.tally.find_group(groups)
        order, before, count = self._ranked(place, ids)
        many = np.clip(self.plan.most - before, 0, count)
        chosen = np.repeat(np.arange(len(order)), many)
        number = before[chosen] + np.arange(len(chosen)) - np.repeat(np.cumsum(many) - many, many)
        shown = ids[order][chosen]
        columns = {name: self.tally.values(name, shown) for name in self.names}
        return place[order][chosen], columns, number + 1

    def _ranked(self, place: Ints, ids: Ints) -> tuple[Ints, Ints, Ints]:
        """The order of rows, group by group; how many of its group stand before each, and how often it stands there."""
        if not len(ids):
            return ids, ids, ids
        columns = {name: self.tally.values(name, ids) for name in self.names}
        tie = row_hashes(pa.table(columns))
        keys = [tie]
        for by in reversed(self.plan.ordering):
            keys += _order_keys(columns[by.name], by)
        order = np.lexsort((*keys, place))
        held = self.tally.measured(ids)[COUNT]
        assert isinstance(held, Totals)
        count = held.held[order]
        upto = np.cumsum(count) - count
        own = place[order]
        begins = np.flatnonzero(np.concatenate([[True], own[1:] != own[:-1]]))
        sizes = np.diff(np.concatenate([begins, [len(own)]]))
        return order, upto - np.repeat(upto[begins], sizes), count


def _order_keys(values: Any, by: OrderColumn) -> list[Any]:
    """Numbers that sort as the order says, the less important first."""
    there = values.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_null(values.type):
        return []
    numbers = ranks(values)
    numbers = np.where(there, ~numbers if by.descending else numbers, 0)
    return [numbers, there if by.nulls_first else ~there]
