"""Queries are started in turn, as many at a time as there are cores; one that Spark gave up on is started again."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import DataError
from penstock.spark import run
from penstock.spark.interrupts import Interrupt
from tests.spark.conftest import Bench
from tests.spark.test_run import JOIN, KN, PLAIN, expected, rows

HASTE = RuntimeError("org.apache.spark.SparkException: Python worker failed to connect back.")


class Handle:
    """A query of Spark's that ends with its first batch, or fails before."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.isActive = failure is None
        self.status = {"message": "Processing new data"}

    def exception(self) -> Exception | None:
        return self.failure


class Queries:
    """Queries that end with their first batch; what happens to them, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, names: str, *, has_checkpoint: bool = True) -> None:
        self.told: list[str] = []
        self.failures: list[Exception] = []
        """What the next starts end with."""
        self.running: list[Any] = [self._query(name, has_checkpoint=has_checkpoint) for name in names]
        monkeypatch.setattr(run, "take_progress", self._take)
        monkeypatch.setattr(run, "_POLL_SECONDS", 0.0)

    def _query(self, name: str, *, has_checkpoint: bool) -> Any:
        kept = SimpleNamespace(
            folder=name,
            declare_end=lambda: self.told.append(f"{name} is to end"),
            confirm_end=lambda: self.told.append(f"{name} has ended"),
        )
        query = SimpleNamespace(name=name)
        checkpoint = kept if has_checkpoint else None
        return SimpleNamespace(query=query, checkpoint=checkpoint, handle=None, seen=-1, starts=0, resumes=False)

    def _take(self, one: Any, *_: Any) -> None:
        if one.handle.isActive:
            one.seen += 1
            one.handle.isActive = False
            self.told.append(f"{one.query.name} had a batch")

    def start(self, one: Any) -> None:
        one.starts += 1
        one.handle = Handle(self.failures.pop() if self.failures else None)
        self.told.append(f"{one.query.name} starts")

    def go(self, cores: int) -> None:
        run._watch(self.running, None, None, run._Starts(self.running, self.start, cores), Interrupt())


def test_the_end_is_told_to_queries_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = Queries(monkeypatch, "ab")
    once = ["a starts", "a had a batch", "b starts", "b had a batch"]
    queries.go(cores=1)
    assert queries.told == once
    queries.told.clear()
    run._end(queries.running, lambda: queries.go(cores=1))
    assert queries.told == ["a is to end", "b is to end", *once, "a has ended", "b has ended"]


def test_on_several_cores_they_start_together(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = Queries(monkeypatch, "abc")
    queries.go(cores=2)
    assert queries.told[:2] == ["a starts", "b starts"]
    assert queries.told.index("c starts") > queries.told.index("a had a batch")


def test_a_query_for_which_no_worker_came_is_started_again_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = Queries(monkeypatch, "a")
    queries.failures = [HASTE] * 3
    queries.go(cores=1)
    assert queries.told == ["a starts"] * 4 + ["a had a batch"]
    queries = Queries(monkeypatch, "a")
    queries.failures = [HASTE] * 4
    with pytest.raises(DataError, match="query a failed"):
        queries.go(cores=1)


def test_without_a_checkpoint_it_begins_again_only_before_its_first_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = Queries(monkeypatch, "a", has_checkpoint=False)
    queries.failures = [HASTE]
    queries.go(cores=1)
    assert queries.told == ["a starts"] * 2 + ["a had a batch"]
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
                status=query.status,
                stop=query.stop,
            )

    monkeypatch.setattr(run, "_start", given_up_at_first)
    ran = bench.run(PLAIN + JOIN)
    assert ran.code == 0, ran.err
    assert len(started) == 2
    assert [one["batch"] for one in ran.batches] == [0, 1, 2]
    assert bench.sink() == expected(rows(0, 18), rows(0, 18))
