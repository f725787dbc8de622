"""What makes sure that a value which a row names arrives: without that, keys and clusters close only what they saw.

A FOREIGN KEY of the naming stream does, where a NULL in none of its columns lets it demand nothing; and in a self-join
on these columns the row itself did arrive. What a FOREIGN KEY demands may have come before or come later: either way
the key is named in the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.analysis.facts.combination import Combination
from penstock.analysis.reasons import Because, Told
from penstock.model.clauses import Source
from penstock.model.expressions import ColumnRef
from penstock.model.schemes import ForeignKey


@dataclass(frozen=True)
class Guarantee:
    """What makes sure that the values which a source carries in `own` arrive in those columns of the target.

    Of several columns that the query makes equal only these will do: a row in which they differ is in no result, and
    what it carries in the others may never arrive.
    """

    own: tuple[str, ...]
    because: Told


def guarantee(own: Source, target: Source, here: Combination, columns: tuple[str, ...]) -> Guarantee | None:
    """What makes sure that the value a source names in these columns of the target arrives; None if nothing does."""
    if own.stream == target.stream and all(
        here.equalities.equal(ColumnRef(own.alias, c), ColumnRef(target.alias, c)) for c in columns
    ):
        return Guarantee(columns, Because.ITSELF_A_ROW(own.alias, target.stream.name))
    for scheme in own.stream.schemes:
        if not isinstance(scheme, ForeignKey) or scheme.parent != target.stream.name:
            continue
        named = dict(zip(scheme.parent_columns, scheme.columns, strict=True))
        # A NULL in any of its columns demands nothing.
        demands = all(not _may_be_null(own, column, here) for column in scheme.columns)
        if demands and all(
            c in named and here.equalities.equal(ColumnRef(own.alias, named[c]), ColumnRef(target.alias, c))
            for c in columns
        ):
            return Guarantee(tuple(named[c] for c in columns), scheme.on(own.stream.name))
    return None


def _may_be_null(own: Source, column: str, here: Combination) -> bool:
    found = own.stream.column(column)
    return found is None or found.is_virtual or here.domain(ColumnRef(own.alias, found.name)).nullable
