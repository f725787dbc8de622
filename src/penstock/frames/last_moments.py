"""The last moment of a window, by which it lies in longer ones: worked out with the groups that are by the window.

Spark's `window_time(w)` is a microsecond before the end of w, worked out above the groups. As a column of theirs the
language knows its clock (`window(…).end - INTERVAL 1 MICROSECOND`: analysis/blocks/derived_clocks.py). It is the same
value there: in every row of the groups it follows from the window, which the nodes in between pass on or leave out.
An outer join makes both NULL, and rows that are distinct with the window are so with its last moment too.

Not decided: windows of unions, whose members may have others; windows that are no keys of groups.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.frames.job_relations import (
    JobAggregate,
    JobColumn,
    JobDistinct,
    JobExpression,
    JobFilter,
    JobJoin,
    JobLookup,
    JobProject,
    JobRelation,
)

_CALLS = ("window(", "session_window(")


def with_last_moment(relation: JobRelation, window: int, moment: JobColumn) -> JobRelation | None:
    """The relation with one column more, the last moment of a window that it gives; None if it is not of groups."""
    match relation:
        case JobAggregate():
            call = next((text for column, text in relation.outputs if column.number == window), None)
            if call is None or call not in relation.keys or not call.text.startswith(_CALLS):
                return None
            text = JobExpression(f"({call.text}.end - INTERVAL 1 MICROSECOND)")
            return replace(relation, outputs=(*relation.outputs, (moment, text)))
        case JobProject():
            source = next((text.column for column, text in relation.outputs if column.number == window), None)
            below = None if source is None else with_last_moment(relation.child, source, moment)
            passed = (*relation.outputs, (moment, JobExpression.of(moment)))
            return None if below is None else JobProject(below, passed)
        case JobJoin():
            left = with_last_moment(relation.left, window, moment)
            if left is not None:
                return replace(relation, left=left)
            asked = relation.kind in ("LEFT SEMI", "LEFT ANTI")
            right = None if asked else with_last_moment(relation.right, window, moment)
            return None if right is None else replace(relation, right=right)
        case JobFilter() | JobDistinct() | JobLookup():
            below = with_last_moment(relation.child, window, moment)
            return None if below is None else replace(relation, child=below)
        case _:
            return None
