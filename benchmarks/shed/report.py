"""What was found, as lines of text and as JSON, the paper's words beside it. Nothing is measured here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.packets.report import machine, table
from benchmarks.shed.figures import Claim, Figure, Size

PUBLISHED = Path(__file__).with_name("published.json")


def as_text(size: Size, figures: Sequence[Figure], missing: Sequence[str]) -> list[str]:
    """All that is shown."""
    said = _published()["figures"]
    lines = [f"shed, {size.name} size; {machine()}", f"the paper: {_published()['source']}", ""]
    for figure in figures:
        lines.append(f"{figure.name}: {figure.title}")
        lines += [f"  the paper: {said[str(figure.number)]}"] if figure.number is not None else []
        lines += [*table(_rows(figure)), *(f"  {note}" for note in figure.notes), ""]
    claims = [(f"{figure.name}: ", claim) for figure in figures for claim in figure.claims]
    if claims:
        lines += ["measures", *table([["measure", "found", "target", ""], *(_judged(size, *one) for one in claims)])]
    return [*lines, *(f"not run: {what}" for what in missing)]


def as_json(size: Size, figures: Sequence[Figure], missing: Sequence[str]) -> str:
    """The same as one object."""
    told = [{**vars(figure), "claims": [vars(claim) for claim in figure.claims]} for figure in figures]
    whole = {"size": size.name, "judged": size.judged, "machine": machine(), "figures": told, "missing": [*missing]}
    return json.dumps({**whole, "published": _published()}, indent=1)


def _published() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    return read


def _rows(figure: Figure) -> list[list[str]]:
    """A row for each x; of a long series, about ten."""
    every = max(1, len(figure.x) // 10)
    rows = [[figure.x_name, *figure.series]]
    for place in range(0, len(figure.x), every):
        values = (series[place] for series in figure.series.values())
        rows.append([f"{figure.x[place]:,g}", *(f"{value:,.{figure.digits}f}" for value in values)])
    return rows


def _judged(size: Size, where: str, claim: Claim) -> list[str]:
    verdict = ("pass" if claim.met else "FAIL") if size.judged else "not judged at this size"
    return [where + claim.what, claim.found, claim.target, verdict]
