"""A script: streams, sinks and queries, and the rules that tie streams to each other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from penstock.model.clauses import Source
from penstock.model.names import fold, nearest
from penstock.model.problem import Problem, Subject, require
from penstock.model.query import Query
from penstock.model.schemes import Cooccurs, Follows, ForeignKey, OnViolation, Policy, Scheme, StreamKey, reference_of
from penstock.model.spans import Span, Window
from penstock.model.stream import OnMalformed, Sink, Stream
from penstock.model.stream_problems import span_problem
from penstock.model.table import DeclaredTable
from penstock.records import record


@record
class Script:
    """What `penstock.parse` gives: everything one file declares."""

    streams: tuple[Stream, ...] = ()
    sinks: tuple[Sink, ...] = ()
    queries: tuple[Query, ...] = ()
    tables: tuple[DeclaredTable, ...] = ()
    views: tuple[Source, ...] = ()
    """The views that declarations name, each as the stream that it gives; other views are part of their queries."""

    def __post_init__(self) -> None:
        problems: list[Problem] = []
        for stream in self.referable:
            problems += reference_problems(stream, self.referable, self.sinks)
        for kind, names in (
            ("stream", [s.name for s in self.streams]),
            ("sink", [s.name for s in self.sinks]),
            ("query", [q.name for q in self.queries]),
            ("table", [t.name for t in self.tables]),
        ):
            folded = [fold(name) for name in names]
            for name in dict.fromkeys(names):
                if folded.count(fold(name)) > 1:
                    problems.append(Problem(Subject("name", name), f"{kind} {name} is declared twice"))
        known = {stream.name: stream for stream in self.streams}
        for query in self.queries:
            for source in query.all_sources:
                declared = known.get(source.stream.name)
                if source.below is None and (declared is None or declared.as_declared != source.stream.as_declared):
                    problems.append(Problem(Subject("name", query.name), f"{source.stream.name} is not this script's"))
        require(problems)

    @property
    def referable(self) -> tuple[Stream, ...]:
        """The streams, and the views that declarations name, each as the stream that it gives."""
        return (*self.streams, *(view.stream for view in self.views))

    def stream(self, name: str) -> Stream | None:
        """The stream of that name, spelt as it is declared."""
        return self._streams.get(name)

    def as_read_by(self, query: Query) -> Script:
        """The script whose streams have, beside their own columns, those that a query derives of them."""
        read = {s.stream.name: s.stream for s in query.all_sources if s.below is None}
        streams = tuple(read.get(stream.name, stream) for stream in self.streams)
        return self if streams == self.streams else Script(streams, self.sinks, (query,), self.tables, self.views)

    def sink(self, name: str) -> Sink | None:
        """The sink of that name, spelt as it is declared."""
        return next((s for s in self.sinks if s.name == name), None)

    @cached_property
    def _streams(self) -> dict[str, Stream]:
        return {s.name: s for s in self.streams}


def reference_problems(
    stream: Stream, streams: tuple[Stream, ...], sinks: tuple[Sink, ...], broken: frozenset[str] = frozenset()
) -> Iterator[Problem]:
    """What is wrong with a stream's references to other streams and to sinks; subjects are its own parts.

    References to what is in `broken` (folded names), which is itself wrong, are passed over.
    """
    known = {s.name: s for s in streams}
    for index, scheme in enumerate(stream.schemes):
        subject = Subject("scheme", index=index)
        yield from _quarantine_problems(scheme.on_violation, sinks, broken, subject)
        reference = reference_of(scheme)
        if reference is None or fold(reference.stream) in broken:
            continue
        other = known.get(reference.stream)
        if other is None:
            yield Problem(
                subject,
                f"unknown stream {reference.stream}",
                _did_you_mean(reference.stream, [s.name for s in streams]),
            )
            continue
        for pair in reference.pairs:
            yield from _pair_problems(stream, other, pair, scheme, subject)
        yield from _clock_problems(stream, other, scheme, subject)
    if stream.arrival is not None:
        yield from _quarantine_problems(stream.arrival.on_violation, sinks, broken, Subject("arrival"))
    yield from _quarantine_problems(stream.on_malformed, sinks, broken, Subject("name", stream.name))


def _did_you_mean(name: str, known: list[str]) -> str | None:
    close = nearest(name, known)
    return f"did you mean {close}?" if close else (f"these are known: {', '.join(known)}" if known else None)


def _quarantine_problems(
    answer: OnViolation | OnMalformed | None, sinks: tuple[Sink, ...], broken: frozenset[str], subject: Subject
) -> Iterator[Problem]:
    into = answer.into if answer is not None else None
    if into is not None and fold(into) not in broken and all(s.name != into for s in sinks):
        yield Problem(subject, f"unknown sink {into}", _did_you_mean(into, [s.name for s in sinks]))
    if any(s.name == into and s.key for s in sinks):
        hint = "give it a sink without a PRIMARY KEY"
        yield Problem(subject, f"sink {into} replaces rows by its key, and rows in quarantine are only added", hint)


def _pair_problems(
    stream: Stream, other: Stream, pair: tuple[str, str], scheme: Scheme, subject: Subject
) -> Iterator[Problem]:
    own_name, other_name = pair
    column = other.column(other_name)
    if column is None:
        yield Problem(
            subject,
            f"stream {other.name} has no column {other_name}",
            _did_you_mean(other_name, [c.name for c in other.columns]),
        )
        return
    if column.is_virtual and isinstance(scheme, Follows):
        yield Problem(subject, f"column {column.name} of {other.name} is VIRTUAL: FOLLOWS could never be seen to hold")
    own = stream.type_of(own_name)
    if own is not None and column.type is not None and not own.compares_with(column.type):
        yield Problem(
            subject,
            f"{stream.name}.{own_name} is {own}, but {other.name}.{column.name} is {column.type}",
            "keys must have the same type (integer types mix freely)",
        )


def _clock_problems(stream: Stream, other: Stream, scheme: Scheme, subject: Subject) -> Iterator[Problem]:
    spans = _spans(scheme)
    if not spans:
        return
    for side in (stream, other):
        if side.clock is None:
            yield Problem(
                subject,
                f"a window of time needs an event time, and stream {side.name} has none",
                f"declare EVENT TIME in {side.name}",
            )
            return
    assert stream.clock is not None
    assert other.clock is not None
    if not stream.clock.compares_with(other.clock):
        yield Problem(
            subject,
            f"the event time of {stream.name} is {stream.clock}, that of {other.name} is {other.clock}",
            "a window between two streams needs event times of one type",
        )
        return
    for span in spans:
        if (why := span_problem(span, stream.clock)) is not None:
            yield Problem(subject, why, "write `3 SECONDS` for a TIMESTAMP or a DATE, `3` for an integer")


def _spans(scheme: Scheme) -> tuple[Span, ...]:
    """The lengths of time in a scheme that speaks of two streams."""
    window: Window | None = None
    match scheme:
        case Follows(within=Span() as within):
            return (within,)
        case ForeignKey() | Cooccurs() | StreamKey():
            window = scheme.window
        case _:
            pass
    return tuple(s for s in (window.low, window.high) if s is not None) if window is not None else ()


def policy_of(scheme: Scheme) -> Policy:
    """The policy in force."""
    return scheme.on_violation.policy if scheme.on_violation is not None else Policy.ADAPT
