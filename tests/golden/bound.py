"""The bound model as text: types, resolved columns, predicates by kind, key classes, the shape of the join graph.

What printing back does not show: which column a name was resolved to, how a condition was understood, what the
declarations and the closure of the equalities say together.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.clauses import Formula, Scalar, columns_of
from penstock.model.expressions import ColumnRef, Expression
from penstock.model.graph import JoinGraph
from penstock.model.predicates import Predicate, conjunct
from penstock.model.query import Query
from penstock.model.relation import FromTree, Leaf
from penstock.model.schemes import reference_of
from penstock.model.script import Script, policy_of
from penstock.model.spans import Span
from penstock.model.stream import Column, Stream


def bound_text(script: Script) -> str:
    """The whole model."""
    lines = [line for stream in script.streams for line in _stream(stream)]
    lines += [f"sink {sink.name}: {sink.storage.format} {dict(sink.storage.options)}" for sink in script.sinks]
    lines += [line for query in script.queries for line in _query(query)]
    return "\n".join(lines)


def _stream(stream: Stream) -> Iterator[str]:
    yield f"stream {stream.name}"
    for column in stream.columns:
        yield f"  column {_column(column)}"
    if stream.event_time is not None:
        low = [scheme.text for scheme in stream.low]
        yield f"  event time {stream.event_time} {stream.clock}, low known from {low or 'nothing'}"
    if stream.arrival is not None:
        yield f"  arrives by {stream.arrival.column}"
    for scheme in stream.schemes:
        reference = reference_of(scheme)
        yield f"  {type(scheme).__name__}: {scheme.on(stream.name)}"
        ties = (
            [f"{stream.name}.{own} ~ {reference.stream}.{other}" for own, other in reference.pairs] if reference else []
        )
        yield f"    policy {policy_of(scheme)}" + (f", ties {', '.join(ties)}" if ties else "")
    for predicate in stream.where:
        yield f"  where {_predicate(predicate)}"


def _column(column: Column) -> str:
    if column.derived is None:
        return f"{column.name} {column.type or 'VIRTUAL'}"
    return f"{column.name} {column.type}, derived: {_value(column.derived)}"


def _query(query: Query) -> Iterator[str]:
    yield f"query {query.name} into {query.sink or 'the console'}"
    for source in query.all_sources:
        inner = next((e for e in query.existences if e.source == source), None)
        kind = "source" if inner is None else "not exists" if inner.negated else "exists"
        yield f"  {kind} {source.alias}: {source.stream.name}{f' {source.window}' if source.window else ''}"
    yield f"  from {_tree(query.tree)}"
    for predicate in query.predicates:
        yield f"  {_predicate(predicate)}"
    for output in query.outputs:
        types = ", ".join(f"{ref} {query.type_of(ref)}" for ref in columns_of(output.value))
        yield f"  output {output.name}: {type(output.value).__name__} {output.value} [{types}]"
    for formula in query.block.shown:
        if isinstance(formula, Formula):
            terms = "not linear" if formula.terms is None else [f"{by} * {of}" for of, by in formula.terms]
            yield f"  formula {formula.name}: {formula} {terms}"
    yield from (f"  group by {_value(key)}" for key in query.group_by)
    if query.distinct:
        yield "  distinct"
    yield f"  in every result: {', '.join(sorted(query.core)) or 'none'}"
    graph = JoinGraph.of(query)
    yield f"  equal: {'; '.join(' = '.join(map(str, refs)) for refs in graph_classes(query)) or 'none'}"
    yield f"  key classes: {'; '.join(map(str, graph.key_classes)) or 'none'}"
    yield f"  meetings: {', '.join(f'{a}-{b}' for a, b in graph.meetings) or 'none'}"
    many_one = (f"{m.child} -> {m.parent} ({', '.join(m.key)})" for m in graph.many_one)
    yield f"  many-one: {', '.join(many_one) or 'none'}"
    yield f"  components: {' | '.join(', '.join(members) for members in graph.components)}"
    folded = (
        "none" if graph.join_tree is None else ", ".join(f"{c} into {p}" for c, p in graph.join_tree) or "nothing left"
    )
    yield f"  folds: {folded}"
    yield f"  shape: {graph.shape}"


def graph_classes(query: Query) -> tuple[tuple[ColumnRef, ...], ...]:
    """The classes of equal columns where every source is there."""
    return query.equalities(frozenset(source.alias for source in query.all_sources)).classes


def _tree(tree: FromTree) -> str:
    if isinstance(tree, Leaf):
        return tree.alias
    on = f" ON {' AND '.join(conjunct(p) for p in tree.on)}" if tree.on else ""
    return f"({_tree(tree.left)} {tree.kind} {_tree(tree.right)}{on})"


def _predicate(predicate: Predicate) -> str:
    spans = [f" ({value.ticks} ticks)" for value in vars(predicate).values() if isinstance(value, Span)]
    columns = ", ".join(map(str, predicate.columns))
    return f"{type(predicate).__name__}: {predicate}{''.join(spans)}  [{columns}]  from: {predicate.text}"


def _value(value: Scalar) -> str:
    if not isinstance(value, Expression):
        return f"{type(value).__name__} {value}"
    known = "deterministic" if value.deterministic else "not known to be deterministic"
    return f"{value} of {', '.join(map(str, value.columns)) or 'no column'}, {known}"
