"""The identity that ties the rows of several streams together: for each source, the columns that carry it.

REWRITE's `id`, VIRTUAL or not: a key of every stream, by which rows of different streams are of one entity. Candidates
are the declared primary keys; from the source that declares one it is carried to the others by the pairs of FOREIGN
KEYs, by columns of the same name, and by the equalities of the query. Whether a candidate is an identity is for the
rules to ask. Not found: keys that follow from declarations without being declared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.analysis.rewriting.question import CountQuestion
from penstock.analysis.rewriting.substreams import Pairs
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Equalities
from penstock.model.schemes import ForeignKey

Identity = Mapping[str, tuple[str, ...]]
"""By source, the columns of the identity, always in the same order."""


def identities(question: CountQuestion) -> Iterator[Identity]:
    """The candidates, each once; keys that no row carries first, since they are meant for this."""
    seen: list[Identity] = []
    sources = question.query.by_alias
    keys = [(alias, key) for alias in question.aliases for key in sources[alias].stream.keys]
    keys.sort(key=lambda found: any(sources[found[0]].stream.type_of(column) is not None for column in found[1]))
    for alias, key in keys:
        carried = _carried(question, {alias: key})
        if len(carried) == len(question.aliases) and carried not in seen:
            seen.append(carried)
            yield carried


def pairs(identity: Identity, left: str, right: str) -> Pairs:
    """The columns of the identity of two sources, side by side."""
    return tuple(zip(identity[left], identity[right], strict=True))


def _carried(question: CountQuestion, known: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    equalities = Equalities.of((*question.ties, *(p for ties in question.ties_without.values() for p in ties)))
    grown = True
    while grown:
        grown = False
        for alias in question.aliases:
            for other in tuple(known) if alias not in known else ():
                found = [_partner(question, equalities, ColumnRef(other, column), alias) for column in known[other]]
                if None not in found and alias not in known:
                    known[alias] = tuple(column for column in found if column is not None)
                    grown = True
    return {alias: known[alias] for alias in question.aliases if alias in known}


def _partner(question: CountQuestion, equalities: Equalities, ref: ColumnRef, alias: str) -> str | None:
    """The column of a source that stands for a column of another."""
    stream, other = question.query.by_alias[alias].stream, question.query.by_alias[ref.alias].stream
    for own, its, turned in ((stream, other, False), (other, stream, True)):
        for scheme in own.schemes:
            if isinstance(scheme, ForeignKey) and scheme.parent == its.name:
                for mine, theirs in zip(scheme.columns, scheme.parent_columns, strict=True):
                    known, found = (mine, theirs) if turned else (theirs, mine)
                    if known == ref.column:
                        return found
    named = stream.column(ref.column)
    if named is not None:
        return named.name
    return next((other.column for other in equalities.class_of(ref) if other.alias == alias), None)
