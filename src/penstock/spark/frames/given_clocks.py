"""Which columns of a leaf are its clock: those that have the watermark, under whichever name.

Spark notes the delay of a watermark with the column, and hands the note on to columns that are that one, also by way of
a struct that it is a field of. To one other it hands it on too: `window_time(w)`, whose windows were worked out of it.
That is the last moment of a window and strays further than the clock (a row three seconds late may lie two windows of
two seconds back), so that the delay is not its own. A column that is worked out between the watermark and the leaf is
none, whatever is noted with it.
"""

from __future__ import annotations

from penstock.spark.frames.catalyst import Node, children, delay_of, items, kind, number_of, output

_Field = tuple[int, tuple[int, ...]]
"""A column, and the way to a field within it."""


def given_clocks(plan: Node) -> dict[int, int]:
    """The columns of a sub-plan that have a watermark, with the milliseconds of it."""
    delays = {number_of(one): delay for one in output(plan) if (delay := delay_of(one)) is not None}
    sought: dict[_Field, list[int]] = {(number, ()): [number] for number in delays}
    node = plan
    while sought:
        if kind(node) == "EventTimeWatermark":
            sought.pop((number_of(node.eventTime()), ()), None)
        elif kind(node) == "Project":
            made = {number_of(one): one.child() for one in items(node.projectList()) if kind(one) == "Alias"}
            for number, path in [field for field in sought if field[0] in made]:
                shown = sought.pop((number, path))
                of = _field(made[number], path)
                if of is not None:
                    sought.setdefault(of, []).extend(shown)
                else:
                    delays = {one: delay for one, delay in delays.items() if one not in shown}
        below = [child for child in children(node) if child.isStreaming()]
        if len(below) != 1:
            break
        (node,) = below
    return delays


def _field(expression: Node, path: tuple[int, ...]) -> _Field | None:
    """The column, or the field of one, that a field of an expression is; None if it is worked out."""
    while kind(expression) != "AttributeReference":
        if kind(expression) == "GetStructField":
            path, expression = (int(expression.ordinal()), *path), expression.child()
        elif kind(expression) == "CreateNamedStruct" and path:
            path, expression = path[1:], items(expression.valExprs())[path[0]]
        else:
            return None
    return number_of(expression), path
