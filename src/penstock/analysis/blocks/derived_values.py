"""What holds of the values of a block's answer because it held below.

A row of the answer carries columns of rows below, unchanged. What was true of these values is true of them still:

- conditions that hold in every row of the answer (WHERE, ON of inner joins, filters of a source), and what the WHERE
  of a source's stream says;
- the ends of a window, which are never NULL: a row without a time is in none; nor is the least or greatest time in
  one, nor what is cut of a time that never is (`date_trunc`);
- CHECK of a source that stands in every row;
- COOCCURS, and FOLLOWS WITHIN a span: every match lies in the window whatever becomes of the rows, so long as the
  event time that they are about is the event time of the answer.

Preconditions: all columns that are named come through unchanged. Not claimed: conditions that only Spark reads, whose
text names columns that are called otherwise above; CHECK of a side that may be absent; what counts rows, since a join
changes the counts; FOREIGN KEY and STREAM KEY.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.analysis.blocks.derived_clocks import cuts, picked_in_cuts, picked_in_windows
from penstock.analysis.facts.together import Facts
from penstock.analysis.finding import Claim
from penstock.analysis.reasons import Promised
from penstock.model.clauses import Source, TimeWindow
from penstock.model.expressions import ColumnRef
from penstock.model.lineage import Origin
from penstock.model.never_null import is_there, one_is_there
from penstock.model.predicates import (
    Bound,
    Comparison,
    Difference,
    NoneOf,
    NullTest,
    OneOf,
    Predicate,
    renamed,
    written,
)
from penstock.model.query import Query
from penstock.model.schemes import Check, Cooccurs, Follows, OnViolation, Policy, Scheme
from penstock.model.spans import Span

_TRUST = OnViolation(Policy.TRUST)
_READ = (Bound, Comparison, Difference, NoneOf, NullTest, OneOf)
"""Conditions that can be said of other columns."""


def derived_conditions(facts: Facts, known: Mapping[str, Origin]) -> Iterator[Claim]:
    """The conditions that all rows of the answer keep."""
    query = facts.query
    names = _names(query, known)
    for name, origin in known.items():
        if isinstance(origin, TimeWindow) and (query.is_grouped or is_there(query, origin.column)):
            yield Claim(NullTest(ColumnRef("", name), is_null=False), (Promised.WINDOW_HAS_ENDS(origin),))
    for name, window, is_sure in picked_in_windows(query):
        if is_sure:
            yield Claim(NullTest(ColumnRef("", name), is_null=False), (Promised.WINDOW_HAS_ENDS(window.whole),))
    for name, refs in one_is_there(query):
        yield Claim(NullTest(ColumnRef("", name), is_null=False), (Promised.ONE_IS_THERE(list(refs)),))
    sure = ((name, cut) for name, cut, is_sure in picked_in_cuts(query) if is_sure)
    for name, cut in (*cuts(query), *sure):
        if cut.column.alias in query.core and not facts.of().domain(cut.column).nullable:
            yield Claim(NullTest(ColumnRef("", name), is_null=False), (Promised.CUT_OF_A_TIME(cut.column),))
    for predicate in dict.fromkeys(query.holding(frozenset()).predicates):
        yield from _held(predicate, names)
    for source in _present(query):
        for predicate in source.stream.where:
            yield from _held(_of(predicate, source.alias), names)


def derived_schemes(query: Query, known: Mapping[str, Origin], event_time: str | None) -> Iterator[Claim]:
    """The declarations about values that survive."""
    names = _names(query, known)
    present = {source.alias for source in _present(query)}
    for source in query.sources:
        own = {column: name for (alias, column), name in names.items() if alias == source.alias}
        is_timed = event_time is not None and own.get(source.stream.event_time or "") == event_time
        for scheme in source.stream.schemes:
            if not all(column in own for column in scheme.own_columns):
                continue
            found = _survives(scheme, own, is_timed=is_timed, is_present=source.alias in present)
            if found is not None:
                yield Claim(found, (Promised.UNCHANGED(scheme.on(source.stream.name)),))


def _survives(scheme: Scheme, own: Mapping[str, str], *, is_timed: bool, is_present: bool) -> Scheme | None:
    match scheme:
        case Check(condition=condition) if is_present and all(isinstance(p, _READ) for p in condition):
            held = tuple(renamed(p, lambda ref: ColumnRef("", own[ref.column])) for p in condition)
            return Check(tuple(replace(p, text="") for p in held), _TRUST)
        case Cooccurs(columns=columns) if is_timed:
            return replace(scheme, columns=tuple(own[c] for c in columns), on_violation=_TRUST)
        case Follows(columns=columns, within=Span()) if is_timed:
            return replace(scheme, columns=tuple(own[c] for c in columns), on_violation=_TRUST)
        case _:
            return None


def _names(query: Query, known: Mapping[str, Origin]) -> dict[tuple[str, str], str]:
    """By alias and column of a source that comes through, what it is called above; equal columns are one."""
    found: dict[tuple[str, str], str] = {}
    equal = query.equalities(frozenset())
    for name, origin in known.items():
        if isinstance(origin, ColumnRef):
            found.setdefault((origin.alias, origin.column), name)
    for name, origin in known.items():
        if isinstance(origin, ColumnRef) and origin.alias in query.core:
            for other in equal.class_of(origin):
                found.setdefault((other.alias, other.column), name)
    return found


def _present(query: Query) -> tuple[Source, ...]:
    return tuple(source for source in query.sources if source.alias in query.core)


def _of(predicate: Predicate, alias: str) -> Predicate:
    return renamed(predicate, lambda ref: ColumnRef(alias, ref.column))


def _held(predicate: Predicate, names: Mapping[tuple[str, str], str]) -> Iterator[Claim]:
    if not isinstance(predicate, _READ):
        return
    columns = [names.get((ref.alias, ref.column)) for ref in predicate.columns]
    if None in columns or len(set(columns)) < len(columns):
        return  # Of a column compared with one that equals it nothing is left to say.
    above = renamed(predicate, lambda ref: ColumnRef("", names[ref.alias, ref.column]))
    yield Claim(replace(above, text=""), (Promised.HELD(written(predicate)),))
