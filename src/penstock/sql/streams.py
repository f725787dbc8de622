"""CREATE STREAM, bound: names found, types read, constraints made into promise schemes.

The rules themselves stand in the model; here a broken one gets its place in the text. A constraint that is wrong is
left out, so that the queries over the stream can still be looked at and all mistakes come at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.errors import DeclarationMistake
from penstock.model.expressions import Expression
from penstock.model.names import fold
from penstock.model.problem import InvalidModel, Problem, Subject
from penstock.model.schemes import Punctuated, Scheme
from penstock.model.spans import Span
from penstock.model.stream import Arrival, Column, OnMalformed, Storage, Stream
from penstock.model.types import TYPE_NAMES
from penstock.sql.constraints import ConstraintBinder, Outline
from penstock.sql.expressions import bind_expression
from penstock.sql.scope import Scope
from penstock.sql.source import SourceText
from penstock.sql.tree import (
    ArrivesBy,
    BrokenColumn,
    ColumnDefinition,
    Constraint,
    CreateStream,
    EventTime,
    MalformedClause,
    PartsBy,
    StorageClause,
    Stretch,
)
from penstock.sql.types import data_type


@dataclass
class BoundStream:
    """A stream, and where each of its parts stands, so that rules across streams can point at them."""

    stream: Stream
    at: Stretch
    schemes_at: list[Stretch] = field(default_factory=list)
    arrival_at: Stretch | None = None

    def place_of(self, subject: Subject) -> Stretch:
        """Where a part stands."""
        if subject.kind == "scheme":
            return self.schemes_at[subject.index]
        if subject.kind == "arrival" and self.arrival_at is not None:
            return self.arrival_at
        return self.at


class StreamBinder:
    """Binds one CREATE STREAM, or what is declared of a view; `outlines` and `sinks` are what it may refer to."""

    def __init__(
        self,
        source: SourceText,
        written: CreateStream,
        outlines: Mapping[str, Outline | None],
        sinks: Mapping[str, str | None],
        *,
        given: tuple[Column, ...] | None = None,
        clock: str | None = None,
    ) -> None:
        self.source = source
        self.written = written
        self.given = given
        """The columns, where no element declares them: those of a view."""
        self.clock = clock
        """The event time, where none is declared."""
        self.outlines = outlines
        self.sinks = sinks
        self.broken = {fold(e.name.text) for e in written.elements if isinstance(e, BrokenColumn)}

    def report(self, message: str, at: Stretch, hint: str | None = None) -> None:
        """Remember a mistake of the declaration."""
        self.source.report(DeclarationMistake, message, at, hint=hint)

    def bind(self) -> BoundStream | None:
        """The stream; None if not even its columns make sense."""
        columns = self._columns() if self.given is None else list(self.given)
        if not columns:
            return None
        shell = self._built(tuple(columns))
        if shell is None:
            return None
        constraints = ConstraintBinder(self.source, shell, self.outlines, self.broken, self.sinks)
        columns = self._derived(columns, constraints.scope)
        event_time, event_at = self._event_time(constraints)
        arrival, arrival_at = self._arrival(constraints)
        parts_by, parts_at = self._parts_by(constraints)
        idle_after, idle_at = self._idle_after()
        on_malformed = self._on_malformed(constraints)
        schemes: list[Scheme] = []
        places: list[Stretch] = []
        for element in self.written.elements:
            if isinstance(element, Constraint):
                scheme = constraints.scheme(element)
                if scheme is not None:
                    schemes.append(scheme)
                    places.append(element.at)
        without_clock = event_at is not None and event_time is None
        if without_clock:
            schemes = [replace(s, lifespan=None) if isinstance(s, Punctuated) else s for s in schemes]
        where = constraints.predicates(self.written.where, reads_not=True)
        storage = bound_storage(self.written.storage) if self.written.storage is not None else None
        places_of = {"event time": event_at, "arrival": arrival_at, "parts": parts_at, "idle": idle_at}
        while True:
            try:
                made = (tuple(columns), event_time, arrival, tuple(schemes), storage, where, on_malformed)
                stream = Stream(self.written.name.text, *made, parts_by, idle_after)
                # Without one of its columns, or its clock, the uses of the stream cannot be judged.
                unsure = self.broken or without_clock
                return None if unsure else BoundStream(stream, self.written.name.at, places, arrival_at)
            except InvalidModel as invalid:
                wrong = {p.subject for p in invalid.problems}
                for problem in invalid.problems:
                    self.report(problem.message, self._place(problem, places, places_of), problem.hint)
            # Left out, what is wrong cannot hide the mistakes that follow; each round leaves out something.
            kept = [i for i in range(len(schemes)) if Subject("scheme", index=i) not in wrong]
            schemes, places = [schemes[i] for i in kept], [places[i] for i in kept]
            if Subject("event time") in wrong:
                return None
            if Subject("arrival") in wrong:
                arrival = None
            if Subject("parts") in wrong:
                parts_by = idle_after = None
            if Subject("idle") in wrong:
                idle_after = None
            named = {s.name for s in wrong if s.kind == "column"}
            columns = [Column(c.name, c.type) if c.name in named else c for c in columns]

    def _place(self, problem: Problem, places: list[Stretch], places_of: Mapping[str, Stretch | None]) -> Stretch:
        subject = problem.subject
        if subject.kind == "scheme":
            return places[subject.index]
        if subject.kind == "column":
            found = [
                e.at for e in self.written.elements if isinstance(e, ColumnDefinition) and e.name.text == subject.name
            ]
            return found[-1] if found else self.written.name.at
        return places_of.get(subject.kind) or self.written.name.at

    # Columns

    def _columns(self) -> list[Column]:
        columns: list[Column] = []
        seen: set[str] = set()
        for element in self.written.elements:
            if not isinstance(element, ColumnDefinition):
                continue
            if fold(element.name.text) in seen:
                self.report(f"column {element.name.text} is declared twice", element.name.at)
                continue
            seen.add(fold(element.name.text))
            if element.type is None:
                columns.append(Column(element.name.text, None))
                continue
            kind = data_type(element.type)
            if kind is None:
                head = element.type.text.split("(")[0].strip()
                sized = head.upper() in TYPE_NAMES
                hint = (
                    "write sizes as in DECIMAL(10,2), VARCHAR(20)"
                    if sized
                    else self.source.guess(head, list(TYPE_NAMES))
                )
                self.report(f"{element.type.text} is not a Spark type", element.type.at, hint)
                self.broken.add(fold(element.name.text))
                continue
            columns.append(Column(element.name.text, kind))
        if not columns and not self.source.mistakes:
            self.report(f"stream {self.written.name.text} has no columns", self.written.name.at)
        return columns

    def _built(self, columns: tuple[Column, ...]) -> Stream | None:
        try:
            return Stream(self.written.name.text, columns)
        except InvalidModel as invalid:
            for problem in invalid.problems:
                self.report(problem.message, self.written.name.at, problem.hint)
            return None

    def _derived(self, columns: list[Column], scope: Scope) -> list[Column]:
        expressions: dict[str, Expression] = {}
        for element in self.written.elements:
            if isinstance(element, ColumnDefinition) and element.derived is not None:
                expression = bind_expression(element.derived, scope)
                if expression is not None:
                    expressions[element.name.text] = expression
        return [Column(c.name, c.type, expressions.get(c.name)) for c in columns]

    def _event_time(self, constraints: ConstraintBinder) -> tuple[str | None, Stretch | None]:
        written = [e for e in self.written.elements if isinstance(e, EventTime)]
        for extra in written[1:]:
            self.report(
                f"two event times, {written[0].column.text} and {extra.column.text}",
                extra.at,
                "keep one; other times are ordinary columns",
            )
        if not written:
            return self.clock, None
        return constraints.column(written[0].column), written[0].column.at

    def _arrival(self, constraints: ConstraintBinder) -> tuple[Arrival | None, Stretch | None]:
        written = [e for e in self.written.elements if isinstance(e, ArrivesBy)]
        for extra in written[1:]:
            self.report(f"stream {self.written.name.text} has two orders of arrival", extra.at, "keep one")
        if not written:
            return None, None
        column = constraints.column(written[0].column)
        arrival = Arrival(column, constraints.violation(written[0].violation)) if column is not None else None
        return arrival, written[0].at

    def _parts_by(self, constraints: ConstraintBinder) -> tuple[str | None, Stretch | None]:
        written = [e for e in self.written.elements if isinstance(e, PartsBy)]
        for extra in written[1:]:
            self.report(f"stream {self.written.name.text} has two columns that say its parts", extra.at, "keep one")
        if written and self.given is not None:
            self.report(
                f"{self.written.name.text} is a query, whose rows come in no parts: how far it is follows from below",
                written[0].at,
                "declare PARTS BY of the streams that it reads",
            )
            return None, None
        return (constraints.column(written[0].column), written[0].at) if written else (None, None)

    def _idle_after(self) -> tuple[Span | None, Stretch | None]:
        written = [e for e in self.written.elements if isinstance(e, EventTime)]
        if self.given is not None and written and written[0].idle is not None:
            message = f"{self.written.name.text} is a query, whose rows come in no parts that could fall silent"
            at = written[0].idle_at or written[0].column.at
            self.report(message, at, "declare IDLE AFTER of the streams that it reads")
            return None, None
        return (written[0].idle, written[0].idle_at) if written else (None, None)

    def _on_malformed(self, constraints: ConstraintBinder) -> OnMalformed | None:
        written = [e for e in self.written.elements if isinstance(e, MalformedClause)]
        for extra in written[1:]:
            self.report(f"stream {self.written.name.text} says twice what to do ON MALFORMED", extra.at, "keep one")
        if written and self.given is not None:
            message = f"{self.written.name.text} is a query, whose values are read where its streams are"
            self.report(message, written[0].at, "declare ON MALFORMED of the streams that it reads")
            return None
        if not written:
            return None
        into = written[0].into
        return OnMalformed(written[0].policy, None if into is None else constraints.sink(into))


def bound_storage(written: StorageClause) -> Storage:
    """USING … OPTIONS."""
    return Storage(written.format, written.options)
