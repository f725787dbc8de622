"""An independent search for counter-models: every tiny model, and which constraints it keeps.

A model is a bag of at most a few rows over two streams, each with two columns of the values 0 and 1 and a whole event
time. `keeps` reads each constraint by its definition in DESIGN section 3, on the model's own objects and in plain
loops; it shares nothing with the analysis. Each model is one number whose bits say which constraints of a pool it
keeps. A set of constraints has a tiny counter-model of another if some number has the set's bits and lacks the
other's. A chase that says `implied` must find none; where a tiny one exists it must say `not implied`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from penstock.model.schemes import Cooccurs, ForeignKey, PrimaryKey, Scheme, StreamKey
from penstock.model.spans import Window

COLUMNS = ("a", "b")


class TinyRow(NamedTuple):
    stream: str
    a: object
    b: object
    ts: Fraction


def within(window: Window | None, lag: Fraction) -> bool:
    low = window.low if window is not None else None
    high = window.high if window is not None else None
    return (low is None or lag >= low.ticks) and (high is None or lag <= high.ticks)


def keeps(model: Sequence[TinyRow], stream: str, scheme: Scheme, settled: int | None = None) -> bool:
    """Whether a model keeps a constraint; of FOREIGN KEYs, only the first `settled` rows, if given, must."""
    own = [(n, row) for n, row in enumerate(model) if row.stream == stream]
    match scheme:
        case PrimaryKey():
            keys = [tuple(getattr(row, c) for c in scheme.columns) for _, row in own]
            return len(set(keys)) == len(keys)
        case StreamKey():
            return all(
                (s.a, s.b) == (t.a, t.b)
                for _, s in own
                for t in model
                if t.stream == scheme.spans
                and all(getattr(s, c) == getattr(t, c) for c in scheme.columns)
                and within(scheme.window, t.ts - s.ts)
            )
        case Cooccurs():
            return all(
                within(scheme.window, t.ts - s.ts)
                for _, s in own
                for t in model
                if t.stream == scheme.other and _match(s, scheme.columns, t, scheme.other_columns)
            )
        case ForeignKey():
            return all(
                any(
                    t.stream == scheme.parent
                    and _match(s, scheme.columns, t, scheme.parent_columns)
                    and within(scheme.window, t.ts - s.ts)
                    for t in model
                )
                for n, s in own
                if settled is None or n < settled
            )
        case _:
            raise AssertionError(scheme)


def _match(s: TinyRow, own: Sequence[str], t: TinyRow, others: Sequence[str]) -> bool:
    return all(getattr(s, c) == getattr(t, d) for c, d in zip(own, others, strict=True))


def models(streams: Sequence[str], latest: int, most: int) -> Iterator[tuple[TinyRow, ...]]:
    """Every bag of at most `most` rows with times from 0 to `latest`, the first of them at a = 0."""
    rows = [
        TinyRow(stream, a, b, Fraction(ts))
        for stream in streams
        for a, b in itertools.product((0, 1), repeat=2)
        for ts in range(latest + 1)
    ]
    for count in range(1, most + 1):
        for model in itertools.combinations_with_replacement(rows, count):
            # Whatever holds of a model holds with its values renamed and its clock put back.
            if model[0].a == 0 and min(row.ts for row in model) == 0:
                yield model


def masks(pool: Sequence[tuple[str, Scheme]], found: Iterator[tuple[TinyRow, ...]]) -> set[int]:
    """For each model, a number whose n-th bit says whether it keeps the n-th constraint."""
    return {sum(keeps(model, *one) << n for n, one in enumerate(pool)) for model in found}
