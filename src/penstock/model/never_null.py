"""Which columns are certain to have a value: by a PRIMARY KEY, a CHECK, or a condition that only rows with one meet.

Asked of the rows of a source, not of where it stands: on the side of an outer join that may be absent every column may
be NULL, and whoever asks must mind that. A column of a block has a value if that of which it is made has one in every
row of the block, and what is cut of a time that has one (`date_trunc`, `to_date`) has one too, as has such a column
that was widened, the least and the greatest of them in a group, and what is one of several of which one is there. Not
claimed: expressions other than these and literals, aggregates other than these and counts.

INTERSECT and EXCEPT ask whether columns are equal, NULL to NULL (`<=>`): where one of the two is never NULL, `=` says
the same, and is a key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace

from penstock.model.clauses import GROUPINGS, Aggregate, Output, Source, TimeWindow, Union
from penstock.model.closed_groups import cut_of
from penstock.model.expressions import Call, Cast, ColumnRef, Expression, Literal
from penstock.model.lineage import chosen_among
from penstock.model.predicates import Comparison, NullTest, Op, Predicate, Residual, rejects_null
from penstock.model.query import Query
from penstock.model.relation import FromTree, JoinKind, Leaf
from penstock.model.schemes import Check, PrimaryKey
from penstock.model.types import DataType, Kind
from penstock.model.window_columns import window_of

_WHOLE = (Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT)
"""Each has the values of those before it."""


def never_null(source: Source, column: str) -> bool:
    """Whether a column of a source is certain to have a value in every row: by what is declared of it, or made so."""
    for scheme in source.stream.schemes:
        if isinstance(scheme, PrimaryKey) and column in scheme.columns:
            return True
        if isinstance(scheme, Check) and any(_asks_for(p, column) for p in scheme.condition):
            return True
    match source.below:
        case Query() as query:
            # A column that a table or an expression adds to the answer is none of the block's.
            output = next((output for output in query.answer if output.name == column), None)
            return isinstance(output, Output) and _has_value(query, output)
        case Union(members=members):
            return all(never_null(member, column) for member in members)
        case None:
            pass
    conditions = (*source.stream.where, *source.where)
    return any(rejects_null(p) and any(ref.column == column for ref in p.columns) for p in conditions)


def all_equal(one: Source, other: Source, columns: Iterable[tuple[str, str]]) -> tuple[Predicate, ...]:
    """That columns of two sources are equal, NULL to NULL: by `=` where one of the two is never NULL."""
    found: list[Predicate] = []
    for mine, theirs in columns:
        left, right = ColumnRef(one.alias, mine), ColumnRef(other.alias, theirs)
        if never_null(one, mine) or never_null(other, theirs):
            found.append(Comparison(left, Op.EQ, right))
        else:
            term = Call("<=>", (left, right))
            found.append(Residual(Expression(f"{left} <=> {right}", (left, right), term), skeleton=term))
    return tuple(found)


def unsure_pairs(query: Query) -> list[tuple[ColumnRef, ColumnRef]]:
    """The columns that INTERSECT and EXCEPT compare by `<=>`, since both may be NULL."""
    pairs = []
    for existence in query.block.existences:
        for predicate in existence.condition:
            match predicate:
                case Residual(expression=Expression(term=Call("<=>", (ColumnRef() as left, ColumnRef() as right)))):
                    pairs.append((left, right))
                case _:
                    pass
    return pairs


def with_sure_pairs(query: Query) -> Query:
    """The query over sources of which more is known: pairs by `=` of which one column now is never NULL."""
    if not unsure_pairs(query):
        return query
    existences = tuple(
        replace(e, source=query.by_alias[e.source.alias], condition=tuple(_surer(query, p) for p in e.condition))
        for e in query.block.existences
    )
    return query.with_block(replace(query.block, existences=existences), query.sources)


def _surer(query: Query, predicate: Predicate) -> Predicate:
    match predicate:
        case Residual(expression=Expression(term=Call("<=>", (ColumnRef() as left, ColumnRef() as right)))):
            one, other = (query.by_alias[ref.alias] for ref in (left, right))
            return all_equal(one, other, [(left.column, right.column)])[0]
        case _:
            return predicate


def _has_value(query: Query, output: Output) -> bool:
    key = output.value.whole if isinstance(output.value, TimeWindow) else output.value
    if key in query.group_by and key not in query.sure_keys:
        return False
    match output.value:
        case TimeWindow():
            return True
        case Aggregate(function="min" | "max" | "top", argument=ColumnRef() as ref) if query.group_by:
            # Of the rows of a group, of which there is one at least; one without a time is in no window.
            windows = [key.column for key in query.sure_keys if isinstance(key, TimeWindow)]
            return ref in windows or is_there(query, ref)
        case Aggregate(function=function):
            return function in ("count", "count_if", *GROUPINGS)
        case Expression(term=Literal(value=value)):
            return value is not None
        case ColumnRef() as ref:
            return is_there(query, ref)
        case Expression(term=Cast(value=ColumnRef() as ref, to=to)) if to is not None and _widens(query, ref, to):
            return is_there(query, ref)
        case Expression(term=term) if chosen_among(term):
            return any(name == output.name for name, _ in one_is_there(query))
        case Expression(term=term) if (window := window_of(term)) is not None:
            return is_there(query, window.column)
        case Expression() as expression if (cut := cut_of(expression)) is not None:
            kind = query.type_of(cut.column)
            return kind is not None and kind.is_instant and is_there(query, cut.column)
        case _:
            return False


def one_is_there(query: Query) -> Iterator[tuple[str, tuple[ColumnRef, ...]]]:
    """The columns of rows that are one of several columns of which each row has one: `coalesce` over a FULL JOIN."""
    for shown in () if query.is_grouped else query.answer:
        value = shown.value if isinstance(shown, Output) else None
        refs = chosen_among(value.term) if isinstance(value, Expression) else ()
        known = {ref.alias for ref in refs if never_null(query.by_alias[ref.alias], ref.column)}
        if refs and isinstance(shown, Output) and _has_one_of(query.tree, known):
            yield shown.name, refs


def _has_one_of(tree: FromTree, aliases: Set[str]) -> bool:
    """Whether each row of a part of FROM has a tuple of one of these."""
    if isinstance(tree, Leaf):
        return tree.alias in aliases
    sides = _has_one_of(tree.left, aliases), _has_one_of(tree.right, aliases)
    match tree.kind:
        case JoinKind.INNER:
            return any(sides)
        case JoinKind.FULL:
            return all(sides)
        case JoinKind.LEFT:
            return sides[0]
        case JoinKind.RIGHT:
            return sides[1]


def is_there(query: Query, ref: ColumnRef) -> bool:
    """Whether a column of a source has a value in every row of a query's answer."""
    if ref.alias not in query.core:
        return False
    held = query.holding(frozenset()).predicates
    return any(rejects_null(p) and ref in p.columns for p in held) or never_null(query.by_alias[ref.alias], ref.column)


def _widens(query: Query, ref: ColumnRef, to: DataType) -> bool:
    """Whether a cast of a column is one to a type that has all its values."""
    kind = query.type_of(ref)
    if kind is None:
        return False
    if to.kind is Kind.STRING:
        return kind.is_key
    return kind.kind in _WHOLE and to.kind in _WHOLE and _WHOLE.index(kind.kind) <= _WHOLE.index(to.kind)


def _asks_for(predicate: Predicate, column: str) -> bool:
    """Whether a CHECK says that a column has a value; others are kept by NULL too."""
    return isinstance(predicate, NullTest) and not predicate.is_null and predicate.column.column == column
