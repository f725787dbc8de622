"""Names: which column of which stream a name means.

As SQL users expect: case does not matter, an alias hides the stream's name, a bare column must be in one stream only,
the streams inside EXISTS are looked at before those around it. A name that is not found is answered with the nearest
one.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import Mistake, QueryMistake
from penstock.model.expressions import ColumnRef
from penstock.model.names import fold, quoted
from penstock.model.stream import Column, Stream
from penstock.model.types import Kind
from penstock.sql.source import SourceText
from penstock.sql.tree import Name, Stretch

_WITH_FIELDS = (Kind.STRUCT, Kind.MAP, Kind.ARRAY, Kind.VARIANT)


@dataclass(frozen=True)
class Resolved:
    """A column found: which, whether a field inside it is meant, and how its name is spelt out."""

    ref: ColumnRef
    column: Column
    has_fields: bool
    replaced: Mapping[int, str]


class Scope:
    """The streams whose columns can be named somewhere; inside a declaration one stream, under no alias."""

    def __init__(
        self,
        source: SourceText,
        streams: Mapping[str, Stream],
        *,
        around: Scope | None = None,
        kind: type[Mistake] = QueryMistake,
        hidden: Mapping[str, str] | None = None,
        broken: Set[str] = frozenset(),
        missing: Set[str] = frozenset(),
    ) -> None:
        self.source = source
        self.streams = streams
        self.around = around
        self.kind = kind
        self.hidden = hidden or {}
        """Aliases of the query that cannot be seen from here, and why."""
        self.broken = broken
        """Folded names of columns that cannot be read: their uses are passed over."""
        self.missing = missing
        """Folded aliases of streams that are not there: a column may be theirs, so it is passed over."""

    def report(self, message: str, at: Stretch, hint: str | None = None) -> None:
        """Remember a mistake."""
        self.source.report(self.kind, message, at, hint=hint)

    def resolve(self, node: exp.Column) -> Resolved | None:
        """The column that a name means; None, and a mistake, if there is none."""
        parts = [_name(part) for part in node.parts]
        return self.resolve_parts(parts)

    def resolve_parts(self, parts: list[Name]) -> Resolved | None:
        """The column that a dotted name means."""
        scope: Scope | None = self
        while scope is not None:
            found = scope._look(parts)
            if found is not None:
                return found if self._usable(found, parts) else None
            if scope._is_ambiguous(parts):
                return None
            scope = scope.around
        self._report_unknown(parts)
        return None

    def _look(self, parts: list[Name]) -> Resolved | None:
        first = parts[0]
        if len(parts) > 1:
            alias = self._alias(first.text)
            if alias is not None and alias != "":
                column = self.streams[alias].spelling(parts[1].text)
                if column is None:
                    return None
                spelling = {first.at.start: quoted(alias), parts[1].at.start: quoted(column.name)}
                return Resolved(ColumnRef(alias, column.name), column, len(parts) > 2, spelling)
        holders = self._holders(first.text)
        if len(holders) != 1:
            return None
        alias, column = holders[0]
        if len(parts) > 1 and not _has_fields(column) and self._is_alias_around(first.text):
            return None  # `x.a` is column a of the query's x, not a field of a plain column x inside EXISTS
        ref = ColumnRef(alias, column.name)
        return Resolved(ref, column, len(parts) > 1, {first.at.start: str(ref)})

    def _alias(self, name: str) -> str | None:
        return next((alias for alias in self.streams if fold(alias) == fold(name)), None)

    def _is_alias_around(self, name: str) -> bool:
        return self.around is not None and any(scope._alias(name) is not None for scope in self.around._chain())

    def _holders(self, name: str) -> list[tuple[str, Column]]:
        found = []
        for alias, stream in self.streams.items():
            column = stream.spelling(name)
            if column is not None:
                found.append((alias, column))
        return found

    def _is_ambiguous(self, parts: list[Name]) -> bool:
        holders = self._holders(parts[0].text)
        if len(holders) < 2 or (len(parts) > 1 and self._alias(parts[0].text) is not None):
            return False
        choices = ", ".join(f"{alias}.{column.name}" for alias, column in holders)
        self.report(f"column {parts[0].text} is ambiguous", parts[0].at, f"say which one: {choices}")
        return True

    def _usable(self, found: Resolved, parts: list[Name]) -> bool:
        at = Stretch(parts[0].at.start, parts[-1].at.end)
        if found.column.type is None:
            self.report(
                f"column {found.ref} is VIRTUAL: no row carries it",
                at,
                "VIRTUAL columns stand in PRIMARY KEY, FOREIGN KEY, STREAM KEY and COOCCURS only",
            )
            return False
        if found.has_fields and not _has_fields(found.column):
            self.report(f"{found.ref} is {found.column.type}, which has no fields", at)
            return False
        return True

    def _report_unknown(self, parts: list[Name]) -> None:
        first = parts[0]
        if fold(first.text) in self.broken | self.missing or (len(parts) == 1 and self.missing):
            return
        in_declaration = "" in self.streams
        if len(parts) > 1 and not in_declaration:
            for scope in self._chain():
                alias = scope._alias(first.text)
                if alias is not None:
                    names = [c.name for c in scope.streams[alias].columns]
                    self.report(
                        f"stream {alias} has no column {parts[1].text}",
                        parts[1].at,
                        self.source.guess(parts[1].text, names),
                    )
                    return
                why = scope.hidden.get(fold(first.text))
                if why is not None:
                    self.report(f"{first.text} cannot be used here", first.at, why)
                    return
            named = {alias: s.name for scope in self._chain() for alias, s in scope.streams.items()}
            hidden = [alias for alias, stream in named.items() if fold(stream) == fold(first.text)]
            hint = self.source.guess(first.text, list(named))
            if hidden:
                hint = f"in this query it goes by its alias, {' or '.join(hidden)}"
            self.report(f"unknown stream or alias {first.text}", first.at, hint)
            return
        known = (c.name for scope in self._chain() for stream in scope.streams.values() for c in stream.columns)
        if in_declaration and len(parts) > 1:
            self.report(
                f"unknown column {first.text}", first.at, "in a declaration, columns stand without their stream's name"
            )
            return
        self.report(f"unknown column {first.text}", first.at, self.source.guess(first.text, known))

    def _chain(self) -> list[Scope]:
        return [self] if self.around is None else [self, *self.around._chain()]


def _has_fields(column: Column) -> bool:
    return column.type is not None and column.type.kind in _WITH_FIELDS


def _name(part: exp.Expr) -> Name:
    start, end = part.meta.get("start", 0), part.meta.get("end", 0)
    return Name(part.name, Stretch(start, end + 1))
