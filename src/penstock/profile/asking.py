"""Which constraints could help the queries of a script? What to ask of its data, and which answers work together.

For each two streams that a query joins, over the columns that they share: FOLLOWS in rows, and in time with the parent
ORDERED BY its event time; PRIMARY KEY of either, alone and with the FOREIGN KEY that guarantees it; CLUSTERED BY and
ORDERED BY each shared column; COOCCURS, and a FOREIGN KEY with a window, with both event times ordered; and what makes
a clock: ORDERED BY an event time.
Each is an **idea**: the constraints that must be declared together for any of them to be of use.
What is declared already is asked too, to be verified. Streams joined with themselves are asked for keys, clusters and
orders alone. STREAM KEY and punctuations with a LIFESPAN are not verified.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from penstock.analysis.closings.edges import shared_columns
from penstock.analysis.facts.together import Facts
from penstock.errors import NotSupportedYet
from penstock.model.clauses import Source
from penstock.model.predicates import Comparison, Difference, aliases_of
from penstock.model.query import Query
from penstock.model.schemes import (
    Check,
    Clustered,
    Cooccurs,
    Follows,
    ForeignKey,
    Ordered,
    PrimaryKey,
    Punctuated,
    Scheme,
    StreamKey,
    reference_of,
)
from penstock.model.script import Script
from penstock.model.spans import Auto, Frontier, Rows, Span
from penstock.model.stream import Arrival, Stream
from penstock.plan.order_across_streams import by_arrival, uncomparable_arrivals
from penstock.spark.profiling.needs import NumberMeaning, Question

Asked = tuple[Question, ...]
"""The questions of one fact."""


@dataclass
class ProfileQuestions:
    """What to ask, each thing once, in the order in which the queries bring it up."""

    ideas: dict[tuple[Asked, ...], None] = field(default_factory=dict)
    domains: dict[tuple[str, str], None] = field(default_factory=dict)
    """(stream, column) whose values are counted."""

    @property
    def facts(self) -> list[Asked]:
        """The facts of all ideas, each once."""
        return list(dict.fromkeys(asked for idea in self.ideas for asked in idea))

    def add(self, *idea: Asked | None) -> None:
        """An idea; parts that cannot be are left out, and an idea of nothing is none."""
        parts = tuple(asked for asked in idea if asked is not None)
        if parts:
            self.ideas.setdefault(parts)


def asking_of(script: Script) -> ProfileQuestions:
    """What to ask of the data for the queries of a script."""
    for stream in script.streams:
        if stream.has_parts:
            raise NotSupportedYet(
                f"stream {stream.name} has parts, and profile measures no order within parts yet",
                hint="leave PARTS BY out and read one part: USING … OPTIONS (path …) of it, or WHERE",
            )
    found = ProfileQuestions()
    for query in script.queries:
        facts = Facts(query)
        for source in query.all_sources:
            for column in _compared(query, source):
                found.add((Question(source.stream, Ordered(column), NumberMeaning.ROWS),))
            found.add(_clock(source.stream))
        for own in query.all_sources:
            for other in query.all_sources:
                if own.alias != other.alias:
                    here = facts.of(own.alias, other.alias)
                    pairs = shared_columns(here, own.alias, other.alias)
                    if pairs:
                        _ask_of_join(found, query, own, other, pairs)
    return found


def _compared(query: Query, source: Source) -> list[str]:
    """The event time, and the columns that comparisons tie to another stream."""
    found = [] if source.stream.event_time is None else [source.stream.event_time]
    for predicate in query.predicates:
        if isinstance(predicate, Comparison | Difference) and len(aliases_of(predicate)) > 1:
            found += [ref.column for ref in predicate.columns if ref.alias == source.alias]
    return list(dict.fromkeys(found))


def _clock(stream: Stream) -> Asked | None:
    if stream.event_time is None:
        return None
    return (Question(stream, Ordered(stream.event_time), NumberMeaning.TICKS),)


def _ask_of_join(
    found: ProfileQuestions, query: Query, own: Source, other: Source, pairs: tuple[tuple[str, str], ...]
) -> None:
    """What the rows of one source may know of another that they are joined with."""
    stream, parent = own.stream, other.stream
    columns, theirs = (tuple(side) for side in zip(*pairs, strict=True))
    for column in theirs:
        found.add((Question(parent, Ordered(column), NumberMeaning.ROWS),))
        found.add((Question(parent, Clustered(column), NumberMeaning.ROWS),))
        found.domains.setdefault((parent.name, column))
    key = (Question(parent, PrimaryKey(theirs), NumberMeaning.BROKEN, limit=0),)
    found.add(key)
    if stream.name == parent.name:
        return
    foreign = (Question(stream, ForeignKey(columns, parent.name, theirs), NumberMeaning.BROKEN, parent, limit=0),)
    found.add(key, foreign)
    for column in theirs:
        found.add((Question(parent, Clustered(column), NumberMeaning.ROWS),), foreign)
    follows = Follows(parent.name, theirs, columns)
    in_order = by_arrival(query) and uncomparable_arrivals(query) is None
    if in_order or files_are_counted(stream, parent):
        first = [s.stream.name for s in query.all_sources]
        parent_first = in_order and first.index(parent.name) < first.index(stream.name)
        found.add((Question(stream, follows, NumberMeaning.ROWS, parent, in_order, parent_first),))
    if stream.clock is not None and parent.clock is not None and stream.clock.compares_with(parent.clock):
        found.add((Question(stream, follows, NumberMeaning.TICKS, parent),), _clock(parent))
        clocks = (_clock(stream), _clock(parent))
        found.add(key, foreign, _ends(stream, ForeignKey(columns, parent.name, theirs), parent), *clocks)
        if query.all_sources.index(own) < query.all_sources.index(other):
            # It is of use from both sides, whoever declares it.
            found.add(_ends(stream, Cooccurs(columns, parent.name, theirs), parent), *clocks)


def _ends(stream: Stream, scheme: Scheme, parent: Stream) -> Asked:
    """A window of time: how far before and how far after a row its matches lie."""
    return tuple(Question(stream, scheme, need, parent) for need in (NumberMeaning.BEFORE, NumberMeaning.AFTER))


def files_are_counted(*streams: Stream) -> bool:
    """Whether files are read a few at a time, so that there is an order of reading."""
    return all(
        s.storage is not None and "maxfilespertrigger" in {name.lower() for name, _ in s.storage.options}
        for s in streams
    )


def declared_questions(script: Script) -> Iterator[tuple[str, Question | None]]:
    """What the streams of the queries declare: the constraint, and the question that verifies it, if one can be put."""
    arrival = {q.name: by_arrival(q) and uncomparable_arrivals(q) is None for q in script.queries}
    for stream in streams_of(script):
        queries = [q for q in script.queries if stream in [s.stream for s in q.all_sources]]
        in_order = all(arrival[q.name] for q in queries)
        if stream.arrival is not None:
            yield stream.arrival.on(stream.name), Question(stream, stream.arrival, NumberMeaning.BROKEN, limit=0)
        for scheme in stream.schemes:
            reference = reference_of(scheme)
            parent = None if reference is None else script.stream(reference.stream)
            readable = parent is None or parent in streams_of(script)
            first = [s.stream.name for q in queries for s in q.all_sources]
            parent_first = in_order and parent is not None and parent.name in first[: first.index(stream.name)]
            verified = _verifying(stream, scheme, parent, in_order, parent_first) if readable else None
            if (
                verified is not None
                and isinstance(scheme, Follows)
                and verified.need is NumberMeaning.ROWS
                and parent is not None
            ):
                verified = verified if in_order or files_are_counted(stream, parent) else None
            yield scheme.on(stream.name), verified


def _verifying(
    stream: Stream, scheme: Scheme, parent: Stream | None, in_order: bool, parent_first: bool
) -> Question | None:
    if any(column.is_virtual for name in scheme.own_columns if (column := stream.column(name)) is not None):
        return None
    match scheme:
        case StreamKey() | Punctuated(lifespan=Span()):
            return None
        case Ordered() | Clustered() | Follows():
            limit = scheme.slack
            need = NumberMeaning.TICKS if isinstance(limit, Span) else NumberMeaning.ROWS
            ends = (
                None if isinstance(limit, Auto | Frontier) else limit.count if isinstance(limit, Rows) else limit.ticks
            )
            return Question(stream, scheme, need, parent, in_order, parent_first, ends)
        case PrimaryKey() | ForeignKey() | Cooccurs() | Check() | Punctuated():
            return Question(stream, scheme, NumberMeaning.BROKEN, parent, limit=0)


def columns_asked(questions: Iterable[Question], domains: Iterable[tuple[str, str]], stream: Stream) -> tuple[str, ...]:
    """The columns of a stream that questions look at, its event time and its order of arrival among them."""
    wanted = {column for name, column in domains if name == stream.name}
    wanted |= {stream.event_time} if stream.event_time is not None else set()
    wanted |= {stream.arrival.column} if stream.arrival is not None else set()
    for question in questions:
        constraint = question.constraint
        if isinstance(constraint, Arrival):
            continue
        if question.stream.name == stream.name:
            wanted |= set(constraint.own_columns)
        reference = reference_of(constraint)
        if reference is not None and reference.stream == stream.name:
            wanted |= {theirs for _, theirs in reference.pairs}
    folded = set(wanted)
    return tuple(column.name for column in stream.carried if column.name in folded)


def require_no_blocks(script: Script) -> None:
    """Raise NotSupportedYet where a query reads answers of queries, of which there is no data to measure."""
    for query in script.queries:
        if any(source.below is not None for source in query.all_sources):
            raise NotSupportedYet(
                "profile measures the streams that a query joins, and this one reads the answer of another",
                hint="profile the joins by themselves: what stands in FROM, without the groups and tables above it",
            )


def streams_of(script: Script) -> tuple[Stream, ...]:
    """The streams that the queries read, each once."""
    return tuple({s.stream.name: s.stream for q in script.queries for s in q.all_sources}.values())
