"""Spark's own rule for the state of a join: by the cases of its documentation. tests/spark asks Spark itself."""

from __future__ import annotations

import pytest

import penstock
from penstock.analysis.reasons import SparkKeeps
from penstock.analysis.spark_join import SparkKept, spark_keeps

MINUTE = 60_000_000
MARKED = ", ORDERED BY ts WITHIN {0} MINUTES"
LATE = MARKED.format(1)
NONE = SparkKeeps.NO_WATERMARK(["a", "b"])
BAND = "a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 10 MINUTES"


def _kept(select: str, a: str = LATE, b: str = MARKED.format(5), kind: str = "TIMESTAMP") -> dict[str, SparkKept]:
    streams = "".join(
        f"CREATE STREAM {name} (k BIGINT, ts {kind}, EVENT TIME ts{said});" for name, said in (("a", a), ("b", b))
    )
    (query,) = penstock.parse(streams + f"CREATE STREAM c (k BIGINT, ts {kind}, EVENT TIME ts{a});" + select).queries
    return spark_keeps(query)


def test_two_watermarks_and_a_condition_of_time_let_rows_go_by_the_least_watermark() -> None:
    found = _kept(f"SELECT a.k FROM a JOIN b ON {BAND};")
    assert (found["a"].end, found["b"].end) == (15 * MINUTE, 5 * MINUTE)
    assert found["a"].because == SparkKeeps.UNTIL_PASSED_BY("a.ts", "+", "10 MINUTES")


def test_a_watermark_in_the_key_lets_rows_of_both_sides_go() -> None:
    found = _kept("SELECT a.k FROM a JOIN b ON a.k = b.k AND a.ts = b.ts;", b="")
    assert (found["a"].ticks, found["b"].ticks) == (0, 0)


@pytest.mark.parametrize(
    ("select", "a", "b", "because"),
    [
        (f"SELECT a.k FROM a JOIN b ON {BAND};", LATE, "", SparkKeeps.NO_WATERMARK(["b"])),
        ("SELECT a.k FROM a JOIN b ON a.k = b.k;", LATE, LATE, SparkKeeps.NO_TIME_CONDITION(["a"], ["b"])),
        (f"SELECT a.k FROM a JOIN b ON {BAND};", ", ORDERED BY ts WITHIN 9 ROWS", LATE, SparkKeeps.NO_WATERMARK(["a"])),
        ("SELECT a.k FROM a JOIN b ON a.ts < b.ts;", LATE, LATE, SparkKeeps.REFUSES_UNEQUAL()),
        (f"SELECT a.k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE {BAND});", LATE, LATE, SparkKeeps.REFUSES_ANTI()),
        ("SELECT a.k FROM a LEFT JOIN b ON a.k = b.k;", "", "", SparkKeeps.REFUSES_OUTER(NONE)),
        ("SELECT a.k FROM a, b [ROWS 9] WHERE a.k = b.k;", LATE, LATE, None),
    ],
)  # fmt: skip
def test_else_it_keeps_for_ever_or_refuses(select: str, a: str, b: str, because: object) -> None:
    found = _kept(select, a, b)["a"]
    assert found.end is None
    assert because is None or found.because == because


def test_promises_that_spark_does_not_know_change_nothing() -> None:
    known = _kept("SELECT a.k FROM a JOIN b ON a.k = b.k;", ", FOLLOWS b (k) ON (k) WITHIN 3 ROWS", ", PRIMARY KEY (k)")
    assert {one.end for one in known.values()} == {None}


def test_a_row_is_kept_again_with_those_that_it_met() -> None:
    found = _kept(
        f"SELECT a.k FROM a JOIN b ON {BAND} JOIN c ON c.k = a.k AND c.ts BETWEEN b.ts AND b.ts + INTERVAL 1 HOUR;"
    )
    # The joined row waits for c until an hour after b, which may be ten minutes after a.
    assert [found[alias].ticks for alias in "abc"] == [70 * MINUTE, 60 * MINUTE, 0]


def test_other_times_than_timestamps_have_no_watermark() -> None:
    select = "SELECT a.k FROM a JOIN b ON a.k = b.k AND b.ts = a.ts;"
    found = _kept(select, ", ORDERED BY ts WITHIN 5", ", ORDERED BY ts WITHIN 5", kind="BIGINT")
    assert found["a"].end is None


def test_a_range_is_the_condition_that_it_is() -> None:
    found = _kept("SELECT a.k FROM a [RANGE 7 MINUTES], b WHERE a.k = b.k;")
    assert (found["a"].ticks, found["b"].ticks) == (7 * MINUTE, None)


THREE = "a.k = b.k AND a.k = c.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR AND c.ts >= a.ts"


@pytest.mark.parametrize(
    ("select", "times"),
    [
        (f"SELECT a.ts, b.ts AS paid FROM a, b, c WHERE {THREE};", ("a.ts", "b.ts")),
        (f"SELECT a.k FROM a, b, c WHERE {THREE} AND c.ts >= b.ts;", ("a.ts", "b.ts")),
        (f"SELECT a.k, c.ts FROM a, b, c WHERE {THREE};", None),
        ("SELECT a.ts, b.ts AS paid FROM a, b WHERE a.k = b.k AND a.ts = b.ts;", None),
    ],
)
def test_rows_joined_before_that_carry_two_watermarks_are_refused(select: str, times: tuple[str, ...] | None) -> None:
    """As Spark 4.3 answers these joins of three rate streams."""
    streams = "".join(f"CREATE STREAM {name} (k BIGINT, ts TIMESTAMP, EVENT TIME ts{LATE});" for name in "abc")
    (query,) = penstock.parse(streams + select).queries
    found = spark_keeps(query)
    refused = {one.because for one in found.values() if one.is_refused}
    assert refused == (set() if times is None else {SparkKeeps.REFUSES_SEVERAL_TIMES(times)})
    assert times is None or all(one.is_refused for one in found.values())
