"""What of a plan cannot be read: in the words of a PySpark user, with its place in the job, and what to do.

Spark notes the file and line of expressions that Python made, and the line of SQL; of a method of DataFrame, such as
`limit`, it notes nothing, and `call_sites` only where a job is run dry. Where a node has no place of its own, the
nearest one below it is told as that.
"""

from __future__ import annotations

from penstock.errors import NotSupportedYet
from penstock.spark.frames.call_sites import site_of
from penstock.spark.frames.catalyst import Node, children, kind, nearest_place, place_of
from penstock.spark.frames.expression_texts import parts

_OWN_QUERY = "adopt what it reads, write that, and let a query of its own read what was written"
_OWN_ANSWER = "write what it gives in a query of its own, and let this job read that"
_NEEDS_END = "a limit needs the end of the stream: leave it out, or take rows by ROW_NUMBER() within a window"
_ELSEWHERE = "do it on the stream, before it is joined or grouped, or on top of the answer"
_PER_BATCH = (
    "its groups are those of one batch, and Penstock emits rows in other batches than Spark: write it with functions "
    "of Spark's, such as sum and max_by"
)
_ON_STREAM = "put it on the streams, before they meet"
_KNOWN = {
    "FlatMapGroupsWithState": ("flatMapGroupsWithState", _OWN_QUERY),
    "FlatMapGroupsInPandasWithState": ("applyInPandasWithState", _OWN_QUERY),
    "TransformWithState": ("transformWithState", _OWN_QUERY),
    "TransformWithStateInPySpark": ("transformWithState", _OWN_QUERY),
    "GlobalLimit": ("limit", _NEEDS_END),
    "LocalLimit": ("limit", _NEEDS_END),
    "Offset": ("offset", _NEEDS_END),
    "Tail": ("tail", _NEEDS_END),
    "Sort": ("orderBy", "an order needs the end of the stream: sort where the answer is read"),
    "Window": ("a function OVER a window", "functions OVER a stream need its end: group by a window of time instead"),
    "MapInPandas": ("mapInPandas", _ELSEWHERE),
    "MapInArrow": ("mapInArrow", _ELSEWHERE),
    "FlatMapGroupsInPandas": ("applyInPandas", _PER_BATCH),
    "FlatMapGroupsInArrow": ("applyInArrow", _PER_BATCH),
    "FlatMapCoGroupsInPandas": ("cogroup", "join the streams, with a time condition"),
    "FlatMapCoGroupsInArrow": ("cogroup", "join the streams, with a time condition"),
    "LateralJoin": ("LATERAL with a table function", _ELSEWHERE),
    "Generate": ("explode", _ELSEWHERE),
    "Sample": ("sample", "Spark, too, samples no stream: keep rows by their keys, where(pmod(hash(id), 100) < 10)"),
    "CollectMetrics": ("observe", _ELSEWHERE),
    "Expand": ("cube, rollup or grouping sets", "write each of the groupings, or a script, which has them"),
    "Pivot": ("pivot", "write a column for each value: count_if(…), sum(…) FILTER (WHERE …)"),
    "Intersect": ("intersect", "join the streams, semi, with a time condition"),
    "Except": ("exceptAll or subtract", "join the streams, left outer, within a time, and keep what has no match"),
    "Deduplicate": ("dropDuplicates", "deduplicate the streams before they are joined"),
    "DeduplicateWithinWatermark": ("dropDuplicatesWithinWatermark", "deduplicate the streams before they are joined"),
    "EventTimeWatermark": ("withWatermark", _ON_STREAM),
}
_USUAL = "leave this query to Spark as it is, or write it as a script"


PER_BATCH = ("FlatMapGroupsInPandas", "FlatMapGroupsInArrow")
"""Nodes whose answer depends on which rows come in one batch."""


def unread_node(node: Node) -> NotSupportedYet:
    """A node that is in the way as a whole."""
    words, hint = _KNOWN.get(kind(node), (str(node.nodeName()), _USUAL))
    if _stands_on_state(node):
        return unread(node, f"{words} above what keeps state", hint)
    return unread(node, f"{words} of a stream", _OWN_ANSWER if hint == _OWN_QUERY else hint)


def only_state(node: Node) -> NotSupportedYet:
    """A function with a state of its own that is all there is to run."""
    return unread(
        node,
        words_of(node),
        "nothing else in this query keeps state: leave it to Spark as it is; timeouts or a TTL bound what it remembers",
    )


def _stands_on_state(node: Node) -> bool:
    return any(
        kind(child) in ("Join", "Aggregate", "Distinct", "Deduplicate") or _stands_on_state(child)
        for child in children(node)
        if child.isStreaming()
    )


def unread_expression_hint(expression: Node) -> str:
    """What to do about an expression that has no text."""
    if kind(expression) == "Alias" and str(expression.name()).startswith("window_time("):
        return (
            "windows of windows are read above the groups that the shorter ones are of, and not above a union: take "
            "window_time of each before they are united"
        )
    return "work it out before the streams meet, or on top of the answer"


def unread_aggregate_hint(expression: Node) -> str:
    """What to do about an aggregate that has no text."""
    if any(kind(part) == "PivotFirst" for part in parts(expression)):
        return _KNOWN["Pivot"][1]
    return "aggregate by functions of Spark's that are exact: count(DISTINCT …), sum, max_by, collect_list"


def words_of(node: Node) -> str:
    """What a user calls a node."""
    return _KNOWN[kind(node)][0] if kind(node) in _KNOWN else str(node.nodeName())


def unread(node: Node, what: str, hint: str | None = None, expression: Node | None = None) -> NotSupportedYet:
    """Something of a node that is in the way; of an expression, the place of that."""
    place = (None if expression is None else place_of(expression)) or site_of(node) or place_of(node)
    near = None if place is not None else nearest_place(node)
    told = f", at {place}" if place is not None else "" if near is None else f"; it stands above {near}"
    return NotSupportedYet(f"{what} cannot be read{told}", hint=hint or _USUAL)
