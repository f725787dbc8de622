"""The join graph as SVG: streams on a ring, key classes as dots that their streams are tied to, closings as arrows.

A key class of three streams is one dot with three lines, because it is one fact and not three predicates. An arrow
from a to b says that promises close b for every row of a; a dashed one, only for values that did arrive. The layout
is computed from the plan alone and rounded, so the same plan gives the same drawing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from penstock.plan.plan import Plan

Point = tuple[float, float]

_CHARACTER, _NODE_HEIGHT, _FEW_ARROWS = 7.3, 46.0, 12
_LONGEST = 22


def join_graph(plan: Plan, marker: str) -> tuple[str, str]:
    """The drawing and its caption; `marker` keeps the ids of several drawings on one page apart."""
    places, width, height = _layout(plan)
    meeting = _meeting(plan)
    arrows = _arrows(plan)
    shown = (
        arrows if len(arrows) <= _FEW_ARROWS else {pair: c for pair, c in arrows.items() if frozenset(pair) in meeting}
    )
    parts = [
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" style="max-width: {width:.0f}px"'
        f' aria-label="join graph of {_escaped(plan.query)}">',
        _head(f"{marker}-sure", "head"),
        _head(f"{marker}-maybe", "maybe-head"),
        *_arrow_lines(shown, places, marker),
        *_pairs(plan, places),
        *_keys(plan, places),
        *(_node(plan, alias, places[alias]) for alias in plan.aliases),
        "</svg>",
    ]
    return "\n".join(parts), _caption(plan, len(shown), len(arrows) - len(shown))


def _escaped(text: str) -> str:
    return escape(text, quote=True)


def _layout(plan: Plan) -> tuple[dict[str, Point], float, float]:
    """Streams on an ellipse in the order of FROM; two stand side by side."""
    count = len(plan.aliases)
    across = max(_node_width(plan, alias) for alias in plan.aliases)
    if count == 1:
        return {plan.aliases[0]: (across / 2 + 40, 60.0)}, across + 80, 120.0
    if count == 2:
        gap = across + 260
        height = max(200.0, 110.0 + 50.0 * _hubs_between_two(plan))
        left = across / 2 + 30
        return (
            dict(zip(plan.aliases, ((left, height / 2), (left + gap, height / 2)), strict=True)),
            2 * left + gap,
            height,
        )
    radius_x = max(230.0, count * (across + 40) / 5.2)
    radius_y = max(130.0, count * 30.0)
    middle: Point = (radius_x + across / 2 + 50, radius_y + _NODE_HEIGHT + 30)
    places = {}
    for number, alias in enumerate(plan.aliases):
        angle = -math.pi / 2 + 2 * math.pi * number / count
        places[alias] = (middle[0] + radius_x * math.cos(angle), middle[1] + radius_y * math.sin(angle))
    return places, 2 * middle[0], 2 * middle[1]


def _hubs_between_two(plan: Plan) -> int:
    return len(plan.axes) + len(plan.predicates)


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


def _keys(plan: Plan, places: dict[str, Point]) -> Iterator[str]:
    taken: list[Point] = []
    for axis in plan.axes:
        members = [alias for alias in plan.aliases if axis.column(alias) is not None]
        hub = _free(_centre([places[alias] for alias in members]), taken)
        taken.append(hub)
        for alias in members:
            yield _line("key", hub, places[alias])
        yield f'<circle class="hub" cx="{hub[0]:.1f}" cy="{hub[1]:.1f}" r="4.5"/>'
        text = str(axis) if len(axis.columns) == 2 else ", ".join(dict.fromkeys(ref.column for ref in axis.columns))
        yield f'<text class="label" x="{hub[0]:.1f}" y="{hub[1] - 10:.1f}">{_escaped(text)}</text>'


def _pairs(plan: Plan, places: dict[str, Point]) -> Iterator[str]:
    """Predicates that are no equality: dotted lines, their text under the middle."""
    taken: list[Point] = []
    for predicate in plan.predicates:
        ends = places[predicate.left.alias], places[predicate.right.alias]
        middle = _free(_centre(list(ends)), taken)
        taken.append(middle)
        yield _line("pair", *ends)
        yield f'<text class="label" x="{middle[0]:.1f}" y="{middle[1] + 26:.1f}">{_escaped(predicate.text)}</text>'


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


def _meeting(plan: Plan) -> set[frozenset[str]]:
    pairs = {frozenset((p.left.alias, p.right.alias)) for p in plan.predicates}
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


def _arrow_lines(arrows: dict[tuple[str, str], bool], places: dict[str, Point], marker: str) -> Iterator[str]:
    for (start, end), certain in arrows.items():
        a, b = places[start], places[end]
        length = math.dist(a, b) or 1.0
        # Bent to the left of its direction, so that the arrows of a pair do not lie on each other.
        bend = min(70.0, length / 4)
        knee = ((a[0] + b[0]) / 2 + (b[1] - a[1]) / length * bend, (a[1] + b[1]) / 2 - (b[0] - a[0]) / length * bend)
        tail, tip = _edge_of_node(a, knee), _edge_of_node(b, knee)
        kind, head = ("closes", "sure") if certain else ("maybe", "maybe")
        yield (
            f'<path class="{kind}" marker-end="url(#{marker}-{head})" '
            f'd="M{tail[0]:.1f} {tail[1]:.1f}Q{knee[0]:.1f} {knee[1]:.1f} {tip[0]:.1f} {tip[1]:.1f}"/>'
        )


def _edge_of_node(node: Point, towards: Point) -> Point:
    """Where the way out of a node leaves its box, above or below it."""
    rise = towards[1] - node[1]
    run = towards[0] - node[0]
    half = _NODE_HEIGHT / 2 + 3
    if abs(rise) < 1e-6:
        return node[0] + math.copysign(half, run), node[1]
    step = min(1.0, half / abs(rise))
    # A flat way would leave far beyond the corner: keep near the middle of the side.
    across = max(-34.0, min(34.0, run * step))
    return node[0] + across, node[1] + math.copysign(half, rise)


def _head(name: str, kind: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path class="{kind}" d="M0 0L8 4L0 8z"/></marker>'
    )


def _caption(plan: Plan, arrows: int, hidden: int) -> str:
    said = []
    if plan.axes:
        said.append("dots are key classes, columns equal in every result")
    if plan.predicates:
        said.append("dotted lines are other predicates")
    if arrows:
        said.append("an arrow from a to b says that promises close b for a row of a (dashed: only values that arrived)")
    if hidden:
        said.append(f"{hidden} more closings, between streams that share no predicate, are listed below")
    text = "; ".join(said)
    return text[:1].upper() + text[1:] + "." if text else ""
