"""Model to text: a script that parses to the same model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal

from penstock.model.clauses import ROW_NUMBER, Aggregate, Formula, Output, Source, Top, Union
from penstock.model.expressions import ColumnRef
from penstock.model.hints import Hints
from penstock.model.names import fold, quoted, quoted_list
from penstock.model.predicates import conjunct, conjunction
from penstock.model.query import Query
from penstock.model.relation import Existence, FromTree, Join, JoinKind, Leaf
from penstock.model.schemes import OnViolation
from penstock.model.script import Script
from penstock.model.stream import Column, Exploded, Sink, Storage, Stream, TableQuery
from penstock.model.table import DeclaredTable
from penstock.sql.words import string_literal


def print_script(script: Script) -> str:
    """The whole script: streams, blocks as views, sinks, queries, each in its order."""
    parts = [
        *(print_stream(stream) for stream in script.streams),
        *(_view(source) for source in _views(script)),
        *(print_table(table) for table in script.tables),
        *(print_sink(sink) for sink in script.sinks),
        *(print_query(query) for query in script.queries),
    ]
    return "\n\n".join(part + ";" for part in parts) + ("\n" if parts else "")


def _views(script: Script) -> Iterator[Source]:
    """The blocks of queries, and the views that declarations name and those below these, each once."""
    made = (*script.queries, *(member for view in script.views for member in members_of(view)))
    named = {view.stream.name: view for view in script.views}
    yield from {source.stream.name: source for source in (*blocks_of(made), *named.values())}.values()


def blocks_of(queries: Iterable[Query]) -> Iterator[Source]:
    """The sources that are blocks, each once, those below before those above."""
    seen: set[str] = set()
    for query in queries:
        for source in query.all_sources:
            if source.below is not None and source.stream.name not in seen:
                below = [one for one in blocks_of(members_of(source)) if one.stream.name not in seen]
                seen |= {source.stream.name, *(one.stream.name for one in below)}
                yield from (*below, source)


def _view(source: Source) -> str:
    assert source.below is not None
    declared = ", ".join(_declarations(source.stream))
    head = f"CREATE VIEW {quoted(source.stream.name)}" + (f" ({declared})" if declared else "")
    return f"{head} AS\n" + "\nUNION ALL\n".join(print_query(member) for member in members_of(source))


def members_of(source: Source) -> tuple[Query, ...]:
    """The blocks whose answers a source is."""
    members = source.below.members if isinstance(source.below, Union) else (source,)
    return tuple(member.below for member in members if isinstance(member.below, Query))


def print_stream(stream: Stream) -> str:
    """CREATE STREAM."""
    elements = [*(_column(column) for column in stream.columns), *_declarations(stream)]
    body = ",\n".join(f"  {element}" for element in elements)
    text = f"CREATE STREAM {quoted(stream.name)} (\n{body}\n)"
    if stream.storage is not None:
        text += f" {_storage(stream.storage)}"
    if stream.where:
        text += f"\n  WHERE {conjunction(stream.where)}"
    return text


def _declarations(stream: Stream) -> Iterator[str]:
    if stream.event_time is not None:
        idle = "" if stream.idle_after is None else f" IDLE AFTER {stream.idle_after}"
        yield f"EVENT TIME {quoted(stream.event_time)}{idle}"
    if stream.arrival is not None:
        yield f"ARRIVES BY {quoted(stream.arrival.column)}{_violation(stream.arrival.on_violation)}"
    if stream.parts_by is not None:
        yield f"PARTS BY {quoted(stream.parts_by)}"
    yield from (scheme.text + _violation(scheme.on_violation) for scheme in stream.schemes)
    if stream.on_malformed is not None:
        yield stream.on_malformed.text


def print_table(table: DeclaredTable) -> str:
    """CREATE TABLE."""
    elements = [f"{quoted(name)} {kind}" for name, kind in table.columns]
    elements += [f"PRIMARY KEY ({', '.join(map(quoted, key))})" for key in table.keys]
    body = ",\n".join(f"  {element}" for element in elements)
    assert isinstance(table.storage, Storage)
    return f"CREATE TABLE {quoted(table.name)} (\n{body}\n) {_storage(table.storage)}"


def print_sink(sink: Sink) -> str:
    """CREATE SINK."""
    key = f" (PRIMARY KEY {quoted_list(sink.key)})" if sink.key else ""
    return f"CREATE SINK {quoted(sink.name)}{key} {_storage(sink.storage)}"


def print_query(query: Query) -> str:
    """INSERT INTO … SELECT, or a bare SELECT."""
    lines = [f"INSERT INTO {quoted(query.sink)}"] if query.sink is not None else []
    if query.top is not None:
        lines += _first_rows(query, query.top)
    else:
        outputs = ", ".join(_output(output) for output in query.answer)
        lines.append(f"SELECT {_hints(query.hints)}{'DISTINCT ' if query.distinct else ''}{outputs}")
        lines += _rows(query)
        if query.group_by:
            lines.append("GROUP BY " + ", ".join(str(key) for key in query.group_by))
        if query.grouping_sets:
            sets = (", ".join(str(query.group_by[n]) for n in members) for members in query.grouping_sets)
            lines.append(f"  GROUPING SETS ({', '.join(f'({members})' for members in sets)})")
    if query.having is not None:
        lines.append(f"HAVING {query.having}")
    return _with_derived_spelt("\n".join(lines), query)


def _rows(query: Query) -> list[str]:
    """FROM and WHERE."""
    conditions = [conjunct(p) for p in query.where] + [_existence(e) for e in query.existences]
    where = ["WHERE " + "\n  AND ".join(conditions)] if conditions else []
    return [f"FROM {_tree(query.tree, query.by_alias)}", *where]


def _first_rows(query: Query, top: Top) -> list[str]:
    """The first rows of partitions: a query that numbers them, and one around it that asks for so many."""
    number = next((o.name for o in query.outputs if o.value == Aggregate(ROW_NUMBER)), None)
    rank = number if number is not None else _free("rn", [output.name for output in query.outputs])
    inner = []
    for output in query.answer:
        if isinstance(output, Output) and output.name != number:
            value = output.value.argument if isinstance(output.value, Aggregate) else output.value
            inner.append(f"{value} AS {quoted(output.name)}")
    partition = f"PARTITION BY {', '.join(map(str, query.group_by))} " if query.group_by else ""
    order = ", ".join(map(str, top.ordering)) or "1"
    inner.append(f"ROW_NUMBER() OVER ({partition}ORDER BY {order}) AS {quoted(rank)}")
    shown = ", ".join(quoted(output.name) for output in query.answer)
    return [
        f"SELECT {_hints(query.hints)}{shown}",
        f"FROM (SELECT {', '.join(inner)}",
        *_rows(query),
        f") WHERE {quoted(rank)} <= {top.most}",
    ]


def _free(name: str, taken: list[str]) -> str:
    while fold(name) in map(fold, taken):
        name += "_"
    return name


def _with_derived_spelt(text: str, query: Query) -> str:
    """The text with the expressions of the columns that the query derives in their place."""
    for source in query.all_sources:
        for column in source.stream.columns:
            if column.of_query and column.derived is not None:
                text = text.replace(str(ColumnRef(source.alias, column.name)), column.derived.text)
    return text


def _column(column: Column) -> str:
    if column.type is None:
        return f"{quoted(column.name)} VIRTUAL"
    derived = f" AS ({column.derived})" if column.derived is not None else ""
    return f"{quoted(column.name)} {column.type}{derived}"


def _violation(on_violation: OnViolation | None) -> str:
    return f" {on_violation.text}" if on_violation is not None else ""


def _storage(storage: Storage) -> str:
    name = ".".join(quoted(part) for part in storage.format.split("."))
    if not storage.options:
        return f"USING {name}"
    options = ", ".join(f"{_option(key)} {string_literal(value)}" for key, value in storage.options)
    return f"USING {name} OPTIONS ({options})"


def _option(key: str) -> str:
    # `=` keeps a key in quotes apart from its value: Spark joins two strings side by side.
    plain = all(quoted(part) == part for part in key.split("."))
    return key if plain else f"{string_literal(key)} ="


def _output(output: Output | Formula) -> str:
    if isinstance(output, Formula):
        return f"{output} AS {quoted(output.name)}"
    # Of what is joined from a table, `t.k`, the plain name is k.
    if isinstance(output.value, ColumnRef) and str(output.value).endswith(f".{quoted(output.name)}"):
        return str(output.value)
    return f"{output.value} AS {quoted(output.name)}"


def _hints(hints: Hints) -> str:
    shown = []
    if hints.budget is not None:
        shown.append(f"BUDGET({hints.budget})")
    if hints.evict is not None:
        shown.append(f"EVICT({hints.evict})")
    if hints.value is not None:
        shown.append(f"VALUE({hints.value})")
    if hints.archive is not None:
        shown.append(f"ARCHIVE({string_literal(hints.archive)})")
    if hints.shed_input:
        shown.append("SHED(INPUT)")
    if hints.error is not None:
        bounds = " WITH BOUNDS" if hints.error.with_bounds else ""
        shown.append(f"ERROR({_number(hints.error.percent)} PERCENT{bounds})")
    if hints.monitor is not None:
        monitor = hints.monitor
        shown.append(f"MONITOR({_number(monitor.factor)}, {_number(monitor.probability)}, {monitor.window})")
    return f"/*+ {', '.join(shown)} */ " if shown else ""


def _number(number: Decimal) -> str:
    return format(number, "f")


def _tree(tree: FromTree, sources: dict[str, Source], in_chain: bool = False) -> str:
    """FROM; a comma binds weaker than JOIN, so inside a chain of joins a join without a condition is CROSS JOIN."""
    if isinstance(tree, Leaf):
        return _source(sources[tree.alias])
    if tree.kind is JoinKind.INNER and not tree.on:
        if in_chain:
            return f"{_tree(tree.left, sources, True)} CROSS JOIN {_right(tree, sources)}"
        return f"{_tree(tree.left, sources)}, {_right(tree, sources)}"
    kind = "" if tree.kind is JoinKind.INNER else f"{tree.kind} OUTER "
    left, right = _tree(tree.left, sources, True), _right(tree, sources)
    return f"{left}\n  {kind}JOIN {right} ON {conjunction(tree.on) or 'TRUE'}"


def _right(tree: Join, sources: dict[str, Source]) -> str:
    """The right side of a join: joins there are in parentheses."""
    text = _tree(tree.right, sources, True)
    return text if isinstance(tree.right, Leaf) else f"({text})"


def _source(source: Source) -> str:
    text = quoted(source.stream.name)
    if source.where:
        own = "" if source.alias == source.stream.name else f" AS {quoted(source.alias)}"
        text = f"(SELECT * FROM {text}{own} WHERE {conjunction(source.where)})"
    if source.window is not None:
        text += f" {source.window}"
    if source.alias != source.stream.name or source.where:
        text += f" AS {quoted(source.alias)}"
    for join in source.stream.tables:
        if isinstance(join, Exploded):
            text = f"{text} {_elements(join)}"
            continue
        kind = join.kind.replace("_", " ").upper()
        table, columns = quoted(join.table), ""
        if isinstance(join.storage, TableQuery):
            names = {read.key: quoted(read.name) for read in join.storage.tables}
            table = f"({join.storage.text.format(**names)})"
            columns = f" ({', '.join(quoted(name) for name, _ in join.columns)})"
        text += f" {kind} JOIN {table} AS {quoted(join.alias)}{columns} ON {join.on}"
    return f"({text})" if source.stream.tables else text


def _elements(made: Exploded) -> str:
    kind = "LEFT" if made.is_outer else "INNER"
    function = "inline" if any(part.startswith("col.") for part in made.parts) else "explode"
    function = "posexplode" if "pos" in made.parts else function
    names = ", ".join(quoted(name) for name, _ in made.columns)
    return f"{kind} JOIN LATERAL {function}({made.text}) AS {quoted(made.alias)} ({names}) ON TRUE"


def _existence(existence: Existence) -> str:
    condition = f" WHERE {conjunction(existence.condition)}" if existence.condition else ""
    return f"{'NOT ' if existence.negated else ''}EXISTS (SELECT 1 FROM {_source(existence.source)}{condition})"
