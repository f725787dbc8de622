"""What SELECT … GROUP BY can say, run on the core by penstock.testing. The oracle is DuckDB over all rows at once.

Running groups are compared by the last row of each group; what HAVING let through once and then no more is left out of
the comparison by asking for what only grows.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from penstock.plan.runnable import unkept_bounds
from penstock.testing import Run
from tests.measure import size

START = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
SCHEMA = pa.schema(
    [
        ("k", pa.int64()),
        ("i", pa.int32()),
        ("g", pa.string()),
        ("x", pa.float64()),
        ("p", pa.decimal128(9, 2)),
        ("ok", pa.bool_()),
        ("ts", pa.timestamp("us", "UTC")),
    ]
)
STREAM = """CREATE STREAM {} (k BIGINT, i INT, g STRING, x DOUBLE, p DECIMAL(9,2), ok BOOLEAN, ts TIMESTAMP,
  EVENT TIME ts, ORDERED BY ts WITHIN 2 SECONDS);"""
STREAMS = STREAM.format("s") + STREAM.format("t")
JOIN = "FROM s JOIN t ON s.k = t.k AND t.ts >= s.ts AND t.ts - s.ts <= INTERVAL 3 SECONDS"
LEFT = JOIN.replace("JOIN t", "LEFT JOIN t")
FROMS = {"s": "FROM s", "join": JOIN, "left": LEFT}


def drawn(seed: object, batches: int, rows: int = 12) -> list[Any]:
    """Batches of a few seconds, in which nothing is more than 2 seconds late."""
    draw = random.Random(str(seed))

    def row(batch: int) -> dict[str, Any]:
        return {
            "k": draw.choice((None, 1, 2, 3)),
            "i": draw.choice((None, *range(-4, 5))),
            "g": draw.choice((None, "a", "b", "Ab", "")),
            "x": draw.choice((None, 0.0, 0.25, 1e6, -2.5)),
            "p": draw.choice((None, Decimal("0.01"), Decimal("9999999.99"), Decimal("-3.35"))),
            "ok": draw.choice((None, True, True, False)),
            "ts": START + dt.timedelta(seconds=2 * batch + draw.randint(0, 2)),
        }

    return [pa.Table.from_pylist([row(n) for _ in range(draw.randint(0, rows))], schema=SCHEMA) for n in range(batches)]


def by_duckdb(select: str, streams: dict[str, list[Any]]) -> list[tuple[Any, ...]]:
    """The answer of a plain query over all rows."""
    with duckdb.connect() as base:
        base.execute("SET TimeZone = 'UTC'")
        for name, batches in streams.items():
            base.register(name, pa.concat_tables(batches))
        # DuckDB's own is NULL where all conditions are.
        base.execute("CREATE MACRO counted_if(c) AS count(*) FILTER (WHERE c)")
        return base.execute(select.replace("count_if(", "counted_if(")).fetchall()


def test_what_is_counted_exactly_and_what_may_be_any() -> None:
    streams = {name: drawn((name, 3), 4) for name in ("s", "t")}
    select = "SELECT s.k, {} AS n, {} AS g FROM s GROUP BY s.k"
    batches = given_by(select.format("approx_count_distinct(s.i, 0.1)", "any_value(s.g)"), streams)
    same(last_of(batches, 1), by_duckdb(select.format("count(DISTINCT s.i)", "min(s.g)"), streams))


def given_by(
    select: str, streams: dict[str, list[Any]], *, cells: int = 2, end: bool = True
) -> list[list[tuple[Any, ...]]]:
    """What each batch gives; restarted between two."""
    run = Run(f"{STREAMS} {select};", cells=cells)
    found = []
    for number in range(max(map(len, streams.values()))):
        step = run.step({n: tables[number] for n, tables in streams.items() if n in run.plan.read_streams})
        found.append([tuple(row.values()) for row in step.rows.to_pylist()])
        assert step.metrics["rows_out"] == len(found[-1])
        run.restart()
    if end:
        found.append([tuple(row.values()) for row in run.end().rows.to_pylist()])
    return found


def same(found: Any, wanted: Any) -> None:
    def plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(value.replace(tzinfo=dt.UTC) if isinstance(value, dt.datetime) else value for value in row)

    def key(row: tuple[Any, ...]) -> str:
        return str([f"{v:.3f}" if isinstance(v, float | Decimal) else str(v) for v in row])

    one, other = sorted(map(plain, found), key=key), sorted(map(plain, wanted), key=key)
    assert len(one) == len(other), (one, other)
    for mine, theirs in zip(one, other, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            is_close = isinstance(a, float) and b is not None and math.isclose(a, float(b), rel_tol=1e-9, abs_tol=1e-9)
            assert is_close or a == b, (mine, theirs)


def last_of(batches: list[list[tuple[Any, ...]]], keys: int) -> list[tuple[Any, ...]]:
    """The last row of each group."""
    last: dict[Any, tuple[Any, ...]] = {}
    for given in batches:
        assert len({row[:keys] for row in given}) == len(given), "a group twice in one batch"
        last |= {row[:keys]: row for row in given}
    return list(last.values())


RUNNING = {
    "filter": (
        "s.g, count(*) FILTER (WHERE s.i > 0) AS n, sum(s.i) FILTER (WHERE s.ok) AS si, "
        "min(s.p) FILTER (WHERE s.i BETWEEN -2 AND 2 OR NOT s.ok) AS mp, avg(s.i) FILTER (WHERE s.g IS NULL) AS ai, "
        "count(DISTINCT s.i) FILTER (WHERE s.ok) AS di, count(s.i) FILTER (WHERE s.k IN (1, 2)) AS ci",
        "GROUP BY s.g",
        1,
    ),
    "truths": (
        "s.k, count_if(s.i > 0) AS n, count_if(s.ok) AS ns, bool_and(s.ok) AS every_one, bool_or(s.ok) AS one, "
        "bool_or(s.i > 3 AND s.ok) AS both, bool_and(s.i + 1 > s.k - 1) AS more, "
        "bool_or(s.ok) FILTER (WHERE s.i = 1) AS filtered",
        "GROUP BY s.k",
        1,
    ),
    "variances": (
        "s.g, stddev(s.i) AS sd, stddev_samp(s.x) AS sx, stddev_pop(s.i) AS sp, variance(s.p) AS v, "
        "var_samp(s.i) AS vs, var_pop(s.x) AS vp, stddev(s.i) FILTER (WHERE s.ok) AS so, var_pop(s.k + s.i) AS ve",
        "GROUP BY s.g",
        1,
    ),
    "different values": (
        "s.k, sum(DISTINCT s.i) AS si, avg(DISTINCT s.i) AS ai, sum(DISTINCT s.p) AS sp, min(DISTINCT s.g) AS mg, "
        "max(DISTINCT s.x) AS mx, sum(DISTINCT s.k) AS sk, sum(DISTINCT s.i) FILTER (WHERE s.ok) AS so",
        "GROUP BY s.k",
        1,
    ),
    "having": ("s.g, s.k, max(s.i) AS top", "GROUP BY ALL HAVING count(*) > 3", 2),
    "having of aliases": ("s.g AS h, count(*) AS n, count(*) * 2 + 1 AS m", "GROUP BY h HAVING n > 2 AND m < 1000", 1),
    "one group": ("count(*) FILTER (WHERE s.ok) AS n, count_if(s.ok) + count(*) AS m", "HAVING count(*) > 5", 0),
    "expressions of groups": ("s.i + 1 AS next, count(*) AS n", "GROUP BY s.i + 1", 1),
    "nothing but groups": ("s.g, s.k", "GROUP BY s.g, s.k HAVING s.k > 1 OR s.k IS NULL", 2),
}


@pytest.mark.parametrize("case", RUNNING)
@pytest.mark.parametrize("source", FROMS)
def test_running_groups_end_with_what_duckdb_says(case: str, source: str) -> None:
    items, clauses, keys = RUNNING[case]
    select = f"SELECT {items} {FROMS[source]} {clauses}"
    for seed in range(size(2, 50)):
        streams = {name: drawn((case, name, seed), 4) for name in ("s", "t")}
        batches = given_by(select, streams, cells=1 + seed % 2)
        same(last_of(batches, keys), by_duckdb(select, streams))


CLOSED = {
    "hours": ("date_trunc('hour', s.ts) AS h, s.g", "date_trunc('hour', s.ts), s.g", 2, 1800),
    "days": ("to_date(s.ts) AS d", "to_date(s.ts)", 1, 30_000),
    "dates": ("CAST(s.ts AS DATE) AS d, s.k", "ALL", 2, 30_000),
    "weeks": ("date_trunc('WEEK', s.ts) AS w", "1", 1, 86_400 * 2),
    "months": ("trunc(s.ts, 'MM') AS m, s.k", "trunc(s.ts, 'MM'), s.k", 2, 86_400 * 11),
    "quarters": ("date_trunc('quarter', s.ts) AS q", "q", 1, 86_400 * 40),
    "times": ("s.ts, s.g", "s.ts, s.g", 2, 2),
}


def as_duckdb_has_it(select: str) -> str:
    plain = select.replace("trunc(s.ts, 'MM')", "CAST(date_trunc('month', s.ts) AS DATE)")
    return plain.replace("to_date(s.ts)", "CAST(s.ts AS DATE)")


@pytest.mark.parametrize("case", CLOSED)
@pytest.mark.parametrize("source", ["s", "left"])
def test_groups_that_a_clock_closes_are_given_once_to_what_only_appends(case: str, source: str) -> None:
    items, by, keys, apart = CLOSED[case]
    select = f"SELECT {items}, count(*) AS n, max(s.i) AS top {FROMS[source]} GROUP BY {by}"
    plain = as_duckdb_has_it(select)
    sink = "CREATE SINK f USING parquet OPTIONS (path 'f'); INSERT INTO f"
    for seed in range(size(2, 30)):
        streams = {name: [stretched(t, apart) for t in drawn((name, seed), 7)] for name in ("s", "t")}
        batches = given_by(f"{sink} {select}", streams)
        given = [row for rows in batches for row in rows]
        assert any(batches[:-1]), "some are closed before the end"
        assert len({row[:keys] for row in given}) == len(given)
        same(given, by_duckdb(plain, streams))


@pytest.mark.parametrize("case", CLOSED)
@pytest.mark.parametrize("source", ["s", "left"])
def test_distinct_forgets_what_the_cut_of_a_clock_has_passed(case: str, source: str) -> None:
    items, _, _, apart = CLOSED[case]
    select = f"SELECT DISTINCT {items} {FROMS[source]}"
    plain = as_duckdb_has_it(select)
    for seed in range(size(2, 30)):
        streams = {name: [stretched(t, apart) for t in drawn((name, seed), 7)] for name in ("s", "t")}
        same([row for rows in given_by(select, streams) for row in rows], by_duckdb(plain, streams))
        run = Run(f"{STREAMS} {select};")
        held = []
        for number in range(7):
            step = run.step({n: tables[number] for n, tables in streams.items() if n in run.plan.read_streams})
            held.append(step.metrics["state_rows"]["(distinct)"])
        assert not unkept_bounds(run.plan)
        given = len(by_duckdb(plain, streams))
        assert held[-1] < given, "what is given is not remembered for ever"


def stretched(table: Any, seconds: int) -> Any:
    """The rows in order, with their times so much farther apart."""
    since = [(time - START) // dt.timedelta(seconds=2) for time in table.column("ts").to_pylist()]
    times = pa.array([START + dt.timedelta(seconds=seconds * n) for n in since], pa.timestamp("us", "UTC"))
    return table.set_column(table.schema.get_field_index("ts"), "ts", times).sort_by("ts")


WINDOW = "window(s.ts, '4 seconds')"
BUCKET = "time_bucket(INTERVAL 4 SECONDS, s.ts)"


@pytest.mark.parametrize("source", FROMS)
@pytest.mark.parametrize(
    ("length", "slide", "offset"), [(4, 2, 0), (6, 4, 0), (5, 2, 1), (4, 4, 3), (3, 2, -1)], ids=str
)
def test_a_row_is_in_each_window_that_holds_its_time(source: str, length: int, slide: int, offset: int) -> None:
    items = "s.g, count(*) AS n, sum(s.i) AS total, max(s.p) AS top, count(DISTINCT s.i) AS kinds"
    window = f"window(s.ts, '{length} seconds', '{slide} seconds', '{offset} seconds')"
    first = f"time_bucket(INTERVAL {slide} SECONDS, s.ts, to_seconds({offset}))"
    starts = f"unnest([{first} - to_seconds({slide} * n) FOR n IN range(9) IF to_seconds({slide} * n) < "
    starts += f"{first} - s.ts + INTERVAL {length} SECONDS])"
    plain = FROMS[source].replace("FROM s", f"FROM (SELECT *, {starts} AS w FROM s) s", 1)
    is_given = False
    for seed in range(size(2, 40)):
        streams = {name: drawn((name, seed), 6) for name in ("s", "t")}
        select = f"SELECT {window}.start AS w, {items} {FROMS[source]} GROUP BY {window}, s.g"
        batches = given_by(select, streams, end=seed % 2 == 0)
        given = [row for rows in batches for row in rows]
        wanted = by_duckdb(f"SELECT w, {items} {plain} GROUP BY w, s.g", streams)
        if seed % 2:
            # What is not over at the end of what is there is not given.
            seen = {row[:2] for row in given}
            assert len(seen) == len(given)
            is_given |= bool(seen)
            wanted = [row for row in wanted if row[:2] in seen]
        same(given, wanted)
    assert is_given


@pytest.mark.parametrize("source", FROMS)
def test_windows_are_filtered_by_having(source: str) -> None:
    items = "s.g, count(*) AS n, count_if(s.ok) AS oks"
    having = "HAVING count(*) > 2 AND max(s.i) > 0"
    for seed in range(size(4, 60)):
        streams = {name: drawn((name, seed), 6) for name in ("s", "t")}
        batches = given_by(
            f"SELECT {WINDOW}.start AS w, {items} {FROMS[source]} GROUP BY {WINDOW}, s.g {having}", streams
        )
        given = [row for rows in batches for row in rows]
        same(given, by_duckdb(f"SELECT {BUCKET} AS w, {items} {FROMS[source]} GROUP BY w, s.g {having}", streams))


FIRST = {
    "closed by a window below": (
        "SELECT w, g, n, rn FROM (SELECT w, g, n, ROW_NUMBER() OVER (PARTITION BY w ORDER BY n DESC, g) AS rn "
        "FROM ({groups})) WHERE rn <= 2",
        True,
    ),
    "one of each day": (
        "SELECT d, i, g FROM (SELECT CAST(s.ts AS DATE) AS d, s.i, s.g, s.k, "
        "ROW_NUMBER() OVER (PARTITION BY CAST(s.ts AS DATE) ORDER BY s.i DESC, s.g NULLS LAST, s.k) AS rn {source}) "
        "WHERE rn = 1",
        True,
    ),
    "the latest row of a key": (
        "SELECT k, i, ts, x FROM (SELECT s.k, s.i, s.ts, s.x, s.g, ROW_NUMBER() OVER (PARTITION BY s.k "
        "ORDER BY s.ts DESC, s.i, s.x, s.g) AS rn {source}) WHERE rn <= 1",
        False,
    ),
    "the second, of some": (
        "SELECT v.k, v.rn + 1 AS more FROM (SELECT s.ts, s.k, ROW_NUMBER() OVER (PARTITION BY s.ts ORDER BY s.k, s.i, "
        "s.x) AS rn {source}) AS v WHERE v.rn = 2 AND v.k > 1",
        True,
    ),
}
GROUPS = "SELECT {w} AS w, s.g, count(*) AS n {source} GROUP BY {by}, s.g"
LIMITS = (
    "BETWEEN 1 AND 2",
    "BETWEEN 2 AND 3",
    "IN (1)",
    "IN (1, 2)",
    "IN (2, 4)",
    "IN (1, 1.5)",
    "BETWEEN 0.5 AND 2.5",
)


@pytest.mark.parametrize("limit", LIMITS)
def test_the_first_rows_may_be_asked_for_in_other_words(limit: str) -> None:
    rows = "SELECT s.ts, s.k, s.i, s.x, ROW_NUMBER() OVER (PARTITION BY s.ts ORDER BY s.k, s.i, s.x) AS rn FROM s"
    select = f"SELECT ts, k, i, x FROM ({rows}) AS v WHERE rn {limit}"
    streams = {"s": drawn(limit, 5)}
    ordered = select.replace("s.k, s.i, s.x)", "s.k NULLS FIRST, s.i NULLS FIRST, s.x NULLS FIRST)")
    same([row for batch in given_by(select, streams) for row in batch], by_duckdb(ordered, streams))


def test_an_item_may_name_those_before_it() -> None:
    items = "s.k AS q, q + 1 AS r, sum(s.i) AS total, total * 2 AS twice, twice + count(*) - r AS all_of_it"
    streams = {"s": drawn("items", 4)}
    same(
        last_of(given_by(f"SELECT {items} FROM s GROUP BY s.k", streams), 1),
        by_duckdb("SELECT k, k + 1, sum(i), sum(i) * 2, sum(i) * 2 + count(*) - (k + 1) FROM s GROUP BY k", streams),
    )
    rows = given_by("SELECT s.i + 1 AS i, i * 2 AS j, s.i AS e, e + i AS f FROM s", streams)
    same([r for batch in rows for r in batch], by_duckdb("SELECT i + 1, i * 2, i, i + i FROM s", streams))


@pytest.mark.parametrize("case", FIRST)
@pytest.mark.parametrize("source", FROMS)
def test_the_first_rows_of_partitions_are_what_duckdb_says(case: str, source: str) -> None:
    text, is_closed = FIRST[case]
    below = GROUPS.format(w=f"{WINDOW}.end", by=WINDOW, source=FROMS[source])
    plain = GROUPS.format(w=f"{BUCKET} + INTERVAL 4 SECONDS", by="1", source=FROMS[source])
    for seed in range(size(2, 40)):
        streams = {name: [distinct(t, n) for n, t in enumerate(drawn((name, seed), 5))] for name in ("s", "t")}
        batches = given_by(text.format(groups=below, source=FROMS[source]), streams, cells=1 + seed % 2)
        # Spark's order: NULL first where it rises, last where it falls.
        asked = text.format(groups=plain, source=FROMS[source])
        wanted = by_duckdb(f"SET default_null_order = 'nulls_first_on_asc_last_on_desc'; {asked}", streams)
        same([row for rows in batches for row in rows] if is_closed else last_of(batches, 1), wanted)


def distinct(table: Any, batch: int) -> Any:
    """The rows with an x of their own, so that an order tells all apart."""
    own = pa.array([batch + n / 100 for n in range(table.num_rows)], pa.float64())
    return table.set_column(table.schema.get_field_index("x"), "x", own)


@pytest.mark.parametrize("select", ["SELECT DISTINCT z.x", "SELECT z.x, count(*) AS n"])
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_zero_is_grouped_and_shown_without_a_sign(select: str, kind: Any) -> None:
    stream = f"CREATE STREAM z (x {'FLOAT' if kind == pa.float32() else 'DOUBLE'});"
    run = Run(f"{stream} {select} FROM z{'' if 'DISTINCT' in select else ' GROUP BY z.x'};")
    rows = run.step({"z": pa.table({"x": pa.array([-0.0, 0.0, -0.0, None], kind)})}).rows.to_pylist()
    assert sorted(str(row["x"]) for row in rows) == ["0.0", "None"]
