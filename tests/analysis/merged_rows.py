"""A synopsis applied to rows by its words alone: what stays of a stream, and how often it counts.

Written from the header of analysis/synopsis_form.py. Columns are integers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from penstock.analysis.synopsis_form import BucketColumn, Extreme, SynopsisForm

Values = dict[str, int | None]


def part_of(column: BucketColumn, value: int | None) -> int | str | None:
    """The part of a bucket column that a value lies in."""
    if value is None:
        return None
    if column.low is None:
        return "all"
    assert isinstance(column.low, int)
    assert isinstance(column.high, int)
    return "below" if value < column.low else "above" if value > column.high else value


def _matches(column: BucketColumn, value: int | None) -> bool:
    """Whether the conditions leave a value any match."""
    limits = column.limits
    if value is None:
        return True
    if column.members is not None and value not in column.members:
        return False
    above = not isinstance(limits.low, int) or value > limits.low or (value == limits.low and limits.low_is_in)
    return above and (
        not isinstance(limits.high, int) or value < limits.high or (value == limits.high and limits.high_is_in)
    )


def _applies(extreme: Extreme, row: Values) -> bool:
    value = row[extreme.column]
    assert value is not None
    above = not isinstance(extreme.above, int) or value > extreme.above
    return above and (not isinstance(extreme.below, int) or value < extreme.below)


def _better(synopsis: SynopsisForm, one: Values, other: Values) -> bool:
    """Whether one row of a bucket is further out than another."""
    asked = [extreme for extreme in synopsis.extremes if _applies(extreme, one)]
    if not asked:
        return False
    ends = {extreme.greatest for extreme in asked}
    assert len(ends) == 1, "all that apply in one bucket ask for the same end"
    sign = 1 if asked[0].greatest else -1

    def reach(row: Values) -> tuple[float, float]:
        signed = [(sign * (row[e.column] or 0), e.strict) for e in asked]
        return min(v for v, _ in signed), min((v for v, strict in signed if strict), default=float("inf"))

    return reach(one) > reach(other)


def merged(synopsis: SynopsisForm, rows: Sequence[Values]) -> list[tuple[Values, int]]:
    """The rows that are kept, each with the number it stands for."""
    kept: dict[tuple[int | str | None, ...], Values] = {}
    counts: Counter[tuple[int | str | None, ...]] = Counter()
    for row in rows:
        if not all(_matches(column, row[column.column]) for column in synopsis.columns):
            continue
        bucket = tuple(part_of(column, row[column.column]) for column in synopsis.columns)
        counts[bucket] += 1
        if bucket not in kept or _better(synopsis, row, kept[bucket]):
            kept[bucket] = row
    assert len(kept) <= synopsis.rows
    return [(row, counts[bucket] if synopsis.counted else 1) for bucket, row in kept.items()]
