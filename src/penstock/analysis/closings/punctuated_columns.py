"""What fixes the columns of a punctuation, so that it closes its stream for some rows? (SAFETY, 3 and 4; ERRATA)

A punctuation of x over columns c closes x for rows that stand together iff the value of every column of c is fixed: one
of the rows carries an equal column (equalities closed transitively, those that hold where the two streams stand
together), a filter holds it to a constant, or it takes finitely many values, each of which is punctuated. A column that
nothing fixes makes the scheme close nothing, whatever its other columns: Definition 7 read literally is unsound there.

A WHEN that reads a column of ON closes only some values of it (`narrowed`). Not decided: which rows carry the values
between them, which is a matter of the other closings (edges.py).
"""

from __future__ import annotations

from penstock.analysis.facts.domains import contradiction
from penstock.analysis.facts.together import Facts, Together
from penstock.analysis.reasons import Reason, WhyUseless
from penstock.model.clauses import Source
from penstock.model.expressions import ColumnRef
from penstock.model.names import quoted
from penstock.model.predicates import Bound, NullTest, Op
from penstock.model.schemes import Punctuated
from penstock.model.stream import Stream
from penstock.records import record


@record
class PunctuatedColumn:
    """A column of a punctuation, and what fixes its value."""

    ref: ColumnRef
    equals: tuple[ColumnRef, ...]
    """The columns of other sources that equal it wherever the two sources stand together."""
    constant: Bound | None
    """The filter that holds it to a constant."""
    values: int | None
    """How many values it takes; None if there is no limit, or it may be NULL, of which no punctuation says anything."""


def punctuated_columns(facts: Facts, source: Source, scheme: Punctuated) -> tuple[PunctuatedColumn, ...]:
    """The columns of a scheme of a source, each once."""
    here = facts.of(source.alias)
    held = facts.query.holding(frozenset({source.alias})).predicates
    constants = {p.column: p for p in reversed(held) if isinstance(p, Bound) and p.op is Op.EQ}
    found = []
    for name in dict.fromkeys(scheme.columns):
        ref = ColumnRef(source.alias, name)
        domain = here.domain(ref)
        values = None if domain.nullable else domain.size
        found.append(PunctuatedColumn(ref, carriers(facts, ref), constants.get(ref), values))
    return tuple(found)


def carriers(facts: Facts, column: ColumnRef) -> tuple[ColumnRef, ...]:
    """The columns of other sources that equal a column wherever the two sources stand together."""
    # Sources that are in every result share one combination: each class is looked at once.
    groups: dict[int, tuple[Together, set[str]]] = {}
    for other in facts.query.all_sources:
        if other.alias != column.alias:
            here = facts.of(other.alias, column.alias)
            groups.setdefault(id(here), (here, set()))[1].add(other.alias)
    found = [
        ref for here, aliases in groups.values() for ref in here.equalities.class_of(column) if ref.alias in aliases
    ]
    return tuple(found)


def narrowed(scheme: Punctuated, stream: Stream) -> Reason | None:
    """Why a scheme does not close every value of its columns, if it does not."""
    conflict = contradiction(stream, (*stream.where, *scheme.when))
    if conflict is not None:
        return WhyUseless.NEVER_COMES(stream.name, conflict)
    for predicate in scheme.when:
        match predicate:
            case NullTest(column=named, is_null=False) if named.column in scheme.columns:
                continue
        read = {root for ref in predicate.columns for root in _roots(stream, ref.column)}
        for column in scheme.columns:
            if read & _roots(stream, column):
                return WhyUseless.ONLY_SOME_VALUES(predicate, quoted(column))
    return None


def _roots(stream: Stream, column: str) -> frozenset[str]:
    """The columns of the data that a column is made of: itself, if it is not derived."""
    found = stream.column(column)
    if found is None or found.derived is None:
        return frozenset({column})
    return frozenset(root for ref in found.derived.columns for root in _roots(stream, ref.column))
