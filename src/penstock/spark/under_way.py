"""Queries under way until they end: each is looked at, started again where it can go on, and stopped.

A query that Spark gave up on before its first row is started again, and so is one that met JSON which only Spark reads
as it means (`left_to_spark`); any other failure ends the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import PenstockError
from penstock.spark.failures import SPARK_ERRORS, failure_of
from penstock.spark.interrupts import Interrupt
from penstock.spark.running import Running
from penstock.spark.starts import Starts, let_go

_POLL_SECONDS = 0.2
_HASTE = "Python worker failed to connect back"
_MOST_STARTS = 4


def watch(
    running: Sequence[Running],
    starts: Starts,
    interrupt: Interrupt,
    look: Callable[[Running], None],
    mended: Callable[[Running], bool],
) -> None:
    """Start all queries and return once they have ended; `mended` says whether one that failed may start once more."""
    while True:
        interrupt.heed()
        starts.go_on()
        started = [one for one in running if one.handle is not None]
        active = [one for one in started if one.handle is not None and one.handle.isActive]
        for one in started:
            look(one)
            if one in active:
                continue  # One that has ended since is seen the next time, and so started again if it can be.
            if can_go_on(one) and (_failed_by_haste(one) or mended(one)):
                let_go(one)
                starts.again(one)
            else:
                _raise_failure(one)
        if not active and starts.are_done:
            return
        time.sleep(_POLL_SECONDS)


def stop(running: Sequence[Running]) -> list[bool]:
    """Stop all queries, at once; whether each has in the time that Spark gives it (`session.SETTINGS`).

    A source that waits for brokers that are away hears of it a minute later, and whoever sent SIGTERM does not wait so
    long. The lock of such a query is left to the JVM, which has it until it ends.
    """

    def has_stopped(handle: StreamingQuery) -> bool:
        try:
            handle.stop()
        except SPARK_ERRORS as error:
            if "TimeoutException" not in str(error):
                raise
            return False
        return True

    started = [[h for h in (*one.draining, one.handle) if h is not None] for one in running]
    with ThreadPoolExecutor(max(1, sum(map(len, started)))) as pool:
        found = [[pool.submit(has_stopped, handle) for handle in handles] for handles in started]
    return [all(one.result() for one in of) for of in found]


def can_go_on(one: Running) -> bool:
    """Whether a query can be started again: from its checkpoint, or from the beginning."""
    return one.checkpoint is not None or one.seen < 0


def failure(one: Running, error: Exception) -> PenstockError:
    """What a query that failed has the run end with."""
    resuming = one.checkpoint.folder if one.checkpoint is not None and one.resumes and one.seen < 0 else None
    return failure_of(one.query.name, error, resuming)


def _failed_by_haste(one: Running) -> bool:
    """Whether Spark gave up on its Python."""
    assert one.handle is not None
    found = one.handle.exception()
    return found is not None and _HASTE in str(found) and one.starts < _MOST_STARTS


def _raise_failure(one: Running) -> None:
    assert one.handle is not None
    if (found := one.handle.exception()) is not None:
        raise failure(one, found) from found
