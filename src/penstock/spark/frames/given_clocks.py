"""Which columns of a leaf are its clock: those that have the watermark, under whichever name.

Spark notes the delay of a watermark with the column, and hands the note on to columns that are that one. To one other
it hands it on too: `window_time(w)`, whose windows were worked out of it. That is the last moment of a window and
strays further than the clock (a row three seconds late may lie two windows of two seconds back), so that the delay is
not its own. A column that is worked out between the watermark and the leaf is none, whatever is noted with it.
"""

from __future__ import annotations

from penstock.spark.frames.catalyst import Node, children, delay_of, items, kind, number_of, output


def given_clocks(plan: Node) -> dict[int, int]:
    """The columns of a sub-plan that have a watermark, with the milliseconds of it."""
    delays = {number_of(one): delay for one in output(plan) if (delay := delay_of(one)) is not None}
    sought = {number: [number] for number in delays}
    node = plan
    while sought:
        if kind(node) == "EventTimeWatermark":
            sought.pop(number_of(node.eventTime()), None)
        elif kind(node) == "Project":
            for one in items(node.projectList()):
                shown = sought.pop(number_of(one), []) if kind(one) == "Alias" else []
                if shown and kind(one.child()) == "AttributeReference":
                    sought.setdefault(number_of(one.child()), []).extend(shown)
                else:
                    for number in shown:
                        del delays[number]
        below = [child for child in children(node) if child.isStreaming()]
        if len(below) != 1:
            break
        (node,) = below
    return delays
