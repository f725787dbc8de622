"""How the rows of a source are merged (MEMORY, sections 7.1 and 7.2): inert data, obeyed by runtime/join/merge.py.

What a CHECK leaves out has no bucket, so the conditions of a merged source's CHECKs are watched (runtime/promise).

Values are texts: a string as it is, a decimal in digits, a TIMESTAMP as it is written, anything else as the engine's
code (whole numbers, days, microseconds). Which instant a TIMESTAMP is depends on the session's time zone:
spark/asked_before.py puts the code in its place, and without Spark the zone is UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from penstock.analysis.reasons import Told
from penstock.model.predicates import Op
from penstock.records import record

_CODE = re.compile(r"-?\d+")


def is_code(text: str) -> bool:
    """Whether the text of a moment is the engine's code of it already."""
    return _CODE.fullmatch(text) is not None


@record
class PartColumn:
    """A column that keeps rows apart: by its value, or by the range that it lies in."""

    column: str
    by_value: bool
    low: str | None
    high: str | None
    """By range, of a type with steps: from low to high each value is a part, as is all below, and all above."""
    points: tuple[str, ...]
    """By range, of a type without: each point is a part, as is each stretch between."""
    least: str | None
    greatest: str | None
    """A row with a value outside is in no result."""
    least_is_in: bool
    greatest_is_in: bool
    members: tuple[str, ...] | None
    """A row with any other value is in no result; None if that is not known."""

    @property
    def is_limited(self) -> bool:
        """Whether a row may have a value by which it is in no result."""
        return self.least is not None or self.greatest is not None or self.members is not None


@record
class ExtremeColumn:
    """A column of which one end matters, in the buckets where it lies between `above` and `below`."""

    column: str
    greatest: bool
    strict: bool
    above: str | None
    below: str | None


@record
class CheckedColumn:
    """A condition of a CHECK: the column compared with a value, or with several for `=`."""

    constraint: str
    column: str
    op: Op
    values: tuple[str, ...]


@record
class MergePlan:
    """What is kept of each bucket: one row, with a count where `counted`, and an extreme one where one is asked for."""

    parts: tuple[PartColumn, ...]
    counted: bool
    extremes: tuple[ExtremeColumn, ...]
    checks: tuple[CheckedColumn, ...]
    leaves: bool
    """Whether its rows leave by promises all the same: those that become one agree wherever a promise looks."""
    keeps: Told
    """What is kept."""

    def with_values(self, read: Callable[[str, str], str]) -> MergePlan:
        """The same plan with other texts of its values; `read` is given the column, and the text."""

        def other(column: str, text: str | None) -> str | None:
            return None if text is None else read(column, text)

        parts = tuple(
            replace(
                part,
                low=other(part.column, part.low),
                high=other(part.column, part.high),
                points=tuple(read(part.column, point) for point in part.points),
                least=other(part.column, part.least),
                greatest=other(part.column, part.greatest),
                members=None if part.members is None else tuple(read(part.column, text) for text in part.members),
            )
            for part in self.parts
        )
        extremes = tuple(
            replace(e, above=other(e.column, e.above), below=other(e.column, e.below)) for e in self.extremes
        )
        return replace(self, parts=parts, extremes=extremes)
