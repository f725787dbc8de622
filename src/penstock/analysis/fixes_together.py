"""Which declarations bound a whole query, where its pieces of state have fixes of their own?

`analysis/fixes.py` asks for some sources of one block. A query of several blocks, or one whose groups are open beside
its streams, needs a fix of each, and may need fewer: what bounds a block below may bound what reads it. So the first
fixes of all are taken together, then the second ones, and so on; what is sufficient by the verdict itself is kept,
without the parts that it does not need. Where no such set is found, no single fix is offered as if it were one.

Preconditions: the verdict is not `bounded`, and the query has at most `_MOST` sources. Not decided: whether another
combination would do.
"""

from __future__ import annotations

from itertools import chain

from penstock.analysis.changed_query import declaring
from penstock.analysis.check import check_query
from penstock.analysis.finding import Bounded, Fix, Verdict
from penstock.model.problem import InvalidModel
from penstock.model.query import Query

_MOST, _FEW = 24, 4
"""States of a query that is looked at, and parts of a fix of which each is asked whether it is needed."""


def fixes_together(query: Query, verdict: Verdict) -> tuple[Fix, ...] | None:
    """The fixes that bound all of it, the preferred first; None where each fix of a state does, or none is known."""
    each = [verdict, *(block.verdict for block in verdict.blocks)]
    found = [s.finding.fixes for one in each for s in one.streams if not isinstance(s.finding, Bounded)]
    groups = [fixes for fixes in dict.fromkeys(found) if fixes]
    is_one = len(set(found)) <= 1 and not verdict.blocks
    if is_one or not groups or sum(len(one.streams) for one in each) > _MOST:
        return None
    sufficient = []
    for number in range(max(map(len, groups))):
        parts = [fixes[min(number, len(fixes) - 1)] for fixes in groups]
        if not _bounds(query, parts):
            continue
        for part in tuple(parts) if len(parts) <= _FEW else ():
            without = [other for other in parts if other is not part]
            if without and _bounds(query, without):
                parts = without
        sufficient.append(_merged(parts))
    return tuple(dict.fromkeys(sufficient)) or None


def _merged(parts: list[Fix]) -> Fix:
    return Fix(tuple(dict.fromkeys(chain.from_iterable(part.declarations for part in parts))))


def _bounds(query: Query, parts: list[Fix]) -> bool:
    try:
        return check_query(declaring(query, _merged(parts))).verdict == "bounded"
    except InvalidModel:
        return False
