"""Does a finite input keep every declaration? Asked of the growing inputs and counter-models that we hand out.

Of growing inputs (`broken`) each declaration is read as strictly as any k or d would make it in the end: ORDERED and
CLUSTERED as with k = 0, AUTO as 0. So an input that passes keeps the declarations as they stand, however long it grows
by the same pattern. FOREIGN KEY asks for the partner within the input itself. Of a counter-model (`keeps_arrival`) what
is declared about arrival is read as it stands; its keys and windows are asked as rules, of endless rows too
(`implication/models.py`).

Not decided: conditions that only Spark reads, and constraints on VIRTUAL columns that demand a partner; where one of
these matters, the input counts as not keeping it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from penstock.analysis.facts.truth import Truth, compared, passes, ticks_between, truth
from penstock.analysis.reasons import NoWitness, Told
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Op
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
from penstock.records import record

Values = Mapping[str, Any]
"""The columns of a row that are not NULL."""


@record
class Arrived:
    """A row as it arrives; `closes` is set for a punctuation."""

    stream: Stream
    values: Values
    closes: Punctuated | None = None


def broken(rows: Sequence[Arrived]) -> Told | None:
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
        if stream.arrival is not None and not _never_falls([row.values.get(stream.arrival.column) for _, row in own]):
            return stream.arrival.on(stream.name)
    if len(streams) > 1 and all(stream.arrival is not None for stream in streams):
        order = [row.values.get(row.stream.arrival.column) for row in rows if row.stream.arrival and not row.closes]
        if not _never_falls(order):
            return NoWitness.ARRIVAL_ACROSS()
    return None


def is_punctuation(scheme: Punctuated, values: Values) -> bool | None:
    """Whether a row satisfies WHEN; None if only Spark can tell."""
    found = {truth(predicate, _of_stream(values)) for predicate in scheme.when}
    if Truth.FALSE in found or Truth.UNKNOWN in found:
        return False
    return None if Truth.UNREAD in found else True


def _of_stream(values: Values) -> dict[ColumnRef, Any]:
    return {ColumnRef("", column): value for column, value in values.items()}


def keeps_arrival(scheme: Scheme, own: Own, rows: Sequence[Arrived]) -> bool:
    """Whether rows, in their order, keep what a constraint of one stream says about arrival; `own` are its rows."""
    match scheme:
        case Ordered(column=column, slack=Rows() | Span() as slack):
            return _is_ordered([row.values.get(column) for _, row in own], slack)
        case Clustered(column=column, slack=Rows(count=most)):
            return _is_clustered([row.values.get(column) for _, row in own], most)
        case Follows(slack=Rows(count=most)):
            return _all_came(scheme, own, rows, most)
        case _:
            return True


def _is_ordered(values: Sequence[Any], slack: Rows | Span) -> bool:
    """Whether none lies below the largest that is closed: one with k rows after it, or one by more than d larger."""
    largest: Any = None
    late, by = (slack.count, 0) if isinstance(slack, Rows) else (0, slack.ticks)
    for place, value in enumerate(values):
        earlier = values[place - 1 - late] if place > late else None
        if earlier is not None and (largest is None or compared(largest, Op.LT, earlier) is Truth.TRUE):
            largest = earlier
        if value is not None and largest is not None and not _at_most(largest, value, by):
            return False
    return True


def _at_most(earlier: object, later: object, by: int) -> bool:
    """Whether `earlier <= later + by`; False where that is not known."""
    if not by:
        return compared(earlier, Op.LE, later) is Truth.TRUE
    apart = ticks_between(earlier, later)
    return apart is not None and apart <= by


def _never_falls(values: Sequence[Any]) -> bool:
    """As ARRIVES BY has it: a NULL is a violation."""
    return None not in values and _is_ordered(values, Rows(0))


def _is_clustered(values: Sequence[Any], most: int) -> bool:
    """Whether no value comes again after more than so many others since it first came; NULL is no value."""
    first: dict[Any, int] = {}
    seen: dict[Any, int] = {}
    for place, value in enumerate(values):
        if value is None:
            continue
        if place - first.setdefault(value, place) - seen.get(value, 0) > most:
            return False
        seen[value] = seen.get(value, 0) + 1
    return True


Own = Sequence[tuple[int, Arrived]]


def _key(scheme: PrimaryKey, own: Own, _: Sequence[Arrived]) -> bool:
    if any(row.stream.type_of(c) is None for _, row in own for c in scheme.columns):
        return True  # A VIRTUAL identity may be new in every row.
    keys = [tuple(row.values.get(column) for column in scheme.columns) for _, row in own]
    return len(set(keys)) == len(keys) and all(None not in key for key in keys)


def _ordered(scheme: Ordered, own: Own, _: Sequence[Arrived]) -> bool:
    return _is_ordered([row.values.get(scheme.column) for _, row in own], Rows(0))


def _clustered(scheme: Clustered, own: Own, _: Sequence[Arrived]) -> bool:
    return _is_clustered([row.values.get(scheme.column) for _, row in own], 0)


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
    return _all_came(scheme, own, rows, slack.count if isinstance(slack, Rows) else 0)


def _all_came(scheme: Follows, own: Own, rows: Sequence[Arrived], most: int) -> bool:
    """Whether what matches a row came before so many more rows of the other stream had come after it."""
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
