"""Fixes that can be written: what is asked of a query in FROM or of WITH is asked of the streams below it.

The closings of a block (`analysis/fixes.py`) lack declarations of what it reads, and that may be the answer of a query
that no statement names: nothing can be declared of it. Where the column is one of a stream below, as it was, or cut of
one, or an end of a window of one, its order, its event time and that it has a value are declared there instead.
Whether that suffices is no longer clear then: rows below may stay, or an outer join give NULL. So such a fix is kept
only if the verdict on the query that declares it calls the state bounded. Other declarations of such a query (keys,
FOLLOWS, punctuations), and references to a query or a view, which none can make, have no place: the fix is dropped.

Preconditions: the verdict is that of the query. Not decided: fixes of several states at once (`fixes_together.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.analysis.changed_query import declaring
from penstock.analysis.check import check_query
from penstock.analysis.closings.edges import Missing
from penstock.analysis.finding import Bounded, Fix, StateFinding, Verdict
from penstock.model.block_tree import blocks_below
from penstock.model.clauses import Output, Source, TimeWindow, Union
from penstock.model.closed_groups import cut_of
from penstock.model.expressions import ColumnRef, Expression
from penstock.model.lineage import lineage
from penstock.model.predicates import NullTest
from penstock.model.problem import InvalidModel
from penstock.model.query import Query
from penstock.model.schemes import Check, NamedTime, Ordered, reference_of
from penstock.model.stream import Stream


def with_writable_fixes(query: Query, verdict: Verdict) -> Verdict:
    """The verdict with those fixes alone that the script has a place for."""
    blocks = {source.stream.name: source for source in blocks_below(query)}
    return _Writable(query, blocks).verdict(verdict, "") if blocks else verdict


class _Writable:
    def __init__(self, query: Query, blocks: Mapping[str, Source]) -> None:
        self.query = query
        self.blocks = blocks
        self.found: dict[Fix, Verdict | None] = {}
        """The verdicts on the query with a fix; None where it cannot declare it."""

    def verdict(self, verdict: Verdict, block: str) -> Verdict:
        """The verdict on a block; the one on top has no name."""
        streams = tuple(self._state(state, block) for state in verdict.streams)
        blocks = tuple(replace(below, verdict=self.verdict(below.verdict, below.name)) for below in verdict.blocks)
        return replace(verdict, streams=streams, blocks=blocks)

    def _state(self, state: StateFinding, block: str) -> StateFinding:
        if isinstance(state.finding, Bounded) or not state.finding.fixes:
            return state
        fixes: dict[Fix, None] = {}
        for fix in state.finding.fixes:
            written = self._written(fix)
            if written == fix or (written is not None and self._bounds(written, state.alias, block)):
                fixes[written] = None
        return replace(state, finding=replace(state.finding, fixes=tuple(fixes)))

    def _written(self, fix: Fix) -> Fix | None:
        """The fix in declarations of streams and views; None where one of it has no place."""
        found: dict[Missing, None] = {}
        for missing in fix.declarations:
            places = tuple(self._places(missing))
            if any(place is None for place in places):
                return None
            found.update(dict.fromkeys(place for place in places if place is not None))
        return Fix(tuple(found)) if found else None

    def _places(self, missing: Missing) -> Iterator[Missing | None]:
        """What is to be declared in the place of something; None where it has none."""
        name, scheme = missing
        reference = None if isinstance(scheme, NamedTime) else reference_of(scheme)
        if reference is not None and reference.stream in self.blocks:
            yield None
        elif name not in self.blocks or not self.blocks[name].stream.is_nameless:
            yield missing
        else:
            column = _about(scheme)
            below = None if column is None else origins(self.blocks[name], column)
            if below is None:
                yield None
            for stream, own in below or ():
                yield from _declared(stream, own, scheme)

    def _bounds(self, fix: Fix, alias: str, block: str) -> bool:
        """Whether a state of a block is bounded once the fix is declared."""
        if fix not in self.found:
            try:
                self.found[fix] = check_query(declaring(self.query, fix))
            except InvalidModel:
                self.found[fix] = None
        verdict = self.found[fix]
        if verdict is None:
            return False
        below = {one.name: one.verdict for one in verdict.blocks}
        states = below.get(block, verdict).streams
        return any(state.alias == alias and isinstance(state.finding, Bounded) for state in states)


def _about(scheme: object) -> str | None:
    """The column that a declaration is about, where it can be asked of another in its place."""
    match scheme:
        case NamedTime(column=column) | Ordered(column=column):
            return column
        case Check(condition=(NullTest(column=ref, is_null=False),)):
            return ref.column
        case _:
            return None


def _declared(stream: Stream, column: str, scheme: object) -> Iterator[Missing | None]:
    """What a stream declares of its own column; nothing where it does already."""
    match scheme:
        case NamedTime():
            if stream.event_time != column:
                yield (stream.name, NamedTime(column)) if stream.event_time is None else None
        case Ordered():
            if not stream.ordering(column):
                yield stream.name, Ordered(column, scheme.within)
        case Check():
            yield stream.name, Check((NullTest(ColumnRef("", column), is_null=False),))


def origins(source: Source, column: str) -> list[tuple[Stream, str]] | None:
    """The columns of streams and views that a column of a source is; None if it is none of theirs."""
    if not source.stream.is_nameless:
        own = source.stream.column(column)
        return None if own is None or own.of_query else [(source.stream, column)]
    match source.below:
        case Union(members=members):
            each = [origins(member, column) for member in members]
            known = [found for found in each if found is not None]
            return [one for found in known for one in found] if len(known) == len(each) else None
        case Query() as query:
            ref = _origin(query, column)
            return None if ref is None else origins(query.by_alias[ref.alias], ref.column)
        case None:
            return None


def _origin(query: Query, column: str) -> ColumnRef | None:
    """The column of a source that a column of an answer comes from."""
    origin = lineage(query).get(column)
    if origin is not None:
        return origin.column if isinstance(origin, TimeWindow) else origin
    for shown in query.answer:
        if shown.name == column and isinstance(shown, Output) and isinstance(shown.value, Expression):
            cut = cut_of(shown.value)
            return None if cut is None else cut.column
    return None
