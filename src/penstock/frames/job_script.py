"""The script that says what a job's plan says: CREATE STREAM for each leaf, and one SELECT.

A watermark of d on a column is read as `ORDERED BY` it `WITHIN d ON VIOLATION TRUST`: the delay stays what the job
says, whatever comes. The first of a leaf's watermarks is its event time, else the first column that the job promises to
be ordered in time. Promises stand in the declaration of their leaf, and name others by the streams that these are.

Relations are written from inside out. Joins, filters and columns that are only renamed go into one SELECT; a condition
that stands below an outer, semi or anti join, computed columns, groups, DISTINCT and UNION ALL become a query in FROM,
which the front end inlines where that changes nothing. Names are made from the job's own and told apart by numbers in
the order of the plan, so that the same job gives the same script, which its checkpoint is known by.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.errors import NotSupportedYet, UsageError
from penstock.frames.frame_promises import FramePromise
from penstock.frames.job_hints import NO_HINTS, JobHints, hints_text, late_policy
from penstock.frames.job_relations import (
    JobAggregate,
    JobColumn,
    JobDistinct,
    JobFilter,
    JobJoin,
    JobLeaf,
    JobLookup,
    JobProject,
    JobRelation,
    JobTable,
    JobUnion,
    leaves_of,
    tables_of,
)
from penstock.frames.needed_columns import pruned
from penstock.model.formats import VIEW
from penstock.model.names import fold, quoted
from penstock.model.schemes import Policy

_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000
_UNITS = ((_DAY, "DAYS"), (_HOUR, "HOURS"), (_MINUTE, "MINUTES"), (_SECOND, "SECONDS"), (1, "MILLISECONDS"))


_UNKNOWN_TYPE = re.compile(r"\bCOLLATE \w+|\bTIME\(\d\)|\bGEO(METRY|GRAPHY)\b")
"""Types of Spark's that the language has not."""

NO_FOLDERS: Mapping[int, str] = {}


@dataclass(frozen=True)
class JobStream:
    """A stream of the script, and what of its leaf it is."""

    name: str
    source: int
    columns: tuple[tuple[str, int], ...]
    """The name of each declared column, and its place in the leaf."""


@dataclass(frozen=True)
class JobView:
    """A table of the script: the name of the view that it is read from, and its columns."""

    view: str
    table: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class JobScript:
    """A job as a script."""

    text: str
    streams: tuple[JobStream, ...]
    outputs: tuple[tuple[int, str], ...]
    """The columns asked for, and the names that the answer has them under."""
    views: tuple[JobView, ...] = ()


def script_of(
    relation: JobRelation,
    wanted: Sequence[int],
    promises: Sequence[JobPromise] = (),
    hints: JobHints = NO_HINTS,
    folders: Mapping[int, str] = NO_FOLDERS,
) -> JobScript:
    """The script whose one query gives the wanted columns of a relation, over streams that promise so much.

    With `folders`, by source, each is read from Parquet files there.
    """
    read: dict[int, set[int]] = {}
    relation = pruned(relation, wanted, read)
    writer = _Writer.over(leaves_of(relation), read, promises)
    writer.late, writer.folders = late_policy(hints), folders
    allowed = hints_text(hints)
    if allowed and isinstance(relation, JobUnion):
        raise UsageError(
            "budgets and errors are of one SELECT, and this job unites several", hint="adopt each before the union"
        )
    select, names = writer.select(relation, wanted or [relation.columns[0].number], allowed)
    streams = tuple(writer.streams.values())
    tables = [writer.declared_table(table) for table in tables_of(relation)]
    declared = [*(writer.declared(stream) for stream in streams), *(text for text, _ in tables)]
    text = "\n\n".join([*declared, f"{select};"])
    views = tuple(view for _, view in tables)
    return JobScript(f"{text}\n", streams, tuple((number, names[number]) for number in wanted), views)


@dataclass(frozen=True)
class JobPromise:
    """What is promised of a leaf, and which leaf is the other one in it."""

    source: int
    promise: FramePromise
    other: int | None = None


@dataclass(frozen=True)
class _Rows:
    """FROM and WHERE, and how columns are named over them."""

    source: str
    names: Mapping[int, str]
    where: tuple[str, ...] = ()
    is_join: bool = False

    @property
    def text(self) -> str:
        return f"FROM {self.source}" + (f"\nWHERE {' AND '.join(self.where)}" if self.where else "")


@dataclass
class _Writer:
    streams: dict[int, JobStream]
    leaves: Mapping[int, JobLeaf]
    """By source, the first of the leaves that read it."""
    taken: set[str] = field(default_factory=set)
    """Folded names of streams and aliases."""
    promises: Sequence[JobPromise] = ()
    late: str = Policy.TRUST
    """What happens to rows that are later than their watermark allows."""
    folders: Mapping[int, str] = field(default_factory=dict)
    """By source, where files of it are."""
    _met: set[int] = field(default_factory=set)
    _tables: dict[int, str] = field(default_factory=dict)
    """The names of tables, by their numbers."""

    @classmethod
    def over(cls, leaves: Sequence[JobLeaf], read: Mapping[int, set[int]], promises: Sequence[JobPromise]) -> _Writer:
        taken: set[str] = set()
        firsts = {leaf.source: leaf for leaf in reversed(leaves)}
        streams: dict[int, JobStream] = {}
        for leaf in leaves:
            if leaf.source not in streams:
                clocks = {place for place, column in enumerate(leaf.columns) if column.delay is not None}
                named = _named(leaf, promises)
                places = sorted(read[leaf.source] | clocks | named) or [0]
                names = _told_apart([leaf.columns[place].name for place in places])
                columns = tuple(zip(names, places, strict=True))
                streams[leaf.source] = JobStream(_free(leaf.name, taken), leaf.source, columns)
        return cls(streams, firsts, taken, promises)

    def declared(self, stream: JobStream) -> str:
        """CREATE STREAM."""
        leaf = self.leaves[stream.source]
        columns = [(name, leaf.columns[place]) for name, place in stream.columns]
        for _, column in columns:
            _require_type(column)
        elements = [f"{quoted(name)} {column.type}" for name, column in columns]
        clocks = [(name, column.delay) for name, column in columns if column.delay is not None]
        promised = [one for one in self.promises if one.source == stream.source]
        orders = [one.promise.ordered for one in promised if one.promise.ordered is not None]
        said = [one.promise.columns[0] for one in promised if one.promise.is_clock]
        if not said:
            elements += [f"EVENT TIME {quoted(name)}" for name in [*(name for name, _ in clocks), *orders][:1]]
        # What the user promises of a column says more than its watermark.
        told = set(map(fold, orders))
        elements += [
            f"ORDERED BY {quoted(name)} WITHIN {duration(delay)} ON VIOLATION {self.late}"
            for name, delay in clocks
            if fold(name) not in told
        ]
        names = {source: one.name for source, one in self.streams.items()}
        elements += [
            one.promise.text(names.get(one.source if one.other is None else one.other, "")) for one in promised
        ]
        body = ",\n".join(f"  {element}" for element in elements)
        folder = self.folders.get(stream.source)
        using = "" if folder is None else f" USING parquet OPTIONS (path '{folder}', maxFilesPerTrigger '1')"
        return f"CREATE STREAM {quoted(stream.name)} (\n{body}\n){using};"

    def declared_table(self, table: JobTable) -> tuple[str, JobView]:
        """CREATE TABLE, and the view that it reads."""
        names = tuple(_told_apart([column.name for column in table.columns]))
        columns = ", ".join(f"{quoted(name)} {c.type}" for name, c in zip(names, table.columns, strict=True))
        name = self._tables[table.number]
        view = JobView(f"penstock_{table.number}_{name}", table.number, names)
        return f"CREATE TABLE {quoted(name)} ({columns}) USING {VIEW} OPTIONS (name '{view.view}');", view

    def select(self, relation: JobRelation, wanted: Iterable[int], hints: str = "") -> tuple[str, dict[int, str]]:
        """A query for columns of a relation, and their names in it."""
        # Every column tells the rows of DISTINCT apart, whoever asks for it.
        whole = isinstance(relation, JobDistinct)
        numbers = list(dict.fromkeys((c.number for c in relation.columns) if whole else wanted))
        if isinstance(relation, JobUnion):
            shown = [column.number for column in relation.columns]
            members = [self._by_place(member, relation.columns) for member in relation.members]
            names = dict(zip(shown, _told_apart([c.name for c in relation.columns]), strict=True))
            return "\nUNION ALL\n".join(members), names
        own = {column.number: column.name for column in relation.columns}
        names = dict(zip(numbers, _told_apart([own[number] for number in numbers]), strict=True))
        distinct, groups = "", ""
        rows, texts = self._rows_and_texts(relation)
        if isinstance(relation, JobDistinct):
            distinct = "DISTINCT "
        elif isinstance(relation, JobAggregate):
            groups = "\nGROUP BY " + ", ".join(key.spelt(rows.names) for key in relation.keys) if relation.keys else ""
        outputs = ", ".join(f"{texts[number]} AS {quoted(names[number])}" for number in numbers)
        return f"SELECT {hints}{distinct}{outputs}\n{rows.text}{groups}", names

    def _rows_and_texts(self, relation: JobRelation) -> tuple[_Rows, Mapping[int, str]]:
        """What a SELECT reads, and the texts of the columns that it gives."""
        if isinstance(relation, JobProject | JobAggregate):
            rows = self._rows(relation.child)
            return rows, {column.number: text.spelt(rows.names) for column, text in relation.outputs}
        rows = self._rows(relation.child if isinstance(relation, JobDistinct) else relation)
        return rows, rows.names

    def _by_place(self, member: JobRelation, columns: Sequence[JobColumn]) -> str:
        """A member of a union; its columns have the names of the union's."""
        rows, texts = self._rows_and_texts(member) if isinstance(member, JobProject) else (None, {})
        if rows is None:
            rows = self._rows(member)
            texts = rows.names
        names = _told_apart([column.name for column in columns])
        shown = [texts[column.number] for column in member.columns]
        outputs = ", ".join(f"{text} AS {quoted(name)}" for text, name in zip(shown, names, strict=True))
        return f"SELECT {outputs}\n{rows.text}"

    def _rows(self, relation: JobRelation) -> _Rows:
        match relation:
            case JobLeaf():
                return self._leaf(relation)
            case JobFilter():
                rows = self._rows(relation.child)
                where = tuple(f"({condition.spelt(rows.names)})" for condition in relation.conditions)
                return _Rows(rows.source, rows.names, (*rows.where, *where), rows.is_join)
            case JobProject() if all(text.column is not None for _, text in relation.outputs):
                rows = self._rows(relation.child)
                names = {column.number: text.spelt(rows.names) for column, text in relation.outputs}
                return _Rows(rows.source, names, rows.where, rows.is_join)
            case JobJoin():
                return self._join(relation)
            case JobLookup():
                return self._lookup(relation)
            case _:
                return self._within(relation)

    def _within(self, relation: JobRelation) -> _Rows:
        """A relation as a query in FROM."""
        return self._in_from(*self.select(relation, [column.number for column in relation.columns]))

    def _closed(self, rows: _Rows, columns: Sequence[JobColumn]) -> _Rows:
        """Rows with their WHERE as a query in FROM."""
        own = {column.number: column.name for column in columns if column.number in rows.names}
        names = dict(zip(own, _told_apart(list(own.values())), strict=True))
        outputs = ", ".join(f"{rows.names[number]} AS {quoted(name)}" for number, name in names.items())
        return self._in_from(f"SELECT {outputs}\n{rows.text}", names)

    def _in_from(self, text: str, names: Mapping[int, str]) -> _Rows:
        alias = _free("part", self.taken)
        indented = text.replace("\n", "\n  ")
        return _Rows(f"(\n  {indented}\n) AS {alias}", {n: f"{alias}.{quoted(name)}" for n, name in names.items()})

    def _leaf(self, leaf: JobLeaf) -> _Rows:
        stream = self.streams[leaf.source]
        is_first = leaf.source not in self._met
        self._met.add(leaf.source)
        alias = stream.name if is_first else _free(stream.name, self.taken)
        names = {leaf.columns[place].number: f"{quoted(alias)}.{quoted(name)}" for name, place in stream.columns}
        return _Rows(quoted(stream.name) + ("" if is_first else f" AS {quoted(alias)}"), names)

    def _join(self, join: JobJoin) -> _Rows:
        left, right = self._rows(join.left), self._rows(join.right)
        if join.kind != "INNER":
            # WHERE is asked of the joined rows: below such a join it would say something else.
            left = self._closed(left, join.left.columns) if left.where else left
            right = self._closed(right, join.right.columns) if right.where else right
        names = {**left.names, **right.names}
        beside = f"({right.source})" if right.is_join else right.source
        on = " AND ".join(f"({condition.spelt(names)})" for condition in join.on)
        if not on and join.kind == "INNER":
            source = f"{left.source}\n  CROSS JOIN {beside}"
        else:
            source = f"{left.source}\n  {join.kind} JOIN {beside} ON {on or 'TRUE'}"
        kept = left.names if join.kind in ("LEFT SEMI", "LEFT ANTI") else names
        return _Rows(source, kept, (*left.where, *right.where), is_join=True)

    def _lookup(self, lookup: JobLookup) -> _Rows:
        rows = self._rows(lookup.child)
        if rows.where and lookup.kind != "INNER":
            rows = self._closed(rows, lookup.child.columns)
        name = self._tables[lookup.table.number] = _free(lookup.table.name, self.taken)
        shown = _told_apart([column.name for column in lookup.table.columns])
        own = zip(lookup.table.columns, shown, strict=True)
        names = {**rows.names, **{column.number: f"{quoted(name)}.{quoted(one)}" for column, one in own}}
        on = " AND ".join(f"({condition.spelt(names)})" for condition in lookup.on) or "TRUE"
        kept = rows.names if lookup.kind in ("LEFT SEMI", "LEFT ANTI") else names
        return _Rows(f"{rows.source}\n  {lookup.kind} JOIN {quoted(name)} ON {on}", kept, rows.where, is_join=True)


def _named(leaf: JobLeaf, promises: Sequence[JobPromise]) -> set[int]:
    """The places of the columns that promises of a leaf, or of others about it, name."""
    named = {fold(name) for one in promises if one.source == leaf.source for name in one.promise.columns}
    named |= {fold(name) for one in promises if one.other == leaf.source for name in one.promise.other_columns}
    return {place for place, column in enumerate(leaf.columns) if fold(column.name) in named}


def _require_type(column: JobColumn) -> None:
    if _UNKNOWN_TYPE.search(column.type):
        raise NotSupportedYet(
            f"a column of type {column.type} cannot be read: {column.name}",
            hint="give it a plain type before the streams meet, such as CAST(name AS STRING), or lower(…) of that "
            "where capital letters are no matter; or leave it out",
        )


def duration(milliseconds: int) -> str:
    """A length of time in the language, in the largest unit that it is a whole number of."""
    size, unit = next((size, unit) for size, unit in _UNITS if milliseconds % size == 0)
    count = milliseconds // size if milliseconds else 0
    return f"{count} {unit[:-1] if count == 1 else unit}"


def _free(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while fold(name) in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(fold(name))
    return name


def _told_apart(names: Sequence[str]) -> list[str]:
    taken: set[str] = set()
    return [_free(name, taken) for name in names]
