"""The join graph as SVG: a lane for each stream, and across the lanes, each in a row of its own, what ties them.

Key classes come first, as dots on the lanes of their streams, those of the same streams in one row; then other
conditions, dotted; then closings: an arrow from x to y says that promises close y for every row of x, with what must
happen written on it; a dashed one, only for values that did arrive. Where only rows of several streams together carry
what a punctuation closes, the arrow leads on from a square on each of them (SAFETY's generalized edges).

Each row has its own height, as many lines as its words take, so no words lie on others however many streams there are:
a test measures it. The layout is computed from the plan alone and rounded, so the same plan gives the same drawing.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.explain.closing_text import arrows_of
from penstock.explain.plan_text import pair_predicates
from penstock.model.predicates import Predicate, aliases_of, written
from penstock.model.query import Query
from penstock.plan.parts import KeyAxis
from penstock.plan.plan import Plan
from penstock.records import record

CHARACTER = 7.4
"""How wide a letter is at most, at the size of the labels."""
_LINE, _NODE_HEIGHT, _MARGIN, _GAP = 16.0, 46.0, 12.0, 22.0
_NARROWEST, _WIDEST, _PADDING, _MOST_CLOSINGS = 420.0, 1040.0, 20.0, 24
"""A drawing of at most eight streams is no wider than the page."""
_LONGEST, _SHORTEST, _MOST_LINES = 24, 11, 4
"""Letters in a line of a node: at most, and at least however many streams there are; and its lines."""


@record
class _Row:
    """One row across the lanes: who is in it, where it leads, what is written on it."""

    kind: str
    """`key`, `pair`, `closes`, `maybe` or `joint`: the classes of the style sheet."""
    members: tuple[str, ...]
    targets: tuple[str, ...]
    labels: tuple[str, ...]


def join_graph(query: Query, plan: Plan, graph: ClosingGraph, marker: str) -> tuple[str, str]:
    """The drawing and its caption; `marker` keeps the ids of several drawings on one page apart."""
    others = [predicate for predicate in pair_predicates(query) if aliases_of(predicate) <= set(plan.aliases)]
    closings, hidden = _closings(plan, graph, others)
    rows = [*_keys(plan), *_pairs(plan, others), *closings, *_joint(plan)]
    lanes, width = _lanes(plan)
    foot = _MARGIN + _node_height(plan)
    drawn, y = [], foot
    for row in rows:
        y, lines = _drawn(row, lanes, width, y, marker)
        drawn += lines
    height = y + _MARGIN + 4
    parts = [
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" class="lanes"'
        f' style="max-width: {width:.0f}px; min-width: {0.85 * width:.0f}px"'
        f' aria-label="join graph of {_escaped(plan.query)}">',
        _head(f"{marker}-sure", "head"),
        _head(f"{marker}-maybe", "maybe-head"),
        *(f'<path class="lane" d="M{x:.1f} {foot:.1f}V{height - 4:.1f}"/>' for x in lanes.values() if rows),
        *drawn,
        *(_node(plan, alias, x) for alias, x in lanes.items()),
        "</svg>",
    ]
    return "\n".join(parts), _caption(plan, graph, rows, hidden)


def _escaped(text: str) -> str:
    return escape(text, quote=True)


def _lanes(plan: Plan) -> tuple[dict[str, float], float]:
    """Where the lane of each stream is, in the order of FROM, and how wide the drawing is."""
    across = max(_node_width(plan, alias) for alias in plan.aliases)
    count = len(plan.aliases)
    if count == 1:
        return {plan.aliases[0]: across / 2 + _MARGIN}, across + 2 * _MARGIN
    width = max(_NARROWEST, count * (across + _GAP) - _GAP + 2 * _MARGIN)
    step = (width - 2 * _MARGIN - across) / (count - 1)
    return {alias: _MARGIN + across / 2 + number * step for number, alias in enumerate(plan.aliases)}, width


def _node_width(plan: Plan, alias: str) -> float:
    return _PADDING + CHARACTER * max(len(text) for lines in _node_texts(plan, alias) for text in lines)


def _node_texts(plan: Plan, alias: str) -> tuple[list[str], list[str]]:
    """The lines of a node, names broken so that all nodes fit beside each other: its alias, what is under that."""
    source = plan.by_alias[alias]
    window = source.window.text if source.window else ""
    under = " ".join(text for text in (source.stream if source.stream != alias else "", window) if text)
    room = (_WIDEST - 2 * _MARGIN + _GAP) / len(plan.aliases) - _GAP - _PADDING
    most = min(_LONGEST, max(_SHORTEST, int(room / CHARACTER)))
    mark = {"bounded": "✓", "unbounded": "✗"}.get(source.state.verdict, "?")
    return _broken(f"{mark} {alias}", most), _broken(under, most)


def _broken(text: str, most: int) -> list[str]:
    """A name in lines of at most so many letters, at its underscores where it has some; shortened beyond a few."""
    lines = [""]
    for part in re.findall(r"[^_\s]+[_\s]*|[_\s]+", text):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > most:
            lines.append("")
        lines[-1] += part
        while len(lines[-1].rstrip()) > most:
            lines[-1:] = [lines[-1][:most], lines[-1][most:]]
    kept = [line.rstrip() for line in lines if line.strip()]
    return kept if len(kept) <= _MOST_LINES else [*kept[: _MOST_LINES - 1], f"{kept[_MOST_LINES - 1][: most - 1]}…"]


def _node_height(plan: Plan) -> float:
    """As high as the one with most lines needs."""
    return max(_NODE_HEIGHT, *(14 + 15 * len([*name, *under]) for name, under in _all_texts(plan)))


def _all_texts(plan: Plan) -> Iterator[tuple[list[str], list[str]]]:
    return (_node_texts(plan, alias) for alias in plan.aliases)


def _node(plan: Plan, alias: str, x: float) -> str:
    verdict = plan.by_alias[alias].state.verdict
    name, under = _node_texts(plan, alias)
    width, height = _node_width(plan, alias), _node_height(plan)
    first = _MARGIN + height / 2 + 4 - 7.5 * (len([*name, *under]) - 1)
    words = [
        f'<text{kind} x="{x:.1f}" y="{first + 15 * number:.1f}">{_escaped(line)}</text>'
        for number, (line, kind) in enumerate([*((n, "") for n in name), *((u, ' class="under"') for u in under)])
    ]
    return (
        f'<g class="node {verdict}" data-alias="{_escaped(alias)}"><title>{_escaped(f"{alias}: {verdict}")}</title>'
        f'<rect x="{x - width / 2:.1f}" y="{_MARGIN:.1f}" width="{width:.1f}" height="{height:.1f}" rx="9"/>'
        f"{''.join(words)}</g>"
    )


def _drawn(row: _Row, lanes: dict[str, float], width: float, y: float, marker: str) -> tuple[float, list[str]]:
    """A row under what was drawn before it: its words, and below them its line."""
    places = [lanes[alias] for alias in (*row.members, *row.targets)]
    left, right = min(places), max(places)
    room = int((width - 2 * _MARGIN) / CHARACTER)
    # A word that is too long for a line of its own is broken: a name may have any length.
    texts = [line for label in row.labels for line in textwrap.wrap(label, room) or [""]]
    y += 8
    words = []
    for text in texts:
        y += _LINE
        half = len(text) * CHARACTER / 2
        x = min(max((left + right) / 2, _MARGIN + half), width - _MARGIN - half)
        words.append(f'<text class="label" x="{x:.1f}" y="{y:.1f}">{_escaped(text)}</text>')
    y += 10
    return y, [*_line(row, lanes, y, marker), *words]


def _line(row: _Row, lanes: dict[str, float], y: float, marker: str) -> Iterator[str]:
    members = [lanes[alias] for alias in row.members]
    if row.kind in ("key", "pair"):
        yield f'<path class="{row.kind}" d="M{min(members):.1f} {y:.1f}H{max(members):.1f}"/>'
        yield from (f'<circle class="hub {row.kind}-hub" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x in members)
        return
    kind = "maybe" if row.kind == "maybe" else "closes"
    head = "maybe" if row.kind == "maybe" else "sure"
    for target in (lanes[alias] for alias in row.targets):
        # From the nearest of those whose rows stand together; the others are tied to that one.
        start = min(members, key=lambda x: abs(x - target))
        stop = target - 3 if target > start else target + 3
        yield f'<path class="{kind}" marker-end="url(#{marker}-{head})" d="M{start:.1f} {y:.1f}H{stop:.1f}"/>'
    if len(members) > 1:
        yield f'<path class="{kind}" d="M{min(members):.1f} {y:.1f}H{max(members):.1f}"/>'
    for x in members:
        if row.kind == "joint":
            yield f'<rect class="joint" x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>'
        else:
            yield f'<circle class="{kind}-hub" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'


def _keys(plan: Plan) -> Iterator[_Row]:
    """Columns that are equal in every result; those of the same streams together."""
    found: dict[tuple[str, ...], list[str]] = {}
    for axis in plan.axes:
        members = tuple(alias for alias in plan.aliases if axis.column(alias) is not None)
        found.setdefault(members, []).append(_key_text(axis))
    for members, texts in found.items():
        # Names that all of the streams share need be told only once, and several of them in one line.
        short = [text for text in texts if " = " not in text]
        lines = [", ".join(short)] if short else []
        yield _Row("key", members, (), (*lines, *(text for text in texts if " = " in text)))


def _key_text(axis: KeyAxis) -> str:
    names = list(dict.fromkeys(ref.column for ref in axis.columns))
    return names[0] if len(names) == 1 else " = ".join(str(ref) for ref in axis.columns)


def _pairs(plan: Plan, others: Sequence[Predicate]) -> Iterator[_Row]:
    found: dict[tuple[str, ...], list[str]] = {}
    for predicate in others:
        members = tuple(alias for alias in plan.aliases if alias in aliases_of(predicate))
        found.setdefault(members, []).append(written(predicate))
    for members, texts in found.items():
        # BETWEEN is two conditions with one text.
        yield _Row("pair", members, (), tuple(dict.fromkeys(texts)))


def _closings(plan: Plan, graph: ClosingGraph, others: Iterable[Predicate]) -> tuple[list[_Row], int]:
    """The closings, and how many are left out where they are too many: first those of streams without a condition."""
    tied = {aliases_of(predicate) for predicate in others}
    for axis in plan.axes:
        members = [alias for alias in plan.aliases if axis.column(alias) is not None]
        tied |= {frozenset((a, b)) for a in members for b in members if a != b}
    arrows = arrows_of(plan, graph)
    rows = [_Row("closes" if a.certain else "maybe", (a.source,), a.targets, (a.once,)) for a in arrows]
    if len(rows) <= _MOST_CLOSINGS:
        return rows, 0
    near = [
        row for row, arrow in zip(rows, arrows, strict=True) if any({arrow.source, t} in tied for t in arrow.targets)
    ]
    # One of each stream before a second of any: no stream is left without an arrow that has one.
    drawn: Counter[tuple[str, ...]] = Counter()
    turns = []
    for place, row in enumerate(near):
        turns.append((drawn[row.members], place))
        drawn[row.members] += 1
    shown = [near[place] for place in sorted(place for _, place in sorted(turns)[:_MOST_CLOSINGS])]
    return shown, len(rows) - len(shown)


def _joint(plan: Plan) -> Iterator[_Row]:
    for closer in plan.joint_closers:
        carriers = [a for a in plan.aliases if any(ref.alias == a for refs in closer.partners for ref in refs)]
        yield _Row("joint", tuple(carriers), (closer.target,), (closer.constraint,))


def _head(name: str, kind: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path class="{kind}" d="M0 0L8 4L0 8z"/></marker>'
    )


def _caption(plan: Plan, graph: ClosingGraph, rows: Sequence[_Row], hidden: int) -> str:
    kinds = {row.kind for row in rows}
    said = []
    if "key" in kinds:
        said.append("dots: columns that are equal in every result")
    if "pair" in kinds:
        said.append("dotted: other conditions")
    if kinds & {"closes", "maybe"}:
        said.append("an arrow from x to y: promises close y for a row of x, once what is written on it has happened")
    if "maybe" in kinds:
        said.append("dashed: only for values that arrived")
    if "joint" in kinds:
        said.append("squares: rows of these streams together have the next one closed")
    reached = {alias: graph.reach(alias).unreached for alias in graph.aliases}
    unreached = [f"nothing closes {' and '.join(left)} for {alias}" for alias, left in reached.items() if left]
    if 0 < len(unreached) <= len(plan.aliases):
        said += unreached
    if hidden:
        said.append(f"{hidden} more closings are not drawn")
    text = "; ".join(said)
    return text[:1].upper() + text[1:] + "." if text else ""
