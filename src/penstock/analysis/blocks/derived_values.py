"""What holds of the values of a block's answer because it held below.

A row of the answer carries columns of rows below, unchanged. What was true of these values is true of them still:

- conditions that hold in every row of the answer (WHERE, ON of inner joins, filters of a source), and what the WHERE
  of a source's stream says;
- the ends of a window, which are never NULL: a row without a time is in none; nor is the least or greatest time in
  one, nor what is cut of a time that never is (`date_trunc`);
- CHECK of a source that stands in every row;
- COOCCURS, and FOLLOWS WITHIN a span: every match lies in the window whatever becomes of the rows, so long as the
  event time that they are about is the event time of the answer.

- Of what an outer join makes one of several columns (`FULL JOIN … USING (k)`) a band follows where all of these have
  one: let k be one of x.k and y.k, which are equal where both are there, and the event time t one of x.ts and y.ts. Let
  x and y each promise in which window the time of another stream's rows with their k lies. Then t is the time of one
  that is there and has that k, so those rows lie in its window of t, and so in the least that holds both windows.

Preconditions: all columns that are named come through unchanged, or are such. Not claimed: conditions that only Spark
reads, whose text names columns that are called otherwise above; CHECK of a side that may be absent; what counts rows,
since a join changes the counts; what the other stream says of the two; FOREIGN KEY and STREAM KEY.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.analysis.blocks.derived_clocks import cuts, picked_in_cuts, picked_in_windows
from penstock.analysis.facts.together import Facts
from penstock.analysis.finding import Claim
from penstock.analysis.reasons import Promised
from penstock.model.clauses import Output, Source, TimeWindow
from penstock.model.expressions import Call, ColumnRef, Expression
from penstock.model.lineage import Origin, chosen_among
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
from penstock.model.schemes import Check, Cooccurs, Follows, OnViolation, Policy, Scheme, reference_of
from penstock.model.spans import Span, Window

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


def merged_bands(query: Query, event_time: str | None) -> Iterator[Claim]:
    """The bands that follow of columns that are one of several, whichever of these there is."""
    merged = {} if query.is_grouped else dict(_merged(query))
    times = merged.get(event_time or "", ())
    if len(times) < 2 or any(query.by_alias[ref.alias].event_time != ref for ref in times):
        return
    aliases = [ref.alias for ref in times]
    named = {ref: name for name, refs in merged.items() for ref in refs if {r.alias for r in refs} == set(aliases)}
    first, *others = (list(_bands(query, alias, named)) for alias in aliases)
    for names, other, theirs, windows, text in first:
        found = [next((band for band in bands if band[:3] == (names, other, theirs)), None) for bands in others]
        known = [band for band in found if band is not None]
        if len(known) < len(found) or not _are_equal(query, merged, names):
            continue
        every = [windows, *(band[3] for band in known)]
        window = Window(_least([w.low for w in every]), _most([w.high for w in every]))
        if window.low is not None or window.high is not None:
            texts = (text, *(band[4] for band in known))
            scheme = Cooccurs(names, other, theirs, window, _TRUST)
            yield Claim(scheme, (Promised.WHICHEVER_IS_THERE(tuple(aliases), texts),))


_Band = tuple[tuple[str, ...], str, tuple[str, ...], Window, str]


def _merged(query: Query) -> Iterator[tuple[str, tuple[ColumnRef, ...]]]:
    """The columns of the answer that are the first of several columns that is there."""
    for shown in query.answer:
        term = shown.value.term if isinstance(shown, Output) and isinstance(shown.value, Expression) else None
        if isinstance(term, Call) and term.function == "coalesce" and (refs := chosen_among(term)):
            yield shown.name, refs


def _bands(query: Query, alias: str, named: Mapping[ColumnRef, str]) -> Iterator[_Band]:
    """What a source says of when rows of another stream match it, in the names of merged columns."""
    stream = query.by_alias[alias].stream
    for scheme in stream.schemes:
        reference, window = reference_of(scheme), None
        match scheme:
            case Cooccurs():
                window = scheme.window
            case Follows(within=Span() as span):
                window = Window(None, span)
            case _:
                pass
        names = [] if reference is None else [named.get(ColumnRef(alias, own)) for own, _ in reference.pairs]
        known = tuple(name for name in names if name is not None)
        if reference is not None and window is not None and len(known) == len(names):
            theirs = tuple(other for _, other in reference.pairs)
            yield known, reference.stream, theirs, window, scheme.on(stream.name)


def _are_equal(query: Query, merged: Mapping[str, tuple[ColumnRef, ...]], names: tuple[str, ...]) -> bool:
    """Whether the columns that each of these is one of are equal where they stand together."""
    for name in names:
        first, *others = merged[name]
        equal = query.equalities(frozenset(ref.alias for ref in merged[name]))
        if not all(equal.equal(first, other) for other in others):
            return False
    return True


def _least(ends: list[Span | None]) -> Span | None:
    known = [end for end in ends if end is not None]
    return min(known, key=lambda end: end.ticks) if len(known) == len(ends) else None


def _most(ends: list[Span | None]) -> Span | None:
    known = [end for end in ends if end is not None]
    return max(known, key=lambda end: end.ticks) if len(known) == len(ends) else None


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
