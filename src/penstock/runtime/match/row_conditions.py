"""Conditions on several streams, tested on rows that have met: whatever the keys and bands let through.

A condition is asked as soon as all its streams stand together. A stream that is absent from a row has NULL in all its
columns. Rows are looked at in pieces, so that the values of a condition never take more room than a piece of them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.plan.parts import ConditionPlan
from penstock.runtime.columns.codes import Bools, Ints
from penstock.runtime.columns.term_values import holds
from penstock.runtime.join.rows import Rows, count, values
from penstock.runtime.match.key_ranges import MANY
from penstock.runtime.state.synopsis import Synopsis


class RowConditions:
    """Some conditions over the rows of a cell."""

    def __init__(self, conditions: tuple[ConditionPlan, ...], synopses: Mapping[str, Synopsis]) -> None:
        self.conditions = conditions
        self.synopses = synopses

    def passing(self, rows: Rows, before: frozenset[str] | None = None) -> Bools | None:
        """Which rows pass the conditions whose streams stand in them; None if none of these is asked.

        With `before`, those that the streams before the last one were asked already are left out.
        """
        here = frozenset(rows)
        asked = [c for c in self.conditions if c.aliases <= here and not (before is not None and c.aliases <= before)]
        if not asked:
            return None
        size = count(rows)
        found: Bools = np.ones(size, np.bool_)
        for begin in range(0, size, MANY):
            places = np.arange(begin, min(begin + MANY, size))
            for condition in asked:
                if len(places):
                    places = places[self._holds(condition, rows, places)]
            kept: Bools = np.zeros(min(begin + MANY, size) - begin, np.bool_)
            kept[places - begin] = True
            found[begin : begin + MANY] = kept
        return found

    def _holds(self, condition: ConditionPlan, rows: Rows, places: Ints) -> Bools:
        return holds(
            condition.term,
            lambda ref, some: values(self.synopses[ref.alias], ref.column, rows[ref.alias][places[some]]),
            len(places),
        )
