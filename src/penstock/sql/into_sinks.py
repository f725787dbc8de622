"""Which sink does a query write into, and can that sink take what the query gives?

Files, and tables of files, only append: groups that go on changing cannot be written there. A sink that declares
`(PRIMARY KEY (k))` takes updates: a row takes the place of the one with its key, so what it holds are the newest
values. That needs a store which can replace rows, and a query of which no two rows of a batch have one key. Of groups
this is known here: the key must hold all that they are grouped by. Of other queries it is seen as they run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.errors import DeclarationMistake, QueryMistake
from penstock.model.clauses import Output, Scalar, TimeWindow
from penstock.model.closed_groups import emits_once
from penstock.model.names import fold, quoted_list
from penstock.model.query import Query
from penstock.model.stream import Sink
from penstock.sql.environment import Environment
from penstock.sql.source import SourceText
from penstock.sql.streams import bound_storage
from penstock.sql.tree import CreateSink, Insert

APPEND_ONLY = frozenset({"parquet", "orc", "avro", "csv", "json", "text", "xml", "delta", "iceberg"})
"""Sinks that take no updates unless they are told of a key: files, and tables of files."""
TAKES_KEYS = frozenset({"delta", "iceberg", "jdbc"})
"""Sinks in which rows can be replaced."""


def bound_sinks(source: SourceText, written: list[CreateSink], broken: frozenset[str]) -> dict[str, Sink | None]:
    """By folded name; None for one that is declared, but wrong."""
    sinks: dict[str, Sink | None] = dict.fromkeys(sorted(broken))
    for statement in written:
        name = statement.name.text
        if fold(name) in sinks:
            source.report(DeclarationMistake, f"sink {name} is declared twice", statement.name.at)
            continue
        sink = Sink(name, bound_storage(statement.storage), tuple(column.text for column in statement.key))
        kind = sink.storage.format.lower()
        if sink.key and kind not in TAKES_KEYS:
            source.report(
                DeclarationMistake,
                f"{sink.storage.format} cannot replace rows, so a sink of it has no PRIMARY KEY",
                statement.key[0].at,
                hint=f"use {', '.join(sorted(TAKES_KEYS))}; from Python, any function: "
                "penstock.stream(…).writeStream.foreachBatch(…)",
            )
        if not sink.key and kind == "jdbc":
            source.report(
                DeclarationMistake,
                "a batch that is written again would be twice in a table of a database without a key",
                statement.name.at,
                hint=f"say by which columns rows are replaced: CREATE SINK {name} (PRIMARY KEY (…)) USING jdbc …",
            )
        folded = [fold(column) for column in sink.key]
        for place, column in enumerate(statement.key):
            if folded[place] in folded[:place]:
                source.report(DeclarationMistake, f"column {column.text} is in the key twice", column.at)
        sinks[fold(name)] = sink
    return sinks


def sink_of(
    source: SourceText, statement: Insert, sinks: Mapping[str, Sink | None], environment: Environment
) -> Sink | None:
    """The sink that INSERT INTO names; None, and reported, if there is none."""
    if statement.sink is None:
        return None
    wanted = statement.sink.text
    if fold(wanted) not in sinks:
        close = source.guess(wanted, [s.name for s in sinks.values() if s is not None])
        hint = close or f"declare it: CREATE SINK {wanted} USING parquet OPTIONS (path '…')"
        if environment.is_declared(wanted):
            known = {"stream": set(environment.streams), "table": set(environment.tables)}
            kind = next((kind for kind, names in known.items() if fold(wanted) in names), "view")
            hint = f"{wanted} is a {kind}, which is read; write to a sink: CREATE SINK out USING …"
        source.report(QueryMistake, f"unknown sink {wanted}", statement.sink.at, hint=hint)
    return sinks.get(fold(wanted))


def writing_into(source: SourceText, query: Query, sink: Sink | None, statement: Insert) -> Query:
    """The query as it gives its rows to this sink; reported if it cannot."""
    if sink is None or statement.sink is None:
        return query
    if sink.key:
        for mistake, hint in _wrong_keys(source, query, sink):
            source.report(QueryMistake, mistake, statement.sink.at, hint=hint)
        return query
    if sink.storage.format.lower() not in APPEND_ONLY:
        return query
    query = replace(query, appends=True)
    # Groups that nothing closes are updates, which files cannot take; of a block's clocks only the analysis knows.
    is_known = all(one.below is None for one in query.all_sources)
    if query.is_grouped and is_known and not emits_once(query):
        source.report(
            QueryMistake,
            f"sink {sink.name} only appends, but the groups of this query change: each batch emits new values",
            statement.sink.at,
            hint="group by window(ts, '5 minutes') of an ordered event time as well, so that each group is emitted "
            f"once, or use a sink that takes updates: CREATE SINK {sink.name} (PRIMARY KEY (…)) USING delta …",
        )
    return query


def _wrong_keys(source: SourceText, query: Query, sink: Sink) -> Iterator[tuple[str, str | None]]:
    """What is wrong with the key of a sink for the rows of a query, and what to do."""
    given = {fold(column.name): column for column in query.answer}
    for column in sink.key:
        if fold(column) not in given:
            guess = source.guess(column, [one.name for one in query.answer])
            yield f"the key of sink {sink.name} has {column}, which is no column of this query", guess
            return
    if not query.is_grouped or query.grouping_sets or (query.top is not None and query.top.most > 1):
        return
    held = [one.value for column in sink.key if isinstance(one := given[fold(column)], Output)]
    lacking = [key for key in query.group_by if not any(_is_the_same(key, value) for value in held)]
    if lacking:
        outputs = [one for one in query.answer if isinstance(one, Output)]
        named = [next((o.name for o in outputs if _is_the_same(key, o.value)), None) for key in query.group_by]
        known = [name for name in named if name is not None]
        yield (
            f"several groups may have one key of sink {sink.name}: it does not hold {', '.join(map(str, lacking))}",
            f"write PRIMARY KEY {quoted_list(known)}"
            if known == named
            else "SELECT all that the groups are by as well",
        )


def _is_the_same(key: Scalar, value: object) -> bool:
    """Whether a column of the answer is a key of the groups, or one end of the window that is one."""
    if isinstance(key, TimeWindow) and isinstance(value, TimeWindow):
        return replace(key, end=None) == replace(value, end=None)
    return key == value
