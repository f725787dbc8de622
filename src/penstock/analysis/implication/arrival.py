"""Whether rows can arrive in an order that keeps what is declared about the order of arrival.

A counter-model is a set of rows; it is one of the declarations only if some order of arrival keeps ORDERED, CLUSTERED,
FOLLOWS WITHIN rows and ARRIVES BY as well. A few natural orders are tried: by event time, and with the streams that
others FOLLOW first. That none of them keeps a declaration does not show that none does, so it leaves the question
undecided. Endless rows arrive by event time, if they only move forward in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from penstock.analysis.witness.declarations_hold import Arrived, keeps_arrival
from penstock.model.schemes import Clustered, Follows, Ordered, Scheme
from penstock.model.spans import Auto, Rows
from penstock.model.stream import Stream


def arrival_obstacle(rows: Sequence[tuple[Fraction, Arrived]], *, is_endless: bool) -> str | None:
    """A declaration that no order tried of rows with their times keeps; None if one order keeps all."""
    if is_endless:
        return next((scheme for _, row in rows for scheme in _counted(row.stream)), None)
    failed: str | None = None
    for order in _orders([row for _, row in sorted(rows, key=lambda timed: timed[0])]):
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


def _orders(by_time: list[Arrived]) -> Iterator[list[Arrived]]:
    yield by_time
    followed = {s.parent for row in by_time for s in row.stream.schemes if isinstance(s, Follows)}
    yield sorted(by_time, key=lambda row: row.stream.name not in followed)


def _broken(order: Sequence[Arrived]) -> Iterator[str]:
    for stream in {row.stream.name: row.stream for row in order}.values():
        own = [(place, row) for place, row in enumerate(order) if row.stream.name == stream.name]
        schemes: list[Scheme] = list(stream.schemes)
        if stream.arrival is not None:
            schemes.append(Ordered(stream.arrival.column))
        for scheme in schemes:
            if not keeps_arrival(scheme, own, order):
                yield scheme.on(stream.name)
