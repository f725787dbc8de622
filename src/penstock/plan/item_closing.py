"""Which punctuations close what DISTINCT or GROUP BY remembers (SAFETY, Example 1).

Theorem: if a stream stands in every result, all columns of one of its punctuations are in each item (a group, or a row
that DISTINCT gave), and the punctuation has come, then no result can bring that item again once no row of the stream
with these values is stored. So each cell says of every such punctuation whether it still stores one, and the second
stage forgets the item when none does (`runtime/promise/items.py`).

Preconditions: the punctuation has no LIFESPAN, after which its values may come again; no column is a FLOAT or DOUBLE,
where 0.0 = -0.0 are two items. Not decided: items that only an expression of the columns tells apart.
"""

from __future__ import annotations

from penstock.model.expressions import ColumnRef
from penstock.model.query import Query
from penstock.model.schemes import Punctuated
from penstock.model.types import Kind
from penstock.plan.aggregate import AggregatePlan
from penstock.plan.items import ItemCloser
from penstock.plan.plan import OutputColumn, PromiseKind, PromisePlan, SourcePlan


def item_closers(
    query: Query,
    promises: tuple[PromisePlan, ...],
    sources: tuple[SourcePlan, ...],
    outputs: tuple[OutputColumn, ...],
    aggregate: AggregatePlan | None,
) -> tuple[ItemCloser, ...]:
    """The punctuations that let the second stage forget, in the order of the promises."""
    held = _columns_of_items(query, outputs, aggregate)
    kept = {source.alias: set(source.kept) for source in sources}
    found = []
    for number, promise in enumerate(promises):
        if promise.kind is not PromiseKind.PUNCTUATED or promise.high is not None or promise.alias not in query.core:
            continue
        names = [_name_of(query, ColumnRef(promise.alias, column), held) for column in promise.columns]
        if promise.columns and None not in names and kept[promise.alias].issuperset(promise.columns):
            known = tuple(name for name in names if name is not None)
            found.append(ItemCloser(promise.alias, number, promise.columns, known))
    return tuple(found)


def punctuates_groups(query: Query) -> bool:
    """Whether some punctuation closes each group, whatever its other columns are."""
    held = {key: str(key) for key in query.group_by if isinstance(key, ColumnRef)}
    return any(
        isinstance(scheme, Punctuated)
        and scheme.lifespan is None
        and all(_name_of(query, ColumnRef(alias, column), held) is not None for column in scheme.columns)
        for alias in query.core
        for scheme in query.by_alias[alias].stream.schemes
    )


def _columns_of_items(
    query: Query, outputs: tuple[OutputColumn, ...], aggregate: AggregatePlan | None
) -> dict[ColumnRef, str]:
    """The columns of the streams that items hold as they are, and what they are called there."""
    if aggregate is not None:
        named = zip(query.group_by, aggregate.keys, strict=True)
        return {key: of.name for key, of in named if isinstance(key, ColumnRef)}
    if query.distinct:
        given = {o.value for o in query.outputs if isinstance(o.value, ColumnRef)}
        return {ref: o.name for o in outputs if (ref := ColumnRef(o.alias, o.column)) in given}
    return {}


def _name_of(query: Query, column: ColumnRef, held: dict[ColumnRef, str]) -> str | None:
    """The column of items that equals a column in every result."""
    for equal in (column, *query.equalities(frozenset()).class_of(column)):
        kinds = [query.type_of(ref) for ref in (column, equal)]
        if equal in held and all(kind is not None and kind.kind not in (Kind.FLOAT, Kind.DOUBLE) for kind in kinds):
            return held[equal]
    return None
