"""What may be asked of data: how far must a constraint stretch so that a row keeps it?

Every constraint is reduced to one number a row, its **need**: the least k, in rows or in ticks of event time, with
which the row keeps the constraint (KMON 3.5), or 1 for a row that breaks one that has no k. The k that p of the rows
keep is then the least number that at least p of the needs do not exceed, whatever the constraint.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from penstock.model.schemes import Scheme
from penstock.model.stream import Arrival, Stream

LEVELS = (1000, 999, 990)
"""Parts of a thousand rows: 100 %, 99.9 %, 99 %."""


class NumberMeaning(StrEnum):
    """What the number of a row says."""

    BROKEN = "broken"
    """1 if the row breaks the constraint, else 0."""
    ROWS = "rows"
    """The k, in rows."""
    TICKS = "ticks"
    """The d, in ticks of event time."""
    BEFORE = "before"
    """How far before the row its earliest match lies, in ticks; negative if it lies after it. Only of rows with one."""
    AFTER = "after"
    """How far after the row its latest match lies, in ticks. Only of rows with one."""


@dataclass(frozen=True)
class Question:
    """One constraint, its k left out or declared, asked of every data row of a stream."""

    stream: Stream
    constraint: Scheme | Arrival
    need: NumberMeaning
    parent: Stream | None = None
    """The other stream that the constraint is about."""
    by_arrival: bool = False
    """Whether rows of the two are counted in the order of ARRIVES BY, and not in that of reading."""
    parent_first: bool = False
    """Whether the parent stands before the stream in FROM, which decides ties of ARRIVES BY."""
    limit: int | None = None
    """The declared k, whose violations are counted."""


@dataclass(frozen=True)
class Answer:
    """The needs of all rows, summed up."""

    rows: int
    """Rows that have a need."""
    needs: tuple[int, ...]
    """By level, the least k that so many of the rows keep."""
    broken: tuple[int, ...]
    """By level, the rows that break that k."""
    beyond: int
    """Rows whose need exceeds the declared k; 0 if none is declared."""


NOTHING_SEEN = Answer(0, (0,) * len(LEVELS), (0,) * len(LEVELS), 0)
