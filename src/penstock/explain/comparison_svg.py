"""A few counts over batches as a drawing: a line for each way, an axis from zero, and a legend.

As the join graph it is written by hand, rounded, and the same for the same values; it follows the reader's light or
dark setting and needs nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from penstock.records import record

_WIDTH, _HEIGHT = 560.0, 260.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 70.0, 20.0, 46.0, 30.0
_COLOURS = ("#c62f2f", "#2f5fd0", "#1a7f4b")
_STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#5b6470}.axis{stroke:#98a2b0;fill:none}"
    ".grid{stroke:#d9dee5;stroke-width:.6}.way{fill:none;stroke-width:1.8}"
    "@media(prefers-color-scheme:dark){text{fill:#98a2b0}.grid{stroke:#323943}}"
)
_STEPS = (1, 2, 5, 10)
_TICKS = 4


@record
class ComparedLine:
    """A name and a count for each batch."""

    name: str
    counts: tuple[int, ...]


def state_plot(title: str, lines: Sequence[ComparedLine]) -> str:
    """The drawing."""
    top = max((count for line in lines for count in line.counts), default=0)
    step = _step(top)
    ceiling = step * max(1, math.ceil(top / step))
    batches = max((len(line.counts) for line in lines), default=0)

    def up(count: float) -> float:
        return _HEIGHT - _BOTTOM - count / ceiling * (_HEIGHT - _BOTTOM - _TOP)

    def across(batch: int) -> float:
        return _LEFT + batch / max(1, batches - 1) * (_WIDTH - _RIGHT - _LEFT)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img"'
        f' aria-label="{escape(title, quote=True)}">',
        f"<style>{_STYLE}</style>",
        f'<text x="{_LEFT:.0f}" y="14">{escape(title)}</text>',
    ]
    for tick in range(0, ceiling + 1, step):
        parts.append(f'<path class="grid" d="M{_LEFT:.1f} {up(tick):.1f}H{_WIDTH - _RIGHT:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6:.1f}" y="{up(tick) + 4:.1f}" text-anchor="end">{tick:,}</text>')
    for batch in range(0, batches, max(1, batches // 10)):
        parts.append(f'<text x="{across(batch):.1f}" y="{_HEIGHT - 10:.0f}" text-anchor="middle">{batch + 1}</text>')
    parts.append(f'<path class="axis" d="M{_LEFT:.1f} {_TOP:.1f}V{_HEIGHT - _BOTTOM:.1f}H{_WIDTH - _RIGHT:.1f}"/>')
    x = _LEFT
    for place, line in enumerate(lines):
        colour = _COLOURS[place % len(_COLOURS)]
        points = " ".join(f"{across(batch):.1f},{up(count):.1f}" for batch, count in enumerate(line.counts))
        parts.append(f'<polyline class="way" stroke="{colour}" points="{points}"/>')
        parts.append(f'<path class="way" stroke="{colour}" d="M{x:.1f} 30h18"/>')
        parts.append(f'<text x="{x + 24:.1f}" y="34">{escape(line.name)}</text>')
        # A name takes its own room, whatever its length.
        x += max(170.0, 44.0 + 6.5 * len(line.name))
    return "".join([*parts, "</svg>"])


def _step(top: int) -> int:
    """A round number of which a few make the axis."""
    rough = max(1.0, top / _TICKS)
    power = 10 ** math.floor(math.log10(rough))
    return int(next(power * factor for factor in _STEPS if power * factor >= rough))
