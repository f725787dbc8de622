"""Queries are started in turn, as many at a time as there are cores; one that Spark gave up on is started again."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j ships no types
from pyspark.errors import PySparkException

from penstock.errors import DataError
from penstock.spark import run, under_way
from penstock.spark.interrupts import Interrupt, ending_of
from penstock.spark.starts import Starts
from tests.spark.conftest import Bench
from tests.spark.test_run import JOIN, KN, PLAIN, expected, rows

HASTE = RuntimeError("org.apache.spark.SparkException: Python worker failed to connect back.")


class Handle:
    """A query of Spark's that ends with its first batch, or fails before."""

    def __init__(self, tell: Callable[[str], None], failure: Exception | None = None) -> None:
        self.tell = tell
        self.failure = failure
        self.isActive = failure is None
        self.status = {"message": "Processing new data"}

    def exception(self) -> Exception | None:
        return self.failure

    def awaitTermination(self, timeout: int) -> bool:  # noqa: ARG002, N802 - as Spark has it
        self.tell("its name is free")
        if self.failure is not None:
            raise PySparkException(str(self.failure))
        return True


class Queries:
    """Queries that end with their first batch; what happens to them, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, names: str, *, has_checkpoint: bool = True) -> None:
        self.told: list[str] = []
        self.failures: list[Exception] = []
        """What the next starts end with."""
        self.running: list[Any] = [self._query(name, has_checkpoint=has_checkpoint) for name in names]
        monkeypatch.setattr(under_way, "_POLL_SECONDS", 0.0)

    def _query(self, name: str, *, has_checkpoint: bool) -> Any:
        kept = SimpleNamespace(
            folder=name,
            declare_end=lambda: self.told.append(f"{name} is to end"),
            confirm_end=lambda: self.told.append(f"{name} has ended"),
        )
        query = SimpleNamespace(name=name)
        checkpoint = kept if has_checkpoint else None
        return SimpleNamespace(query=query, checkpoint=checkpoint, handle=None, seen=-1, starts=0, resumes=False)

    def _take(self, one: Any) -> None:
        if one.handle.isActive:
            one.seen += 1
            one.handle.isActive = False
            self.told.append(f"{one.query.name} had a batch")

    def start(self, one: Any) -> None:
        one.starts += 1
        one.handle = Handle(self.told.append, self.failures.pop() if self.failures else None)
        self.told.append(f"{one.query.name} starts")

    def go(self, cores: int) -> None:
        starts = Starts(self.running, self.start, cores)
        under_way.watch(self.running, starts, Interrupt(), self._take, lambda _: False)


def test_the_end_is_told_to_queries_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = Queries(monkeypatch, "ab")
    once = ["a starts", "a had a batch", "b starts", "b had a batch"]
    queries.go(cores=1)
    assert queries.told == once
    queries.told.clear()
    run._end(queries.running, lambda: queries.go(cores=1))
    # Spark gives the name of a query back after it calls it inactive, and starts no second one of that name before.
    to_end = [f"{name} is to end" for name in "ab"]
    free = "its name is free"
    assert queries.told == [to_end[0], free, to_end[1], free, *once, "a has ended", "b has ended"]


def test_on_several_cores_they_start_together(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = Queries(monkeypatch, "abc")
    queries.go(cores=2)
    assert queries.told[:2] == ["a starts", "b starts"]
    assert queries.told.index("c starts") > queries.told.index("a had a batch")


def test_a_query_for_which_no_worker_came_is_started_again_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = Queries(monkeypatch, "a")
    queries.failures = [HASTE] * 3
    queries.go(cores=1)
    assert queries.told == ["a starts", "its name is free"] * 3 + ["a starts", "a had a batch"]
    queries = Queries(monkeypatch, "a")
    queries.failures = [HASTE] * 4
    with pytest.raises(DataError, match="query a failed"):
        queries.go(cores=1)


def test_without_a_checkpoint_it_begins_again_only_before_its_first_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = Queries(monkeypatch, "a", has_checkpoint=False)
    queries.failures = [HASTE]
    queries.go(cores=1)
    assert queries.told == ["a starts", "its name is free", "a starts", "a had a batch"]
    queries = Queries(monkeypatch, "a", has_checkpoint=False)
    queries.failures = [HASTE]
    queries.running[0].seen = 0
    with pytest.raises(DataError, match="query a failed"):
        queries.go(cores=1)


def test_it_goes_on_from_its_checkpoint(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given up after its first batch: what that gave stands, and is not given a second time."""
    for number in range(3):
        bench.write("s", rows(6 * number, 6), KN)
        bench.write("t", rows(6 * number, 6), KN)
    start, started = run._start, []

    def given_up_at_first(script: Any, one: Any, options: Any) -> None:
        start(script, one, options)
        started.append(one)
        if len(started) == 1:
            query = one.handle
            while not query.recentProgress and query.isActive:
                time.sleep(0.05)
            query.stop()
            one.handle = SimpleNamespace(
                isActive=False,
                _jsq=query._jsq,
                exception=lambda: HASTE,
                awaitTermination=query.awaitTermination,
                status=query.status,
                stop=query.stop,
            )

    monkeypatch.setattr(run, "_start", given_up_at_first)
    ran = bench.run(PLAIN + JOIN)
    assert ran.code == 0, ran.err
    assert len(started) == 2
    # A query that is stopped between the commit of a batch and its event has told nothing of it.
    told = [one["batch"] for one in ran.batches]
    assert told[0] == 0
    assert told == sorted(set(told))
    assert bench.sink() == expected(rows(0, 18), rows(0, 18))


class Stopping:
    """A query of Spark's that is asked to stop."""

    def __init__(self, failure: str | None = None, seconds: float = 0.0) -> None:
        self.failure = failure
        self.seconds = seconds

    def stop(self) -> None:
        time.sleep(self.seconds)
        if self.failure is not None:
            raise PySparkException(self.failure)


def test_queries_are_stopped_at_once_and_one_that_does_not_in_time_is_told_apart() -> None:
    late = "An error occurred while calling o9.stop.: java.util.concurrent.TimeoutException: Stream Execution thread"
    asked: list[Any] = [
        SimpleNamespace(draining=[Stopping(seconds=0.3)], handle=Stopping(seconds=0.3)),
        SimpleNamespace(draining=[], handle=Stopping(late, seconds=0.3)),
        SimpleNamespace(draining=[], handle=None),
    ]
    since = time.monotonic()
    assert under_way.stop(asked) == [True, False, True]
    assert time.monotonic() - since < 0.6
    with pytest.raises(PySparkException, match="gone"):
        under_way.stop([SimpleNamespace(draining=[], handle=Stopping("the JVM is gone"))])  # type: ignore[list-item]


class Context:
    """The session of a program that `spark-submit` has started: its JVM is no process of this one."""

    def __init__(self, answer: bool | Exception) -> None:
        self._answer = answer
        self._gateway = SimpleNamespace()
        self._jsc = SimpleNamespace(sc=lambda: self)
        self.sparkContext = self

    def isStopped(self) -> bool:  # noqa: N802 - Spark's name
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


@pytest.mark.parametrize(
    ("error", "context", "asked", "ends_with"),
    [
        (Py4JError("Cannot call methods on a stopped SparkContext"), Context(True), True, KeyboardInterrupt),
        (DataError("query out failed"), Context(True), True, KeyboardInterrupt),
        (DataError("query out failed"), Context(ConnectionRefusedError()), True, KeyboardInterrupt),
        (DataError("query out failed"), Context(False), True, DataError),
        (DataError("query out failed"), Context(True), False, DataError),
        (Py4JError("no answer"), Context(True), False, Py4JError),
    ],
)
def test_what_fails_while_the_context_is_shut_down_is_the_end_that_was_asked_for(
    error: Exception, context: Any, asked: bool, ends_with: type[BaseException]
) -> None:
    """SIGTERM to a group of processes, as systemd sends it, ends `spark-submit` and its Python at once."""
    assert type(ending_of(context, error, Interrupt(asked), resuming=True)) is ends_with
