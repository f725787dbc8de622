"""The join graph as SVG: streams on a ring, key classes as dots that their streams are tied to, closings as arrows.

A key class of three streams is one dot with three lines, because it is one fact and not three predicates. An arrow
from a to b says that promises close b for every row of a; a dashed one, only for values that did arrive. Where only
rows of several streams together carry what a punctuation closes, their lines meet in a square and one arrow leads on
(SAFETY's generalized edges). The layout
is computed from the plan alone and rounded, so the same plan gives the same drawing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.explain.plan_text import pair_predicates
from penstock.model.predicates import Predicate, aliases_of
from penstock.model.query import Query
from penstock.plan.plan import Plan

Point = tuple[float, float]

_CHARACTER, _NODE_HEIGHT, _MARGIN, _FEW_ARROWS = 7.3, 46.0, 34.0, 12
_LONGEST = 22


def join_graph(query: Query, plan: Plan, graph: ClosingGraph, marker: str) -> tuple[str, str]:
    """The drawing and its caption; `marker` keeps the ids of several drawings on one page apart."""
    others = [predicate for predicate in pair_predicates(query) if aliases_of(predicate) <= set(plan.aliases)]
    places, width, height = _layout(plan, len(plan.axes) + len(others))
    meeting = _meeting(plan, others)
    arrows = _arrows(plan)
    shown = (
        arrows if len(arrows) <= _FEW_ARROWS else {pair: c for pair, c in arrows.items() if frozenset(pair) in meeting}
    )
    pair_lines, pair_labels = _pairs(others, places)
    key_lines, key_labels = _keys(plan, places)
    parts = [
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" style="max-width: {width:.0f}px"'
        f' aria-label="join graph of {_escaped(plan.query)}">',
        _head(f"{marker}-sure", "head"),
        _head(f"{marker}-maybe", "maybe-head"),
        *_arrow_lines(plan, shown, places, marker),
        *_joint_lines(plan, places, marker),
        *pair_lines,
        *key_lines,
        *(_node(plan, alias, places[alias]) for alias in plan.aliases),
        # Labels last, so that no line crosses them.
        *pair_labels,
        *key_labels,
        "</svg>",
    ]
    return "\n".join(parts), _caption(plan, graph, bool(others), len(shown), len(arrows) - len(shown))


def _escaped(text: str) -> str:
    return escape(text, quote=True)


def _layout(plan: Plan, labels: int) -> tuple[dict[str, Point], float, float]:
    """Streams on an ellipse in the order of FROM, two side by side; then the size of the drawing around them."""
    count = len(plan.aliases)
    across = max(_node_width(plan, alias) for alias in plan.aliases)
    if count == 1:
        return {plan.aliases[0]: (across / 2 + 20, _NODE_HEIGHT)}, across + 40, 2 * _NODE_HEIGHT
    if count == 2:
        left, gap, height = across / 2 + 20, across + 300, max(170.0, 100.0 + 40.0 * labels)
        places = dict(zip(plan.aliases, ((left, height / 2), (left + gap, height / 2)), strict=True))
        return places, 2 * left + gap, height
    radius_x = max(250.0, count * (across + 40) / 5.2)
    radius_y = max(120.0, count * 30.0)
    ring = [-math.pi / 2 + 2 * math.pi * number / count for number in range(count)]
    points = [(radius_x * math.cos(angle), radius_y * math.sin(angle)) for angle in ring]
    left, top = min(x for x, _ in points), min(y for _, y in points)
    margin_x, margin_y = across / 2 + _MARGIN, _NODE_HEIGHT / 2 + _MARGIN
    places = {
        alias: (x - left + margin_x, y - top + margin_y) for alias, (x, y) in zip(plan.aliases, points, strict=True)
    }
    width = max(x for x, _ in places.values()) + margin_x
    return places, width, max(y for _, y in places.values()) + margin_y


def _node_width(plan: Plan, alias: str) -> float:
    return 36 + _CHARACTER * max(len(text) for text in _node_texts(plan, alias))


def _node_texts(plan: Plan, alias: str) -> tuple[str, str]:
    source = plan.by_alias[alias]
    under = " ".join(t for t in (source.stream if source.stream != alias else "", _window(plan, alias)) if t)
    return _short(alias), _short(under)


def _window(plan: Plan, alias: str) -> str:
    window = plan.by_alias[alias].window
    return window.text if window else ""


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _node(plan: Plan, alias: str, at: Point) -> str:
    verdict = plan.by_alias[alias].state.verdict
    name, under = _node_texts(plan, alias)
    mark = {"bounded": "✓", "unbounded": "✗"}.get(verdict, "?")
    width = _node_width(plan, alias)
    lift = -4 if under else 4
    lower = f'<text class="under" x="{at[0]:.1f}" y="{at[1] + 14:.1f}">{_escaped(under)}</text>' if under else ""
    return (
        f'<g class="node {verdict}"><title>{_escaped(f"{alias}: {verdict}")}</title>'
        f'<rect x="{at[0] - width / 2:.1f}" y="{at[1] - _NODE_HEIGHT / 2:.1f}" width="{width:.1f}"'
        f' height="{_NODE_HEIGHT:.1f}" rx="9"/>'
        f'<text x="{at[0]:.1f}" y="{at[1] + lift:.1f}">{_escaped(f"{mark} {name}")}</text>{lower}</g>'
    )


def _keys(plan: Plan, places: dict[str, Point]) -> tuple[list[str], list[str]]:
    """Key classes: a dot, a line from it to each of its streams, and above it the columns."""
    lines, labels, taken = [], [], list[Point]()
    for axis in plan.axes:
        members = [alias for alias in plan.aliases if axis.column(alias) is not None]
        hub = _free(_centre([places[alias] for alias in members]), taken)
        taken.append(hub)
        lines += [_line("key", hub, places[alias]) for alias in members]
        lines.append(f'<circle class="hub" cx="{hub[0]:.1f}" cy="{hub[1]:.1f}" r="4.5"/>')
        text = str(axis) if len(axis.columns) == 2 else ", ".join(dict.fromkeys(ref.column for ref in axis.columns))
        labels.append(_label(text, (hub[0], hub[1] - 10)))
    return lines, labels


def _pairs(others: Sequence[Predicate], places: dict[str, Point]) -> tuple[list[str], list[str]]:
    """Predicates that are no equality: dotted lines, their text under the middle."""
    lines, labels, taken = [], [], list[Point]()
    for predicate in others:
        ends = [places[ref.alias] for ref in predicate.columns]
        middle = _free(_centre(ends), taken)
        taken.append(middle)
        lines.append(_line("pair", ends[0], ends[1]))
        labels.append(_label(str(predicate), (middle[0], middle[1] + 26)))
    return lines, labels


def _label(text: str, at: Point) -> str:
    return f'<text class="label" x="{at[0]:.1f}" y="{at[1]:.1f}">{_escaped(text)}</text>'


def _free(point: Point, taken: list[Point]) -> Point:
    """The point itself, or the next one below it that no label stands on."""
    x, y = point
    while any(abs(x - a) < 120 and abs(y - b) < 20 for a, b in taken):
        y += 22
    return x, y


def _centre(points: list[Point]) -> Point:
    return sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)


def _line(kind: str, start: Point, end: Point) -> str:
    return f'<path class="{kind}" d="M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}"/>'


def _meeting(plan: Plan, others: Sequence[Predicate]) -> set[frozenset[str]]:
    pairs = {aliases_of(predicate) for predicate in others}
    for axis in plan.axes:
        members = [alias for alias in plan.aliases if axis.column(alias) is not None]
        pairs |= {frozenset((a, b)) for a in members for b in members if a != b}
    return pairs


def _arrows(plan: Plan) -> dict[tuple[str, str], bool]:
    """(from, to) and whether the closing is certain, in the order of the plan."""
    found: dict[tuple[str, str], bool] = {}
    for closer in plan.closers:
        pair = (closer.source, closer.target)
        found[pair] = found.get(pair, False) or closer.certain
    return found


def _arrow_lines(
    plan: Plan, arrows: dict[tuple[str, str], bool], places: dict[str, Point], marker: str
) -> Iterator[str]:
    for (start, end), certain in arrows.items():
        a, b = places[start], places[end]
        length = math.dist(a, b) or 1.0
        # Bent to the left of its direction, so that the arrows of a pair do not lie on each other.
        bend = min(70.0, length / 4)
        knee = ((a[0] + b[0]) / 2 + (b[1] - a[1]) / length * bend, (a[1] + b[1]) / 2 - (b[0] - a[0]) / length * bend)
        tail = _edge_of_node(a, _node_width(plan, start) / 2, knee)
        tip = _edge_of_node(b, _node_width(plan, end) / 2, knee)
        kind, head = ("closes", "sure") if certain else ("maybe", "maybe")
        yield (
            f'<path class="{kind}" marker-end="url(#{marker}-{head})" '
            f'd="M{tail[0]:.1f} {tail[1]:.1f}Q{knee[0]:.1f} {knee[1]:.1f} {tip[0]:.1f} {tip[1]:.1f}"/>'
        )


def _joint_lines(plan: Plan, places: dict[str, Point], marker: str) -> Iterator[str]:
    """Generalized edges: from each stream that carries one of the columns to a square, and from there to the target."""
    taken: list[Point] = []
    for closer in plan.joint_closers:
        carriers = [a for a in plan.aliases if any(ref.alias == a for refs in closer.partners for ref in refs)]
        target = places[closer.target]
        middle = _centre([places[alias] for alias in carriers])
        # Nearer to the target than the hubs of the key classes, so that neither hides the other.
        at = _free(((middle[0] + 2 * target[0]) / 3, (middle[1] + 2 * target[1]) / 3), taken)
        taken.append(at)
        for alias in carriers:
            yield _line("closes", _edge_of_node(places[alias], _node_width(plan, alias) / 2, at), at)
        tip = _edge_of_node(target, _node_width(plan, closer.target) / 2, at)
        yield (
            f'<path class="closes" marker-end="url(#{marker}-sure)" '
            f'd="M{at[0]:.1f} {at[1]:.1f}L{tip[0]:.1f} {tip[1]:.1f}"/>'
        )
        yield (
            f'<rect class="joint" x="{at[0] - 4:.1f}" y="{at[1] - 4:.1f}" width="8" height="8">'
            f"<title>{_escaped(closer.constraint)}</title></rect>"
        )


def _edge_of_node(node: Point, half_width: float, towards: Point) -> Point:
    """Where the way out of a node leaves its box, a little outside it."""
    run, rise = towards[0] - node[0], towards[1] - node[1]
    steps = [
        (half + 3) / abs(way)
        for half, way in ((half_width, run), (_NODE_HEIGHT / 2, rise))
        if abs(way) > 1e-6  # a way along one axis never leaves by the other
    ]
    step = min(steps, default=0.0)
    return node[0] + run * step, node[1] + rise * step


def _head(name: str, kind: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path class="{kind}" d="M0 0L8 4L0 8z"/></marker>'
    )


def _caption(plan: Plan, graph: ClosingGraph, has_others: bool, arrows: int, hidden: int) -> str:
    said = []
    if plan.axes:
        said.append("dots are key classes, columns equal in every result")
    if has_others:
        said.append("dotted lines are other predicates")
    if arrows:
        said.append("an arrow from x to y: promises close y for a row of x (dashed: only for values that arrived)")
    if plan.joint_closers:
        said.append("where lines meet in a square, rows of these streams together have the next one closed")
    reached = {alias: graph.reach(alias).unreached for alias in graph.aliases}
    unreached = [f"{alias} never reaches {' and '.join(left)}" for alias, left in reached.items() if left]
    if 0 < len(unreached) <= _FEW_ARROWS:
        said += unreached
    if hidden:
        said.append(f"{hidden} more closings, between streams that share no predicate, are not drawn")
    text = "; ".join(said)
    return text[:1].upper() + text[1:] + "." if text else ""
