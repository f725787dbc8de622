"""Rows that come for a window whose counts were given already: Spark drops them and does not say how many.

Its own metric is of windows, taken after the rows of a batch are summed up. So each batch observes, by source, how many
of its rows lie in each window (`histogram_numeric`: exact while a batch touches at most MOST_WINDOWS windows), and the
driver, who knows what the clock was, counts those whose window was over. What Spark drops in a batch is what the
watermark of the batch before had passed; after a restart that one stands in Spark's log of offsets.

Such a row breaks ORDERED BY its event time, and is counted as a violation of it. Rows that are too late for ORDERED BY
but whose window is still open are counted like any other, and not looked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.model.spans import Span
from penstock.model.stream import Stream
from penstock.plan.counting import Rewriting
from penstock.spark.hadoop_path import AnyPath

MOST_WINDOWS = 256
WINDOWS = "windows"
"""The name of the measure."""


def windows_of(time: Column, made: Rewriting) -> Column:
    """How many rows lie in each window, as a measure: pairs of the window's number and a count."""
    number = F.floor(F.unix_micros(time) / F.lit(made.period))
    return F.histogram_numeric(number, F.lit(MOST_WINDOWS)).alias(WINDOWS)


def late_rows(made: Rewriting, measured: Mapping[str, Any], clock: int | None) -> dict[str, int]:
    """By source, the rows of a batch whose window the clock, in microseconds, had passed before it."""
    if clock is None:
        return {}
    # WITH BOUNDS a window is given once the clock has passed the stretch by which it reaches over its neighbour.
    margin = made.sight if made.with_bounds else 0
    found = {}
    for alias, windows in measured.items():
        over = (pair["y"] for pair in windows or () if (pair["x"] + 1) * made.period + margin <= clock)
        if count := round(sum(over)):
            found[alias] = count
    return found


@dataclass
class WatermarkBefore:
    """The watermark of the batch before, in microseconds, of a query that is followed batch by batch."""

    spark_folder: AnyPath | None = None
    """Spark's checkpoint, if there is one that lasts."""
    _batch: int = -1
    _last: int | None = None

    def before(self, progress: Any) -> int | None:
        """The watermark that the batch before this one had; None if it is not known, or no row had come."""
        batch = progress["batchId"]
        if self._batch != batch - 1:
            logged = self._logged(batch - 1)
            self._last = logged if logged is not None else self._last
        known = self._last
        text = (progress["eventTime"] or {}).get("watermark")
        if text is not None:
            self._last = round(datetime.fromisoformat(text).timestamp() * 1_000_000)
        self._batch = batch
        return known

    def _logged(self, batch: int) -> int | None:
        path = None if self.spark_folder is None else self.spark_folder / "offsets" / str(batch)
        if path is None or not path.exists():
            return None
        return int(json.loads(path.read_text(encoding="utf-8").splitlines()[1])["batchWatermarkMs"]) * 1000


def order_broken(stream: Stream) -> str:
    """The declaration that a late row breaks: the narrowest order of the event time that is no count of rows."""
    orders = [scheme for scheme in stream.low if isinstance(scheme.slack, Span) or scheme.within is None]
    narrowest = min(orders, key=lambda scheme: scheme.slack.ticks if isinstance(scheme.slack, Span) else 0)
    return narrowest.on(stream.name)
