"""Windows of time as keys of a join: rows of one window are less than its length apart.

`window(ts, d)` outside of groups is a column that Spark works out below the joins, so that it comes with a leaf. A join
on two such columns compares structs, and says nothing of times to whoever knows no more. But every row lies in its
window: with `a.w = b.w` also `|a.ts - b.ts| < d`, d the length of the window, which may be added to the condition of
any join that has the equality, outer ones too. Windows of one length are equal where their starts are, so the leaf
gives these as columns of their own, which are times and no structs. Where the job leaves the times themselves out, it
gives them too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.frames.job_relations import JobExpression, placeholder
from penstock.spark.frames.catalyst import Catalyst, Node, children, items, kind, number_of, output
from penstock.spark.frames.expression_texts import ExpressionTexts
from penstock.spark.frames.window_groups import time_window
from penstock.spark.frames.worked_out import exposing

_CALL = re.compile(r"window\(`?penstock_column_(\d+)`?, '(\d+ \w+)'")


@dataclass(frozen=True)
class LeafWindow:
    """A column of a leaf that is a window of another column of it."""

    time: int
    length: str
    start: int = 0
    """The column of the leaf that is its start."""


def with_times(plan: Node, catalyst: Catalyst, texts: ExpressionTexts) -> Node:
    """The sub-plan with the times of the windows that it gives."""
    shown = {number_of(attribute) for attribute in output(plan)}
    for number, one in _found(plan, texts).items():
        plan = exposing(plan, one.time, catalyst) if number in shown else plan
    return plan


def windows_of(plan: Node, texts: ExpressionTexts) -> dict[int, LeafWindow]:
    """The windows of time among the columns of a sub-plan, by number; their times are columns of it too."""
    shown = {number_of(attribute) for attribute in output(plan)}
    return {number: one for number, one in _found(plan, texts).items() if number in shown and one.time in shown}


def with_starts(plan: Node, catalyst: Catalyst, windows: dict[int, LeafWindow]) -> Node:
    """The sub-plan with the starts of its windows as columns too, which are noted with the windows."""
    known = {number_of(attribute): attribute for attribute in output(plan)}
    made = {number: catalyst.field(known[number], 0, "start", f"{known[number].name()}_start") for number in windows}
    for number, column in made.items():
        windows[number] = replace(windows[number], start=number_of(column))
    return catalyst.project([*known.values(), *made.values()], plan) if made else plan


def _found(plan: Node, texts: ExpressionTexts) -> dict[int, LeafWindow]:
    found: dict[int, LeafWindow] = {}
    if kind(plan) == "Union":
        # Its columns have the ids of its first member's, and may be other windows in the others.
        return found
    for child in children(plan):
        found |= _found(child, texts)
    if kind(plan) in ("Project", "Expand", "Filter") and (window := time_window(plan, texts)) is not None:
        said = _CALL.match(window.text.text)
        if said is not None:
            found[window.number] = LeafWindow(int(said[1]), said[2])
    if kind(plan) == "Project":
        for one in items(plan.projectList()):
            below = one.child() if kind(one) == "Alias" else one
            if kind(below) == "AttributeReference" and number_of(below) in found:
                found[number_of(one)] = found[number_of(below)]
    return found


def near(condition: Node, windows: Mapping[int, LeafWindow]) -> tuple[JobExpression, ...]:
    """The equality of two windows, by their starts, and what it says of their times; nothing if it is none."""
    if kind(condition) != "EqualTo":
        return ()
    sides = [windows.get(number_of(one)) if kind(one) == "AttributeReference" else None for one in children(condition)]
    one, other = sides
    if one is None or other is None or one.length != other.length:
        return ()
    ours, theirs = placeholder(one.time), placeholder(other.time)
    return (
        JobExpression(f"({placeholder(one.start)} = {placeholder(other.start)})"),
        JobExpression(f"({theirs} > {ours} - INTERVAL {one.length})"),
        JobExpression(f"({theirs} < {ours} + INTERVAL {one.length})"),
    )
