"""Whether the engine can merge the rows of a source, and how (MEMORY, sections 7.1 and 7.2).

Theorem: a synopsis that MEMORY admits stands for its stream whatever is kept of the others. So a source is merged if
its finding rests on a synopsis, and the engine can tell its buckets apart by what it keeps. It cannot:

- where a column is kept that is none of the bucket columns, nor equal to one in every row that matters;
- where a column that keeps cells or results apart is told apart only by ranges.

Then `unmerged` says so. The rows of a merged source go by no promise: they came at several times, and one stands for
all. So what would close other streams for them is of no use, nor are the promises that only they would have used.
What watches single rows (FOLLOWS, COOCCURS, ARRIVES BY) looks at fresh ones before they are merged; of stored ones it
sees those that stand for the others, each a row that came, with its own time and place: what it finds is broken.
Not decided here: whether the synopsis is right.

**Covered sources** (MEMORY, section 8.1): where it does not matter how often a result is found, a row of x is its own
partner in y, and y can be left out of the query: Example 8.1 becomes a query over one stream. The engine then never
reads the stream as y. What is covered is the verdict's to say.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from decimal import Decimal

from penstock.analysis.finding import Bounded, Means, Verdict
from penstock.analysis.memory.self_joins import folded
from penstock.analysis.reasons import Because, Reason, Told
from penstock.analysis.synopsis_form import BucketColumn, Extreme, SynopsisForm
from penstock.model.expressions import Constant, Value
from penstock.model.predicates import Bound, OneOf, Op
from penstock.model.query import Query
from penstock.model.schemes import Check
from penstock.model.stream import Stream
from penstock.model.types import DataType, Kind
from penstock.plan.closer_plans import Closer, CloserKind, JointCloser
from penstock.plan.merge_plan import CheckedColumn, ExtremeColumn, MergePlan, PartColumn
from penstock.plan.plan_reasons import WhyUnkept
from penstock.plan.promise_plans import PromiseKind, PromisePlan
from penstock.records import record

BY_ROW = (PromiseKind.FOLLOWS_ROWS, PromiseKind.FOLLOWS_TIME, PromiseKind.COOCCURS)
"""The declarations that look at single rows."""
_ABOUT_VALUES = {
    PromiseKind.PRIMARY_KEY: CloserKind.KEY,
    PromiseKind.PUNCTUATED: CloserKind.PUNCTUATION,
    PromiseKind.CLUSTERED: CloserKind.CLUSTER,
}

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
CODED_DIGITS = 18
"""The most digits of a decimal that the engine holds in one word."""


@record
class Merging:
    """What the planner knows of one source when it asks whether its rows can be merged."""

    types: Mapping[str, DataType]
    kept: tuple[str, ...]
    equal: tuple[tuple[str, ...], ...]
    apart: frozenset[str]
    """The columns that outputs show, or that choose a cell."""
    asked: frozenset[tuple[str, bool]]
    """The columns of which groups ask for the greatest, or the least."""


def synopsis_of(verdict: Verdict, alias: str) -> SynopsisForm | None:
    """The synopsis on which the finding of a source rests."""
    for entry in verdict.streams:
        if entry.alias == alias and isinstance(entry.finding, Bounded) and entry.finding.means is Means.SYNOPSIS:
            return next((s for s in verdict.memory.synopses if s.alias == alias), None)
    return None


def unmerged(synopsis: SynopsisForm, merging: Merging) -> Reason | None:
    """Why the rows of a source cannot be merged, though its finding rests on it; None if they can."""
    known = {part.column: part for part in synopsis.columns}
    of_kept = {}
    for column in merging.kept:
        twins = next((group for group in merging.equal if column in group), (column,))
        part = known.get(column) or next((known[twin] for twin in twins if twin in known), None)
        if part is None:
            return WhyUnkept.MERGING_APART(column)
        of_kept[column] = part
    for column, part in of_kept.items():
        if part.stretches and column in merging.apart:
            return WhyUnkept.MERGING_ENDLESS(column)
    ends = {(end.column, end.greatest) for end in synopsis.extremes} & merging.asked
    if len(ends) > 1:
        # In a bucket where no comparison is active they are of different rows, and only one row is kept.
        return WhyUnkept.MERGING_ENDS(sorted((column for column, _ in ends)))
    return None


def stay(merged: Mapping[str, MergePlan | Reason]) -> set[str]:
    """The sources whose rows are merged and never leave."""
    return {alias for alias, plan in merged.items() if isinstance(plan, MergePlan) and not plan.leaves}


def without_merged(
    merged: Mapping[str, MergePlan | Reason],
    closers: tuple[Closer, ...],
    joint: tuple[JointCloser, ...],
    promises: tuple[PromisePlan, ...],
    remembered: frozenset[tuple[str, str]] = frozenset(),
) -> tuple[tuple[Closer, ...], tuple[PromisePlan, ...]]:
    """The closers that let rows of other sources go, and the promises about values that are still of use.

    `remembered` are the punctuations, by alias and text, that the second stage forgets by.
    """
    for_good = stay(merged)
    if not for_good:
        return closers, promises
    left = tuple(c for c in closers if c.source not in for_good)
    used = {(c.kind, c.target, c.target_columns) for c in left}
    used |= {(CloserKind.PUNCTUATION, c.target, c.target_columns) for c in joint}
    of_use = tuple(
        p
        for p in promises
        if p.kind not in _ABOUT_VALUES
        or (_ABOUT_VALUES[p.kind], p.alias, p.columns) in used
        or (p.alias not in for_good and (p.alias, p.constraint) in remembered)
    )
    return left, of_use


def merge_plan(synopsis: SynopsisForm, stream: Stream) -> MergePlan:
    """The synopsis as the engine obeys it."""
    return MergePlan(
        tuple(_part(column, stream.type_of(column.column)) for column in synopsis.columns),
        synopsis.counted,
        tuple(_extreme(extreme, stream.type_of(extreme.column)) for extreme in synopsis.extremes),
        tuple(_checked(stream)),
        False,
        synopsis.reasons[0],
    )


def _checked(stream: Stream) -> Iterator[CheckedColumn]:
    """The conditions that codes decide exactly: no times that depend on the session's zone, no fractions."""
    types = {column.name: column.type for column in stream.carried}
    for scheme in stream.schemes:
        for predicate in scheme.condition if isinstance(scheme, Check) else ():
            constants: tuple[Constant, ...]
            match predicate:
                case Bound():
                    op, constants = predicate.op, (predicate.constant,)
                case OneOf():
                    op, constants = Op.EQ, predicate.constants
                case _:
                    continue
            kind = types.get(predicate.column.column)
            values = tuple(text for constant in constants if (text := exact_text(constant.value)) is not None)
            if kind is not None and kind.kind in EXACT and len(values) == len(constants):
                yield CheckedColumn(scheme.on(stream.name), predicate.column.column, op, values)


def exact_text(value: Value) -> str | None:
    """The text of a constant that is exactly a code, or a string."""
    if isinstance(value, Decimal | float | dt.datetime) or (isinstance(value, int) and abs(value) >= 2**63):
        return None
    return _text(value)


def moment_text(value: Value, kind: DataType) -> str | None:
    """The text of a constant that is a moment: a code, or as it is written where the session's zone decides."""
    return _text(value, kind) if isinstance(value, dt.datetime) else None


def merge_by_value(columns: Mapping[str, Told]) -> MergePlan:
    """Rows of a grouped query that agree on all columns, given with what to call them, become one, and leave as one."""
    kept = Because.MERGED_BY_VALUE(tuple(columns.values())) if columns else Because.MERGED_IN_ALL()
    parts = tuple(PartColumn(column, True, None, None, (), None, None, True, True, None) for column in columns)
    return MergePlan(parts, True, (), (), True, kept)


def _part(column: BucketColumn, kind: DataType | None) -> PartColumn:
    limits = column.limits
    return PartColumn(
        column.column,
        not column.stretches,
        _text(column.low, kind),
        _text(column.high, kind),
        tuple(text for point in column.points or () if (text := _text(point, kind)) is not None),
        _text(limits.low, kind),
        _text(limits.high, kind),
        limits.low_is_in,
        limits.high_is_in,
        None
        if column.members is None
        else tuple(t for member in column.members if (t := _text(member, kind)) is not None),
    )


def _extreme(extreme: Extreme, kind: DataType | None) -> ExtremeColumn:
    above, below = _text(extreme.above, kind), _text(extreme.below, kind)
    return ExtremeColumn(extreme.column, extreme.greatest, extreme.strict, above, below)


def _text(value: Value | None, kind: DataType | None = None) -> str | None:
    match value:
        case None | str():
            return value
        case Decimal():
            return format(value, "f")
        case dt.datetime() if kind is not None and kind.kind is Kind.TIMESTAMP:
            return value.isoformat(sep=" ")
        case dt.datetime():
            moment = value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
            return str((moment - _EPOCH) // dt.timedelta(microseconds=1))
        case dt.date():
            return str(value.toordinal() - _EPOCH.toordinal())
        case _:
            return str(int(value))


EXACT = (Kind.BOOLEAN, Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.DATE, Kind.STRING)


def without_covered(query: Query, verdict: Verdict) -> Query:
    """The query that is run instead; the same if no bound rests on leaving a source out."""
    if not query.is_inner or query.hints.value is not None:
        return query
    covered = [synopsis for synopsis in verdict.memory.synopses if synopsis.covered_by is not None]
    if not any(synopsis_of(verdict, synopsis.alias) is synopsis for synopsis in covered):
        return query
    return folded(query, [(synopsis.alias, str(synopsis.covered_by)) for synopsis in covered])
