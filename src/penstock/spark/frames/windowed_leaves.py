"""Windows of time as keys of a join: rows of one window are less than its length apart.

`window(ts, d)` outside of groups is a column that Spark works out below the joins, so that it comes with a leaf. A join
on two such columns compares structs, and says nothing of times to whoever knows no more. But every row lies in its
window: with `a.w = b.w` also `|a.ts - b.ts| < d`, d the length of the window, which may be added to the condition of
any join that has the equality, outer ones too. Windows of one length are equal where their starts are, so the leaf
gives these as columns of their own, which are times and no structs. Where the job leaves the times themselves out, it
gives them too. The same holds of two starts, and of two ends.

As the key of groups above such a window is the call that it was worked out by, if windows do not overlap: then a row is
in one of them, and it stands for the row. Where its time may be NULL, because an outer join has put it there, it is
not: groups by the call leave such rows out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from penstock.frames.job_relations import JobExpression, placeholder
from penstock.spark.frames.catalyst import Catalyst, Node, children, items, kind, number_of, output
from penstock.spark.frames.expression_texts import ExpressionTexts
from penstock.spark.frames.window_groups import time_window
from penstock.spark.frames.worked_out import exposing

_CALL = re.compile(r"window\(`?penstock_column_(\d+)`?, '(\d+ \w+)'(?P<is_alone>\)$)?")


@dataclass(frozen=True)
class LeafWindow:
    """A column of a leaf that is a window of another column of it, or its start or end."""

    time: int
    length: str
    start: int = 0
    """The column of the leaf that is its start; of a start or an end, the column itself."""
    field: int | None = None
    """Which field it is: 0 of a start, 1 of an end; None of the window."""
    call: str | None = None
    """The text that gives it, where windows do not overlap."""


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
    whole = [number for number, one in windows.items() if one.field is None]
    made = {number: catalyst.field(known[number], 0, "start", f"{known[number].name()}_start") for number in whole}
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
            call = window.text.text if said["is_alone"] else None
            found[window.number] = LeafWindow(int(said[1]), said[2], call=call)
    if kind(plan) == "Project":
        for one in items(plan.projectList()):
            below = one.child() if kind(one) == "Alias" else one
            if kind(below) == "AttributeReference" and number_of(below) in found:
                found[number_of(one)] = found[number_of(below)]
            elif kind(below) == "GetStructField" and kind(below.child()) == "AttributeReference":
                whole = found.get(number_of(below.child()))
                if whole is not None:
                    found[number_of(one)] = replace(whole, start=number_of(one), field=int(below.ordinal()))
    return found


def calls(windows: Mapping[int, LeafWindow], known: Set[int], clocks: Set[int]) -> dict[int, str]:
    """By column among `known` that is the window of a clock, the call that gives it.

    These are there what they are in their leaves, and the clocks are not made NULL by a join.
    """
    return {
        number: one.call
        for number, one in windows.items()
        if one.call is not None and one.field is None and number in known and one.time in clocks
    }


def near(condition: Node, windows: Mapping[int, LeafWindow], known: Set[int]) -> tuple[JobExpression, ...]:
    """The equality of two windows, by their starts, and what it says of their times; nothing if it is none.

    `known` are the columns that are there what they are in their leaves. Above a projection the starts are not among
    them.
    """
    if kind(condition) != "EqualTo":
        return ()
    sides = [windows.get(number_of(one)) if kind(one) == "AttributeReference" else None for one in children(condition)]
    one, other = sides
    if one is None or other is None or (one.length, one.field) != (other.length, other.field):
        return ()
    if not {one.time, one.start, other.time, other.start} <= known:
        return ()
    ours, theirs = placeholder(one.time), placeholder(other.time)
    return (
        JobExpression(f"({placeholder(one.start)} = {placeholder(other.start)})"),
        JobExpression(f"({theirs} > {ours} - INTERVAL {one.length})"),
        JobExpression(f"({theirs} < {ours} + INTERVAL {one.length})"),
    )
