"""What every kind of promise offers: hooks that do nothing, and promise rows that are counted once."""

from __future__ import annotations

from penstock.runtime.promise.value_table import ValueTable
from penstock.runtime.promise.watch import Watch
from tests.runtime.driving import Driver, plan_of
from tests.runtime.stored import stored

SCRIPT = (
    "CREATE STREAM s (k BIGINT, ts BIGINT, n BIGINT, PUNCTUATED ON (k) WHEN n < 0);"
    "CREATE STREAM t (k BIGINT, ts BIGINT, n BIGINT); SELECT s.n, t.n AS tn FROM s, t WHERE s.k = t.k;"
)


class Held(Watch):
    """A watch that holds values, and no more."""

    parts = ("values",)

    def __init__(self) -> None:
        plan = plan_of(SCRIPT)
        super().__init__(plan, plan.promises[0])
        self.values = ValueTable(("k",))


def test_a_hook_that_is_not_overridden_does_nothing() -> None:
    watch = Held()
    assert (watch.met(), watch.forget(3), watch.k, watch.is_used, watch.position) == ({}, 0, None, None, 0)
    assert not watch.sees_all_rows


def test_the_synopses_that_it_names_are_its_promise_rows() -> None:
    watch = Held()
    assert (watch.promise_rows, watch.promise_bytes) == (0, 0)
    watch.values.rows.segments = stored({"k": [1, 2]}).segments
    watch.values.rows.rebase()
    assert watch.promise_rows == 2
    assert watch.promise_bytes > 0
    watch.finish()
    assert watch.promise_rows == 2


def test_promise_rows_are_in_the_metrics() -> None:
    driver = Driver(SCRIPT)
    assert driver.step(s=[(1, 0, -1), (2, 0, -1), (2, 0, -1)], t=[]).metrics.promise_rows == 2
