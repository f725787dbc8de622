"""What Spark tells of a query's batches, each event once.

Spark keeps the last hundred events of a query, and `recentProgress` writes all of them as JSON and reads it back,
whenever it is asked. A run asks several times a second, so with small batches this took time that the batches lacked.
Here the events are looked through from the newest one back, by number and time, up to the one that was the newest last
time; only those since then are written and read.
"""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery


class ToldProgress:
    """How far the events of a query were looked at; of one that was started anew all are new."""

    def __init__(self) -> None:
        self._newest: tuple[str, int, str] | None = None

    def since_then(self, handle: StreamingQuery) -> list[StreamingQueryProgress]:
        """The events since the last time, the oldest first."""
        told = handle._jsq.recentProgress()
        new: list[Any] = []
        newest = self._newest
        for number in range(len(told) - 1, -1, -1):
            event = told[number]
            # A batch without rows, and the one of its number that has some, began at different times.
            name = (event.runId().toString(), event.batchId(), event.timestamp())
            if name == self._newest:
                break
            newest = newest if new else name
            new.append(event)
        self._newest = newest
        return [StreamingQueryProgress.fromJson(json.loads(event.json())) for event in reversed(new)]
