"""Joins and anti-joins of sources that are included in each other, as counts (REWRITE 4.2, 4.3).

**Joins**: a join of sources that are included in each other has as many rows as the last.

If id is a key of every joined source, and every row of V has a partner by id in each of the others (FOREIGN KEYs),
then each row of V stands in exactly one result, and each result holds one row of V: the join counts what V counts. The
paper's `min(s1.cnt, s2.cnt)` is this with S2 as V, and the root's own count as a limit from above.

Preconditions: matches are by identity (4.1); the keys and the partners follow from the declarations by implication.
Where the root itself has all partners it is V, and the count is exact. Not decided: joins of sources that are not
included in each other, whose size does not follow from counts.

**Anti-joins**: what has no match is the difference of two counts.

If id is a key of V and of A, and every row of A has its partner in V, then the rows of V with a match in A are as many
as A has rows, and those without are V's count less A's. With several NOT EXISTS, what is taken off is the union of
their rows. It is a count in two cases, by inclusion and exclusion:
- one of them includes another: a row that matches the one matches the other, and the larger counts for both;
- several are of one stream of which id is a PRIMARY KEY: then what two of them share is the rows that are in both, and
  the union is the rows that are in any. FINs and RSTs of one stream of packets are of this kind.

Preconditions: matches are by identity (4.1) and keys follow (4.2); partners follow by implication. Sources of one
stream are united only if they are matched alike and their own conditions are ones that can be put under one alias. A
window without any row of A must count as 0 and not disappear (ERRATA), so all streams are counted in one aggregation.

Not decided: sources of different streams that do not include each other (how many rows have a match in both does not
follow from counts, nor can it be declared that none has), and a V that is included in A, which leaves nothing.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.analysis.decider_reasons import CountReason
from penstock.analysis.reasons import Reason
from penstock.analysis.rewriting.identity import Identity, pairs
from penstock.analysis.rewriting.substreams import SubStreams
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Bound, Comparison, Difference, OneOf, Predicate


def not_keyed(known: SubStreams, identity: Identity, aliases: tuple[str, ...]) -> Reason | None:
    """A source of which the identity is no key, as a reason; None if it is a key of all."""
    for alias in aliases:
        if not known.is_key(alias, identity[alias]):
            stream = known.question.query.by_alias[alias].stream.name
            return CountReason.KEY_NOT_IMPLIED(identity[alias], stream)
    return None


def counted_source(known: SubStreams, identity: Identity) -> str | None:
    """V: the source whose rows the join has as many of; the root, if it is one; None if there is none."""
    question = known.question
    by_choice = (question.root, *reversed(question.joined))
    return next((alias for alias in by_choice if _has_all_partners(known, identity, alias)), None)


def no_counted_source(known: SubStreams) -> Reason:
    """Why no source counts the join."""
    joined = ", ".join(known.question.joined)
    return CountReason.NO_COUNTED(joined)


def _has_all_partners(known: SubStreams, identity: Identity, alias: str) -> bool:
    others = (other for other in known.question.joined if other != alias)
    return all(known.refers(alias, other, pairs(identity, alias, other)) for other in others)


def removed_sources(known: SubStreams, identity: Identity, counted: str) -> tuple[str, ...]:
    """A: the sources of NOT EXISTS whose rows are taken off, more than one only if they are of one stream; or none."""
    without = known.question.without
    for alias in without:
        united = [other for other in without if other != alias and _can_unite(known, identity, alias, other)]
        for chosen in dict.fromkeys(((alias,), (alias, *united))):
            if _takes_off_all(known, identity, counted, chosen):
                return chosen
    return ()


def no_removed_source(known: SubStreams, identity: Identity, counted: str) -> Reason:
    """Why no difference of counts says what has no match."""
    for alias in known.question.without:
        if not known.refers(alias, counted, pairs(identity, alias, counted)):
            stream = known.question.query.by_alias[alias].stream.name
            parent = known.question.query.by_alias[counted].stream.name
            return CountReason.NO_FOREIGN_KEY(stream, parent, alias, counted)
    return CountReason.NOT_INCLUDED(known.question.without)


def under(alias: str, predicate: Predicate) -> Predicate | None:
    """A condition on one source as one on another of its stream; None if only Spark can read it."""
    match predicate:
        case Bound() | OneOf():
            return replace(predicate, column=ColumnRef(alias, predicate.column.column), text="")
        case _:
            return None


def _takes_off_all(known: SubStreams, identity: Identity, counted: str, chosen: tuple[str, ...]) -> bool:
    """Whether each of some sources has its partners in V, and what any other source takes off they take off too."""
    others = (other for other in known.question.without if other not in chosen)
    return all(known.refers(alias, counted, pairs(identity, alias, counted)) for alias in chosen) and all(
        any(known.refers(other, alias, pairs(identity, other, alias)) for alias in chosen) for other in others
    )


def _can_unite(known: SubStreams, identity: Identity, one: str, other: str) -> bool:
    """Whether the rows that are in one of two sources, or in both, are counted as rows of their stream."""
    question = known.question
    stream = question.query.by_alias[one].stream
    if stream.name != question.query.by_alias[other].stream.name or identity[one] != identity[other]:
        return False
    columns = set(identity[one])
    if not any(set(key) <= columns for key in stream.keys):
        return False
    alike = {_moved(tie, other, one) for tie in question.ties_without[other]}
    return alike == set(question.ties_without[one]) and None not in [
        under(one, predicate) for alias in (one, other) for predicate in question.filters[alias]
    ]


def _moved(tie: Predicate, old: str, new: str) -> Predicate:
    """A tie of one source as one of another."""

    def ref(column: ColumnRef) -> ColumnRef:
        return ColumnRef(new, column.column) if column.alias == old else column

    match tie:
        case Comparison(left=left, right=right):
            return replace(tie, left=ref(left), right=ref(right))
        case Difference(minuend=minuend, subtrahend=subtrahend):
            return replace(tie, minuend=ref(minuend), subtrahend=ref(subtrahend))
        case _:
            return tie
