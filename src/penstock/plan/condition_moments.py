"""Where a condition on one stream is tested: as its row arrives, as it meets others, or on the joined row.

Theorem: leaving a row r of x out of the input changes, in any part of FROM, only joined rows that hold r and joined
rows from which x is absent. So r may be dropped as it arrives, for failing a condition p on x, if

- p holds in every result that x stands in: it is of the source itself, of the WHERE, of the ON of a join that is
  matched wherever x is there, or of the EXISTS that looks for x; and
- no row from which x is absent gets by in place of r's: p rejects NULL, so that it fails too; or there is none, as x
  stands in every result (WHERE) or in every row of its side (ON); or p is of the source, below the joins: r is no row
  of it.

Any other condition of an ON or EXISTS decides only which rows r meets. Any other condition of WHERE, such as
`b.id IS NULL` after a LEFT JOIN, waits for the joined row. With inner joins alone every condition is tested on
arrival. Not decided: conditions of EXISTS on the outer row, which could drop it; they are tested as it meets others.

A condition on several streams is tested by the core as they meet, or, in WHERE, on the joined row. One that only Spark
can evaluate is tested on the joined row too: it stands in WHERE, or in the ON of an inner join over streams that are in
every result (model/query_rules.py), so that it commutes with all that is joined above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum, auto

from penstock.model.core_terms import core_term
from penstock.model.predicates import Predicate, Residual, aliases_of, rejects_null, written
from penstock.model.query import Query, matched
from penstock.model.relation import Join, certain, joins
from penstock.plan.parts import ConditionPlan
from penstock.records import record


class Moment(Enum):
    """When a condition on one stream is tested."""

    ARRIVAL = auto()
    """As its row arrives."""
    MEETING = auto()
    """As its row meets others."""
    RESULT = auto()
    """On the joined row."""


@record
class Placed:
    """A condition on one stream, and when it is tested."""

    alias: str
    predicate: Predicate
    moment: Moment


def conditions_at(query: Query, moment: Moment, alias: str | None = None) -> tuple[Predicate, ...]:
    """The conditions tested at one moment, in the order in which they stand; of one stream if it is named."""
    found = [c.predicate for c in _placed(query) if c.moment is moment and alias in (None, c.alias)]
    return tuple(dict.fromkeys(found))


def evaluated(query: Query, predicates: Iterable[Predicate]) -> tuple[ConditionPlan, ...]:
    """Those of some conditions that are on several streams, or on none, and that the core evaluates."""
    found = dict.fromkeys(p for p in predicates if isinstance(p, Residual))
    terms = [(p, core_term(p.expression.term, query.type_of)) for p in found]
    return tuple(ConditionPlan(written(p), term) for p, term in terms if term is not None)


def left_to_spark(query: Query) -> tuple[Residual, ...]:
    """The conditions on several streams that Spark evaluates on the joined rows; what decides a match is none."""
    found = dict.fromkeys(p for p in query.predicates if isinstance(p, Residual))
    return tuple(p for p in found if core_term(p.expression.term, query.type_of) is None)


def residuals(query: Query) -> tuple[Residual, ...]:
    """The conditions that are no comparison of two columns, on several streams or on none."""
    return tuple(dict.fromkeys(p for p in query.predicates if isinstance(p, Residual)))


def _placed(query: Query) -> Iterator[Placed]:
    for source in query.all_sources:
        yield from (Placed(source.alias, predicate, Moment.ARRIVAL) for predicate in source.where)
    for join in joins(query.tree):
        for predicate in join.on:
            for alias in _only(predicate):
                on_arrival = _may_drop_of_on(query, join, predicate, alias)
                yield Placed(alias, predicate, Moment.ARRIVAL if on_arrival else Moment.MEETING)
    for predicate in query.where:
        for alias in _only(predicate):
            yield Placed(alias, predicate, Moment.ARRIVAL if alias in query.core else Moment.RESULT)
    for existence in query.existences:
        for predicate in existence.condition:
            for alias in _only(predicate):
                on_arrival = alias == existence.source.alias
                yield Placed(alias, predicate, Moment.ARRIVAL if on_arrival else Moment.MEETING)


def _only(predicate: Predicate) -> tuple[str, ...]:
    """The one stream that a condition is about; nothing if there are several."""
    aliases = aliases_of(predicate)
    return tuple(aliases) if len(aliases) == 1 else ()


def _may_drop_of_on(query: Query, join: Join, predicate: Predicate, alias: str) -> bool:
    if not matched(join, query.holding(frozenset({alias})).present):
        return False
    return rejects_null(predicate) or alias in certain(join.left) | certain(join.right)


def needed_values(query: Query, alias: str) -> frozenset[str]:
    """The columns of a stream without a value in which a row stands in no result, by the conditions alone."""
    held = query.holding(frozenset({alias})).predicates
    return frozenset(ref.column for p in held if rejects_null(p) for ref in p.columns if ref.alias == alias)


def one_value(query: Query, alias: str) -> tuple[tuple[str, ...], ...]:
    """Columns of a stream that `=` makes equal wherever a row of it stands in a result, by filters or by joins."""
    classes = query.equalities(frozenset({alias})).classes
    return tuple(tuple(r.column for r in refs if r.alias == alias) for refs in classes)


def equal_values(query: Query, alias: str) -> tuple[tuple[str, ...], ...]:
    """Columns of a stream that conditions with other streams make equal wherever a row of it stands in a result."""
    classes = query.equalities(frozenset({alias})).classes
    found = [tuple(r.column for r in refs if r.alias == alias) for refs in classes if len({r.alias for r in refs}) > 1]
    return tuple(columns for columns in found if len(columns) > 1)
