"""CHECKs that are watched, and by which comparisons: those that say something of a column that the query looks at.

What the analysis concludes of a CHECK is everywhere: that a column has few values, that two streams never meet, that a
row can be in no result, that NULL does not come. So a row that makes one false may be lost, or called unmatched, and it
is counted. A CHECK is watched if it names a column that the query or another declaration of the stream names, or one
that such a CHECK ties to it: nothing is concluded of others.

Watched is what is decided exactly, and as Spark does: a column beside constants, beside another column of the row,
beside NULL. Which instant a TIMESTAMP without a zone is depends on the session's: spark/asked_before.py puts its code
in its place. Left out, and named by `explain` as not watched: texts with a collation or of a fixed length, columns of
two types, and whatever Spark alone evaluates. CHECKs of a block's answer that follow from below are watched there; what
a view declares is watched here.

The conditions stand in the plan as a text of JSON, in the place that WHEN has of a punctuation.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from decimal import Decimal

from penstock.analysis.reasons import Reason
from penstock.model.clauses import Source, columns_of
from penstock.model.expressions import Constant, Value
from penstock.model.predicates import Bound, Comparison, NoneOf, NullTest, OneOf, Op, Opaque, Predicate, Residual
from penstock.model.query import Query
from penstock.model.schemes import Check, Policy
from penstock.model.script import policy_of
from penstock.model.stream import Stream
from penstock.model.types import DataType, Kind
from penstock.plan.merge_plan import MergePlan
from penstock.plan.merge_rows import EXACT, exact_text, moment_text
from penstock.plan.promise_plans import PromiseKind, PromisePlan
from penstock.plan.promises import promise_of
from penstock.records import record

_NUMBERS = frozenset({Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT})
_FRACTIONS = frozenset({Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL})
_CODED_DIGITS = 18
_MOMENTS = frozenset({Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})
_CLOCKS = _MOMENTS | {Kind.DATE}


@record
class CheckedRow:
    """A condition on a row: a column beside values, of which one is enough, beside another column, or beside NULL."""

    column: str
    op: str | None
    """A sign of comparison; None where NULL is asked."""
    values: tuple[str, ...] = ()
    other: str | None = None
    is_negated: bool = False
    """Whether none of the values may be there; whether NULL may not."""


Named = Mapping[str, Set[str]]
"""By stream, the columns that a query names of it, wherever it reads the stream."""


def named_by(queries: Iterable[Query]) -> Named:
    """The columns of which something may be concluded, in one block or another."""
    found: dict[str, Set[str]] = {}
    for query in queries:
        for source in query.all_sources:
            found[source.stream.name] = found.get(source.stream.name, frozenset()) | _named(query, source)
    return found


def checks_of(query: Query, merged: Mapping[str, MergePlan | Reason], elsewhere: Named) -> Iterator[PromisePlan]:
    """The CHECKs that are watched, as far as the engine can compare.

    What QUARANTINE keeps out of one place it keeps out of all that read the stream.
    """
    for source in query.all_sources:
        plan = merged.get(source.alias)
        own = plan.checks if isinstance(plan, MergePlan) else ()
        for scheme in _stated(source):
            is_kept_out = policy_of(scheme) is Policy.QUARANTINE
            named = _named(query, source) | (elsewhere.get(source.stream.name, set()) if is_kept_out else set())
            conditions = tuple(_compared(scheme, source.stream))
            by_bucket = [c.column for c in own if c.constraint == scheme.on(source.stream.name)]
            if by_bucket and len(conditions) == len(by_bucket):
                # A merged source has these with its buckets.
                yield promise_of(PromiseKind.CHECK, source, scheme, tuple(dict.fromkeys(by_bucket)))
            elif conditions and (by_bucket or named & set(scheme.own_columns)):
                columns = tuple(
                    dict.fromkeys(c for one in conditions for c in (one.column, one.other) if c is not None)
                )
                yield promise_of(PromiseKind.CHECK, source, scheme, columns, when=written(conditions))


def unwatched_checks(query: Query) -> Iterator[str]:
    """The CHECKs of which something may be concluded that nobody compares; of what only Spark evaluates nothing is."""
    for source in query.all_sources:
        named = _named(query, source)
        types = {column.name: column.type for column in source.stream.carried}
        for scheme in _stated(source):
            if named & set(scheme.own_columns):
                understood = [p for p in scheme.condition if not isinstance(p, Opaque | Residual)]
                if any(_comparison(predicate, types) is None for predicate in understood):
                    yield scheme.on(source.stream.name)


def _stated(source: Source) -> Iterator[Check]:
    """The CHECKs that somebody declared; what follows from below is trusted."""
    for scheme in source.stream.schemes:
        if isinstance(scheme, Check) and (source.below is None or policy_of(scheme) is not Policy.TRUST):
            yield scheme


def with_values(when: str, place: Callable[[str, str], str]) -> str:
    """The same conditions with other texts for their constants, by column."""
    return written(
        tuple(replace(c, values=tuple(place(c.column, text) for text in c.values)) for c in conditions_in(when))
    )


def written(conditions: tuple[CheckedRow, ...]) -> str:
    """Conditions as the plan holds them."""
    return json.dumps([[c.column, c.op, c.values, c.other, c.is_negated] for c in conditions])


def conditions_in(text: str) -> tuple[CheckedRow, ...]:
    """Conditions as they were written."""
    return tuple(
        CheckedRow(column, op, tuple(values), other, is_negated)
        for column, op, values, other, is_negated in json.loads(text)
    )


def _named(query: Query, source: Source) -> set[str]:
    """The columns of a source of which something may be concluded."""
    values = (*(output.value for output in query.outputs), *query.group_by)
    refs = [ref for predicate in query.predicates for ref in predicate.columns]
    refs += [ref for value in values for ref in columns_of(value)]
    named = {ref.column for ref in refs if ref.alias == source.alias}
    schemes = source.stream.schemes
    named |= {column for s in schemes if not isinstance(s, Check) for column in s.own_columns}
    named |= {column for column in (source.stream.event_time,) if column is not None}
    checked = [set(s.own_columns) for s in schemes if isinstance(s, Check)]
    while more := [columns for columns in checked if columns & named and not columns <= named]:
        named = named.union(*more)
    return named


def _compared(scheme: Check, stream: Stream) -> Iterator[CheckedRow]:
    types = {column.name: column.type for column in stream.carried}
    for predicate in scheme.condition:
        if (found := _comparison(predicate, types)) is not None:
            yield found


def _comparison(predicate: Predicate, types: Mapping[str, DataType | None]) -> CheckedRow | None:
    match predicate:
        case NullTest():
            return CheckedRow(predicate.column.column, None, is_negated=not predicate.is_null)
        case Bound():
            return _beside(predicate.column.column, predicate.op, (predicate.constant,), types)
        case OneOf():
            return _beside(predicate.column.column, Op.EQ, predicate.constants, types)
        case NoneOf():
            return _beside(predicate.column.column, Op.EQ, predicate.constants, types, is_negated=True)
        case Comparison():
            left, right = predicate.left.column, predicate.right.column
            return CheckedRow(left, predicate.op.value, other=right) if _alike(types[left], types[right]) else None
        case _:
            return None


def _beside(
    column: str,
    op: Op,
    constants: tuple[Constant, ...],
    types: Mapping[str, DataType | None],
    *,
    is_negated: bool = False,
) -> CheckedRow | None:
    kind = types.get(column)
    if kind is None or kind.is_collated or kind.is_padded or kind.kind not in {*EXACT, *_FRACTIONS, *_CLOCKS}:
        return None
    values = tuple(text for constant in constants if (text := _text(constant.value, kind)) is not None)
    if len(values) != len(constants):
        return None
    return CheckedRow(column, op.value, values, is_negated=is_negated)


def _text(value: Value, kind: DataType) -> str | None:
    """A constant beside a column of that type as the plan holds it; None where that would not be exact."""
    if kind.kind in _NUMBERS | _FRACTIONS:
        return _number(value)
    return moment_text(value, kind) if kind.kind in _MOMENTS else exact_text(value)


def _number(value: Value) -> str | None:
    """The digits of a number."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not math.isfinite(value):
        return None
    return format(Decimal(value), "f")


def _alike(one: DataType | None, other: DataType | None) -> bool:
    """Whether the codes of two columns compare as their values do."""
    if one is None or other is None:
        return False
    if one.kind is Kind.DECIMAL is other.kind:
        return one.scale == other.scale and max(one.precision or 0, other.precision or 0) <= _CODED_DIGITS
    return {one.kind, other.kind} <= _NUMBERS or (
        one.kind is other.kind and one.kind in {*_CLOCKS, Kind.FLOAT, Kind.DOUBLE}
    )
