"""UNION ALL and UNION: the answers of several queries as one stream.

As in Spark the columns go by their places: they have the names of the first query, and types that differ are widened
to the one that both fit into; of an aggregate a CAST must say so. A bare NULL has the type of the others. UNION is
DISTINCT over UNION ALL.
The event time is the column that each of them has as its own, if there is one; what else is promised of all of them the
analysis finds.

INTERSECT gives each row of the first query once that the second has too, EXCEPT each that it has not: DISTINCT over
EXISTS and NOT EXISTS in which all columns are equal. To them NULL equals NULL, so the columns are compared by `<=>`;
where one of the two is never NULL, `=` says the same and is a key. With ALL they count rows, and are refused.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import QueryMistake
from penstock.model.clauses import Output
from penstock.model.expressions import Cast, ColumnRef, Expression, Literal
from penstock.model.names import fold
from penstock.model.query import Query
from penstock.model.stream import Column, Stream
from penstock.model.term_types import common_type, output_type
from penstock.model.types import DataType
from penstock.sql.source import SourceText
from penstock.sql.tree import Name, QueryBody, SetOperation, Stretch


def united(written: SetOperation) -> tuple[tuple[QueryBody, ...], bool]:
    """The queries of a chain of UNION ALL, or of a UNION, and whether each row is given once."""
    members: list[QueryBody] = [written.right]
    left: QueryBody = written.left
    # UNION over UNION ALL is one UNION: what is given once may as well come together before.
    while isinstance(left, SetOperation) and left.kind == "UNION" and (left.keeps_all or not written.keeps_all):
        members.append(left.right)
        left = left.left
    return (left, *reversed(members)), not written.keeps_all


def _common_types(members: list[tuple[Query, Stream]], at: Stretch, source: SourceText) -> tuple[DataType, ...] | None:
    """The types of the columns of a union, as Spark widens them; None, and a mistake, if they cannot be told."""
    first, *others = (stream for _, stream in members)
    for other in others:
        if len(other.columns) != len(first.columns):
            counts = f"{len(first.columns)} and {len(other.columns)}"
            source.report(
                QueryMistake,
                f"queries with {counts} columns cannot be put together",
                at,
                hint="give all the same columns",
            )
            return None
    types = []
    for places in zip(*(stream.columns for _, stream in members), strict=True):
        kinds = [column.type for column in places]
        common = kinds[0] if len(set(kinds)) == 1 else common_type(kinds)
        if common is None:
            written = " and ".join(dict.fromkeys(str(kind) for kind in kinds))
            message = f"{places[0].name} is {written}, and what Spark makes of both is not known without it"
            source.report(QueryMistake, message, at, hint="write CAST(… AS type)")
            return None
        types.append(common)
    return tuple(types)


def with_types_of_nulls(members: list[Query]) -> list[Query]:
    """The members of a union, each bare NULL with the type that the others have in its place."""
    kinds = [[output_type(output, query.type_of) for output in query.answer] for query in members]
    found = []
    for query in members:
        outputs = list(query.outputs)
        for place, shown in enumerate(query.answer):
            known = [own[place] for own in kinds if place < len(own) and own[place] is not None]
            is_null = (
                isinstance(shown, Output) and isinstance(shown.value, Expression) and shown.value.term == Literal(None)
            )
            common = None if not is_null or not known else known[0] if len(set(known)) == 1 else common_type(known)
            if common is not None and isinstance(shown, Output) and shown in outputs:
                outputs[outputs.index(shown)] = _cast(shown, common) or shown
        is_same = tuple(outputs) == query.outputs
        found.append(query if is_same else query.with_block(replace(query.block, outputs=tuple(outputs))))
    return found


def _cast_to(query: Query, stream: Stream, types: tuple[DataType, ...]) -> Query | None:
    """A query whose columns have these types; None where one that has not is an aggregate."""
    wanted = {c.name: kind for c, kind in zip(stream.columns, types, strict=True) if c.type != kind}
    if not wanted:
        return query
    outputs = [_cast(o, wanted[o.name]) if o.name in wanted else o for o in query.outputs]
    if query.is_grouped or None in outputs:
        return None
    return query.with_block(replace(query.block, outputs=tuple(o for o in outputs if o is not None)))


def _cast(output: Output, kind: DataType) -> Output | None:
    match output.value:
        case ColumnRef() as ref:
            return replace(output, value=Expression(f"CAST({ref} AS {kind})", (ref,), Cast(ref, kind)))
        case Expression(text=text, columns=columns, term=term):
            return replace(output, value=Expression(f"CAST({text} AS {kind})", columns, Cast(term, kind)))
        case _:
            return None


def names_of(query: Query, at: Stretch) -> tuple[Name, ...]:
    """The names of the columns of an answer."""
    return tuple(Name(output.name, at) for output in query.answer)


def common_event_time(members: list[tuple[Query, Stream]]) -> str | None:
    """The column that is the event time of every one of them."""
    found = {fold(stream.event_time) if stream.event_time is not None else None for _, stream in members}
    return members[0][1].event_time if len(found) == 1 else None


def widened(members: list[tuple[Query, Stream]], at: Stretch, source: SourceText) -> list[tuple[Query, Stream]] | None:
    """The members of a union with columns of the same types; None, and a mistake, if they cannot be."""
    types = _common_types(members, at, source)
    if types is None:
        return None
    found = []
    for query, stream in members:
        cast = _cast_to(query, stream, types)
        if cast is None:
            wrong = next(c for c, kind in zip(stream.columns, types, strict=True) if c.type != kind)
            kind = types[stream.columns.index(wrong)]
            message = f"{wrong.name} is {wrong.type}, and the other query gives {kind}"
            source.report(QueryMistake, message, at, hint=f"write CAST(… AS {kind})")
            return None
        columns = tuple(Column(c.name, kind) for c, kind in zip(stream.columns, types, strict=True))
        found.append((cast, replace(stream, columns=columns)))
    return found
