"""What must hold of a query: its sources, its conditions, what it gives.

The rules stand apart from the record, because they are many; `Query` runs them when it is built, and the binder of
texts asks `predicate_problem` for one condition at a time, so that each gets its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.model.clauses import (
    GROUPINGS,
    PICKS,
    QUANTILES,
    VARIANCES,
    Aggregate,
    RangeWindow,
    Scalar,
    Source,
    TimeWindow,
    columns_of,
)
from penstock.model.core_terms import core_term
from penstock.model.expressions import ColumnRef, Expression
from penstock.model.names import fold
from penstock.model.predicates import Comparison, Difference, Opaque, Predicate, Residual, aliases_of
from penstock.model.problem import Problem, Subject
from penstock.model.relation import Join, JoinKind, joins, leaves
from penstock.model.stream_problems import span_problem
from penstock.model.term_types import is_nested
from penstock.model.types import DataType, Kind

if TYPE_CHECKING:
    from penstock.model.query import Query


_ORDER_HINT = (
    "one plain column decides: max_by(x, ts); where several do, the row is that of ROW_NUMBER() OVER (PARTITION BY … "
    "ORDER BY ts DESC, id DESC) AS rn, and WHERE rn = 1 around it"
)
_SPAN_HINT = "write INTERVAL 3 SECONDS for a TIMESTAMP, INTERVAL 3 DAYS for a DATE, 3 for integers"
_FIELDS_HINT = "name its fields: s.a, s.b"
_KEY_HINT = "derive a column of a plain type in CREATE STREAM, such as a STRING or a BIGINT"


def query_problems(query: Query) -> list[Problem]:
    """Every rule that the query breaks."""
    return [*_source_problems(query), *_predicate_problems(query), *_output_problems(query)]


def _source_problems(query: Query) -> Iterator[Problem]:
    folded = [fold(s.alias) for s in query.all_sources]
    for source in query.all_sources:
        subject = Subject("source", source.alias)
        if folded.count(fold(source.alias)) > 1:
            yield Problem(subject, f"{source.alias} stands twice in the query", "give each its own alias: … AS a")
        yield from window_problems(source)
    for source in query.all_sources:
        kin = [s for s in query.all_sources if s.stream.name == source.stream.name and s.below is None]
        if source.stream.tables and any(s.stream.tables != source.stream.tables for s in kin):
            yield Problem(
                Subject("source", source.alias),
                f"{source.stream.name} stands twice in the query, and not both are joined with {_tables(source)}",
                "write two queries, one of them into a sink that the other reads",
            )
    if sorted(leaves(query.tree)) != sorted(s.alias for s in query.sources):
        yield Problem(Subject("name", query.name), "the tree of FROM and its sources differ")
    if any(isinstance(s.window, RangeWindow) for s in query.all_sources):
        clocks = [(s, s.stream.clock) for s in query.all_sources if s.stream.clock is not None]
        for source, clock in clocks[1:]:
            first, first_clock = clocks[0]
            if not clock.compares_with(first_clock):
                yield Problem(
                    Subject("source", source.alias),
                    f"[RANGE] compares event times, but that of {source.alias} is {clock} "
                    f"and that of {first.alias} is {first_clock}",
                    "derive event times of one type",
                )


def _tables(source: Source) -> str:
    return ", ".join(join.table for join in source.stream.tables)


def window_problems(source: Source) -> Iterator[Problem]:
    """Why a source cannot have its window, if it cannot."""
    if not isinstance(source.window, RangeWindow):
        return
    subject = Subject("source", source.alias)
    clock = source.stream.clock
    if clock is None:
        yield Problem(
            subject,
            f"[RANGE] needs an event time, and stream {source.stream.name} has none",
            f"declare EVENT TIME in {source.stream.name}, or use [ROWS n]",
        )
    elif (why := span_problem(source.window.span, clock)) is not None:
        yield Problem(subject, why, "write [RANGE 3 SECONDS] for a TIMESTAMP or a DATE, [RANGE 3] for an integer")


def predicate_problem(predicate: Predicate, sources: dict[str, Source]) -> Problem | None:
    """Why a predicate cannot stand in a query over these sources, if it cannot."""
    subject = Subject("predicate", str(predicate))
    types: list[DataType] = []
    for ref in predicate.columns:
        source = sources.get(ref.alias)
        column = source.stream.column(ref.column) if source else None
        if column is None:
            return Problem(subject, f"unknown column {ref}")
        if column.type is None:
            return Problem(subject, f"column {ref} is VIRTUAL: no row carries it, so a query cannot use it")
        types.append(column.type)
    match predicate:
        case Comparison():
            if not types[0].is_key:
                return Problem(subject, f"{predicate.left} is {types[0]}, which cannot be compared", _KEY_HINT)
            if not types[0].compares_with(types[1]):
                return Problem(
                    subject,
                    f"{predicate.left} is {types[0]}, but {predicate.right} is {types[1]}",
                    f"say which type is meant: CAST({predicate.left} AS {types[1]})",
                )
        case Difference():
            if not (types[0].is_clock and types[0].compares_with(types[1])):
                return Problem(
                    subject,
                    f"{predicate.minuend} is {types[0]}, {predicate.subtrahend} is {types[1]}: they have no difference",
                    "both must be TIMESTAMP, both DATE, or both integers",
                )
            if (why := span_problem(predicate.span, types[0])) is not None:
                return Problem(subject, why, _SPAN_HINT)
        case Opaque() if len(aliases_of(predicate)) != 1:
            return Problem(subject, f"{predicate} is not about one stream")
        case _:
            pass
    return None


def _predicate_problems(query: Query) -> Iterator[Problem]:
    for predicate in query.predicates:
        problem = predicate_problem(predicate, query.by_alias)
        if problem is not None:
            yield problem
    yield from (_left_to_spark(predicate) for predicate in _where_matches_are_decided(query))
    for predicate, seen in _sights(query):
        hidden = aliases_of(predicate) - seen
        if hidden:
            yield Problem(Subject("predicate", str(predicate)), f"{predicate} cannot see {', '.join(sorted(hidden))}")


def _where_matches_are_decided(query: Query) -> Iterator[Residual]:
    """Conditions on several streams that say which rows match, and that the core cannot evaluate."""
    asked = [p for join in joins(query.tree) for p in join.on if not _is_of_the_result(query, join, p)]
    asked += [p for existence in query.existences for p in existence.condition]
    for predicate in asked:
        if isinstance(predicate, Residual) and core_term(predicate.expression.term, query.type_of) is None:
            yield predicate


def _is_of_the_result(query: Query, join: Join, predicate: Predicate) -> bool:
    """Whether a condition of ON may as well be tested on the joined rows."""
    return join.kind is JoinKind.INNER and aliases_of(predicate) <= query.core


def _left_to_spark(predicate: Residual) -> Problem:
    return Problem(
        Subject("predicate", str(predicate)),
        f"only Spark can evaluate {predicate.text or predicate}, and it decides which rows match",
        "in the ON of an outer join and in EXISTS, combine streams by =, <>, <, AND, OR, NOT, CASE, coalesce, + and -; "
        "what is about one stream may be any expression, or a derived column of CREATE STREAM",
    )


def _sights(query: Query) -> Iterator[tuple[Predicate, frozenset[str]]]:
    """Each predicate, and the sources that can be named where it stands."""
    sources = frozenset(s.alias for s in query.sources)
    for source in query.all_sources:
        yield from ((predicate, frozenset({source.alias})) for predicate in source.where)
    for join in joins(query.tree):
        yield from ((predicate, frozenset(leaves(join))) for predicate in join.on)
    yield from ((predicate, sources) for predicate in query.where)
    for existence in query.existences:
        yield from ((predicate, sources | {existence.source.alias}) for predicate in existence.condition)


def _output_problems(query: Query) -> Iterator[Problem]:
    seen: set[str] = set()
    if not query.outputs:
        yield Problem(Subject("name", query.name), "the query gives no column")
    for index, output in enumerate(query.outputs):
        subject = Subject("output", output.name, index)
        if fold(output.name) in seen:
            yield Problem(subject, f"two output columns are named {output.name}", f"rename one: … AS {output.name}_2")
        seen.add(fold(output.name))
        yield from _column_problems(query, columns_of(output.value), subject)
        yield from _aggregate_problems(query, output.value, subject)
        if isinstance(output.value, TimeWindow) and not query.is_grouped:
            yield Problem(
                subject,
                f"{output.value} is not grouped by",
                f"add it: GROUP BY {output.value.whole}; where a query around this one groups, name "
                f"{output.value.column} here, and its window there",
            )
        if (
            query.is_grouped
            and not isinstance(output.value, Aggregate)
            and not _follows_from_groups(output.value, query)
        ):
            yield Problem(
                subject,
                f"{output.value} is neither grouped nor aggregated",
                "add it to GROUP BY, or put it into an aggregate: count, sum, min, max, …",
            )
    for index, shown in enumerate(query.block.shown):
        name = shown if isinstance(shown, str) else shown.name
        if fold(name) in {fold(s if isinstance(s, str) else s.name) for s in query.block.shown[:index]}:
            yield Problem(
                Subject("shown", name, index), f"two output columns are named {name}", f"rename one: … AS {name}_2"
            )
    windows = [key for key in query.group_by if isinstance(key, TimeWindow)]
    for index, key in enumerate(query.group_by):
        subject = Subject("group", str(key), index)
        yield from _column_problems(query, columns_of(key), subject)
        if query.grouping_sets and isinstance(key, TimeWindow) and key.is_session:
            yield Problem(subject, "a session stands beside no grouping sets", "group by the session below, in a view")
        if len(windows) > 1 and isinstance(key, TimeWindow) and key.is_session:
            why = "a session stands beside no other window of time"
            yield Problem(
                subject, why, "group by the session in a view or a query in FROM, and by a window of it above"
            )
    if query.hints.value is not None:
        yield from _column_problems(query, query.hints.value.columns, Subject("hint", "VALUE"))
    if query.distinct and query.is_grouped:
        yield Problem(
            Subject("name", query.name),
            "SELECT DISTINCT with aggregates is not in the language",
            "each group gives one row already; where groups differ in what is not shown, "
            "write SELECT DISTINCT a, n FROM (SELECT a, count(*) AS n FROM … GROUP BY …)",
        )


def _column_problems(query: Query, columns: tuple[ColumnRef, ...], subject: Subject) -> Iterator[Problem]:
    visible = {s.alias: s for s in query.sources}
    for ref in columns:
        source = visible.get(ref.alias)
        column = source.stream.column(ref.column) if source else None
        if column is None:
            yield Problem(subject, f"unknown column {ref}")
        elif column.is_virtual:
            yield Problem(subject, f"column {ref} is VIRTUAL: no row carries it, so a query cannot use it")


def _aggregate_problems(query: Query, value: Scalar | Aggregate, subject: Subject) -> Iterator[Problem]:
    """A sum needs numbers, an extreme an order; of an expression only Spark knows the type."""
    if not isinstance(value, Aggregate):
        return
    if value.function in GROUPINGS and not query.grouping_sets:
        yield Problem(subject, f"{value} is of groups by several sets of keys", "group by ROLLUP (a, b), or the like")
    elif value.function in GROUPINGS and value.argument is not None and value.argument not in query.group_by:
        yield Problem(subject, f"{value}: {value.argument} is not grouped by", "name a key as GROUP BY has it")
    for by in value.more:
        kind = query.type_of(by) if isinstance(by, ColumnRef) else None
        is_unordered = is_nested(by, query.type_of) or (kind is not None and not kind.is_key)
        if is_unordered and value.function in PICKS:
            yield Problem(subject, f"{value}: values of {kind or by} have no order here", _ORDER_HINT)
        elif is_unordered and kind is not None:
            yield Problem(subject, f"{value}: values of {kind} cannot be compared", _FIELDS_HINT)
    is_made = isinstance(value.argument, Expression) and is_nested(value.argument, query.type_of)
    if is_made and value.function in ("min", "max"):
        yield Problem(subject, f"{value}: values of {value.argument} have no order here", _ORDER_HINT)
    if not isinstance(value.argument, ColumnRef):
        return
    source = query.by_alias.get(value.argument.alias)
    kind = source.stream.type_of(value.argument.column) if source is not None else None
    if kind is None:
        return
    if value.function in ("sum", "avg", *QUANTILES, *VARIANCES) and not kind.is_number:
        yield Problem(subject, f"{value}: {kind} is no number")
    elif value.function in ("min", "max") and not kind.is_key:
        yield Problem(subject, f"{value}: values of {kind} have no order here", _ORDER_HINT)
    elif (value.function == "collect_set" or value.distinct) and not (kind.is_key or _is_counted(value, kind)):
        yield Problem(subject, f"{value}: values of {kind} cannot be compared", _FIELDS_HINT)


def _is_counted(value: Aggregate, kind: DataType) -> bool:
    """Whether values made of others are told apart only, which their bytes do."""
    return value.function == "count" and kind.kind in (Kind.STRUCT, Kind.ARRAY)


def _follows_from_groups(value: Scalar, query: Query) -> bool:
    if isinstance(value, TimeWindow):
        return value.whole in query.group_by
    return value in query.group_by or all(ref in query.group_by for ref in columns_of(value))
