"""Windows of time in a plan: Spark has taken `window` and `session_window` apart before anyone can ask for them.

`groupBy(window(ts, d, s, o))` is analyzed into a projection (or, where windows overlap, an expansion) that works the
window out as a struct, over a filter of rows without a time. What it was is read off the numbers in that struct, and is
right if Spark makes the very same of the call: the call is analyzed over the same columns, and its struct compared with
the one in the plan. What does not compare equal is not a window to us.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.frames.job_relations import JobExpression
from penstock.spark.frames.catalyst import Node, children, items, kind, number_of
from penstock.spark.frames.expression_texts import ExpressionTexts, parts
from penstock.spark.frames.unread_nodes import unread

_SESSION = "spark.sessionWindow"
_MARKERS = ("spark.timeWindow", _SESSION)


@dataclass(frozen=True)
class GroupedWindow:
    """A window of time that rows are grouped by."""

    number: int
    """The column that it is in the plan."""
    text: JobExpression
    """The call."""
    child: Node
    """What it is worked out over."""
    conditions: tuple[JobExpression, ...]
    """What is asked of the rows besides."""


def grouped_window(groups: Node, texts: ExpressionTexts) -> GroupedWindow | None:
    """The window that rows are grouped by; None if they are by none, or by one that comes with its stream.

    Overlapping windows may be a column before they are a key (`withColumn("w", window(…))`, `SELECT *, window(…)`).
    What lies in between must pass columns on as they are: then nobody asks of rows in how many windows they stand.
    """
    plan = groups.child()
    found = time_window(plan, texts)
    named: dict[int, int] = {}
    while found is None and kind(plan) in ("SubqueryAlias", "View", "Project"):
        for one in items(plan.projectList()) if kind(plan) == "Project" else ():
            below = one.child() if kind(one) == "Alias" else one
            if kind(below) != "AttributeReference":
                return None
            if kind(one) == "Alias":
                named[number_of(one)] = number_of(below)
        (plan,) = children(plan)
        if kind(plan.child() if kind(plan) == "Filter" else plan) == "Expand":
            found = time_window(plan, texts)
    if found is None and _is_session(groups.child()):
        raise unread(
            groups,
            "a session_window whose gap is worked out of each row",
            "give all rows one gap, such as session_window(ts, '5 minutes'), or leave this query to Spark as it is",
        )
    if found is None or plan.equals(groups.child()):
        return found
    return _under_its_name(found, groups, named)


def _is_session(plan: Node) -> bool:
    """Whether a plan works out the sessions that rows begin, for the groups above it."""
    over = plan.child() if kind(plan) == "Filter" else plan
    made = items(over.projectList()) if kind(over) == "Project" else ()
    named = [one for one in made if kind(one) == "Alias" and one.metadata().contains(_SESSION)]
    return any(kind(one.child()) != "AttributeReference" for one in named)


def _under_its_name(window: GroupedWindow, groups: Node, named: dict[int, int]) -> GroupedWindow | None:
    """The window as the groups know it; None where they read it under two names, or others under new ones."""

    def origin(number: int) -> int:
        return origin(named[number]) if number in named else number

    read = {number_of(one) for one in items(groups.references().toSeq())}
    names = [number for number in sorted(read) if origin(number) == window.number]
    keys = {number_of(key) for key in items(groups.groupingExpressions()) if kind(key) == "AttributeReference"}
    if (
        len(names) != 1
        or names[0] not in keys
        or any(origin(number) != window.number for number in read & named.keys())
    ):
        return None
    return replace(window, number=names[0])


def time_window(plan: Node, texts: ExpressionTexts) -> GroupedWindow | None:
    """The window that a plan works out for the groups above it; None if it does not."""
    over, filters = plan, []
    if kind(over) == "Filter":
        filters, over = texts.conjuncts(over.condition()), over.child()
    if kind(over) == "Expand":
        structs = [items(one)[0] for one in items(over.projections())]
        attribute = items(over.output())[0]
        below = over.child()
    elif kind(over) == "Project":
        aliases = [one for one in items(over.projectList()) if kind(one) == "Alias" and is_marked(one)]
        if len(aliases) != 1:
            return None
        structs, attribute, below = [aliases[0].child()], aliases[0], over.child()
        if not filters and kind(below) == "Filter":
            filters, below = texts.conjuncts(below.condition()), below.child()
    else:
        return None
    if not is_marked(attribute):
        return None
    return _read(structs, attribute, below, filters, texts)


def _read(
    structs: list[Node], attribute: Node, below: Node, filters: list[Node], texts: ExpressionTexts
) -> GroupedWindow | None:
    for call, times in _calls(structs[0], attribute, texts):
        again = _taken_apart(call, times, texts)
        if again is None:
            continue
        found, tests = again
        if len(found) == len(structs) and all(a.semanticEquals(b) for a, b in zip(found, structs, strict=True)):
            asked = [texts.text(condition) for condition in filters]
            own = number_of(attribute)
            kept = tuple(text for text in asked if text is not None and own not in text.columns)
            if len(tests) == len(filters):
                return GroupedWindow(number_of(attribute), JobExpression(call), below, kept)
    return None


def is_marked(attribute: Node) -> bool:
    """Whether Spark notes of a column that it is a window of time."""
    return any(attribute.metadata().contains(marker) for marker in _MARKERS)


def _calls(struct: Node, attribute: Node, texts: ExpressionTexts) -> list[tuple[str, list[Node]]]:
    """The calls that a struct may come from, with the columns that they read."""
    ends = [part for part in parts(struct) if kind(part) == "PreciseTimestampConversion"]
    times = [one for one in ends if str(one.dataType().simpleString()) == "bigint"]
    if not times:
        return []
    moment = children(times[0])[0]
    said = texts.text(moment)
    if said is None:
        return []
    read = [part for part in parts(moment) if kind(part) == "AttributeReference"]
    if attribute.metadata().contains(_SESSION):
        casts = [p for p in parts(struct) if kind(p) == "Cast" and str(p.dataType().simpleString()) == "interval"]
        gaps = [children(cast)[0] for cast in casts if kind(children(cast)[0]) == "Literal"]
        return [(f"session_window({said.text}, {gap.sql()})", read) for gap in gaps[:1]]
    turns = [part for part in parts(struct) if kind(part) == "Remainder"]
    lengths = [p for p in parts(struct) if kind(p) == "Add" and kind(children(p)[1]) == "Literal"]
    if not turns or not lengths:
        return []
    slide = _whole(children(turns[0])[1])
    start = _whole(children(children(turns[0])[0])[1])
    found = []
    for length in dict.fromkeys(_whole(children(one)[1]) for one in lengths):
        spans = ", ".join(f"'{_span(ticks)}'" for ticks in _arguments(length, slide, start))
        found.append((f"window({said.text}, {spans})", read))
    return found


def _arguments(length: int, slide: int, start: int) -> list[int]:
    if start:
        return [length, slide, start]
    return [length] if length == slide else [length, slide]


def _whole(literal: Node) -> int:
    return int(str(literal.value())) if kind(literal) == "Literal" else 0


def _span(microseconds: int) -> str:
    units = ((86_400_000_000, "day"), (3_600_000_000, "hour"), (60_000_000, "minute"), (1_000_000, "second"))
    for size, unit in (*units, (1000, "millisecond")):
        if microseconds % size == 0:
            count = microseconds // size
            return f"{count} {unit}" + ("" if count == 1 else "s")
    return f"{microseconds} microseconds"


def _taken_apart(call: str, times: list[Node], texts: ExpressionTexts) -> tuple[list[Node], list[Node]] | None:
    """The structs that Spark works out for a call, and what it asks of the rows besides."""
    plan = texts.catalyst.selected(texts.renamed(times), call)
    while plan is not None and children(plan):
        filters: list[Node] = []
        over = plan
        if kind(over) == "Filter":
            filters, over = texts.conjuncts(over.condition()), over.child()
        if kind(over) == "Expand":
            return [items(one)[0] for one in items(over.projections())], filters
        if kind(over) == "Project":
            marked = [one for one in items(over.projectList()) if kind(one) == "Alias" and is_marked(one)]
            structs = [one.child() for one in marked if kind(one.child()) != "AttributeReference"]
            if structs and not filters and kind(over.child()) == "Filter":
                filters = texts.conjuncts(over.child().condition())
            if structs:
                return structs[:1], filters
        plan = children(plan)[0]
    return None
