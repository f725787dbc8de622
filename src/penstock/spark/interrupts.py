"""Ctrl-C, or SIGTERM as Kubernetes sends it, as a wish, not as an exception at any place.

PySpark's own handler cancels jobs through the gateway to the JVM, and raises wherever the driver happens to be; in the
middle of another call through that gateway this ends in a trace. Here the signal is noted, and the run looks at it
between two looks at Spark's progress, so that a batch under way is left or finished as Spark stops a query.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

from penstock.spark.failures import SPARK_ERRORS, has_ended, is_shut_down, jvm_ended


@dataclass
class Interrupt:
    """Whether somebody wishes the run to end."""

    asked: bool = False

    def heed(self) -> None:
        """Raise KeyboardInterrupt, here, if somebody does."""
        if self.asked:
            raise KeyboardInterrupt


@contextmanager
def noted_interrupts() -> Iterator[Interrupt]:
    """While it lasts, SIGINT and SIGTERM are noted; only the main thread can ask for that."""
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return

    def note(_signal: int, _frame: object) -> None:
        interrupt.asked = True

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ending_of(spark: SparkSession, error: BaseException, interrupt: Interrupt, *, resuming: bool) -> BaseException:
    """What a run ends with in which something failed.

    Whoever ends a whole group of processes ends the JVM too, and it may be first at it: what fails then is the end that
    was asked for.
    """
    if interrupt.asked and (isinstance(error, SPARK_ERRORS) or is_shut_down(spark)):
        return KeyboardInterrupt()
    if not has_ended(spark, error):
        return error
    return KeyboardInterrupt() if interrupt.asked else jvm_ended(resuming=resuming)
