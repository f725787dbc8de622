"""By how much a column of one stream may exceed a column of another, as a value that the runtime can evaluate.

Where tuples stand together, `later - earlier` is within the least of several allowances. Each adds up conditions of
the query, which stand for ever, and declarations, which ADAPT may widen while a query runs. So the tightest one at the
start need not stay it: the others are those that rest on fewer declarations (`facts/differences.py`). Evaluating is
one sum for each.

Precondition: whatever widens a declaration moves each end of its window by the same amount, and never back.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.analysis.facts.differences import Limit
from penstock.records import record


@record
class Allowance:
    """`later - earlier <= ticks`, or `<` if strict, and what makes it so."""

    ticks: int
    strict: bool
    reasons: tuple[str, ...]
    """What it adds up, one for each step."""
    declared: tuple[str, ...]
    """Those of the steps that are declarations, by their text with ON stream; the same twice if it counts twice."""

    def widened(self, by: Mapping[str, int]) -> Limit:
        """The limit once declarations were widened by so many ticks."""
        return Limit(self.ticks + sum(by.get(text, 0) for text in self.declared), self.strict)


@record
class Excess:
    """By how much one column may exceed the other: the least of some allowances, the tightest as declared first."""

    equal: bool
    """Whether the two columns are equal in every result."""
    allowances: tuple[Allowance, ...]

    @property
    def tightest(self) -> Allowance:
        """The least as declared."""
        return self.allowances[0]

    def limit(self, widened: Mapping[str, int] | None = None) -> Limit:
        """The least once declarations were widened by so many ticks."""
        return min(allowance.widened(widened or {}) for allowance in self.allowances)

    @property
    def is_declared(self) -> bool:
        """Whether it rests on declarations alone, so that it holds of rows that the query drops too."""
        return self.equal or len(self.tightest.declared) == len(self.tightest.reasons)

    @property
    def is_direct(self) -> bool:
        """Whether it is one bound and no chain of several."""
        return not self.equal and len(self.tightest.reasons) == 1
