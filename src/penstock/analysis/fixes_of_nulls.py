"""Would it bound INTERSECT and EXCEPT, if a time that they compare were never NULL?

They hold NULL equal to NULL, so that columns which may both be NULL are compared by `<=>`: no key, and no clock passes
a NULL. `CHECK (ts IS NOT NULL)` of the stream whose time it is makes an equality of it, by which rows leave. The check
is of the streams below (`writable_fixes.origins`), of the first query of the two, or of both; it is offered where the
verdict on the query that declares it is `bounded`.

Preconditions: the verdict is not `bounded`. Not decided: other columns, which no clock passes.
"""

from __future__ import annotations

from penstock.analysis.changed_query import declaring
from penstock.analysis.check import check_query
from penstock.analysis.finding import Fix
from penstock.analysis.writable_fixes import origins
from penstock.model.block_tree import blocks_below
from penstock.model.expressions import ColumnRef
from penstock.model.never_null import unsure_pairs
from penstock.model.predicates import NullTest
from penstock.model.problem import InvalidModel
from penstock.model.query import Query
from penstock.model.schemes import Check


def fixes_of_nulls(query: Query) -> tuple[Fix, ...] | None:
    """The checks that would bound a query; None if there are none."""
    asked = [query, *(source.below for source in blocks_below(query) if isinstance(source.below, Query))]
    pairs = [(block, pair) for block in asked for pair in unsure_pairs(block)]
    firsts = [_check(block, left) for block, (left, _) in pairs]
    others = [_check(block, right) for block, (_, right) in pairs]
    for wanted in (firsts, [*firsts, *others]):
        known = [fix for fix in wanted if fix is not None]
        fix = Fix(tuple(dict.fromkeys(one for part in known for one in part.declarations)))
        if known and _bounds(query, fix):
            return (fix,)
    return None


def _check(block: Query, ref: ColumnRef) -> Fix | None:
    """That the columns of streams that a column is have a value; None where they are none, or have no clock."""
    below = origins(block.by_alias[ref.alias], ref.column)
    if below is None or not all(stream.ordering(own) for stream, own in below):
        return None
    return Fix(tuple((stream.name, Check((NullTest(ColumnRef("", own), is_null=False),))) for stream, own in below))


def _bounds(query: Query, fix: Fix) -> bool:
    try:
        return check_query(declaring(query, fix)).verdict == "bounded"
    except InvalidModel:
        return False
