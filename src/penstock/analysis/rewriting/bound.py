"""How far the counts may be from the answer (REWRITE 4.2, 5.2, and section 7's future work).

All shares are of the root's rows in the window. The error of a window is what crosses its two ends: a row that is
counted in the next window though its root is in this one, or in this one though its root is in the last.

- `boundary`: epsilon / k. If the root's rows come evenly, no more than this share of them lies so near to the end of
  the window that their match can be beyond it. It takes both ends to err the same way, as they do in steady traffic;
  where a join and an anti-join stray in opposite ways at the two ends, the error can be the sum of their reaches.
- `observed`: the same with the lags that were seen in place of the largest. A match that comes d after its root is
  beyond the end if the root was in the last d of the window; over all matches that is the mean lag / k.
- `violated`: a row that breaks a declaration changes the count by one: a row of V or A without the partner that its
  FOREIGN KEY promises is counted and has no match; a second row of one key makes a second match. So the share of such
  rows is an error of its own, to be added.

None of these is certain however rows come; the limits that are (`spark/counting.py`) are counted at run time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction


def boundary(reach: int, period: int) -> Fraction:
    """epsilon / k."""
    return Fraction(reach, period)


def observed(lags: Iterable[tuple[float, float]], period: float) -> float:
    """The share of rows whose match crosses the end: `lags` are (share of the root's rows, length)."""
    return sum(share * length for share, length in lags) / period


def violated(breaking: int, rows: int, one_in: int = 1) -> float:
    """The share of rows that break a declaration, and two standard errors where one in so many entities was seen."""
    unseen = 2 * math.sqrt(breaking * (1 - 1 / one_in))
    return (breaking + unseen) / rows if rows else 0.0


def total(crossing: float, breaking: float) -> float:
    """Both errors together."""
    return crossing + breaking
