"""Queries that a program starts itself, of `penstock.stream` or `penstock.adopt`: when one ends, its caches go.

`penstock run` knows when its queries end. Of others Spark tells: a listener notes, by what a query observes, which are
Penstock's, and has the caches of one that terminated removed from all hosts. A program that ends at once, before Spark
has told, has it done as it ends, if its session is still there; what even that misses goes as `cache.sweep` says.
"""

from __future__ import annotations

import atexit
import threading
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from penstock.spark.cluster import forget_everywhere


class _Listener(StreamingQueryListener):
    """Follows the queries of one session's context."""

    def __init__(self, spark: SparkSession) -> None:
        self.session = spark
        self.runs: dict[str, str] = {}
        """By observation, the run whose caches they are."""
        self._started: dict[str, set[str]] = {}
        """By Spark's name for one start of a query, the runs that it was seen to be of."""
        self._lock = threading.Lock()

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Nothing tells yet whose it is."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """See which runs it is of."""
        observed = event.progress.observedMetrics
        found = {run for name, run in list(self.runs.items()) if name in observed}
        with self._lock:
            self._started.setdefault(str(event.progress.runId), set()).update(found)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """It goes on."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Remove its caches; in a thread, since Spark waits for listeners."""
        with self._lock:
            found = self._started.pop(str(event.runId), set())
        if found:
            threading.Thread(target=self._forget, args=(found,), name="penstock: caches of a query that ended").start()

    def at_exit(self) -> None:
        """Of what was seen and not told to have ended."""
        with self._lock:
            found = {run for runs in self._started.values() for run in runs}
            self._started.clear()
        self._forget(found)

    def _forget(self, runs: set[str]) -> None:
        for run in runs:
            forget_everywhere(self.session, run)


_listeners: dict[str, _Listener] = {}
"""By Spark's name for the application."""


def forget_when_it_ends(spark: SparkSession, observation: str, run: str) -> None:
    """Have the caches of a run removed when the query that observes so has ended."""
    name = str(spark.sparkContext.applicationId)
    if name not in _listeners:
        listener = _Listener(spark)
        spark.streams.addListener(listener)
        atexit.register(listener.at_exit)
        _listeners[name] = listener
    _listeners[name].runs[observation] = run
