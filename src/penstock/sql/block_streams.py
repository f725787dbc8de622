"""The answer of a block as a stream: its columns with their types, its event time, and what is declared of it.

What follows of it from below is the analysis' to say. Types are those that Spark gives; where that is not certain
without Spark, the user is asked for a CAST. The event time is the one declared, else the only one that the block keeps:
a column that is the event time of its stream, or the end of a window of time; of a window's two ends the later counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from penstock.errors import DeclarationMistake, QueryMistake
from penstock.model.clauses import Aggregate, Formula, Output, Scalar, TimeWindow, Union
from penstock.model.expressions import Call, ColumnRef, Expression
from penstock.model.lineage import chosen_among, kept_event_time
from penstock.model.names import fold
from penstock.model.query import Query
from penstock.model.script import reference_problems
from penstock.model.stream import Column, Sink, Stream
from penstock.model.term_types import output_type
from penstock.model.window_columns import window_end, window_of
from penstock.records import record
from penstock.sql.constraints import Outline
from penstock.sql.source import SourceText
from penstock.sql.streams import BoundStream, StreamBinder
from penstock.sql.tree import CreateStream, Element, Name, Stretch

AnyOutput = TypeVar("AnyOutput", Output, Formula)


@record
class Referred:
    """The streams, the views that declarations name, and the sinks of a script by their folded names."""

    streams: Mapping[str, Stream | None]
    sinks: Mapping[str, Sink | None]

    def check(self, source: SourceText, one: BoundStream) -> None:
        """Report what is wrong with what a stream or a view names."""
        known = tuple(other for other in self.streams.values() if other is not None)
        sinks = tuple(sink for sink in self.sinks.values() if sink is not None)
        names: tuple[Mapping[str, object], ...] = (self.streams, self.sinks)
        broken = frozenset(name for several in names for name, other in several.items() if other is None)
        for problem in reference_problems(one.stream, known, sinks, broken):
            source.report(DeclarationMistake, problem.message, one.place_of(problem.subject), hint=problem.hint)


@record
class Declared:
    """What declarations of a view may name: streams, and sinks by their folded names, each as it is spelt."""

    outlines: Mapping[str, Outline | None]
    sinks: Mapping[str, str | None]
    referred: Referred


def block_stream(
    query: Query,
    *,
    elements: tuple[Element, ...],
    at: Stretch,
    source: SourceText,
    known: Declared,
) -> Stream | None:
    """The stream that a block gives; None, and mistakes, if its columns cannot be told."""
    columns: list[Column] = []
    for output in query.answer:
        kind = output_type(output, query.type_of)
        if kind is None:
            value = output if isinstance(output, Formula) else output.value
            source.report(
                QueryMistake,
                f"the type of column {output.name} is not known without Spark",
                at,
                hint=f"name it: CAST({value} AS type) AS {output.name}",
            )
            return None
        columns.append(Column(output.name, kind))
    return declared_stream(
        query.name, tuple(columns), kept_event_time(query), elements=elements, at=at, source=source, known=known
    )


def declared_stream(
    name: str,
    columns: tuple[Column, ...],
    clock: str | None,
    *,
    elements: tuple[Element, ...],
    at: Stretch,
    source: SourceText,
    known: Declared,
) -> Stream | None:
    """A stream of such columns, of which something may be declared; `clock` is its event time where none is."""
    written = CreateStream(Name(name, at), elements, None, None, at)
    bound = StreamBinder(source, written, known.outlines, known.sinks, given=columns, clock=clock).bind()
    if bound is not None and elements:
        known.referred.check(source, bound)
    return None if bound is None else bound.stream


def with_window_ends(query: Query) -> Query:
    """The block with the ends of each window that it gives whole, so that these are columns above."""
    ends = [
        (Output(name, end), value)
        for output, both in _windows(query)
        for name, end, value in zip(_names_of_ends(output.name), both, (output.value,) * 2, strict=True)
    ]
    taken = {output.name for output in query.outputs}
    added = tuple(end for end, _ in ends if end.name not in taken)
    shown = query.block.shown
    shown = (*shown, *(end.name for end, _ in ends if end.name not in shown)) if shown else ()
    # A window of a block below that is grouped by has its ends beside it, which part no group.
    keys = (end.value for end, of in ends if query.is_grouped and isinstance(of, ColumnRef))
    group_by = tuple(dict.fromkeys((*query.group_by, *(key for key in keys if not isinstance(key, Aggregate)))))
    block = replace(query.block, outputs=(*query.outputs, *added), shown=shown, group_by=group_by)
    return query.with_block(block) if ends else query


def windows_made(query: Query | Union) -> dict[str, TimeWindow]:
    """The columns of a block that are windows, each with the window that it is."""
    found: dict[str, TimeWindow] = {}
    for output, _ in _windows(query) if isinstance(query, Query) else ():
        match output.value:
            case TimeWindow() as window:
                found[output.name] = window
            case Expression(term=term) if (own := window_of(term)) is not None:
                found[output.name] = own
            case ColumnRef() as ref if isinstance(query, Query) and (below := query.by_alias[ref.alias].below):
                made = windows_made(below).get(ref.column)
                found |= {} if made is None else {output.name: made}
            case _:
                pass
    return found


def window_ends(query: Query | Union) -> dict[str, tuple[str, str]]:
    """The columns of a block that are windows, each with the names of its ends; of a union, those of all members."""
    if isinstance(query, Query):
        return {output.name: _names_of_ends(output.name) for output, _ in _windows(query)}
    first, *others = (window_ends(member.below) for member in query.members if member.below is not None)
    known = {c.name for member in query.members for c in member.stream.columns}
    return {name: ends for name, ends in first.items() if ends[0] in known and all(name in own for own in others)}


def _windows(query: Query) -> Iterator[tuple[Output, tuple[Scalar, Scalar]]]:
    """The columns of the answer that are whole windows, each with its ends."""
    shown = query.block.shown or tuple(output.name for output in query.outputs)
    for output in query.outputs:
        if output.name in shown and (ends := _ends_of(query, output.value)) is not None:
            yield output, ends


def _ends_of(query: Query, value: Scalar | Aggregate) -> tuple[Scalar, Scalar] | None:
    """The ends of what is a window of time: of a group, of a row, or of a block below."""
    match value:
        case TimeWindow(end=None) as window:
            return replace(window, end="start"), replace(window, end="end")
        case Expression(term=term) if (made := window_of(term)) is not None and made.end is None:
            return window_end(made, "start"), window_end(made, "end")
        case Expression(term=term) if not query.is_grouped and (refs := chosen_among(term)):
            both = [_ends_of(query, ref) for ref in refs]
            known = [ends for ends in both if ends is not None]
            if len(known) < len(both):
                return None
            return _first_of([start for start, _ in known]), _first_of([end for _, end in known])
        case ColumnRef() as ref if not query.grouping_sets and (not query.is_grouped or ref in query.sure_keys):
            below = query.by_alias[ref.alias].below
            names = None if below is None else window_ends(below).get(ref.column)
            has_both = names is not None and query.by_alias[ref.alias].stream.column(names[0]) is not None
            return (ColumnRef(ref.alias, names[0]), ColumnRef(ref.alias, names[1])) if names and has_both else None
        case _:
            return None


def _first_of(values: Sequence[Scalar]) -> Expression:
    """Of ends of windows the first that is there."""
    refs = [value for value in values if isinstance(value, ColumnRef)]
    text = f"coalesce({', '.join(map(str, refs))})"
    return Expression(text, tuple(sorted(set(refs))), Call("coalesce", tuple(refs)))


def _names_of_ends(name: str) -> tuple[str, str]:
    return f"{name}.start", f"{name}.end"


def with_names(query: Query, names: tuple[Name, ...], source: SourceText) -> Query | None:
    """The block with these names for the columns of its answer; None, and a mistake, if they are too many or few."""
    if not names:
        return query
    if len(names) != len(query.answer):
        source.report(
            QueryMistake,
            f"{len(names)} names are given to the columns, of which there are {len(query.answer)}",
            Stretch(names[0].at.start, names[-1].at.end),
        )
        return None
    for number, name in enumerate(names):
        if any(fold(name.text) == fold(other.text) for other in names[:number]):
            source.report(QueryMistake, f"two columns are named {name.text}", name.at, hint="give each its own name")
            return None
    given = {old.name: new.text for old, new in zip(query.answer, names, strict=True)}
    outputs = tuple(_named(output, given.get(output.name, output.name)) for output in query.outputs)
    shown = tuple(given[s] if isinstance(s, str) else _named(s, given[s.name]) for s in query.block.shown)
    return query.with_block(replace(query.block, outputs=outputs, shown=shown))


def _named(output: AnyOutput, name: str) -> AnyOutput:
    """An output under a name that is given from without: that it had to have another before is nothing to tell."""
    return replace(output, name=name, is_renamed=output.is_renamed and output.name == name)
