"""What the page shows of a query beside its batches: the verdict, the bounds, why rows stay, the graph of the join.

It is a value of plain lists and texts, since it is sent to the page and written beside a metrics file (`FILE.about`),
so that the page of a finished run can show it too. The names of states are those of the metrics.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.analysis.finding import Bounded, StateFinding, Verdict, each_block
from penstock.errors import DataError
from penstock.explain.block_text import of_all_blocks
from penstock.explain.closing_text import closed_once
from penstock.explain.graph_svg import join_graph
from penstock.explain.ink import Ink
from penstock.explain.plan_text import promise_lines, purge_lines
from penstock.explain.reason_words import told
from penstock.explain.report import headline
from penstock.model.query import Query
from penstock.model.shown_names import shown_names
from penstock.plan.plan import Plan
from penstock.plan.planner import as_run, closings_of

_PLAIN = Ink(colour=False, width=10_000)


def about(query: Query, verdict: Verdict, plan: Plan) -> dict[str, Any]:
    """All of it, ready to be written as JSON."""
    waits: dict[str, list[str]] = {}
    until: dict[str, dict[str, str]] = {}
    shown = shown_names(query)
    graphs = []
    for number, ((block, found), part) in enumerate(zip(each_block(query, verdict), plan.all_blocks, strict=True)):
        is_top = part.query == plan.query
        drawing, caption = join_graph(block, part, closings_of(as_run(block, found), found), f"g{number}")
        title = "" if is_top else shown.title(part.query).removeprefix("block ")
        graphs.append({"block": title, "svg": drawing, "caption": caption})
        for source in part.sources if part.rewriting is None else ():
            if (name := shown.of(part.query, source.alias)) is None:
                continue
            closed = closed_once(part, source.alias).items()
            until.setdefault(name, {}).update({shown.of(part.query, other) or other: once for other, once in closed})
            # In the cases of a query much is the same.
            each = (*waits.get(name, ()), *purge_lines(source, part, found), *promise_lines(part, source.alias))
            waits[name] = list(dict.fromkeys(each))
    first: dict[str, StateFinding] = {}
    for state in of_all_blocks(verdict).streams:
        first.setdefault(state.alias, state)
    states = [
        {
            "name": state.alias,
            "stream": state.stream,
            "verdict": state.finding.verdict,
            "bound": told(state.finding.bound) if isinstance(state.finding, Bounded) else "none",
            "rows": state.finding.rows if isinstance(state.finding, Bounded) else None,
            "waits": waits.get(state.alias, []),
            "until": until.get(state.alias, {}),
        }
        for state in first.values()
    ]
    budget = query.hints.budget
    return {
        "query": query.name,
        "verdict": verdict.verdict,
        "says": " ".join(headline(verdict, _PLAIN)),
        "budget": None if budget is None else str(budget),
        "budget_rows": None if budget is None else budget.rows,
        "states": states,
        "graphs": graphs,
    }


def write_about(metrics: Path | None, shown: Mapping[str, Mapping[str, Any]]) -> None:
    """Write what is known of the queries beside the file of their metrics, if there is one and it can be."""
    if metrics is not None and (not metrics.exists() or metrics.is_file()):
        # Whether metrics can be written there is told by who writes them.
        with contextlib.suppress(OSError):
            _beside(metrics).write_text(json.dumps(list(shown.values()), ensure_ascii=False), encoding="utf-8")


def read_about(metrics: Path) -> list[dict[str, Any]]:
    """What was written beside a file of metrics; nothing if nothing was."""
    place = _beside(metrics)
    if not place.is_file():
        return []
    try:
        found: list[dict[str, Any]] = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        hint = "remove it: the page then shows the numbers alone"
        raise DataError(f"cannot read {place}: {error}", hint=hint) from None
    return found


def _beside(metrics: Path) -> Path:
    return metrics.with_name(f"{metrics.name}.about")
