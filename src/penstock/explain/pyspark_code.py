"""A script, or what it declares, as the PySpark code that says the same; `to_sql` of a DataFrame is the way back.

A stream is a DataFrame of which its declarations are promised, and a temporary view, so that the query is SQL to Spark
too; hints are arguments of `adopt`. Windows of a FROM item cannot be told so: Spark's SQL has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from penstock.analysis.finding import Fix
from penstock.errors import NotSupportedYet
from penstock.model.formats import VIEW
from penstock.model.hints import NO_HINTS, Hints
from penstock.model.names import quoted
from penstock.model.predicates import conjunction
from penstock.model.query import Query
from penstock.model.schemes import (
    Check,
    Clustered,
    Cooccurs,
    Follows,
    ForeignKey,
    NamedTime,
    OnViolation,
    Ordered,
    PrimaryKey,
    Punctuated,
    Scheme,
    StreamKey,
)
from penstock.model.script import Script
from penstock.model.spans import Window, Within
from penstock.model.stream import Storage, Stream
from penstock.sql.printer import blocks_of, members_of, print_query

_NO_WORD = re.compile(r"\W+")


def script_code(script: Script, query: Query) -> str:
    """The code that makes an adopted DataFrame of a query of a script."""
    blocks = list(blocks_of((query,)))
    windowed = [
        source for block in (query, *(q for b in blocks for q in members_of(b))) for source in block.all_sources
    ]
    if any(source.window is not None for source in windowed):
        raise NotSupportedYet(
            f"query {query.name} has a window on a stream, and Spark's SQL has none",
            hint="run the script: penstock.stream(spark, script)",
        )
    lines = ["import penstock", "from pyspark.sql import functions as F", ""]
    for stream in script.streams:
        lines += [f"{variable(stream.name)} = {_source(stream)}", _view(stream.name)]
    for table in script.tables:
        assert isinstance(table.storage, Storage)
        columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in table.columns)
        lines += [f"{variable(table.name)} = {_reader('read', table.storage, columns)}", _view(table.name)]
    lines += promises_code(script.streams)
    for source in blocks:
        text = "\nUNION ALL\n".join(map(print_query, members_of(source)))
        lines.append(f"{_sql(text)}.createOrReplaceTempView({_string(source.stream.name)})")
    answer = _sql(print_query(replace(query, sink=None, hints=NO_HINTS)))
    return "\n".join([*lines, "", f"answer = penstock.adopt({', '.join([answer, *_hints(query.hints)])})", ""])


def promises_code(streams: Sequence[Stream]) -> list[str]:
    """A call of penstock.promise for each stream that promises anything."""
    found = []
    for stream in streams:
        calls = list(_calls(stream))
        if calls:
            body = "".join(f"\n    {call}," for call in calls)
            found.append(f"penstock.promise(\n    {variable(stream.name)},{body}\n)")
    return found


def fix_code(fix: Fix) -> tuple[str, ...]:
    """A fix of a verdict as calls of penstock.promise."""
    return tuple(f"penstock.promise({variable(stream)}, {promise_code(scheme)})" for stream, scheme in fix.declarations)


def _calls(stream: Stream) -> Iterator[str]:
    virtual = [column.name for column in stream.columns if column.is_virtual]
    if virtual:
        yield f"penstock.Virtual({_strings(virtual)})"
    if stream.event_time is not None:
        idle = "" if stream.idle_after is None else f", idle_after={_text(stream.idle_after)}"
        yield f"penstock.EventTime({_string(stream.event_time)}{idle})"
    if stream.arrival is not None:
        policy = _policy(stream.arrival.on_violation)
        yield f"penstock.ArrivesBy({_string(stream.arrival.column)}{policy})"
    if stream.parts_by is not None:
        yield f"penstock.PartsBy({_string(stream.parts_by)})"
    yield from map(promise_code, stream.schemes)


def promise_code(scheme: Scheme | NamedTime) -> str:
    """A declaration as the value that penstock.promise takes; other streams are variables of their names."""
    match scheme:
        case NamedTime():
            return f"penstock.EventTime({_string(scheme.column)})"
        case PrimaryKey():
            inside = _strings(scheme.columns)
        case Ordered() | Clustered():
            inside = f"{_string(scheme.column)}{_within(scheme.within)}"
        case Follows():
            inside = f"{_pairs(scheme.parent, scheme.parent_columns, scheme.columns)}{_within(scheme.within)}"
        case ForeignKey():
            inside = f"{_pairs(scheme.parent, scheme.parent_columns, scheme.columns)}{_window(scheme.window)}"
        case Cooccurs():
            inside = f"{_pairs(scheme.other, scheme.other_columns, scheme.columns)}{_window(scheme.window)}"
        case StreamKey():
            inside = f"{_strings(scheme.columns)}, spans={variable(scheme.spans)}{_window(scheme.window)}"
        case Punctuated():
            life = "" if scheme.lifespan is None else f", lifespan={_text(scheme.lifespan)}"
            inside = f"{_strings(scheme.columns)}, when={_string(conjunction(scheme.when))}{life}"
        case Check():
            inside = _string(conjunction(scheme.condition))
    return f"penstock.{type(scheme).__name__}({inside}{_policy(scheme.on_violation)})"


def variable(stream: str) -> str:
    """A name of a stream as one of Python's."""
    word = _NO_WORD.sub("_", stream).strip("_") or "stream"
    return f"stream_{word}" if word[0].isdigit() else word


def _pairs(other: str, columns: Sequence[str], own: Sequence[str]) -> str:
    on = _string(own[0]) if len(own) == 1 else f"[{_strings(own)}]"
    return f"{variable(other)}, {_strings(columns)}, on={on}"


def _within(within: Within | None) -> str:
    return "" if within is None else f", within={_text(within)}"


def _window(window: Window | None) -> str:
    if window is None:
        return ""
    low, high = (_string("*") if end is None else _text(end) for end in (window.low, window.high))
    return f", window=({low}, {high})"


def _policy(policy: OnViolation | None) -> str:
    return "" if policy is None else f", on_violation={_text(policy.text.removeprefix('ON VIOLATION '))}"


def _hints(hints: Hints) -> Iterator[str]:
    if hints.budget is not None:
        yield f"budget={_text(hints.budget)}"
    if hints.evict is not None:
        yield f"evict={_string(hints.evict)}"
    if hints.value is not None:
        yield f"value={_string(hints.value.text)}"
    if hints.archive is not None:
        yield f"archive={_string(hints.archive)}"
    if hints.shed_input:
        yield "shed_input=True"
    if hints.error is not None:
        bounds = " with bounds" if hints.error.with_bounds else ""
        yield f"error={_string(f'{hints.error.percent} percent{bounds}')}"
    if hints.monitor is not None:
        monitor = hints.monitor
        yield f"monitor=({monitor.factor}, {monitor.probability}, {monitor.window})"


def _source(stream: Stream) -> str:
    if stream.storage is None:
        raise NotSupportedYet(
            f"stream {stream.name} has no USING, so no code reads it", hint="add USING format OPTIONS (…)"
        )
    carried = [column for column in stream.carried if column.derived is None]
    columns = ", ".join(f"{quoted(column.name)} {column.type}" for column in carried)
    code = _reader("readStream", stream.storage, columns)
    for column in stream.carried:
        if column.derived is not None:
            code += f".withColumn({_string(column.name)}, F.expr({_string(column.derived.text)}))"
    return code + (f".where({_string(conjunction(stream.where))})" if stream.where else "")


def _reader(way: str, storage: Storage, columns: str) -> str:
    if storage.format.lower() == VIEW:
        return f"spark.table({_string(dict(storage.options).get('name', ''))})"
    options = "".join(f".option({_string(name)}, {_string(value)})" for name, value in storage.options)
    return f"spark.{way}.format({_string(storage.format)}).schema({_string(columns)}){options}.load()"


def _view(name: str) -> str:
    return f"{variable(name)}.createOrReplaceTempView({_string(name)})"


def _sql(text: str) -> str:
    lines = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'spark.sql("""\n{lines}\n""")'


def _strings(names: Sequence[str]) -> str:
    return ", ".join(map(_string, names))


def _text(value: object) -> str:
    return _string(str(value).lower())


def _string(text: str) -> str:
    """A text of Python's, in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
