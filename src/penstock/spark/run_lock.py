"""One run at a time on a checkpoint.

**On a local disk** a run holds a lock of the system's, which takes it back when the process ends, however it ends; and
another one that its JVM holds, which may live longer (`jvm_lock.py`).

**Elsewhere** there is no such lock, and no clock that two hosts share. A run writes a file that says who it is, and
writes it anew every few seconds with another number. Whoever finds such a file looks at it for longer than that: if
it changes, another run is at work; if it does not, its run is gone, and the file is taken over. A run that ends
removes it, so that only the next run after one that was killed must wait.

Not decided here: what happens if a run that is believed gone comes back (a host that slept): Spark then finds the
batch in its log written already, and stops one of the two.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.errors import DataError
from penstock.spark.hadoop_path import AnyPath, HadoopPath
from penstock.spark.jvm_lock import TOLD_AFTER, JvmLock

RENEWED = 5.0
"""Seconds after which a run says anew that it is there."""
PATIENCE = 3 * RENEWED
"""Seconds without a word after which it is gone."""


class RunLock:
    """The lock in a folder."""

    def __init__(self, folder: AnyPath) -> None:
        self._folder = folder
        self._file = folder / "lock"
        self._descriptor: int | None = None
        self._lease: _Lease | None = None
        self._jvm: JvmLock | None = None

    def hold(self, spark: SparkSession, say: Callable[[str], None] | None = None) -> None:
        """Keep others out; raises DataError if a run is at work, OSError if nothing can be written.

        What is waited for is said.
        """
        if isinstance(self._file, HadoopPath):
            self._lease = _Lease(self._file)
            if not self._lease.taken(say):
                self._lease = None
                raise self._at_work()
            return
        self._hold_locally(self._file, spark, say)

    def _hold_locally(self, file: Path, spark: SparkSession, say: Callable[[str], None] | None) -> None:
        lock = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise self._at_work() from None
        self._descriptor = lock
        self._jvm = JvmLock(file.parent)
        if not self._jvm.take(spark, say=say):
            self.release()
            raise self._at_work()

    def _at_work(self) -> DataError:
        return DataError(
            f"another run is at work on the checkpoint {self._folder}",
            hint="wait until it ends, or use another --checkpoint",
        )

    def release(self) -> None:
        """Let others in."""
        if self._jvm is not None:
            self._jvm.release()
            self._jvm = None
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if self._lease is not None:
            self._lease.end()
            self._lease = None


class _Lease:
    """A file that is written anew while the run goes on."""

    def __init__(self, file: HadoopPath) -> None:
        self._file = file
        self._who = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex}"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)

    def taken(self, say: Callable[[str], None] | None) -> bool:
        """Whether the file is this run's now, which it then keeps."""
        if not self._file.create(self._said(0)):
            before = self._file.read_text()
            told = min(TOLD_AFTER, PATIENCE)
            time.sleep(told)
            if say is not None:
                say(
                    f"note: a run before has not given back {self._file.parent}: this run watches for {PATIENCE:.0f} "
                    "seconds whether it is still at work"
                )
            time.sleep(PATIENCE - told)
            if self._file.exists() and self._file.read_text() != before:
                return False
            self._file.write_text(self._said(0))
            # Of two who take it over at once, the later one has it.
            time.sleep(RENEWED / 5)
            if json.loads(self._file.read_text())[0] != self._who:
                return False
        self._thread.start()
        return True

    def end(self) -> None:
        """Give it up."""
        self._over.set()
        self._thread.join()
        self._file.unlink()

    def _said(self, number: int) -> str:
        return json.dumps([self._who, number])

    def _renew(self) -> None:
        number = 0
        while not self._over.wait(RENEWED):
            number += 1
            try:
                self._file.write_text(self._said(number))
            except OSError:
                continue  # A file system that is away for a moment: the next time, perhaps.
