"""MEMORY's verdict case by case: types, CHECK, what only Spark reads, streams joined with themselves, absurd bounds."""

from __future__ import annotations

import datetime as dt
import time

import pytest

from penstock.analysis.check import check_query
from penstock.analysis.finding import Bounded, Means, MemoryFinding, Strategy
from penstock.analysis.memory import growing_copies, memory_finding, memory_witness
from penstock.analysis.synopsis_form import SynopsisForm, ValueLimits
from penstock.compile import parse, plan_of
from penstock.explain.reason_words import each_told, told
from penstock.model.query import Query
from penstock.plan.runnable import unkept_bounds
from tests.measure import allowed_seconds

PLAIN = "CREATE STREAM u (a BIGINT);"
TYPED = """
CREATE STREAM a (k STRING, d DATE, x DECIMAL(10,2), ts TIMESTAMP, f DOUBLE, ok BOOLEAN, t TINYINT, n INT, m BIGINT,
  v VARCHAR(5), u CHAR(3), late TIMESTAMP AS (ts + INTERVAL 1 DAY));
CREATE STREAM b (k STRING, d DATE, x DECIMAL(10,2), ts TIMESTAMP, f DOUBLE, ok BOOLEAN, t TINYINT, n INT, m BIGINT,
  v VARCHAR(5), u CHAR(3), arr ARRAY<INT>);
"""


def read(select: str, streams: str = TYPED) -> Query:
    return parse(f"{streams} {select};").queries[0]


def joined(condition: str, shown: str = "a.ok") -> MemoryFinding:
    return memory_finding(read(f"SELECT {shown} FROM a, b WHERE {condition}"))


def kept(finding: MemoryFinding) -> dict[str, SynopsisForm]:
    return {synopsis.alias: synopsis for synopsis in finding.synopses}


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("a.ok = b.ok", 2),
        ("a.t = b.t", 256),
        ("a.d = b.d AND a.d >= DATE '2024-01-01' AND b.d < DATE '2024-02-01'", 31),
        ("a.x = b.x AND a.x > 1.005 AND a.x < 1.03", 2),
        ("a.k = b.k AND a.k IN ('x', 'y') AND b.k IN ('y', 'z')", 1),
        ("a.ts = b.ts AND a.ts = TIMESTAMP '2024-01-01 00:00:00'", 1),
        ("a.n = b.n AND a.n > 2147483640", 7),
        ("a.n = b.m AND b.m > -3 AND a.n < 3", 5),
        ("a.n <= b.n AND b.n <= a.n AND a.n > 0 AND b.n < 4", 3),
        ("a.n < a.m AND a.m < 10 AND a.n > 7 AND a.n = b.n", 1),
        ("a.n < b.n AND a.n > 7 AND b.n < 10 AND a.k = 'x'", 1),
    ],
)
def test_a_join_column_is_bounded_by_its_type_or_by_constants_closed_transitively(condition: str, rows: int) -> None:
    finding = joined(condition)
    assert finding.bounded is True
    assert kept(finding)["b"].rows == rows


@pytest.mark.parametrize(
    ("condition", "condition_that_fails"),
    [
        ("a.k = b.k", "C2: a.k = b.k joins a.k and b.k, and no constant limits them"),
        ("a.f = b.f", "C2: a.f = b.f joins a.f and b.f, and no constant limits them"),
        ("a.n = b.n AND a.n > 3", "C2: a.n = b.n joins a.n and b.n, and no constant limits them from above"),
        (
            "a.d = b.d AND a.d < DATE '2024-01-01'",
            "C2: a.d = b.d joins a.d and b.d, and no constant limits them from below",
        ),
        (
            "a.ts = b.ts AND a.ts BETWEEN TIMESTAMP '2024-01-01 00:00:00' AND TIMESTAMP '2024-01-02 00:00:00'",
            "C2: a.ts = b.ts joins a.ts and b.ts, and only `=` or IN would leave them finitely many",
        ),
        ("a.x < b.x", "C3: a.x < b.x compares a.x and b.x, and no constant limits them"),
        ("a.k > b.k AND b.k > 'm'", "C3: a.k > b.k compares b.k and a.k, and only `=` or IN"),
    ],
)
def test_the_condition_that_fails_is_named_with_the_predicate_as_written(
    condition: str, condition_that_fails: str
) -> None:
    finding = joined(condition)
    assert finding.bounded is False
    assert len(each_told(finding.violates)) == 1
    assert each_told(finding.violates)[0].startswith(condition_that_fails)


def test_conditions_that_cannot_all_hold_are_named_and_nothing_else_is() -> None:
    query = read("SELECT a.n FROM a, b WHERE a.n > 10 AND a.ok = b.ok AND a.n < 11 AND b.n > 3")
    finding = memory_finding(query)
    assert (finding.bounded, finding.never) == (True, True)
    assert each_told(finding.because) == ("these cannot all hold: a.n > 10; a.n < 11",)
    verdict = check_query(query)
    assert verdict.verdict == "bounded"
    assert [s.finding.rows for s in verdict.streams if isinstance(s.finding, Bounded)] == [0, 0]
    cycle = joined("a.n < b.n AND b.n <= a.m AND a.m <= a.n")
    assert each_told(cycle.because) == ("these cannot all hold: a.n < b.n; b.n <= a.m; a.m <= a.n",)


def test_a_finite_but_absurd_bound_is_said_to_be_so() -> None:
    finding = joined("a.n = b.n AND a.n >= 0 AND b.n < 1000000000")
    assert finding.bounded is True
    assert kept(finding)["b"].rows == 10**9
    assert "no practical bound" in told(kept(finding)["b"].reasons[-1])
    assert "only values that occur take room" in told(kept(finding)["b"].reasons[-1])


def test_a_check_bounds_a_column_but_not_one_that_it_only_ties_to_a_column_that_may_be_null() -> None:
    tied = "CREATE STREAM s (a BIGINT, b BIGINT, CHECK (a > 0 AND a < b AND b < 10){}); CREATE STREAM t (c BIGINT);"
    shown = "SELECT s.a FROM s, t"
    query = read(shown, tied.format(""))
    assert memory_finding(query).bounded is False, "with b NULL, nothing limits a"
    witness = memory_witness(query, 3)
    assert witness is not None
    assert witness.rows == tuple(("s", (("a", value),)) for value in (1, 2, 3))
    finding = memory_finding(read("SELECT s.a FROM s, t WHERE s.b > 0 AND s.a > 0", tied.format("")))
    assert (finding.bounded, kept(finding)["s"].rows) == (True, 8)
    finding = memory_finding(read("SELECT s.a FROM s, t", tied.format(", CHECK (b IS NOT NULL), PRIMARY KEY (a)")))
    assert (finding.bounded, kept(finding)["s"].columns[0].limits) == (True, ValueLimits(1, 8))


def test_a_filter_that_only_spark_reads_leaves_bounded_as_it_is_and_unbounded_open() -> None:
    assert joined("a.ok = b.ok AND a.n % 2 = 0").bounded is True
    finding = joined("a.n = b.n AND a.n % 2 = 0")
    assert finding.bounded is None
    assert "only Spark can say which rows pass a.n % 2 = 0" in each_told(finding.because)
    assert growing_copies(read("SELECT a.ok FROM a, b WHERE a.n = b.n AND a.n % 2 = 0"), 3) is None
    assert joined("a.n = b.n AND a.k IS NOT NULL").bounded is False, "IS NOT NULL is read"


def test_derived_columns_take_what_spark_makes_of_them() -> None:
    assert joined("a.late = b.ts").bounded is None
    assert joined("a.ok = b.ok", "a.late").bounded is None
    assert joined("a.n = b.n", "a.late").bounded is False, "the join column decides it whatever is given out"


def test_expressions_are_bounded_where_their_columns_are() -> None:
    assert joined("a.ok = b.ok", "a.t + 1 AS next").bounded is True
    finding = joined("a.ok = b.ok", "a.n + 1 AS next")
    assert (finding.bounded, each_told(finding.because)) == (None, ("a.n + 1: what it makes of a.n is not known",))
    assert joined("a.ok = b.ok", "b.arr").bounded is None


def test_time_differences_are_outside_the_language_but_a_growing_input_keeps_them() -> None:
    band = "b.ts - a.ts <= INTERVAL 5 SECONDS AND b.ts - a.ts >= INTERVAL 2 SECONDS"
    assert joined(f"a.ok = b.ok AND {band}").bounded is None
    copies = growing_copies(read(f"SELECT a.ok FROM a, b WHERE a.n = b.n AND {band}"), 2)
    assert copies is not None
    (_, own), (_, other) = copies.rows[0], copies.probes[0][0]
    first, second = dict(own)["ts"], dict(other)["ts"]
    assert isinstance(first, dt.datetime)
    assert isinstance(second, dt.datetime)
    assert dt.timedelta(seconds=2) <= second - first <= dt.timedelta(seconds=5)


@pytest.mark.parametrize("select", ["a.ok FROM a LEFT JOIN b ON a.n = b.n", "a.ok FROM a, b WHERE a.u = b.u"])
def test_what_is_outside_the_language_is_not_decided_and_the_reason_is_given(select: str) -> None:
    finding = memory_finding(read(f"SELECT {select}"))
    assert finding.bounded is None
    assert each_told(finding.because)
    assert finding.synopses == ()


def test_an_outer_join_that_the_where_makes_an_inner_one_is_decided() -> None:
    assert memory_finding(read("SELECT a.ok FROM a LEFT JOIN b ON a.ok = b.ok WHERE b.n > 0")).bounded is True


PLAIN = "CREATE STREAM u (a BIGINT);"
TYPED = """
CREATE STREAM s (a BIGINT, b INT, k STRING, ok BOOLEAN, d DATE, m DECIMAL(6,2), CHECK (b BETWEEN 1 AND 3));
CREATE STREAM t (a BIGINT, k STRING, CHECK (k <> 'x')) WHERE NOT (a <= 5);
"""


@pytest.mark.parametrize(
    ("conditions", "named"),
    [
        ("s.a = 5 AND s.b = 1 AND s.a <> 5", "s.a = 5; s.a <> 5"),
        ("s.a = t.a AND s.a = 4", "s.a = t.a; s.a = 4; NOT (a <= 5) in t"),
        ("s.b NOT IN (1, 2) AND NOT (s.b = 3)", "s.b NOT IN (1, 2); NOT (s.b = 3); CHECK (b BETWEEN 1 AND 3) ON s"),
        ("s.k = t.k AND s.k IN ('x')", "s.k = t.k; s.k IN ('x'); CHECK (k <> 'x') ON t"),
        ("s.ok AND s.ok <> true", "s.ok; s.ok <> true"),
        ("NOT (s.d <> DATE '2024-01-01') AND s.d <> DATE '2024-01-01'", None),
        ("s.m > 1.50 AND s.m < 1.52 AND s.m <> 1.51", None),
        ("s.a > 2.5 AND s.a < 3", None),
        ("s.a IN (2.5, 3.5)", None),
        ("NOT (s.a < 5 OR s.a > 6) AND s.a NOT IN (5, 6)", None),
        ("NOT NOT (s.a < 5) AND s.a >= 5", None),
        ("s.k IS NULL AND s.k = t.k", "s.k = t.k; s.k IS NULL"),
        ("s.m IS NOT NULL AND s.m IS NULL", None),
    ],
)
def test_conditions_that_cannot_all_hold_are_found_and_quoted(conditions: str, named: str | None) -> None:
    query = read(f"SELECT s.a FROM s, t WHERE {conditions}", TYPED)
    finding = memory_finding(query)
    assert finding.never
    assert each_told(finding.because) == (f"these cannot all hold: {named or '; '.join(conditions.split(' AND '))}",)
    assert check_query(query).verdict == "bounded"


@pytest.mark.parametrize(
    ("conditions", "values"),
    [
        ("s.a > 2.5 AND NOT (s.a >= 5.5)", 3),
        ("NOT (s.a < 3 OR s.a > 7) AND s.a NOT IN (3, 5)", 3),
        ("s.a IN (1, 2, 2.5) AND s.a <> 1", 1),
    ],
)
def test_what_not_and_fractions_leave_is_counted(conditions: str, values: int) -> None:
    finding = memory_finding(read(f"SELECT s.a FROM s, u WHERE s.a = u.a AND {conditions}", f"{TYPED} {PLAIN}"))
    assert finding.bounded is True
    assert [synopsis.rows for synopsis in finding.synopses] == [values, values]


MEASURED = "CREATE STREAM s (a BIGINT, f DOUBLE, g FLOAT); CREATE STREAM t (a BIGINT, f DOUBLE, g FLOAT);"


@pytest.mark.parametrize(
    ("conditions", "named"),
    [
        ("s.f > 2.5 AND s.a = t.a AND s.f < 1.5", "s.f > 2.5; s.f < 1.5"),
        ("s.f = t.f AND s.f > 3.5 AND t.f <= 3.5", "s.f = t.f; s.f > 3.5; t.f <= 3.5"),
        ("s.f IN (1.5, 2.5) AND s.f > 3", "s.f IN (1.5, 2.5); s.f > 3"),
        ("s.g BETWEEN 3 AND 2", "s.g BETWEEN 3 AND 2"),
        ("s.f > 0 AND s.f IN (1.5, 7.5) AND s.f > 2 AND s.f < 7", "s.f IN (1.5, 7.5); s.f > 2; s.f < 7"),
    ],
)
def test_floats_against_constants_that_leave_nothing_are_found(conditions: str, named: str) -> None:
    finding = memory_finding(read(f"SELECT s.a FROM s, t WHERE {conditions}", MEASURED))
    assert finding.never
    assert each_told(finding.because) == (f"these cannot all hold: {named}",)


@pytest.mark.parametrize(
    ("select", "bounded"),
    [
        ("s.a FROM s, t WHERE s.a = t.a AND s.f > 10.5 AND s.g < -7.25", False),
        ("s.a FROM s, t WHERE s.a = t.a AND s.f IN (0.5, 1.5)", False),
        ("DISTINCT s.f FROM s WHERE s.f >= 0.1", False),
        ("DISTINCT s.a FROM s, t WHERE s.a = 5 AND s.f < t.f AND s.f > 2.5", True),
        ("s.a FROM s, t WHERE s.a = t.a AND s.a = 5 AND s.f > 2.5 AND s.f < 2.6", True),
        # What a FLOAT makes of 0.1, and where 1e3 lies, Spark says; and no whole number lies between these.
        ("s.a FROM s, t WHERE s.a = t.a AND s.g > 0.1", None),
        ("s.a FROM s, t WHERE s.a = t.a AND s.f > 1e3", None),
        ("s.a FROM s, t WHERE s.a = t.a AND s.f > 2.5 AND s.f < 2.6", None),
    ],
)
def test_a_filter_on_floats_leaves_a_growing_input(select: str, bounded: bool | None) -> None:
    query = read(f"SELECT {select}", MEASURED)
    assert memory_finding(query).bounded is bounded
    assert (memory_witness(query, 20) is not None) is (bounded is False)
    assert check_query(query).verdict == {True: "bounded", False: "unbounded", None: "undecided"}[bounded]


def test_a_growing_input_keeps_clear_of_values_that_are_ruled_out() -> None:
    query = read("SELECT s.a FROM s, t WHERE s.a = t.a AND s.a NOT IN (7, 8, 9) AND s.k <> 'q'", TYPED)
    witness = memory_witness(query, 9)
    assert witness is not None
    given = [dict(values)["a"] for _, values in witness.rows]
    assert len(set(given)) == 9
    assert not {7, 8, 9}.intersection(given)


def test_what_fails_is_named_also_where_it_is_not_decided() -> None:
    finding = memory_finding(read("SELECT s.a FROM s, t WHERE s.a = t.a AND s.a % 2 = 0", TYPED))
    assert finding.bounded is None
    assert [text[:3] for text in each_told(finding.violates)] == ["C1:", "C2:"]


SELF = "CREATE STREAM s (a BIGINT, b BIGINT, c BIGINT);"


@pytest.mark.parametrize(
    ("select", "bounded"),
    [
        ("DISTINCT 1 AS one FROM s AS x, s AS y WHERE x.b <= y.b", True),
        ("DISTINCT 1 AS one FROM s AS x, s AS y WHERE x.b < y.b", True),
        ("DISTINCT x.a FROM s AS x, s AS y WHERE x.a = 3 AND x.b < y.b AND x.c < y.c", False),
        ("DISTINCT x.a FROM s AS x, s AS y WHERE x.a = y.a", False),
        ("DISTINCT x.a FROM s AS x, s AS y WHERE x.a = 3 AND x.b = y.c", False),
        ("DISTINCT x.a FROM s AS x, s AS y, s AS z WHERE x.a = 3 AND x.b = y.b AND y.b = z.b AND z.b < 9", True),
        ("x.a FROM s AS x, s AS y WHERE x.a = 3 AND x.b = y.b", False),
        ("x.a FROM s AS x, s AS y WHERE x.a = 3 AND x.b <= y.b", False),
        ("count(*) AS n FROM s AS x, s AS y WHERE x.a = 3 AND x.b < y.b", False),
        ("max(x.b) AS m FROM s AS x, s AS y WHERE x.b = y.b", True),
        # Covered together, none by itself.
        (
            "DISTINCT x.a FROM s AS x, s AS y, s AS z, s AS w WHERE x.a = 3 AND z.a = 3 AND x.b < y.c AND z.b < w.c",
            True,
        ),
        # Covered by what the constants say.
        ("DISTINCT y.c FROM s x, s y WHERE x.b >= y.b AND y.b >= 8 AND y.a > x.b AND y.c <= x.a AND y.c = 5", True),
        # An input grows only where a row is not its own partner: above 5, and between the constants.
        ("DISTINCT x.a FROM s AS x, s AS y WHERE x.c = y.c AND x.b < y.a AND x.a = 5", False),
        ("DISTINCT y.b FROM s AS x, s AS y WHERE x.b <= 8 AND x.b > y.c AND x.a = y.a AND y.b = 5", False),
        ("DISTINCT y.a FROM s AS x, s AS y WHERE x.a = 5 AND y.a < x.b", False),
        ("x.c, median(x.b) AS m FROM s AS x, s AS y WHERE x.a < y.a AND x.c = 5 GROUP BY x.c", False),
        ("y.b, count(DISTINCT x.c) AS m FROM s AS x, s AS y WHERE y.b = x.b AND y.b = 5 GROUP BY y.b", False),
        ("y.a, max(y.b) AS m FROM s AS x, s AS y WHERE x.b < y.c AND y.a = 5 GROUP BY y.a", False),
        # A few greatest values suffice, which neither the paper's theorem nor ours sees.
        ("DISTINCT x.a FROM s AS x, s AS y, s AS z WHERE x.a = 3 AND x.b < y.b AND y.b < z.b", None),
    ],
)
def test_a_stream_joined_with_itself(select: str, bounded: bool | None) -> None:
    assert memory_finding(read(f"SELECT {select}", SELF)).bounded is bounded


def test_a_source_is_not_covered_where_its_own_filter_or_output_differs() -> None:
    filtered = "SELECT DISTINCT x.a FROM s AS x, s AS y WHERE x.a = 3 AND x.b = y.b AND y.c > 5"
    assert all(s.covered_by is None for s in memory_finding(read(filtered, SELF)).synopses)
    shown = "SELECT DISTINCT x.a, y.a AS other FROM s AS x, s AS y WHERE x.a = 3 AND y.a = 4 AND x.b = y.b"
    assert memory_finding(read(shown, SELF)).bounded is False


def test_merging_bounds_what_nothing_else_does_and_the_engine_keeps_the_bound() -> None:
    query = read("SELECT DISTINCT a.ok FROM a, b WHERE a.n < b.n AND a.ok = true")
    verdict = check_query(query)
    assert (verdict.verdict, verdict.strategy) == ("bounded", Strategy.SYNOPSIS)
    assert [s.finding.means for s in verdict.streams if isinstance(s.finding, Bounded)] == [Means.SYNOPSIS] * 3
    assert any("the row with the least n" in reason for reason in each_told(verdict.streams[0].finding.because))
    assert not unkept_bounds(plan_of(query, verdict))


def test_rows_are_not_merged_under_a_window() -> None:
    windowed = "CREATE STREAM a (k BOOLEAN, n INT, ts TIMESTAMP, EVENT TIME ts); CREATE STREAM b (k BOOLEAN, n INT);"
    query = read("SELECT DISTINCT a.k FROM a [RANGE 5 SECONDS], b WHERE a.n < b.n", windowed)
    assert memory_finding(query).bounded is True
    assert check_query(query).verdict != "bounded"


@pytest.mark.parametrize("count", [1, 10, 1000])
def test_a_witness_has_as_many_rows_as_asked_for(count: int) -> None:
    query = read("SELECT DISTINCT a.ok FROM a, b WHERE a.n < b.n AND a.m > b.m AND a.ok = true")
    witness = memory_witness(query, count)
    assert witness is not None
    assert len(set(witness.rows)) == count


def test_there_is_no_witness_where_constant_memory_suffices() -> None:
    assert memory_witness(read("SELECT a.ok FROM a, b WHERE a.ok = b.ok"), 3) is None


def _wide(distinct: str) -> Query:
    columns = ", ".join(f"c{i} BIGINT" for i in range(10))
    streams = "".join(f"CREATE STREAM s{i} ({columns});" for i in range(10))
    names = ", ".join(f"s{i}" for i in range(10))
    chained = " AND ".join(f"s{i}.c{j} < s{i + 1}.c{j}" for i in range(9) for j in range(10))
    bounds = " AND ".join(f"s{i}.c{j} > {j} AND s{i}.c{j} < {100 + i}" for i in range(10) for j in range(9))
    return read(f"SELECT {distinct} s0.c0 FROM {names} WHERE {chained} AND {bounds}", streams)


@pytest.mark.parametrize("distinct", ["", "DISTINCT"])
def test_ten_streams_of_ten_columns_and_hundreds_of_conditions_are_decided_at_once(distinct: str) -> None:
    query = _wide(distinct)
    start = time.process_time()
    assert memory_finding(query).bounded is False
    assert time.process_time() - start < allowed_seconds(0.5)
