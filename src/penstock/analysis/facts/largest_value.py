"""Does a column pass every value in the end? A clock with a largest value closes nothing at or beyond it.

A stream that moves on brings ever larger values, as far as its declarations let it. A column has a largest value

- by its type: BOOLEAN, TINYINT, SMALLINT, DECIMAL of at most 9 digits, TIME, CHAR(n) and VARCHAR(n); FLOAT and
  DOUBLE too, where NaN lies above every number;
- by a condition that all rows of its stream keep, in WHERE or CHECK: `=`, `<`, `<=` or IN with constants, or one of
  the comparisons with a column that has a largest value itself;
- perhaps by a condition on this column alone that only Spark reads, such as `year(ts) < 2030`: what may be a limit
  counts as one, for no bound may rest on its not being one;
- if it is derived, and every column that it is derived from has one;
- perhaps, if it is derived by an expression that is not known to rise with its columns (model/monotone.py), such as
  `a % 10`.

This is no domain: a domain is finite only if it is known to be, a clock endless only if it is known to be, and what is
not known falls on opposite sides. So what only Spark reads limits a clock and no domain, and a DECIMAL(9) has a largest
value here and no end there.

Preconditions: none; a filter of the query is no limit, since a stream's clock counts the rows that a query drops.
INT and every type of more values, STRING, dates and timestamps are taken to be endless. Not decided: conditions that
only Spark reads and that tie the column to others, which are taken not to limit it.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.reasons import NeverPasses, Reason
from penstock.model.expressions import ColumnRef
from penstock.model.monotone import rises
from penstock.model.predicates import Bound, Comparison, NullTest, OneOf, Op, Opaque, Predicate
from penstock.model.schemes import Check
from penstock.model.stream import Stream
from penstock.model.types import DataType, Kind

_SMALL = (Kind.BOOLEAN, Kind.TINYINT, Kind.SMALLINT, Kind.TIME)
_MOST_DIGITS = 9
"""A decimal of more digits has more values than an INT has, and counts as endless like that."""
_UPWARDS = (Op.EQ, Op.LT, Op.LE)


def never_passes(stream: Stream, column: str) -> Reason | None:
    """What keeps a column of a stream from passing every value, as the end of a sentence about it; None if nothing."""
    return _limit(stream, column, frozenset())


def _limit(stream: Stream, name: str, asked: frozenset[str]) -> Reason | None:
    column = stream.column(name)
    if column is None or column.type is None or name in asked:
        return None
    asked |= {name}
    found = _by_type(column.type)
    for predicate, reason in _conditions(stream):
        found = found or _by_condition(stream, ColumnRef("", column.name), predicate, reason, asked)
    if found is None and column.derived is not None:
        limits = [(ref, _limit(stream, ref.column, asked)) for ref in column.derived.columns]
        if not limits:
            return NeverPasses.ONLY_VALUE(column.derived)
        if all(limit is not None for _, limit in limits):
            return NeverPasses.DERIVED_FROM([NeverPasses.WHICH(ref, limit) for ref, limit in limits])
        if not rises(column.derived.term, lambda own: _is_endless(stream, own, asked)):
            return NeverPasses.KNOWN_TO_SPARK(column.derived)
    return found


def _is_endless(stream: Stream, name: str, asked: frozenset[str]) -> bool:
    return stream.column(name) is not None and _limit(stream, name, asked) is None


def _by_type(kind: DataType) -> Reason | None:
    if kind.kind in (Kind.FLOAT, Kind.DOUBLE):
        return NeverPasses.NAN(kind)
    is_short = kind.length is not None or (kind.precision is not None and kind.precision <= _MOST_DIGITS)
    if kind.kind in _SMALL or is_short:
        return NeverPasses.LARGEST_OF_TYPE(kind)
    return None


def _conditions(stream: Stream) -> Iterator[tuple[Predicate, str]]:
    """The conditions that all rows of a stream keep, each with where it stands."""
    for predicate in stream.where:
        yield predicate, f"{predicate} in {stream.name}"
    for scheme in stream.schemes:
        if isinstance(scheme, Check):
            for predicate in scheme.condition:
                yield predicate, scheme.on(stream.name)


def _by_condition(
    stream: Stream, column: ColumnRef, predicate: Predicate, reason: str, asked: frozenset[str]
) -> Reason | None:
    match predicate:
        case Bound(op=op, constant=constant) if _is(predicate.column, column) and op in _UPWARDS:
            return NeverPasses.CONSTANT(constant.text, reason)
        case OneOf() if _is(predicate.column, column):
            return NeverPasses.LARGEST_OF_SET(reason)
        case Comparison(left=left, op=op, right=right):
            for own, compared, other in ((left, op, right), (right, op.mirrored, left)):
                if _is(own, column) and compared in _UPWARDS:
                    limit = _limit(stream, other.column, asked)
                    if limit is not None:
                        return NeverPasses.OTHER_COLUMN(other, reason, limit)
            return None
        case NullTest(column=ref, is_null=True) if _is(ref, column):
            return NeverPasses.WITHOUT_VALUE(reason)
        case Opaque(expression=expression) if all(_is(ref, column) for ref in expression.columns):
            return NeverPasses.READ_BY_SPARK(reason)
        case _:
            return None


def _is(left: ColumnRef, right: ColumnRef) -> bool:
    return left.column == right.column
