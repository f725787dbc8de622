"""A counter-model in full: values of the columns' types, conditions kept, an order of arrival.

The chase knows values only as equal or not. Here each becomes a constant that its type, the CHECKs and the WHERE of
every column it stands in allow, and a different one where there are enough. Where a domain is too small, two share
one, and the rules are checked anew. What is declared about arrival must be kept too (`arrival.py`).

Preconditions: a derived column is taken to be free, which it is if no constraint names what it is derived from.
What cannot be met is an obstacle, which names the declaration; the question is then not decided.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from penstock.analysis.decider_reasons import ProofStep
from penstock.analysis.facts.domains import Domain, declared_domain
from penstock.analysis.facts.truth import Truth, truth
from penstock.analysis.implication.arrival import arrival_obstacle
from penstock.analysis.implication.models import Row, keeps
from penstock.analysis.implication.rules import Rule, SameValues, StreamShape
from penstock.analysis.reasons import Reason, Told
from penstock.analysis.witness.declarations_hold import Arrived
from penstock.model.expressions import ColumnRef
from penstock.model.schemes import Check, Punctuated
from penstock.model.stream import Stream
from penstock.model.types import DataType, Kind
from penstock.records import record

_START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
"""Time zero of a counter-model, where event times are instants."""


@record
class Realised:
    """A counter-model, row by row."""

    rows: tuple[Reason, ...]


def realise(
    streams: Sequence[Stream], shapes: Sequence[StreamShape], rules: Sequence[Rule], goal: Rule, rows: Sequence[Row]
) -> Realised | Reason:
    """The rows with constants, or what stands in the way."""
    used = sorted({row.stream for row in rows})
    for place in used:
        if (derived := _derived_obstacle(streams[place], shapes[place], place, (*rules, goal))) is not None:
            return derived
    constants = _constants(streams, shapes, rows)
    valued = [Row(row.stream, tuple(constants[term] for term in row.values), row.time, row.period) for row in rows]
    if not all(keeps(rule, valued) for rule in rules) or keeps(goal, valued):
        return ProofStep.TOO_FEW_VALUES()
    return _kept(streams, shapes, valued)


def _kept(streams: Sequence[Stream], shapes: Sequence[StreamShape], rows: Sequence[Row]) -> Realised | Reason:
    arrived: list[tuple[Fraction, Arrived]] = []
    for row in rows:
        stream, shape = streams[row.stream], shapes[row.stream]
        values = dict(zip(shape.columns, row.values, strict=True))
        if shape.event_time is not None:
            values[shape.event_time] = _instant(stream, row.time)
        if (condition := _unkept_condition(stream, values)) is not None:
            return ProofStep.OF_CONSTANTS(condition)
        # In the order of arrival an event time counts as it is, in ticks: the calendar of Python is short.
        timed = values if shape.event_time is None else {**values, shape.event_time: row.time}
        arrived.append((row.time, Arrived(stream, timed)))
        if row.period < 0 and stream.low:
            return ProofStep.OF_ARRIVAL(stream.low[0].on(stream.name))
    is_endless = any(row.period for row in rows)
    if (order := arrival_obstacle(arrived, is_endless=is_endless)) is not None:
        return ProofStep.OF_ORDER(order)
    return Realised(tuple(_shown_row(streams[row.stream], shapes[row.stream], row) for row in rows))


def _unkept_condition(stream: Stream, values: Mapping[str, object]) -> Told | None:
    """A condition of the stream that the row is not certain to keep; None if there is none.

    A counter-model needs a certain answer: CHECK and WHERE must be true, and no row may be a punctuation.
    """
    own = {ColumnRef("", column): value for column, value in values.items()}
    for predicate in stream.where:
        if truth(predicate, own) is not Truth.TRUE:
            return ProofStep.WHERE_OF(predicate, stream.name)
    for scheme in stream.schemes:
        if isinstance(scheme, Check) and any(truth(p, own) is not Truth.TRUE for p in scheme.condition):
            return scheme.on(stream.name)
        if isinstance(scheme, Punctuated) and all(truth(p, own) is not Truth.FALSE for p in scheme.when):
            return scheme.on(stream.name)
    return None


def _derived_obstacle(stream: Stream, shape: StreamShape, place: int, rules: Sequence[Rule]) -> Reason | None:
    named = {shape.columns[i] for rule in rules for i in _named(rule, place)}
    for column in stream.columns:
        for ref in column.derived.columns if column.derived is not None else ():
            if ref.column in named:
                return ProofStep.DERIVED_NAMED(column.name, stream.name, ref.column)
    return None


def _named(rule: Rule, place: int) -> Iterator[int]:
    pairs = rule.premise.pairs + (rule.values if isinstance(rule, SameValues) else ())
    for left, right in pairs:
        if rule.premise.left == place:
            yield left
        if rule.premise.right == place:
            yield right


def _constants(streams: Sequence[Stream], shapes: Sequence[StreamShape], rows: Sequence[Row]) -> dict[object, object]:
    """A constant for each term, another for each where the domains allow it."""
    places: dict[object, list[tuple[Stream, str]]] = {}
    for row in rows:
        for column, term in zip(shapes[row.stream].columns, row.values, strict=True):
            places.setdefault(term, []).append((streams[row.stream], column))
    constants: dict[object, object] = {}
    for term, where in places.items():
        kinds = [kind for stream, column in where if (kind := stream.type_of(column)) is not None]
        domains = [declared_domain(stream, column) for stream, column in where]
        taken = set(map(repr, constants.values()))
        found = list(_candidates(kinds[0] if kinds else None, domains, len(rows) * 8 + 8))
        constants[term] = next((value for value in found if repr(value) not in taken), found[0] if found else None)
    return constants


def _candidates(kind: DataType | None, domains: Sequence[Domain], most: int) -> Iterator[object]:
    members = [domain.members for domain in domains if domain.members is not None]
    lows = [domain.low for domain in domains if domain.low is not None]
    highs = [domain.high for domain in domains if domain.high is not None]
    if members:
        common = frozenset.intersection(*members)
        steps: list[object] = sorted(common, key=repr)
    elif lows:
        steps = list(range(max(lows), min([*highs, max(lows) + most]) + 1))
    elif highs:
        steps = list(range(min(highs), min(highs) - most, -1))
    else:
        steps = list(range(1, most))
    for step in steps:
        yield _of_step(kind, step)


def _of_step(kind: DataType | None, step: object) -> object:
    if kind is None or not isinstance(step, int):
        return step
    match kind.kind:
        case Kind.STRING:
            return f"v{step}"
        case Kind.BOOLEAN:
            return bool(step)
        case Kind.DATE:
            return dt.date.fromordinal(step if step > 1000 else _START.toordinal() + step)
        case Kind.TIMESTAMP:
            return _START + dt.timedelta(days=step)
        case _:
            return step


def _instant(stream: Stream, ticks: Fraction) -> object:
    assert stream.clock is not None
    if stream.clock.is_integer:
        return int(ticks)
    try:
        at = _START + dt.timedelta(microseconds=int(ticks))
    except OverflowError:  # windows of thousands of years are allowed, and the calendar of Python is not that long
        return ProofStep.MICROSECONDS_FROM(int(ticks), _shown(_START))
    return at.date() if stream.clock.kind is Kind.DATE else at


def _shown_row(stream: Stream, shape: StreamShape, row: Row) -> Reason:
    values = [ProofStep.IS(column, _shown(value)) for column, value in zip(shape.columns, row.values, strict=True)]
    if shape.event_time is not None:
        values.append(ProofStep.IS(shape.event_time, _shown_time(stream, row.time)))
    if not row.period:
        return ProofStep.ROW(stream.name, values)
    again = ProofStep.ROW_AND_AFTER if row.period > 0 else ProofStep.ROW_AND_BEFORE
    return again(stream.name, values, _shown_span(stream, abs(row.period)))


def _shown(value: object) -> Told:
    if isinstance(value, Reason):
        return value
    if isinstance(value, dt.datetime):
        return value.isoformat().replace("+00:00", "Z")
    return repr(value) if isinstance(value, str) else str(value)


def _shown_time(stream: Stream, ticks: Fraction) -> Told:
    shown = _shown(_instant(stream, Fraction(int(ticks))))
    rest = ticks - int(ticks)
    return ProofStep.AND_OF_MICROSECOND(shown, rest) if rest else shown


def _shown_span(stream: Stream, ticks: Fraction) -> str:
    assert stream.clock is not None
    if stream.clock.is_integer:
        return str(ticks)
    seconds = f"{float(ticks) / 1_000_000:g}"
    return "second" if seconds == "1" else f"{seconds} seconds"
