"""Whether rows can arrive in an order that keeps what is declared about the order of arrival.

A counter-model is a set of rows; it is one of the declarations only if some order of arrival keeps ORDERED, CLUSTERED,
FOLLOWS WITHIN rows and ARRIVES BY as well. A few natural orders are tried: by event time, and with the streams that
others FOLLOW first. That none of them keeps a declaration does not show that none does, so it leaves the question
undecided. Endless rows arrive by event time, if they only move forward in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from penstock.analysis.facts.truth import Truth, compared
from penstock.model.predicates import Op
from penstock.model.schemes import Clustered, Follows, Ordered, Scheme
from penstock.model.spans import Auto, Rows, Span
from penstock.model.stream import Stream


@dataclass(frozen=True)
class Arrived:
    """A row with its values by folded name, the event time in ticks among them."""

    stream: Stream
    values: Mapping[str, object]
    ticks: Fraction
    is_endless: bool = False


def obstacle(rows: Sequence[Arrived]) -> str | None:
    """A declaration that no order tried keeps; None if one order keeps all."""
    if any(row.is_endless for row in rows):
        return next((scheme for row in rows for scheme in _counted(row.stream)), None)
    failed: str | None = None
    for order in _orders(rows):
        failed = next(_broken(order), None)
        if failed is None:
            return None
    return failed


def _counted(stream: Stream) -> Iterator[str]:
    # By event time forward, an order of the event time is kept; whatever else counts arrivals is not looked at.
    for scheme in stream.schemes:
        match scheme:
            case Clustered() | Follows(slack=Rows() | Auto()):
                yield scheme.on(stream.name)
            case Ordered(column=column) if column != stream.event_time:
                yield scheme.on(stream.name)
            case _:
                pass
    if stream.arrival is not None:
        yield stream.arrival.on(stream.name)


def _orders(rows: Sequence[Arrived]) -> Iterator[list[Arrived]]:
    by_time = sorted(rows, key=lambda row: row.ticks)
    yield by_time
    followed = {s.parent for row in rows for s in row.stream.schemes if isinstance(s, Follows)}
    yield sorted(by_time, key=lambda row: row.stream.name not in followed)


def _broken(order: Sequence[Arrived]) -> Iterator[str]:
    for stream in {row.stream.name: row.stream for row in order}.values():
        own = [row for row in order if row.stream.name == stream.name]
        schemes: list[Scheme] = list(stream.schemes)
        if stream.arrival is not None:
            schemes.append(Ordered(stream.arrival.column))
        for scheme in schemes:
            if not keeps(scheme, stream, own, order):
                yield scheme.on(stream.name)


def keeps(scheme: Scheme, stream: Stream, own: Sequence[Arrived], order: Sequence[Arrived]) -> bool:
    """Whether rows that arrive in this order keep a constraint of a stream about arrival."""
    match scheme:
        case Ordered(column=column, slack=slack):
            return _is_ordered([_key(row, stream, column) for row in own], slack)
        case Clustered(column=column, slack=Rows(count=k)):
            return _is_clustered([row.values.get(column) for row in own], k)
        case Follows(slack=Rows(count=k)):
            return all(_all_came(scheme, row, order[i + 1 :], k) for i, row in enumerate(order) if row.stream is stream)
        case _:
            return True


def _key(row: Arrived, stream: Stream, column: str) -> object:
    is_time = stream.event_time is not None and column == stream.event_time
    return row.ticks if is_time else row.values.get(column)


def _is_ordered(values: Sequence[object], slack: Rows | Span | Auto) -> bool:
    if isinstance(slack, Auto):
        return True
    for i, value in enumerate(values):
        for j, earlier in enumerate(values[:i]):
            if isinstance(slack, Rows):
                counts = i - 1 - j >= slack.count
                if counts and not _at_most(earlier, value, 0):
                    return False
            elif not _at_most(earlier, value, slack.ticks):
                return False
    return True


def _at_most(earlier: object, later: object, by: int) -> bool:
    """Whether `earlier <= later + by`; False where that is not known."""
    if isinstance(earlier, int | Fraction) and isinstance(later, int | Fraction):
        return earlier <= later + by
    return not by and compared(earlier, Op.LE, later) is Truth.TRUE


def _is_clustered(values: Sequence[object], k: int) -> bool:
    for i, value in enumerate(values):
        first = values.index(value)
        if sum(other != value for other in values[first:i]) > k:
            return False
    return True


def _all_came(scheme: Follows, child: Arrived, later: Sequence[Arrived], k: int) -> bool:
    """Whether what matches a row of the following stream came before k more rows of the other did."""
    wanted = [child.values.get(column) for column in scheme.columns]
    parents = [row for row in later if row.stream.name == scheme.parent]
    return not any([row.values.get(c) for c in scheme.parent_columns] == wanted for row in parents[k:])
