"""Wherever Spark says that a condition over two times holds, the bounds that are read off it hold too, in any zone."""

from __future__ import annotations

from itertools import product

import pytest
from pyspark.sql import SparkSession

from penstock.model.predicates import Difference, Op
from penstock.sql import parse_script

_STREAMS = "".join(f"CREATE STREAM {s} (ts TIMESTAMP, n TIMESTAMP_NTZ, d DATE);\n" for s in "ab")
_SIGNS = ("= 1", "< 0", ">= -1")
_UNITS = ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
CONDITIONS = [
    *(f"date_trunc('{unit}', a.{c}) = date_trunc('{unit}', b.{c})" for unit in _UNITS for c in ("ts", "n")),
    *(f"date_trunc('{unit}', a.{c}) {o} b.{c}" for unit in _UNITS for c in ("ts", "n") for o in ("=", "<=", ">")),
    *("to_date(a.ts) >= b.ts", "b.n = CAST(a.n AS DATE)", "trunc(a.d, 'MONTH') <= b.d", "trunc(a.d, 'WEEK') = b.d"),
    *("to_date(a.ts) = to_date(b.ts)", "CAST(a.n AS DATE) = CAST(b.n AS DATE)", "datediff(a.d, b.d) <= 1"),
    *(f"timestampdiff({u}, a.{c}, b.{c}) {o}" for u in _UNITS[:4] for c in ("ts", "n") for o in _SIGNS),
    *("datediff(a.ts, b.ts) = 0", "datediff(a.ts, b.ts) > 1", "abs(timestampdiff(HOUR, a.ts, b.ts)) < 2"),
    *("unix_timestamp(a.ts) - unix_timestamp(b.ts) BETWEEN 0 AND 60", "unix_millis(b.ts) - unix_millis(a.ts) > 5"),
    *("0 >= unix_seconds(a.ts) - unix_seconds(b.ts)", "abs(unix_micros(a.ts) - unix_micros(b.ts)) <= 7"),
    *(f"unix_timestamp(a.{c}) - unix_timestamp(b.{c}) <= {n}" for c in "nd" for n in (0, 82_800, 169_200)),
    *(f"unix_seconds(a.n) - unix_seconds(b.n) <= {n}" for n in (0, 3_600)),
    *(
        f"date_trunc('{u}', a.{c}) {o} date_trunc('{u}', b.{c})"
        for u in _UNITS
        for c in ("ts", "n")
        for o in ("<", ">=")
    ),
    *(f"date_trunc('HOUR', a.{c}) = date_trunc('HOUR', b.{c}) + INTERVAL 1 HOUR" for c in ("ts", "n", "d")),
    *(f"a.{c} < date_trunc('DAY', b.{c}) + INTERVAL {n} DAYS" for c in ("ts", "n", "d") for n in (0, 1, 2)),
    *(f"date_trunc('DAY', a.ts) - date_trunc('HOUR', b.ts) {o} INTERVAL 2 HOURS" for o in ("<=", ">", "=")),
    *(f"a.ts {o} timestampadd({u}, {n}, b.ts)" for u in ("DAY", "WEEK") for n in (1, -1) for o in ("<=", ">")),
    *("to_date(a.ts) <= date_add(to_date(b.ts), 1)", "to_date(a.ts) > date_sub(b.ts, 1)"),
    *("to_date(a.ts) < to_date(b.ts) + 1", "to_date(a.n) >= to_date(b.n) - 1", "a.d::date - b.d <= INTERVAL 1 DAY"),
    *("date_trunc('DAY', a.d) <= date_trunc('DAY', b.d) + INTERVAL 23 HOURS", "abs(a.ts - b.ts) <= INTERVAL 1 HOUR"),
    *("CAST(a.ts AS BIGINT) - CAST(b.ts AS BIGINT) BETWEEN 0 AND 60", "datediff(a.ts, b.ts) IN (0, 1)"),
    *(f"datediff({u}, b.ts, a.ts) {o}" for u in ("HOUR", "DAY") for o in _SIGNS),
    *("date_trunc('HOUR', a.ts + INTERVAL 90 MINUTES) <= b.ts", "abs(a.n - b.n) < INTERVAL 1 HOUR"),
]
_FIRSTS = (
    "2011-12-29 22:00:00",
    "2023-10-29 00:30:00",
    "2023-10-28 23:59:59",
    "2024-03-31 00:45:00",
    "1969-12-31 23:59:59",
)
_SHORT = (0, 1, 999_999, 59_000_000, 60_000_000, 3_599_999_999)
_STEPS = (*_SHORT, 3_600_000_000, 5_400_000_000, 8_100_000_000, 11_000_000_000, 86_399_999_999, 172_800_000_001)


def _is_broken(bound: Difference) -> str:
    """Whether two times lie too far apart, as Spark works it out without a zone."""
    later, earlier, ticks = bound.minuend, bound.subtrahend, bound.span.ticks + (bound.op is Op.LE)
    match later.column:
        case "ts":
            return f"unix_micros({later}) - unix_micros({earlier}) >= {ticks}"
        case "d":
            return f"86400000000 * datediff({later}, {earlier}) >= {ticks}"
        case _:
            return f"{later} - {earlier} >= make_dt_interval(0, 0, 0, {ticks // 10**6}.{ticks % 10**6:06}BD)"


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Pacific/Apia"])
def test_the_bounds_hold_wherever_the_condition_does(spark: SparkSession, zone: str) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        days = [(f, g) for f, g in product(_FIRSTS, _FIRSTS) if f[:8] == g[:8]]
        pairs = [(f, g, s, t) for f, g in days for s, t in product(_STEPS, _STEPS)]
        rows = spark.createDataFrame(pairs, "f STRING, g STRING, s BIGINT, t BIGINT").selectExpr(
            "timestamp_micros(unix_micros(CAST(concat(f, ' UTC') AS TIMESTAMP)) + s) AS x",
            "timestamp_micros(unix_micros(CAST(concat(g, ' UTC') AS TIMESTAMP)) + t) AS y",
            # Times without a zone, some of them in an hour that the zone leaves out.
            "CAST(f AS TIMESTAMP_NTZ) + make_dt_interval(0, 0, 0, CAST(s AS DECIMAL(18, 6)) / 1000000) AS p",
            "CAST(g AS TIMESTAMP_NTZ) + make_dt_interval(0, 0, 0, CAST(t AS DECIMAL(18, 6)) / 1000000) AS q",
        )
        frame = rows.selectExpr(
            "struct(x AS ts, p AS n, CAST(p AS DATE) AS d) AS a",
            "struct(y AS ts, q AS n, CAST(q AS DATE) AS d) AS b",
        )
        asked = []
        for number, text in enumerate(CONDITIONS):
            found = parse_script(f"{_STREAMS} SELECT a.ts FROM a, b WHERE {text};").queries[0].where
            bounds = [p for p in found if isinstance(p, Difference)]
            assert bounds, text
            broken = " OR ".join(map(_is_broken, bounds))
            asked += [f"count_if(({text}) AND ({broken})) AS broken{number}", f"count_if({text}) AS held{number}"]
        told = frame.selectExpr(*asked).first()
        assert told is not None
        assert {text: told[f"broken{n}"] for n, text in enumerate(CONDITIONS) if told[f"broken{n}"]} == {}
        assert sum(told[f"held{n}"] > 0 for n in range(len(CONDITIONS))) > len(CONDITIONS) // 2
    finally:
        spark.conf.set("spark.sql.session.timeZone", before or "UTC")


_INTERVALS = """
INTERVAL '1:30' MINUTE TO SECOND; INTERVAL '1 02:30:05.5' DAY TO SECOND; INTERVAL '-1:30' HOUR TO MINUTE;
INTERVAL '1 2' DAY TO HOUR; INTERVAL 1 HOUR 30 MINUTES; make_dt_interval(1, 2, 3, 4.5);
make_interval(0, 0, 1, 2, 3, 4, 5.5); INTERVAL '1 hour 30 minutes'; INTERVAL 2 WEEKS; make_dt_interval(0, 1)
"""


def test_intervals_are_as_long_as_to_spark(spark: SparkSession) -> None:
    intervals = [text.strip() for text in _INTERVALS.split(";")]
    at = "TIMESTAMP '2024-06-01 00:00:00'"
    lengths = [f"unix_micros({at} + {text}) - unix_micros({at}) AS c{n}" for n, text in enumerate(intervals)]
    told = spark.range(1).selectExpr(*lengths).first()
    assert told is not None
    for number, text in enumerate(intervals):
        (found,) = parse_script(f"{_STREAMS} SELECT a.ts FROM a, b WHERE a.ts <= b.ts + {text};").queries[0].where
        assert isinstance(found, Difference), text
        assert found.span.ticks == told[number], text


EXACT = [
    *(f"timestampdiff({u}, a.ts, b.ts) {o}" for u in _UNITS[:5] for o in ("= 1", "< 0", ">= -1", "<= 0", "> 1")),
    *("2 > timestampdiff(MINUTE, b.ts, a.ts)", "abs(timestampdiff(SECOND, a.ts, b.ts)) <= 60"),
    *("timestampdiff(MILLISECOND, a.ts, b.ts) BETWEEN -59999 AND 1000", "abs(timestampdiff(HOUR, b.ts, a.ts)) < 2"),
    *(f"datediff(a.d, b.d) {o}" for o in ("= 0", "< 1", ">= -1", "> 0")),
    *(f"datediff({u}, b.ts, a.ts) {o}" for u in ("HOUR", "DAY") for o in ("= 1", "< 0", ">= -1")),
    *("abs(a.ts - b.ts) <= INTERVAL 1 HOUR", "abs(b.ts - a.ts) < INTERVAL 90 SECONDS", "datediff(b.d, a.d) IN (1, 0)"),
]


def test_a_count_of_units_is_the_difference_that_it_is_read_as(spark: SparkSession) -> None:
    pairs = [(f, s, t) for f in _FIRSTS for s, t in product(_STEPS, _STEPS)]
    frame = (
        spark.createDataFrame(pairs, "f STRING, s BIGINT, t BIGINT")
        .selectExpr(
            "timestamp_micros(unix_micros(CAST(concat(f, ' UTC') AS TIMESTAMP)) + s) AS x",
            "timestamp_micros(unix_micros(CAST(concat(f, ' UTC') AS TIMESTAMP)) + t) AS y",
        )
        .selectExpr("struct(x AS ts, CAST(x AS DATE) AS d) AS a", "struct(y AS ts, CAST(y AS DATE) AS d) AS b")
    )
    asked = []
    for number, text in enumerate(EXACT):
        query = parse_script(f"{_STREAMS} SELECT a.ts FROM a LEFT JOIN b ON a.n = b.n AND {text};").queries[0]
        found = [p for p in query.predicates if isinstance(p, Difference)]
        assert found, text
        read = " AND ".join(f"{_micros(p)} {p.op} {p.span.ticks}" for p in found)
        asked += [f"count_if(({text}) <> ({read})) AS wrong{number}", f"count_if({text}) AS held{number}"]
    told = frame.selectExpr(*asked).first()
    assert told is not None
    assert {text: told[f"wrong{n}"] for n, text in enumerate(EXACT) if told[f"wrong{n}"]} == {}
    assert sum(told[f"held{n}"] > 0 for n in range(len(EXACT))) > len(EXACT) // 2


def _micros(difference: Difference) -> str:
    later, earlier = difference.minuend, difference.subtrahend
    if later.column == "d":
        return f"86400000000 * datediff({later}, {earlier})"
    return f"unix_micros({later}) - unix_micros({earlier})"
