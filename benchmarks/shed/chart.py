"""A figure as SVG: lines with marks over two axes, and a legend. Computed from the figure alone, and rounded.

Like the join graph of `penstock explain` it is written by hand, so that no drawing library is needed and the same
figure gives the same file. Colours follow the reader's light or dark setting.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape

from benchmarks.shed.figures import Figure

WIDTH, HEIGHT = 640.0, 360.0
LEFT, RIGHT, TOP, BOTTOM = 78.0, 130.0, 34.0, 46.0
COLOURS = ("#2f5fd0", "#1a7f4b", "#c62f2f", "#9a6700", "#7b3fb5", "#0f7d8c", "#5b6470")
TICKS = 5
ROOM = 36.0
"""Between two numbers below the axis."""

STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#5b6470}.title{font-size:13px;font-weight:600;fill:#1b1f24}"
    ".axis{stroke:#98a2b0;fill:none}.grid{stroke:#d9dee5;stroke-width:.6}.series{fill:none;stroke-width:1.8}"
    "@media(prefers-color-scheme:dark){.title{fill:#e6e9ee}text{fill:#98a2b0}.grid{stroke:#323943}}"
)


def drawn(figure: Figure) -> str:
    """The whole drawing."""
    across = _scale(min(figure.x), max(figure.x), LEFT, WIDTH - RIGHT)
    values = [value for series in figure.series.values() for value in series]
    ticks = _decades(values) if figure.logarithmic else _ticks(_floor(values), max(values))
    height = math.log10 if figure.logarithmic else float
    up = _scale(height(ticks[0]), height(ticks[-1]), HEIGHT - BOTTOM, TOP)
    label = f"{figure.name}: {figure.title}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img"'
        f' aria-label="{escape(label, quote=True)}">',
        f"<style>{STYLE}</style>",
        _text("title", LEFT, 18, label, "start"),
        *(_grid(up(height(tick)), _number(tick)) for tick in ticks),
        *(_text("", across(x), HEIGHT - BOTTOM + 16, _number(x), "middle") for x in _marked(figure, across)),
        f'<path class="axis" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>',
        _text("", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, figure.x_name, "middle"),
        _text("", LEFT, TOP - 6, figure.y_name, "end"),
    ]
    for place, (name, series) in enumerate(figure.series.items()):
        points = [(across(x), up(height(y))) for x, y in zip(figure.x, series, strict=True)]
        parts += _line(name, points, COLOURS[place % len(COLOURS)], TOP + 8 + 18 * place)
    return "\n".join([*parts, "</svg>", ""])


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    span = (high - low) or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def _floor(values: list[float]) -> float:
    """Zero, unless all values lie in the upper tenth: there the differences are what is to be seen."""
    return 0.0 if min(values) < 0.9 * max(values) else min(values)


def _ticks(low: float, high: float) -> list[float]:
    rough = (high - low or 1.0) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * count for count in range(first, max(last, first + 1) + 1)]


def _decades(values: list[float]) -> list[float]:
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


def _marked(figure: Figure, across: Callable[[float], float]) -> list[float]:
    """The values that are written below the axis: those of the figure, as far as there is room between them."""
    marks = list[float]()
    for x in figure.x if len(figure.x) <= 12 else _ticks(min(figure.x), max(figure.x))[:-1]:
        if not marks or across(x) - across(marks[-1]) >= ROOM:
            marks.append(x)
    return marks


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e9 else f"{value:g}"


def _text(kind: str, x: float, y: float, text: str, anchor: str) -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _grid(y: float, text: str) -> str:
    line = f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
    return line + _text("", LEFT - 6, y + 4, text, "end")


def _line(name: str, points: list[tuple[float, float]], colour: str, at: float) -> list[str]:
    way = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    few = len(points) <= 12
    marks = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>' for x, y in points] if few else []
    begin = WIDTH - RIGHT + 12
    return [
        f'<path class="series" stroke="{colour}" d="M{way}"/>',
        *marks,
        f'<path class="series" stroke="{colour}" d="M{begin:.1f} {at:.1f}h18"/>',
        _text("", begin + 24, at + 4, name, "start"),
    ]
