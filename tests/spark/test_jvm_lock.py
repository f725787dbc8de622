"""A run that was killed is waited for as long as its JVM lives, which may be longer than its driver does."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import DataError
from penstock.spark import jvm_lock
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.jvm_lock import JvmLock

HOLDER = """
import java.io.*;
class Holder {
  public static void main(String[] a) throws Exception {
    new RandomAccessFile(a[0], "rw").getChannel().lock();
    System.out.println("held"); System.out.flush();
    System.in.read();
  }
}
"""
"""What the JVM of a killed driver does for some seconds: it holds the lock, and ends."""


@pytest.fixture
def orphan(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    source = tmp_path / "Holder.java"
    source.write_text(HOLDER)
    (tmp_path / "q").mkdir()
    command = ["java", str(source), str(tmp_path / "q" / "lock.jvm")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as held:
        assert held.stdout is not None
        assert held.stdout.readline() == "held\n"
        yield held
        held.kill()


def test_a_checkpoint_is_read_once_the_jvm_of_the_last_run_has_ended(
    tmp_path: Path, spark: SparkSession, orphan: subprocess.Popen[str]
) -> None:
    threading.Timer(1.5, orphan.kill).start()
    started = time.monotonic()
    said: list[str] = []
    Checkpoint(tmp_path, "q").wait_for_the_last_run(spark, said.append)
    assert time.monotonic() - started > 1
    assert not said, "nobody need hear of a second"


def test_whoever_waits_for_longer_is_told_once(
    tmp_path: Path, spark: SparkSession, orphan: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jvm_lock, "TOLD_AFTER", 0.3)
    said: list[str] = []
    threading.Timer(1.5, orphan.kill).start()
    Checkpoint(tmp_path, "q").wait_for_the_last_run(spark, said.append)
    assert said == [
        f"note: the driver of the last run on {tmp_path / 'q'} has ended, and its JVM has not: this run waits for it, "
        "at most 60 seconds"
    ]


def test_a_jvm_that_does_not_end_is_a_run_at_work(
    tmp_path: Path, spark: SparkSession, orphan: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jvm_lock.JvmLock.take, "__defaults__", (0.5,))
    with pytest.raises(DataError, match="another run is at work"):
        Checkpoint(tmp_path, "q").hold(spark)
    orphan.kill()
    orphan.wait()
    checkpoint = Checkpoint(tmp_path, "q")
    checkpoint.hold(spark)
    checkpoint.release()


def test_within_one_jvm_it_is_taken_once(tmp_path: Path, spark: SparkSession) -> None:
    first, second = JvmLock(tmp_path), JvmLock(tmp_path)
    assert first.take(spark)
    assert not second.take(spark)
    first.release()
    assert second.take(spark)
    second.release()
