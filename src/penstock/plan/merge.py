"""How the rows of a source are merged (MEMORY, sections 7.1 and 7.2): inert data, obeyed by runtime/merge.py.

What a CHECK leaves out has no bucket, so the conditions of a merged source's CHECKs are watched (runtime/promises).

Values are texts: a string as it is, a decimal in digits, anything else as the engine's code (whole numbers, days,
microseconds).
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.predicates import Op


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class ExtremeColumn:
    """A column of which one end matters, in the buckets where it lies between `above` and `below`."""

    column: str
    greatest: bool
    strict: bool
    above: str | None
    below: str | None


@dataclass(frozen=True)
class CheckedColumn:
    """A condition of a CHECK: the column compared with a value, or with several for `=`."""

    constraint: str
    column: str
    op: Op
    values: tuple[str, ...]


@dataclass(frozen=True)
class MergePlan:
    """What is kept of each bucket: one row, with a count where `counted`, and an extreme one where one is asked for."""

    parts: tuple[PartColumn, ...]
    counted: bool
    extremes: tuple[ExtremeColumn, ...]
    checks: tuple[CheckedColumn, ...]
    leaves: bool
    """Whether its rows leave by promises all the same: those that become one agree wherever a promise looks."""
    text: str
