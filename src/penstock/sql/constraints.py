"""One constraint, bound: a promise scheme with its names spelt as they are declared.

It may name streams that are declared later, so other streams are known by their outline only; whether the types agree
and the clocks fit is the model's to say once all streams are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from penstock.errors import DeclarationMistake
from penstock.model.names import fold
from penstock.model.predicates import Predicate
from penstock.model.schemes import (
    Check,
    Clustered,
    Cooccurs,
    Follows,
    ForeignKey,
    OnViolation,
    Ordered,
    PrimaryKey,
    Punctuated,
    Scheme,
    StreamKey,
)
from penstock.model.stream import Stream
from penstock.records import record
from penstock.sql.conditions import bind_condition
from penstock.sql.scope import NamedColumns, Scope
from penstock.sql.source import SourceText
from penstock.sql.tree import (
    BrokenColumn,
    Code,
    ColumnDefinition,
    Constraint,
    CreateStream,
    Name,
    Stretch,
    ViolationClause,
)


@record
class Outline:
    """What one stream must know of another to refer to it: its name, its columns, its primary keys."""

    name: str
    columns: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]

    @classmethod
    def written(cls, statement: CreateStream) -> Outline:
        """The outline of a declaration that is not bound yet."""
        columns = tuple(e.name.text for e in statement.elements if isinstance(e, ColumnDefinition | BrokenColumn))
        keys = tuple(
            tuple(name.text for name in e.columns)
            for e in statement.elements
            if isinstance(e, Constraint) and e.form == "PRIMARY KEY"
        )
        return cls(statement.name.text, columns, keys)

    @classmethod
    def of(cls, stream: Stream) -> Outline:
        """The outline of a stream."""
        return cls(stream.name, tuple(c.name for c in stream.columns), stream.keys)

    def spelling(self, column: str) -> str | None:
        """The column as it is declared."""
        return next((c for c in self.columns if fold(c) == fold(column)), None)


class ConstraintBinder:
    """Binds the constraints of one stream; `outlines` are all streams of the script by folded name,
    None for one that cannot be read."""

    def __init__(
        self,
        source: SourceText,
        shell: Stream,
        outlines: Mapping[str, Outline | None],
        broken: Set[str] = frozenset(),
        sinks: Mapping[str, str | None] | None = None,
    ) -> None:
        self.source = source
        self.shell = shell
        self.scope = Scope(source, {"": NamedColumns.of("", shell)}, kind=DeclarationMistake, broken=broken)
        self.outlines = outlines
        self.broken = broken
        """Folded names of columns that cannot be read: their uses are passed over."""
        self.sinks = sinks or {}
        """The sinks of the script as they are declared, by folded name; None for one that cannot be read."""

    def report(self, message: str, at: Stretch, hint: str | None = None) -> None:
        """Remember a mistake of the declaration."""
        self.source.report(DeclarationMistake, message, at, hint=hint)

    def scheme(self, written: Constraint) -> Scheme | None:
        """The promise scheme that a constraint declares."""
        columns = [self.column(name) for name in written.columns]
        own = tuple(c for c in columns if c is not None)
        if len(own) < len(columns):
            return None
        violation = self.violation(written.violation)
        match written.form:
            case "PRIMARY KEY":
                return PrimaryKey(own, violation)
            case "ORDERED BY":
                return Ordered(own[0], written.within, violation)
            case "CLUSTERED BY":
                return Clustered(own[0], written.within, violation)
            case "PUNCTUATED ON":
                before = len(self.source.mistakes)
                when = self.predicates(written.condition)
                if not when and len(self.source.mistakes) == before:
                    self.report("WHEN is true of every row: the stream would hold no data", written.at)
                return Punctuated(own, when, written.lifespan, violation) if when else None
            case "CHECK":
                condition = self.predicates(written.condition)
                return Check(condition, violation) if condition else None
            case _:
                return self._reference(written, own, violation)

    def _reference(self, written: Constraint, own: tuple[str, ...], violation: OnViolation | None) -> Scheme | None:
        assert written.other is not None
        other = self.outlines.get(fold(written.other.text))
        if other is None:
            if fold(written.other.text) in self.outlines:
                return None  # it is declared, and its own mistakes are reported there
            names = [outline.name for outline in self.outlines.values() if outline is not None]
            self.report(
                f"unknown stream {written.other.text}", written.other.at, self.source.guess(written.other.text, names)
            )
            return None
        name = other.name
        if written.form == "STREAM KEY":
            spanned = [other.spelling(column.text) for column in written.columns]
            for column, spelling in zip(written.columns, spanned, strict=True):
                if spelling is None:
                    hint = f"a STREAM KEY is of columns that both streams have: {', '.join(other.columns)}"
                    self.report(f"stream {name} has no column {column.text}", column.at, hint)
            theirs = tuple(column for column in spanned if column is not None)
            return StreamKey(own, name, theirs, written.window, violation) if len(theirs) == len(own) else None
        others = self._other_columns(written, other)
        if others is None:
            return None
        if len(others) != len(own):
            self.report(
                f"{_counted(own)} of {self.shell.name} cannot be paired with {_counted(others)} of {name}",
                written.at,
                "name as many columns on both sides",
            )
            return None
        if written.form == "FOLLOWS":
            return Follows(name, others, own, written.within, violation)
        if written.form == "FOREIGN KEY":
            return ForeignKey(own, name, others, written.window, violation)
        return Cooccurs(own, name, others, written.window, violation)

    def _other_columns(self, written: Constraint, other: Outline) -> tuple[str, ...] | None:
        """Spelt as declared. A FOREIGN KEY without columns means the other stream's only primary key."""
        if not written.other_columns:
            if len(other.keys) != 1:
                self.report(
                    f"stream {other.name} has {'no' if not other.keys else 'more than one'} primary key",
                    written.other.at if written.other else written.at,
                    f"name the columns: REFERENCES {other.name} (…)",
                )
                return None
            return tuple(other.spelling(name) or name for name in other.keys[0])
        found: list[str] = []
        for name in written.other_columns:
            spelling = other.spelling(name.text)
            if spelling is None:
                hint = self.source.guess(name.text, list(other.columns))
                self.report(f"stream {other.name} has no column {name.text}", name.at, hint)
            else:
                found.append(spelling)
        return tuple(found) if len(found) == len(written.other_columns) else None

    def column(self, name: Name) -> str | None:
        """A column of this stream, as it is declared."""
        column = self.shell.spelling(name.text)
        if column is None:
            if fold(name.text) in self.broken:
                return None
            known = [c.name for c in self.shell.columns]
            self.report(
                f"stream {self.shell.name} has no column {name.text}", name.at, self.source.guess(name.text, known)
            )
            return None
        return column.name

    def predicates(self, code: Code | None, reads_not: bool = False) -> tuple[Predicate, ...]:
        """A condition on this stream's own columns."""
        return tuple(predicate for predicate, _ in bind_condition(code, self.scope, reads_not=reads_not).predicates)

    def violation(self, written: ViolationClause | None) -> OnViolation | None:
        """ON VIOLATION."""
        if written is None or written.into is None:
            return None if written is None else OnViolation(written.policy)
        return OnViolation(written.policy, self.sink(written.into))

    def sink(self, into: Name) -> str | None:
        """The sink that an INTO names; None, and reported, if there is none."""
        if fold(into.text) not in self.sinks:
            known = [sink for sink in self.sinks.values() if sink is not None]
            self.report(f"unknown sink {into.text}", into.at, self.source.guess(into.text, known))
            return None
        return self.sinks[fold(into.text)] or into.text


def _counted(columns: tuple[str, ...]) -> str:
    return "1 column" if len(columns) == 1 else f"{len(columns)} columns"
