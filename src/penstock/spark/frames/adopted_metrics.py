"""The metrics of an adopted query, from the progress that Spark keeps of it.

What the cells count rides along as observed metrics (`penstock_…` in `lastProgress` and in listeners). Which plan
they are of is noted when a DataFrame is adopted; a query is known by the observations in its progress. The lines are
those of `penstock run --metrics`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import UsageError
from penstock.model.query import Query
from penstock.plan.plan import Plan
from penstock.spark.running import batches_seen
from penstock.spark.stream import Assembled

__all__ = ["MetricsTable", "StreamingQuery", "metrics_of_query", "note_adopted"]

_adopted: dict[str, tuple[Query, Plan, Assembled]] = {}
"""By observation."""

_SHOWN = ("batch", "rows_in", "rows_out", "state_rows", "pending_rows", "state_bytes", "violations", "seconds", "exact")


@dataclass(frozen=True)
class MetricsTable:
    """One line for each micro-batch, as `penstock run --metrics` writes them."""

    lines: tuple[dict[str, Any], ...]

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, place: int) -> dict[str, Any]:
        return self.lines[place]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.lines)

    def __str__(self) -> str:
        rows = [list(_SHOWN), *([_cell(line[name]) for name in _SHOWN] for line in self.lines)]
        widths = [max(len(row[place]) for row in rows) for place in range(len(_SHOWN))]
        return "\n".join("  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in _SHOWN)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_cell(line[name]))}</td>" for name in _SHOWN) + "</tr>"
            for line in self.lines
        )
        return f"<table><tr>{head}</tr>{body}</table>"


def note_adopted(query: Query, plan: Plan, assembled: Assembled) -> None:
    """Note whose counts an observation has."""
    _adopted[assembled.observation] = query, plan, assembled


def metrics_of_query(handle: StreamingQuery) -> MetricsTable:
    """The metrics of the batches that Spark still remembers."""
    if not isinstance(getattr(handle, "recentProgress", None), Sequence):
        raise UsageError(
            f"a running or ended query of Spark's is wanted, and this is of type {type(handle).__name__}",
            hint="pass what start() gave",
        )
    known = {name for progress in handle.recentProgress for name in progress["observedMetrics"]} & _adopted.keys()
    if not known:
        raise UsageError(
            "no batch of this query has counts of Penstock's",
            hint="pass a query that writes an adopted DataFrame, once it has taken a batch",
        )
    return MetricsTable(tuple(batches_seen(*_adopted[min(known)], handle)))


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={count}" for name, count in value.items() if count) or "0"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
