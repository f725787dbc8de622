"""The answer of a block as a stream: its columns with their types, its event time, and what is declared of it.

What follows of it from below is the analysis' to say. Types are those that Spark gives; where that is not certain
without Spark, the user is asked for a CAST. The event time is the one declared, else the only one that the block keeps:
a column that is the event time of its stream, or the end of a window of time; of a window's two ends the later counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from penstock.errors import QueryMistake
from penstock.model.clauses import Formula, Output, TimeWindow
from penstock.model.lineage import kept_event_time
from penstock.model.names import fold
from penstock.model.query import Query
from penstock.model.stream import Column, Stream
from penstock.model.term_types import output_type
from penstock.records import record
from penstock.sql.constraints import Outline
from penstock.sql.source import SourceText
from penstock.sql.streams import StreamBinder
from penstock.sql.tree import CreateStream, Element, Name, Stretch

AnyOutput = TypeVar("AnyOutput", Output, Formula)


@record
class Declared:
    """What declarations of a view may name: streams, and sinks by their folded names, each as it is spelt."""

    outlines: Mapping[str, Outline | None]
    sinks: Mapping[str, str | None]


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
    return None if bound is None else bound.stream


def with_window_ends(query: Query) -> Query:
    """The block with the ends of each window that it gives whole, so that these are columns above."""
    ends = [
        Output(name, replace(output.value, end=end))
        for output in _windows(query)
        if isinstance(output.value, TimeWindow)
        for name, end in zip(_names_of_ends(output.name), ("start", "end"), strict=True)
    ]
    taken = {output.name for output in query.outputs}
    added = tuple(end for end in ends if end.name not in taken)
    shown = query.block.shown
    shown = (*shown, *(end.name for end in ends if end.name not in shown)) if shown else ()
    return query.with_block(replace(query.block, outputs=(*query.outputs, *added), shown=shown)) if ends else query


def window_ends(query: Query) -> dict[str, tuple[str, str]]:
    """The columns of a block that are windows, each with the names of its ends."""
    return {output.name: _names_of_ends(output.name) for output in _windows(query)}


def _windows(query: Query) -> list[Output]:
    """The columns of the answer that are whole windows."""
    shown = query.block.shown or tuple(output.name for output in query.outputs)
    whole = (o for o in query.outputs if isinstance(o.value, TimeWindow) and o.value.end is None)
    return [output for output in whole if output.name in shown]


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
