"""What a batch job of Spark is at: a line every two seconds, for whoever waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from pyspark.sql import SparkSession

from penstock.errors import visible

_SECONDS = 2.0


class Progress:
    """Says what goes on, with the seconds since the start; on a terminal the line is overwritten."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.live = out.isatty()
        self.began = time.monotonic()

    def say(self, text: str) -> None:
        """One step."""
        line = f"[{time.monotonic() - self.began:5.0f} s] {text}"
        self.out.write(f"\r\x1b[2K{visible(line)}" if self.live else f"{visible(line)}\n")
        self.out.flush()

    def close(self) -> None:
        """Leave the line empty."""
        if self.live:
            self.out.write("\r\x1b[2K")
            self.out.flush()

    @contextmanager
    def following(self, spark: SparkSession, text: str) -> Iterator[None]:
        """While Spark works on it: the step, and how many tasks are done."""
        self.say(text)
        done = threading.Event()
        follower = threading.Thread(target=self._follow, args=(spark, text, done), daemon=True)
        follower.start()
        try:
            yield
        finally:
            done.set()
            follower.join()

    def _follow(self, spark: SparkSession, text: str, done: threading.Event) -> None:
        tracker = spark.sparkContext.statusTracker()
        while not done.wait(_SECONDS):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            tasks = sum(s.numTasks for s in stages if s is not None)
            finished = sum(s.numCompletedTasks for s in stages if s is not None)
            self.say(f"{text}: {finished} of {tasks} tasks of the stages under way" if tasks else text)
