"""Wait for what is left of a driver that was killed: its JVM lives on for some seconds, and may do a batch more.

The lock of a run (`run_lock.py`) is given back when its Python process ends. A second one is held by the JVM, so the
next run knows when nobody writes to the checkpoint any more: Spark's logs, its state and the sink are read only then.
A JVM whose driver is gone ends by itself. Whoever waits for longer than a glance is told so.

Only on a local disk. Elsewhere a run whose driver was killed leaves its lease, and the next one waits for longer than
such a JVM lives. Not decided here: executors of a cluster that outlive both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # py4j ships no types
from pyspark.sql import SparkSession

PATIENCE = 60.0
"""Seconds that a JVM without a driver is given to end."""
TOLD_AFTER = 2.0
"""Seconds of waiting after which it is said that one waits."""
_BETWEEN = 0.2
_NAME = "lock.jvm"


class JvmLock:
    """The lock that the JVM of a run holds in a folder."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / _NAME
        self._opened: Any = None

    def take(
        self, spark: SparkSession, patience: float = PATIENCE, *, say: Callable[[str], None] | None = None
    ) -> bool:
        """Whether it is this JVM's now, once that of a run before has ended; `say` hears it if that takes a while."""
        began = time.monotonic()
        jvm: Any = spark._jvm
        opened = jvm.java.io.RandomAccessFile(str(self._file.absolute()), "rw")
        try:
            while opened.getChannel().tryLock() is None:
                waited = time.monotonic() - began
                if waited > patience:
                    opened.close()
                    return False
                if say is not None and waited > TOLD_AFTER:
                    say(
                        f"note: the driver of the last run on {self._file.parent} has ended, and its JVM has not: this "
                        f"run waits for it, at most {patience:.0f} seconds"
                    )
                    say = None
                time.sleep(_BETWEEN)
        except Py4JJavaError:
            # Another run in this very JVM has it.
            opened.close()
            return False
        self._opened = opened
        return True

    def release(self) -> None:
        """Give it up."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None
