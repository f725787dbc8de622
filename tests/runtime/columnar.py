"""The naive join over whole columns: every combination of different rows, with how often it came.

Rows that are equal in the columns that the query reads are one row with a number. All combinations of those are made,
source by source, and every condition is asked of them as it is written. Nothing of buckets, extremes or measures.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.model.clauses import Aggregate
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Bound, Comparison, OneOf, Op, Predicate, aliases_of
from penstock.model.query import Query

Columns = Mapping[str, np.ndarray]
"""The columns of one stream, by name: whole numbers, no NULL."""
COMPARE = {Op.EQ: operator.eq, Op.LT: operator.lt, Op.LE: operator.le, Op.GT: operator.gt, Op.GE: operator.ge}


def passes(predicate: Predicate, values: Mapping[ColumnRef, np.ndarray]) -> Any:
    """Which combinations a condition holds of."""
    match predicate:
        case Comparison(left=left, op=op, right=right):
            return COMPARE[op](values[left], values[right])
        case Bound(column=ref, op=op, constant=constant):
            return COMPARE[op](values[ref], constant.value)
        case OneOf(column=ref, constants=constants):
            wanted: Any = [constant.value for constant in constants]
            return np.isin(values[ref], wanted)
        case _:
            raise NotImplementedError(predicate)


def filtered(query: Query, alias: str, columns: Columns) -> np.ndarray:
    """Which rows of a source its own conditions let through."""
    values = {ColumnRef(alias, name): column for name, column in columns.items()}
    keep = np.ones(len(next(iter(columns.values()))), np.bool_)
    for predicate in query.predicates:
        if aliases_of(predicate) == {alias}:
            keep &= passes(predicate, values)
    return keep


def combinations(query: Query, rows: Mapping[str, Columns]) -> tuple[dict[ColumnRef, np.ndarray], np.ndarray]:
    """The results: the columns that the query reads, and how often each combination of them is found."""
    read = {ref for p in query.predicates for ref in p.columns}
    read |= {ref for o in query.outputs for ref in _columns(o.value)}
    found: dict[ColumnRef, np.ndarray] = {}
    times = np.ones(1, np.int64)
    for source in query.all_sources:
        columns = rows[source.stream.name]
        keep = filtered(query, source.alias, columns)
        own = sorted(ref for ref in read if ref.alias == source.alias)
        count = int(keep.sum())
        table = np.stack([columns[ref.column][keep] for ref in own] or [np.zeros(count, np.int64)], axis=1)
        different, numbers = np.unique(table, axis=0, return_counts=True)
        left = np.repeat(np.arange(len(times)), len(different))
        right = np.tile(np.arange(len(different)), len(times))
        found = {ref: column[left] for ref, column in found.items()}
        found |= {ref: different[right, n] for n, ref in enumerate(own)}
        times = times[left] * numbers[right]
        bound = {ref.alias for ref in found} | {source.alias}
        agree = np.ones(len(times), np.bool_)
        for predicate in query.predicates:
            if source.alias in aliases_of(predicate) <= bound:
                agree &= passes(predicate, found)
        found = {ref: column[agree] for ref, column in found.items()}
        times = times[agree]
    return found, times


def _columns(value: Any) -> tuple[ColumnRef, ...]:
    return (value,) if isinstance(value, ColumnRef) else tuple(value.columns)


def answer(query: Query, rows: Mapping[str, Columns]) -> dict[tuple[int, ...], Any]:
    """How often each row is in the answer; of a query that groups, each group's aggregates."""
    found, times = combinations(query, rows)
    shown = query.group_by if query.is_grouped else tuple(o.value for o in query.outputs)
    keys = np.stack([found[ref] for ref in shown if isinstance(ref, ColumnRef)] or [np.zeros(len(times), np.int64)], 1)
    different, group = np.unique(keys, axis=0, return_inverse=True)
    group = group.reshape(-1)
    if not query.is_grouped:
        totals = np.zeros(len(different), np.int64)
        np.add.at(totals, group, times)
        return {tuple(key): 1 if query.distinct else int(n) for key, n in zip(different.tolist(), totals, strict=True)}
    asked = [o.value for o in query.outputs if isinstance(o.value, Aggregate)]
    names = [tuple(key) if query.group_by else () for key in different.tolist()]
    return {
        name: tuple(_aggregated(a, found, times, group == number) for a in asked) for number, name in enumerate(names)
    }


def _aggregated(aggregate: Aggregate, found: Mapping[ColumnRef, np.ndarray], times: np.ndarray, here: Any) -> Any:
    if aggregate.argument is None:
        return int(times[here].sum())
    assert isinstance(aggregate.argument, ColumnRef)
    values, weights = found[aggregate.argument][here], times[here]
    match aggregate.function:
        case "count":
            return len(np.unique(values)) if aggregate.distinct else int(weights.sum())
        case "sum":
            return int((values * weights).sum())
        case "avg":
            return int((values * weights).sum()) / int(weights.sum())
        case "min":
            return int(values.min())
        case "max":
            return int(values.max())
        case _:
            order = np.argsort(values, kind="stable")
            upto, total = np.cumsum(weights[order]), int(weights.sum())
            middle = [values[order][np.searchsorted(upto, place, "right")] for place in ((total - 1) // 2, total // 2)]
            return float(sum(middle)) / 2
