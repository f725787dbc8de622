"""`window_time(w)` in a plan: Spark works it out of the end of the window, in a projection below whoever asks for it.

Nothing in the plan says the call any more. What is a microsecond less than the second field of a column that Spark
marks as a window is it, and nothing else makes an expression of that form.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.frames.job_relations import JobColumn, JobExpression, JobRelation
from penstock.frames.last_moments import with_last_moment
from penstock.spark.frames.catalyst import Node, children, kind, number_of
from penstock.spark.frames.read_job import column_of
from penstock.spark.frames.window_groups import is_marked

_CONVERSION = "PreciseTimestampConversion"


def with_window_times(below: JobRelation, shown: Sequence[Node]) -> tuple[JobRelation, dict[int, JobExpression]]:
    """A relation with the times of its windows that a projection works out, and what these columns are in it."""
    found: dict[int, JobExpression] = {}
    for one in shown:
        window = window_of_time(one)
        if window is None:
            continue
        column = column_of(one)
        moment = JobColumn(column.number, "window_time", column.type)
        given = with_last_moment(below, window, moment)
        if given is not None:
            below = given
            found[column.number] = JobExpression.of(moment)
    return below, found


def window_of_time(shown: Node) -> int | None:
    """The column whose `window_time` an expression is; None if it is another."""
    if kind(shown) != "Alias" or kind(shown.child()) != _CONVERSION:
        return None
    less = children(shown.child())[0]
    if kind(less) != "Subtract":
        return None
    end, one = children(less)
    field = children(end)[0] if kind(end) == _CONVERSION else None
    is_end = field is not None and kind(field) == "GetStructField" and int(field.ordinal()) == 1
    if not is_end or kind(one) != "Literal" or str(one.value()) != "1":
        return None
    window = children(field)[0]
    return number_of(window) if kind(window) == "AttributeReference" and is_marked(window) else None
