"""How far the counts may be from the answer (REWRITE 4.2, 5.2, and section 7's future work).

All shares are of the root's rows in the window. The error of a window is what crosses its two ends: a row that is
counted in the next window though its root is in this one, or in this one though its root is in the last.

- `boundary`: epsilon / k. If the root's rows come evenly, no more than this share of them lies so near to the end of
  the window that their match can be beyond it. For one join or one anti-join that is enough. For both together (4.4) it
  takes lags that are much the same at both ends of the window: else rows of V may come in at the beginning, with
  nothing of A to take them off, while rows of A go out at the end, and their reaches add up (`Rewriting.apart_reach`;
  `tests/analysis/rewriting/test_rewrite.py` has a case). ERROR(p PERCENT) is held against epsilon / k; explain says
  both.
- `observed`: the same with the lags that were seen in place of the largest. A match that comes d after its root is
  beyond the end if the root was in the last d of the window; over all matches that is the mean lag / k. Where rows
  crowd at an end it is more, and the share that did cross is taken.
- `violated`: a row that breaks a declaration changes the count by one: a row of V or A without the partner that its
  FOREIGN KEY promises is counted and has no match; a second row of one key makes a second match. So the share of such
  rows is an error of its own, to be added.

None of these is certain however rows come; the limits that are (`spark/rewritten_query.py`) are counted at run time,
and `broken_rows` widens them by what is seen to break a declaration.

What such a query keeps: no row of any stream, and the counts of the open windows. A window is over once the clocks of
all counted streams have passed it; Spark then gives its counts and forgets them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from penstock.analysis.finding import Bounded, Means, StateFinding
from penstock.analysis.reasons import Because, BoundedBy
from penstock.analysis.rewriting.count_queries import Rewriting
from penstock.model.query import Query
from penstock.model.spans import span_of_ticks


def boundary(reach: int, period: int) -> Fraction:
    """epsilon / k."""
    return Fraction(reach, period)


def observed(lags: Iterable[tuple[float, float]], period: float) -> float:
    """The share of rows whose match crosses the end: `lags` are (share of the root's rows, length)."""
    return sum(share * length for share, length in lags) / period


def crossing(evenly: float, crossed: int, rows: int, one_in: int = 1) -> float:
    """The share of rows that crosses: what the lags say, or what did cross in a sample, if more beyond chance."""
    certainly = crossed - 2 * math.sqrt(crossed * (1 - 1 / one_in))
    return crossed / rows if certainly > evenly * rows else evenly


def violated(breaking: int, rows: int, one_in: int = 1) -> float:
    """The share of rows that break a declaration, and two standard errors where one in so many entities was seen."""
    return _with_unseen(breaking, one_in) / rows if rows else 0.0


def broken_rows(breaking: int, one_in: int = 1) -> int:
    """How many rows break a declaration, where so many of a sample do: by so much the limits of a count widen."""
    return math.ceil(one_in * _with_unseen(breaking, one_in))


def _with_unseen(breaking: int, one_in: int) -> float:
    return breaking + 2 * math.sqrt(breaking * (1 - 1 / one_in))


def total(crossing: float, breaking: float) -> float:
    """Both errors together."""
    return crossing + breaking


def counted_state(query: Query, made: Rewriting) -> list[StateFinding]:
    """The entries of the verdict."""
    counted = {source.stream for source in made.sources}
    entries = []
    for source in query.all_sources:
        is_read = source.stream.name in counted
        how = Because.ROWS_COUNTED() if is_read else Because.ROWS_NOT_READ()
        finding = Bounded(BoundedBy.NOTHING_IS_STORED(), Means.REWRITE, (how,), 0)
        entries.append(StateFinding(source.stream.name, source.alias, finding))
    length = span_of_ticks(made.period, instants=True)
    bound = BoundedBy.COUNTS_OF_WINDOWS(length, [f"{source.alias}.{source.event_time}" for source in made.sources])
    entries.append(StateFinding("(groups)", "(groups)", Bounded(bound, Means.REWRITE)))
    return entries
