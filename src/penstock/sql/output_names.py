"""Each column of an answer under a name of its own (DESIGN section 3).

A name that a user gives stands; given twice it is a mistake, which the model finds. Where a name that nobody gave (of a
column, of `*`, of an expression as Spark calls it) is taken, the later column gets its alias before it, `p_ts`, or `_2`
behind it where it has none or that is taken too; `check` tells so in a notice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from penstock.model.clauses import Formula, Output
from penstock.model.names import fold
from penstock.records import record


@record
class NamedOutput:
    """A column of the answer, the alias of the stream that it is a column of, and whether the user named it."""

    output: Output | Formula
    alias: str | None = None
    is_given: bool = False


def with_names_of_their_own(items: Sequence[NamedOutput]) -> list[Output | Formula]:
    """The outputs, none but those that the user named under a name that stands twice."""
    taken = {fold(item.output.name) for item in items if item.is_given}
    found: list[Output | Formula] = []
    for item in items:
        output = item.output
        if not item.is_given and fold(output.name) in taken:
            name = next(name for name in _choices(item) if fold(name) not in taken)
            output = replace(output, name=name, is_renamed=True)
        taken.add(fold(output.name))
        found.append(output)
    return found


def _choices(item: NamedOutput) -> Iterator[str]:
    name = item.output.name
    if item.alias:
        name = f"{item.alias}_{name}"
        yield name
    yield from (f"{name}_{number}" for number in count(2))
