"""The columns of an answer and their places in the text; and those of the groups below it, if these are others.

An item may be a formula over aggregates and keys: then the groups give what it is made of, under names of its own, and
the answer is worked out of that. HAVING is made of such too.
"""

from __future__ import annotations

from penstock.model.clauses import Formula, Output
from penstock.model.names import fold
from penstock.records import record
from penstock.sql.tree import Stretch


@record
class Outputs:
    """The columns of the answer, and their places."""

    answer: tuple[Output | Formula, ...]
    at: tuple[Stretch, ...]

    def of_groups(self, having: Formula | None, at: Stretch) -> GroupColumns:
        """The columns of the groups: those of the answer, and what its formulas and HAVING are made of."""
        columns = [(o, place) for o, place in zip(self.answer, self.at, strict=True) if isinstance(o, Output)]
        formulas = [(o, place) for o, place in zip(self.answer, self.at, strict=True) if isinstance(o, Formula)]
        formulas += [] if having is None else [(having, at)]
        taken = {fold(output.name) for output in self.answer}
        hidden: list[tuple[Output, Stretch]] = []
        for formula, place in formulas:
            for value in (*formula.values, *formula.columns):
                if all(output.value != value for output, _ in (*columns, *hidden)):
                    name = str(value)
                    while fold(name) in taken:
                        name += "_"
                    taken.add(fold(name))
                    hidden.append((Output(name, value), place))
        shown = tuple(o if isinstance(o, Formula) else o.name for o in self.answer)
        is_whole = len(columns) == len(self.answer) and not hidden
        columns += hidden
        return GroupColumns(
            tuple(output for output, _ in columns), tuple(place for _, place in columns), () if is_whole else shown
        )


@record
class GroupColumns:
    """The columns of the groups and their places; and those of the answer, if these are others."""

    columns: tuple[Output, ...]
    at: tuple[Stretch, ...]
    shown: tuple[str | Formula, ...]
