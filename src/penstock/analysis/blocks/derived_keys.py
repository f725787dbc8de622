"""Which columns of a block's answer name a row of it? Keys, by the closure of functional dependencies.

- A group is given once, so what it is grouped by is a key of the answer; DISTINCT makes all columns one.
- A row of a join is a choice of one row of each source of FROM. So columns are a key if they determine the row of
  each: a column determines those that equal it, and all columns of a PRIMARY KEY determine the row. What stands in
  EXISTS chooses nothing: a row has a partner or has none.

Theorem (the closure of Armstrong): starting from some columns, adding what they determine as long as there is anything
to add, reaches every source iff the columns determine the whole choice. The smallest such set is not sought: columns
are dropped one by one from the last, as long as the rest still reaches all.

Preconditions: the joins of FROM are inner ones, for which equalities hold in every row; no column of the key is ever
NULL, since NULL in a key is no promise. Not claimed: keys of outer joins; keys of columns that may be NULL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.analysis.facts.together import Facts
from penstock.analysis.finding import Claim
from penstock.analysis.reasons import Promised, Reason
from penstock.model.clauses import TimeWindow
from penstock.model.expressions import ColumnRef
from penstock.model.lineage import Origin
from penstock.model.never_null import is_there
from penstock.model.query import Query
from penstock.model.relation import JoinKind, joins
from penstock.model.schemes import OnViolation, Policy, PrimaryKey


def derived_keys(facts: Facts, known: Mapping[str, Origin]) -> Iterator[Claim]:
    """The keys of the answer: at most one, with as few columns as are easily found."""
    query = facts.query
    usable = {name: origin for name, origin in known.items() if _is_key_column(facts, origin)}
    if query.is_grouped:
        names = () if query.grouping_sets else _of_group(query, usable)
        if names and (query.top is None or query.top.most == 1):
            yield _claim(names, Promised.GROUP(names))
        return
    is_inner = all(join.kind is JoinKind.INNER for join in joins(query.tree))
    if is_inner and _determines_all(query, usable):
        names = _fewest(query, usable)
        yield _claim(names, Promised.ROW_OF_EACH(names, [source.alias for source in query.sources]))
    elif query.distinct and len(usable) == len(query.answer):
        names = tuple(usable)
        yield _claim(names, Promised.ALL_COLUMNS())


def _claim(names: tuple[str, ...], because: Reason) -> Claim:
    return Claim(PrimaryKey(names, OnViolation(Policy.TRUST)), (because,))


def _is_key_column(facts: Facts, origin: Origin) -> bool:
    """Whether a column can be compared and is never NULL; rows without a time are in no group by a window of it."""
    if isinstance(origin, TimeWindow):
        return facts.query.is_grouped or is_there(facts.query, origin.column)
    kind = facts.query.type_of(origin)
    is_present = origin.alias in facts.query.core
    return kind is not None and kind.is_key and is_present and not facts.of().domain(origin).nullable


def _of_group(query: Query, usable: Mapping[str, Origin]) -> tuple[str, ...]:
    """One column for each that is grouped by; nothing if one is not among them."""
    found: dict[object, str] = {}
    for name, origin in usable.items():
        key = origin.whole if isinstance(origin, TimeWindow) else origin
        found.setdefault(key, name)
    return tuple(found[key] for key in query.group_by) if all(key in found for key in query.group_by) else ()


def _fewest(query: Query, usable: Mapping[str, Origin]) -> tuple[str, ...]:
    left = dict(usable)
    for name in reversed(list(usable)):
        without = {other: origin for other, origin in left.items() if other != name}
        if without and _determines_all(query, without):
            left = without
    return tuple(left)


def _determines_all(query: Query, columns: Mapping[str, Origin]) -> bool:
    """Whether columns determine the row of every source of FROM."""
    equal = query.equalities(frozenset())
    fixed: set[ColumnRef] = set()
    new: Sequence[ColumnRef] = [origin for origin in columns.values() if isinstance(origin, ColumnRef)]
    rows: set[str] = set()
    while new:
        fixed |= {ref for column in new for ref in equal.class_of(column)}
        new = []
        for source in query.sources:
            keys = [[ColumnRef(source.alias, c) for c in key] for key in source.stream.keys]
            if source.alias not in rows and any(fixed.issuperset(key) for key in keys):
                rows.add(source.alias)
                new = [*new, *(ColumnRef(source.alias, column.name) for column in source.stream.columns)]
    return len(rows) == len(query.sources)
