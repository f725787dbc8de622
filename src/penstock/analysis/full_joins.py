"""A FULL JOIN above another that compares a column of both sides of it, as USING and NATURAL do.

`a FULL JOIN b USING (k, ts) FULL JOIN c USING (k, ts)` compares `coalesce(a.ts, b.ts) = c.ts`. Binding makes the first
join a block, in which that is a column with a clock; where it cannot, for `[RANGE d]` or `[ROWS n]` hold over the whole
query, the value has none, and nothing closes: the query is undecided, and the user is told what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.reasons import Notice, Reason
from penstock.model.expressions import Call
from penstock.model.predicates import Predicate, Residual
from penstock.model.query import Query
from penstock.model.relation import Join, JoinKind, leaves

_OF_SEVERAL = 2


def compared_after_full_join(query: Query) -> Iterator[Reason]:
    """What to write instead, for the first join that compares what an outer join has merged."""
    tree = query.block.tree
    for join in tree.joins if isinstance(tree, Join) else ():
        on = [_merged(predicate) for predicate in join.on] if join.kind is JoinKind.FULL else []
        if on and all(name is not None for name in on):
            first = query.by_alias[leaves(join)[0]].stream.name
            yield Notice.MERGED_COLUMN_COMPARED([name for name in on if name is not None], first)
            return


def _merged(predicate: Predicate) -> str | None:
    """The name of a column that is compared as whichever of several streams has it; None for any other condition."""
    if not isinstance(predicate, Residual):
        return None
    columns = [
        ref
        for part in predicate.parts
        if isinstance(part.term, Call) and part.term.function == "coalesce"
        for ref in part.columns
    ]
    names = {ref.column for ref in predicate.columns}
    return names.pop() if len({ref.alias for ref in columns}) >= _OF_SEVERAL and len(names) == 1 else None
