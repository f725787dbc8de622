"""A line plot as an SVG file: axes, lines, names. Nothing that must be installed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

Points = Sequence[tuple[float, float]]
_COLOURS = ("#444444", "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b")
_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 200, 40, 50


@dataclass(frozen=True)
class Plot:
    """Lines over one x; `log` makes the y axis logarithmic, as in the paper's Figures 6 and 8."""

    title: str
    across: str
    up: str
    lines: Mapping[str, Points]
    log: bool = False

    def svg(self) -> str:
        """The picture."""
        points = [point for line in self.lines.values() for point in line]
        right = max((x for x, _ in points), default=1) or 1
        top = max((y for _, y in points), default=1) or 1
        bottom = max(1.0, min((y for _, y in points if y > 0), default=1)) if self.log else 0.0
        across = _WIDTH - _LEFT - _RIGHT
        up = _HEIGHT - _TOP - _BOTTOM

        def place(x: float, y: float) -> tuple[float, float]:
            share = (y - bottom) / (top - bottom or 1)
            if self.log:
                share = math.log(max(y, bottom) / bottom) / (math.log(top / bottom) or 1)
            return _LEFT + across * x / right, _TOP + up * (1 - share)

        drawn = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
            f'font-size="12"><rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
            f'<text x="{_LEFT}" y="22" font-size="15">{escape(self.title)}</text>',
            f'<text x="{_LEFT + across / 2}" y="{_HEIGHT - 10}" text-anchor="middle">{escape(self.across)}</text>',
            f'<text transform="translate(16 {_TOP + up / 2}) rotate(-90)" text-anchor="middle">'
            f"{escape(self.up)}</text>",
        ]
        for mark in _marks(bottom, top, self.log):
            _, y = place(0, mark)
            drawn.append(f'<path d="M{_LEFT} {y:.1f}h{across}" stroke="#dddddd"/>')
            drawn.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_shown(mark)}</text>')
        for mark in _marks(0, right, log=False):
            x, _ = place(mark, bottom)
            drawn.append(f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{_shown(mark)}</text>')
        drawn.append(f'<path d="M{_LEFT} {_TOP}v{up}h{across}" fill="none" stroke="black"/>')
        for number, (name, line) in enumerate(self.lines.items()):
            colour = _COLOURS[number % len(_COLOURS)]
            way = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line))
            drawn.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
            y = _TOP + 14 + 20 * number
            drawn.append(f'<path d="M{_WIDTH - _RIGHT + 14} {y - 4}h22" stroke="{colour}" stroke-width="2"/>')
            drawn.append(f'<text x="{_WIDTH - _RIGHT + 42}" y="{y}">{escape(name)}</text>')
        return "\n".join([*drawn, "</svg>"]) + "\n"


def _marks(low: float, high: float, log: bool) -> list[float]:
    """Round numbers along an axis."""
    if log:
        first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
        return [10.0**power for power in range(first, last + 1)]
    step = 10 ** math.floor(math.log10(high - low)) if high > low else 1.0
    while (high - low) / step < 4:
        step /= 2
    return [low + n * step for n in range(int((high - low) / step) + 1)]


def _shown(mark: float) -> str:
    return f"{mark:,.0f}" if mark >= 10 or mark == int(mark) else f"{mark:g}"
