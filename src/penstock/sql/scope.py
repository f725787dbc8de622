"""Names: which column of which stream a name means.

As SQL users expect: case does not matter, an alias hides the stream's name, a bare column must be in one stream only,
the streams inside EXISTS are looked at before those around it. A name that is not found is answered with the nearest
one.

An alias names columns (`NamedColumns`): those of a stream, or of a query in FROM that was made part of the query
around it, whose columns stand for others: columns of its streams, or expressions over them, which then take the name's
place. A column that USING joins by is named without an alias too. In SELECT a name that is no column may be that of an
item before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from functools import cached_property

from sqlglot import exp

from penstock.errors import Mistake, QueryMistake
from penstock.model.clauses import TimeWindow
from penstock.model.expressions import ColumnRef, Expression
from penstock.model.names import fold, quoted
from penstock.model.stream import Stream
from penstock.model.types import DataType, Kind
from penstock.records import record
from penstock.sql.declared_fields import named
from penstock.sql.source import SourceText
from penstock.sql.tree import Name, QueryText, Stretch

Scalars = Callable[["QueryText", Set[str]], "Visible | None"]
"""Makes a column of a subquery that gives one value."""

Ends = tuple[ColumnRef | Expression, ColumnRef | Expression]
"""The start and the end of a window."""

_ENDS = ("start", "end")
_WITH_FIELDS = (Kind.STRUCT, Kind.MAP, Kind.ARRAY, Kind.VARIANT)


@record
class Visible:
    """A column that can be named, and what it stands for."""

    name: str
    value: ColumnRef | Expression
    type: DataType | None = None
    """None where it is not known, or there is none."""
    is_virtual: bool = False
    ends: Ends | None = None
    """Where it is a window of time: what its start and its end are."""
    window: TimeWindow | None = None
    """Where it is a window of a column of the same query, or an end of one: that."""
    made: TimeWindow | None = None
    """Where it is a window of a query below: that."""
    is_hidden: bool = False
    """Whether `*` leaves it out: an end of such a window."""
    arrival: ColumnRef | None = None
    """Where it is a column of a stream that declares in which order it arrives: the column that says so."""

    @property
    def end_type(self) -> DataType | None:
        """The type of the ends of a window."""
        kind = "TIMESTAMP_NTZ" if self.type is not None and "NTZ" in self.type.text else "TIMESTAMP"
        whole = self.type is not None and "BIGINT" in self.type.text
        return DataType.of(Kind.BIGINT if whole else Kind(kind))

    @property
    def text(self) -> str:
        """What takes its place in an expression."""
        return f"({self.value.text})" if isinstance(self.value, Expression) else str(self.value)

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns that it is made of."""
        return self.value.columns if isinstance(self.value, Expression) else (self.value,)


class NamedColumns:
    """What one alias names: its columns in their order."""

    def __init__(self, name: str, columns: Iterable[Visible]) -> None:
        self.name = name
        self.columns = tuple(columns)
        self._by_fold = {fold(column.name): column for column in self.columns}

    @classmethod
    def of(
        cls,
        alias: str,
        stream: Stream,
        windows: Mapping[str, tuple[str, str]] | None = None,
        made: Mapping[str, TimeWindow] | None = None,
    ) -> NamedColumns:
        """A stream under its alias; `windows` are columns that are windows, each with those that are its ends.

        `made` are those windows where one query gives them.
        """
        ends = windows or {}
        of_windows = {name for both in ends.values() for name in both}
        columns = (
            Visible(
                column.name,
                ColumnRef(alias, column.name),
                column.type,
                column.is_virtual,
                (ColumnRef(alias, ends[column.name][0]), ColumnRef(alias, ends[column.name][1]))
                if column.name in ends
                else None,
                made=(made or {}).get(column.name),
                is_hidden=column.name in of_windows,
                arrival=None if stream.arrival is None else ColumnRef(alias, stream.arrival.column),
            )
            for column in stream.columns
        )
        return cls(stream.name, columns)

    def spelling(self, text: str) -> Visible | None:
        """The column that a user's text names, whatever its case."""
        return self._by_fold.get(fold(text))

    @property
    def carried(self) -> tuple[Visible, ...]:
        """The columns that rows carry, and that are asked for by no name but their own."""
        return tuple(column for column in self.columns if not column.is_virtual and not column.is_hidden)


@record
class Resolved:
    """A column found: what it stands for, which field inside it is meant, and how its name is spelt out."""

    column: Visible
    fields: tuple[Name, ...]
    """One inside the other; none where the column itself is meant."""
    replaced: Mapping[int, str]

    @property
    def has_fields(self) -> bool:
        """Whether a field inside it is meant."""
        return bool(self.fields)


class Scope:
    """The tables whose columns can be named somewhere; inside a declaration one stream, under no alias."""

    def __init__(
        self,
        source: SourceText,
        tables: Mapping[str, NamedColumns],
        *,
        around: Scope | None = None,
        kind: type[Mistake] = QueryMistake,
        merged: Iterable[Visible] = (),
        hidden: Mapping[str, str] | None = None,
        broken: Set[str] = frozenset(),
        missing: Set[str] = frozenset(),
        scalars: Scalars | None = None,
        asked: Mapping[int, Visible] | None = None,
        made: Iterable[Visible] = (),
    ) -> None:
        self.source = source
        self.tables = tables
        self.around = around
        self.kind = kind
        self.merged = {fold(column.name): column for column in merged}
        """The columns that USING and NATURAL make one, by their folded names."""
        self.hidden = hidden or {}
        """Aliases of the query that cannot be seen from here, and why."""
        self.broken = broken
        """Folded names of columns that cannot be read: their uses are passed over."""
        self.missing = missing
        self.earlier: dict[str, Visible] = {}
        """What is named by the items of SELECT before the one that is bound, by folded names: for what is no column."""
        """Folded aliases of streams that are not there: a column may be theirs, so it is passed over."""
        self.asked = asked or {}
        """The columns that EXISTS and IN are where they stand for a value, by the identity of sqlglot's node."""
        self.made = {column.name: column for column in made}
        """The times that are columns since the query has windows of them, by their texts."""
        self._scalars = scalars
        self._given: dict[int, Visible] = {}

    @property
    def takes_scalars(self) -> bool:
        """Whether a subquery may stand for a value here."""
        return any(scope._scalars is not None for scope in self.chain())

    def scalar(self, query: QueryText, beside: Set[str]) -> Visible | None:
        """The column that a subquery is, in which one value stands; `beside` are the aliases named beside it.

        None, and mistakes, if it is none.
        """
        for scope in self.chain():
            if scope._scalars is not None:
                found = scope._given.get(id(query)) or scope._scalars(query, beside)
                if found is not None:
                    scope._given[id(query)] = found
                return found
        return None

    def arrival_of(self, columns: Iterable[ColumnRef]) -> ColumnRef | None:
        """The column by which all of some columns of one stream arrive; None where there is none."""
        known = {c.value: c.arrival for table in self.tables.values() for c in table.columns}
        found = {known.get(ref) for ref in columns}
        return found.pop() if len(found) == 1 else None

    def type_of(self, ref: ColumnRef) -> DataType | None:
        """The type of a column that can be named from here; None where it is not known."""
        for scope in self.chain():
            if ref in scope._types:
                return scope._types[ref]
            given = next((column.type for column in scope._given.values() if column.value == ref), None)
            if given is not None:
                return given
        return None

    @cached_property
    def _all(self) -> list[Visible]:
        """All that can be named here."""
        named = (column for table in self.tables.values() for column in table.columns)
        return [*named, *self.merged.values(), *self.made.values()]

    @cached_property
    def _types(self) -> dict[ColumnRef, DataType | None]:
        columns = self._all
        types = {column.value: column.type for column in columns if isinstance(column.value, ColumnRef)}
        types |= {column.value: column.type for column in self.asked.values() if isinstance(column.value, ColumnRef)}
        ends = ((end, column.end_type) for column in columns for end in column.ends or ())
        return types | {end: kind for end, kind in ends if isinstance(end, ColumnRef)}

    def ends_of(self, ref: ColumnRef) -> Ends | None:
        """The start and the end of a column that is a window of a block."""
        known = self.visible(ref)
        return None if known is None else known.ends

    def visible(self, ref: ColumnRef) -> Visible | None:
        """What can be named that is a column as it is."""
        return next((column for scope in self.chain() for column in scope._all if column.value == ref), None)

    def star(self, alias: str | None = None) -> tuple[tuple[str, Visible], ...]:
        """What `*` or `alias.*` means: columns, each with the alias that it is of; those of USING stand first, once."""
        if alias is not None:
            return tuple((alias, column) for column in self.tables[alias].carried)
        rest = (
            (own, column)
            for own, table in self.tables.items()
            for column in table.carried
            if fold(column.name) not in self.merged
        )
        return (*(("", column) for column in self.merged.values()), *rest)

    def report(self, message: str, at: Stretch, hint: str | None = None) -> None:
        """Remember a mistake."""
        self.source.report(self.kind, message, at, hint=hint)

    def resolve(self, node: exp.Column) -> Resolved | None:
        """The column that a name means; None, and a mistake, if there is none."""
        parts = [named(part) for part in node.parts]
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
                column = self.tables[alias].spelling(parts[1].text)
                if column is None:
                    return None
                if column.ends is not None and len(parts) > 2 and fold(parts[2].text) in _ENDS:
                    return self._end(column, parts, first)
                return Resolved(column, tuple(parts[2:]), self._spelt_out(column, first, parts[1]))
        holders = self._holders(first.text)
        if len(holders) != 1:
            return None
        _, column = holders[0]
        if len(parts) > 1 and not _has_fields(column) and self._is_alias_around(first.text):
            return None  # `x.a` is column a of the query's x, not a field of a plain column x inside EXISTS
        if column.ends is not None and len(parts) > 1 and fold(parts[1].text) in _ENDS:
            return self._end(column, parts, None)
        return Resolved(column, tuple(parts[1:]), {first.at.start: column.text})

    def _end(self, column: Visible, parts: list[Name], alias: Name | None) -> Resolved:
        """`v.w.start`, or `w.start`: an end of a window, which is a column of its own."""
        assert column.ends is not None
        name, end = parts[:2] if alias is None else parts[1:3]
        window = None if column.window is None else replace(column.window, end=fold(end.text))
        dots = [self.source.text.find(".", one.at.end) for one in ((name,) if alias is None else (alias, name))]
        gone = {**dict.fromkeys(dots, ""), name.at.start: "", end.at.start: ""}
        value = column.ends[_ENDS.index(fold(end.text))]
        found = Visible(end.text, value, column.end_type, window=window)
        return Resolved(found, tuple(parts[2 if alias is None else 3 :]), {**gone, parts[0].at.start: found.text})

    def _spelt_out(self, column: Visible, alias: Name, name: Name) -> dict[int, str]:
        """What takes the place of `alias.name`."""
        if isinstance(column.value, ColumnRef):
            return {alias.at.start: quoted(column.value.alias), name.at.start: quoted(column.value.column)}
        dot = self.source.text.find(".", alias.at.end, name.at.start)
        return {alias.at.start: column.text, dot: "", name.at.start: ""}

    def _alias(self, name: str) -> str | None:
        return next((alias for alias in self.tables if fold(alias) == fold(name)), None)

    def _is_alias_around(self, name: str) -> bool:
        return self.around is not None and any(scope._alias(name) is not None for scope in self.around.chain())

    def _holders(self, name: str) -> list[tuple[str, Visible]]:
        if fold(name) in self.merged:
            return [("", self.merged[fold(name)])]
        found = ((alias, table.spelling(name)) for alias, table in self.tables.items())
        holders = [(alias, column) for alias, column in found if column is not None]
        return holders or ([("", self.earlier[fold(name)])] if fold(name) in self.earlier else [])

    def _is_ambiguous(self, parts: list[Name]) -> bool:
        holders = self._holders(parts[0].text)
        if len(holders) < 2 or (len(parts) > 1 and self._alias(parts[0].text) is not None):
            return False
        choices = ", ".join(f"{alias}.{column.name}" for alias, column in holders)
        self.report(f"column {parts[0].text} is ambiguous", parts[0].at, f"say which one: {choices}")
        return True

    def _usable(self, found: Resolved, parts: list[Name]) -> bool:
        at = Stretch(parts[0].at.start, parts[-1].at.end)
        if found.column.is_virtual:
            self.report(
                f"column {found.column.value} is VIRTUAL: no row carries it",
                at,
                "VIRTUAL columns stand in PRIMARY KEY, FOREIGN KEY, STREAM KEY and COOCCURS only",
            )
            return False
        if found.has_fields and not _has_fields(found.column):
            self.report(f"{found.column.value} is {found.column.type}, which has no fields", at)
            return False
        return True

    def _report_unknown(self, parts: list[Name]) -> None:
        first = parts[0]
        is_alias = len(parts) > 1 and self._alias(first.text) is not None
        if fold(first.text) in self.broken | self.missing or (self.missing and not is_alias):
            return
        in_declaration = "" in self.tables
        if len(parts) > 1 and not in_declaration:
            for scope in self.chain():
                alias = scope._alias(first.text)
                if alias is not None:
                    names = [c.name for c in scope.tables[alias].columns]
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
            named = {alias: t.name for scope in self.chain() for alias, t in scope.tables.items()}
            hidden = [alias for alias, stream in named.items() if fold(stream) == fold(first.text)]
            hint = self.source.guess(first.text, list(named))
            if hidden:
                hint = f"in this query it goes by its alias, {' or '.join(hidden)}"
            self.report(f"unknown stream or alias {first.text}", first.at, hint)
            return
        known = (c.name for scope in self.chain() for table in scope.tables.values() for c in table.columns)
        if in_declaration and len(parts) > 1:
            self.report(
                f"unknown column {first.text}", first.at, "in a declaration, columns stand without their stream's name"
            )
            return
        self.report(f"unknown column {first.text}", first.at, self.source.guess(first.text, known))

    def chain(self) -> list[Scope]:
        """This one, and those around it."""
        return [self] if self.around is None else [self, *self.around.chain()]


def _has_fields(column: Visible) -> bool:
    if column.type is None:
        return isinstance(column.value, Expression)  # Spark knows.
    return column.type.kind in _WITH_FIELDS
