"""Does a finite input keep every declaration? Asked of the growing inputs that this package hands out.

Each declaration is read as strictly as any k or d would make it in the end: ORDERED and CLUSTERED as with k = 0, AUTO
as 0. So an input that passes keeps the declarations as they stand, however long it grows by the same pattern. FOREIGN
KEY asks for the partner within the input itself.

Not decided: conditions that only Spark reads, and constraints on VIRTUAL columns that demand a partner; where one of
these matters, the input counts as not keeping it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from penstock.analysis.facts.truth import Truth, passes, ticks_between, truth
from penstock.model.expressions import ColumnRef
from penstock.model.schemes import (
    Check,
    Clustered,
    Cooccurs,
    Follows,
    ForeignKey,
    Ordered,
    PrimaryKey,
    Punctuated,
    Scheme,
    StreamKey,
    reference_of,
)
from penstock.model.spans import Rows, Span, Window
from penstock.model.stream import Stream, columns_in_common

Values = Mapping[str, Any]
"""The columns of a row that are not NULL."""


@dataclass(frozen=True)
class Arrived:
    """A row as it arrives; `closes` is set for a punctuation."""

    stream: Stream
    values: Values
    closes: Punctuated | None = None


def broken(rows: Sequence[Arrived]) -> str | None:
    """A declaration that an input, in its order of arrival, does not keep; None if it keeps all."""
    # By name: comparing whole streams would take most of the time.
    streams = list({row.stream.name: row.stream for row in rows}.values())
    data: dict[str, list[tuple[int, Arrived]]] = {stream.name: [] for stream in streams}
    closing: dict[str, list[tuple[int, Arrived]]] = {stream.name: [] for stream in streams}
    for place, row in enumerate(rows):
        (data if row.closes is None else closing)[row.stream.name].append((place, row))
    for stream in streams:
        own = data[stream.name]
        for _, row in own if stream.where else ():
            for predicate in stream.where:
                if not passes(predicate, _of_stream(row.values)):
                    return f"{predicate} in {stream.name}"
        for scheme in stream.schemes:
            if isinstance(scheme, Punctuated):
                is_kept = _punctuated(scheme, own, closing[stream.name])
            else:
                is_kept = _KEPT[type(scheme)](scheme, own, rows)
            if not is_kept:
                return scheme.on(stream.name)
        if stream.arrival is not None and not _rises([row.values.get(stream.arrival.column) for _, row in own]):
            return stream.arrival.on(stream.name)
    if len(streams) > 1 and all(stream.arrival is not None for stream in streams):
        order = [row.values.get(row.stream.arrival.column) for row in rows if row.stream.arrival and not row.closes]
        if not _rises(order):
            return "the order of ARRIVES BY across the streams"
    return None


def is_punctuation(scheme: Punctuated, values: Values) -> bool | None:
    """Whether a row satisfies WHEN; None if only Spark can tell."""
    found = {truth(predicate, _of_stream(values)) for predicate in scheme.when}
    if Truth.FALSE in found or Truth.UNKNOWN in found:
        return False
    return None if Truth.UNREAD in found else True


def _of_stream(values: Values) -> dict[ColumnRef, Any]:
    return {ColumnRef("", column): value for column, value in values.items()}


def _rises(values: Sequence[Any]) -> bool:
    return None not in values and all(a <= b for a, b in pairwise(values))


Own = Sequence[tuple[int, Arrived]]


def _key(scheme: PrimaryKey, own: Own, _: Sequence[Arrived]) -> bool:
    if any(row.stream.type_of(c) is None for _, row in own for c in scheme.columns):
        return True  # A VIRTUAL identity may be new in every row.
    keys = [tuple(row.values.get(column) for column in scheme.columns) for _, row in own]
    return len(set(keys)) == len(keys) and all(None not in key for key in keys)


def _ordered(scheme: Ordered, own: Own, _: Sequence[Arrived]) -> bool:
    return _rises([v for _, row in own if (v := row.values.get(scheme.column)) is not None])


def _clustered(scheme: Clustered, own: Own, _: Sequence[Arrived]) -> bool:
    values = [row.values.get(scheme.column) for _, row in own]
    runs = [v for place, v in enumerate(values) if place == 0 or values[place - 1] != v]
    return len(set(runs)) == len(runs)


def _checked(scheme: Check, own: Own, _: Sequence[Arrived]) -> bool:
    checked = [_of_stream(row.values) for _, row in own]
    return all(passes(predicate, values, is_check=True) for predicate in scheme.condition for values in checked)


def _punctuated(scheme: Punctuated, own: Own, closing: Own) -> bool:
    closed: dict[tuple[Any, ...], int] = {}
    for place, row in closing:
        # A row that satisfies several WHENs makes all their promises.
        if is_punctuation(scheme, row.values) is not False:
            closed.setdefault(tuple(row.values.get(column) for column in scheme.columns), place)
    for place, row in own:
        if is_punctuation(scheme, row.values) is not False:
            return False
        values = tuple(row.values.get(column) for column in scheme.columns)
        if None not in values and closed.get(values, place) < place:
            return False
    return True


def _partners(scheme: Scheme, row: Arrived, rows: Sequence[Arrived]) -> Iterator[tuple[int, Arrived]]:
    """The rows that agree with one on the columns of a reference; on VIRTUAL columns none need agree."""
    reference = reference_of(scheme)
    assert reference is not None
    for place, other in enumerate(rows):
        if other.stream.name == reference.stream and other.closes is None:
            pairs = [(row.values.get(a), other.values.get(b)) for a, b in reference.pairs]
            if all(a is not None and a == b for a, b in pairs):
                yield place, other


def _within(window: Window | None, row: Arrived, other: Arrived) -> bool:
    if window is None or (window.low is None and window.high is None):
        return True
    times = [r.values.get(r.stream.event_time) if r.stream.event_time else None for r in (other, row)]
    if None in times:
        return False
    apart = ticks_between(times[0], times[1])
    assert apart is not None
    is_late = window.high is not None and apart > window.high.ticks
    return not is_late and not (window.low is not None and apart < window.low.ticks)


def _follows(scheme: Follows, own: Own, rows: Sequence[Arrived]) -> bool:
    slack = scheme.slack
    if isinstance(slack, Span):
        window = Window(None, slack)
        return all(_within(window, row, other) for _, row in own for _, other in _partners(scheme, row, rows))
    most = slack.count if isinstance(slack, Rows) else 0
    for place, row in own:
        for later, other in _partners(scheme, row, rows):
            name = other.stream.name
            between = sum(1 for r in rows[place + 1 : later] if r.stream.name == name and r.closes is None)
            if later > place and between >= most:
                return False
    return True


def _cooccurs(scheme: Cooccurs, own: Own, rows: Sequence[Arrived]) -> bool:
    return all(_within(scheme.window, row, other) for _, row in own for _, other in _partners(scheme, row, rows))


def _referred(scheme: ForeignKey, own: Own, rows: Sequence[Arrived]) -> bool:
    for _, row in own:
        if any(row.values.get(column) is None and row.stream.type_of(column) is not None for column in scheme.columns):
            continue
        if not any(_within(scheme.window, row, other) for _, other in _partners(scheme, row, rows)):
            return False
    return True


def _spans(scheme: StreamKey, own: Own, rows: Sequence[Arrived]) -> bool:
    for _, row in own:
        for _, other in _partners(scheme, row, rows):
            common = [
                (own_name, its)
                for own_name, its in columns_in_common(row.stream, other.stream)
                if own_name != row.stream.event_time and its != other.stream.event_time
            ]
            if _within(scheme.window, row, other) and any(row.values.get(a) != other.values.get(b) for a, b in common):
                return False
    return True


_KEPT: dict[type, Callable[[Any, Own, Sequence[Arrived]], bool]] = {
    PrimaryKey: _key,
    Ordered: _ordered,
    Clustered: _clustered,
    Check: _checked,
    Follows: _follows,
    Cooccurs: _cooccurs,
    ForeignKey: _referred,
    StreamKey: _spans,
}
