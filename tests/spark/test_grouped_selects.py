"""What SELECT … GROUP BY can say, on Spark. The oracle is Spark itself: the same SELECT over all rows, as a batch."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Row, SparkSession

import penstock
from penstock.sql.aggregate_calls import SPARK_AGGREGATES
from tests.spark.conftest import Bench
from tests.spark.test_groups import JOIN, PLAIN, STREAMS, batches_of, by_spark, same_rows, write

RUNNING = {
    "first row": (
        "g, i, u FROM (SELECT s.g, s.i, upper(s.g) AS u, ROW_NUMBER() OVER (PARTITION BY s.g ORDER BY s.i DESC) AS rn "
        f"{JOIN}) WHERE rn = 1",
        None,
        1,
    ),
    "filters": (
        "s.g AS h, upper(s.g) AS u, count(*) FILTER (WHERE t.i > 0) AS n, sum(t.p) FILTER (WHERE s.g = t.g) AS sp, "
        "count_if(t.x > 0) AS pos, every(t.i > -5) AS e, any(s.x < t.x) AS a, bool_or(t.g LIKE 'A%') AS b, "
        "stddev(t.i), variance(t.p), var_pop(t.x), stddev_pop(t.i + s.i) AS si, sum(DISTINCT t.i), avg(DISTINCT t.p), "
        "count(DISTINCT t.i) FILTER (WHERE t.g IS NOT NULL) AS di, avg(t.x) FILTER (WHERE t.i < 0) + 1 AS m",
        "GROUP BY ALL HAVING n >= 1 AND count(*) > 2 AND (h <> 'b' OR upper(s.g) IS NULL)",
        2,
    ),
}


@pytest.mark.parametrize("case", ["filters", pytest.param("first row", marks=pytest.mark.thorough)])
def test_running_groups_end_with_what_spark_says_of_all_rows(spark: SparkSession, bench: Bench, case: str) -> None:
    items, clauses, keys = RUNNING[case]
    write(bench, 3)
    select = f"SELECT {items} {JOIN} {clauses}" if clauses is not None else f"SELECT {items}"
    batches, schema = batches_of(spark, bench, f"{STREAMS} {select};")
    wanted = by_spark(spark, bench, select.replace(JOIN, PLAIN))
    assert [(f.name, f.dataType) for f in schema] == [(f.name, f.dataType) for f in wanted.schema]
    last: dict[Any, Row] = {}
    for given in batches:
        last |= {tuple(row[:keys]): row for row in given}
    assert last
    asked = {tuple(row[:keys]): row for row in wanted.collect()}
    assert asked.keys() == last.keys()
    for key, row in last.items():
        for mine, theirs in zip(row, asked[key], strict=True):
            assert mine == theirs or math.isclose(mine, theirs, rel_tol=1e-9), (row, asked[key])


WINDOWED = {
    "first_rows": "* FROM (SELECT s.g, upper(s.g) AS u, s.i, s.p, t.x, to_date(s.ts) AS d, ROW_NUMBER() OVER "
    "(PARTITION BY to_date(s.ts), s.g ORDER BY s.i DESC, s.p, t.x NULLS LAST, s.k, s.x, s.ts, t.ts, t.g, t.i) AS rn "
    f"{PLAIN}) WHERE rn <= 3",
    "first_groups": "w, n FROM (SELECT w, g, n, ROW_NUMBER() OVER (PARTITION BY w ORDER BY n DESC, g) AS rn FROM "
    "(SELECT window(s.ts, '4 seconds').end AS w, s.g, count(*) AS n FROM s GROUP BY window(s.ts, '4 seconds'), s.g)) "
    "WHERE rn = 1",
    "sessions": f"t.g, session_window(s.ts, '2 seconds') AS w, count(*), sum(s.p), count(DISTINCT s.i) AS d {PLAIN} "
    "GROUP BY t.g, session_window(s.ts, '2 seconds')",
    "of_sessions": "window(w.start, '10 seconds').end AS until, count(*) AS visits, max(n) AS most FROM (SELECT s.k, "
    "session_window(ts, '1 second') AS w, count(*) AS n FROM s GROUP BY s.k, session_window(ts, '1 second')) "
    "GROUP BY window(w.start, '10 seconds')",
    "values": "window(s.ts, '4 seconds').end AS w, sort_array(collect_list(s.i)) AS l, "
    "sort_array(collect_set(t.g)) AS u, "
    "sort_array(array_agg(struct(t.i, s.g))) AS p, sort_array(collect_list(s.p) FILTER (WHERE t.i > 0)) AS f, "
    "max_by(t.g, concat(t.g, t.i)) AS m, min_by(t.i, concat(t.i, '|', t.g)) FILTER (WHERE t.x > 0) AS n, "
    f"count(DISTINCT s.i, t.g) AS d, percentile(t.i, 0.9), percentile(s.x, 0.25) AS q {PLAIN} "
    "GROUP BY window(s.ts, '4 seconds')",
    "sets": "window(s.ts, '4 seconds') AS w, upper(s.g) AS u, t.i, coalesce(t.i, 99) AS c, count(*), sum(t.i), "
    "grouping(t.i) AS a, grouping_id() AS b, "
    f"count(DISTINCT t.i) AS d {PLAIN} GROUP BY window(s.ts, '4 seconds'), CUBE (upper(s.g), t.i)",
    "some_groups": "window(s.ts, '4 seconds').start AS w, s.g, count(*) FILTER (WHERE s.i > 0) AS n FROM s "
    "GROUP BY window(s.ts, '4 seconds'), s.g HAVING max(s.i) > 0 AND window.end IS NOT NULL",
    "calendar": "date_trunc('MINUTE', s.ts) AS h, to_date(s.ts) AS d, s.g, count(*), max(s.x) "
    "FROM s WHERE s.ts IS NOT NULL GROUP BY date_trunc('MINUTE', s.ts), to_date(s.ts), s.g",
    "sliding": f"window(s.ts, '4 seconds', '1 second', '500 milliseconds') AS w, t.g, count(*), sum(s.p) {PLAIN} "
    "GROUP BY window(s.ts, '4 seconds', '1 second', '500 milliseconds'), t.g",
}


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("sliding", "sessions"), marks=pytest.mark.thorough),
        pytest.param(("first_rows", "values", "sets"), marks=pytest.mark.thorough),
        pytest.param(("some_groups", "calendar", "first_groups", "of_sessions"), marks=pytest.mark.thorough),
    ],
    ids=lambda names: names[0],
)
def test_groups_that_close_are_given_once_to_files_and_are_what_spark_says(
    spark: SparkSession, bench: Bench, names: tuple[str, ...]
) -> None:
    """Some queries as one script."""
    write(bench, 5)
    selects = {name: WINDOWED[name] for name in names}
    sinks = "".join(f"CREATE SINK {n} USING parquet OPTIONS (path '{{out}}/{n}');" for n in names)
    script = STREAMS + sinks + "".join(f"INSERT INTO {name} SELECT {select};" for name, select in selects.items())
    ran = bench.run(script, unbounded=False, final=True)
    assert ran.code == 0, ran.err
    for name, select in selects.items():
        wanted = by_spark(spark, bench, f"SELECT {select}")
        found = spark.read.parquet(str(bench.folder / "out" / name))
        # What is read from a file may hold NULLs, as far as Spark knows.
        kinds = [[(f.name, f.dataType.simpleString()) for f in rows.schema] for rows in (found, wanted)]
        assert kinds[0] == kinds[1], name
        assert sum(line["rows_out"] for line in ran.batches if line["query"] == name) == wanted.count() > 0
        same_rows(found.collect(), wanted.collect())


HAVING = {
    "SELECT a AS b, max(c) AS m FROM v GROUP BY a HAVING b > 1": True,
    "SELECT max(a) AS b FROM v HAVING b > 1": True,
    "SELECT a AS b FROM v GROUP BY b HAVING b > 1": False,
    "SELECT b AS a, count(*) AS n FROM v GROUP BY b HAVING a > 1": True,
    "SELECT a AS x, count(*) AS n FROM v GROUP BY a HAVING max(x) > 1": False,
    "SELECT a FROM v HAVING a > 1": False,
}


@pytest.mark.parametrize("select", HAVING)
def test_names_in_having_mean_what_they_mean_to_spark(spark: SparkSession, select: str) -> None:
    """Whether they can stand at all is asked of Spark too."""
    spark.sql("SELECT 1 AS a, 2 AS b, 3 AS c").createOrReplaceTempView("v")
    try:
        spark.sql(select).schema  # noqa: B018 - it is worked out now
        is_right = True
    except AnalysisException:
        is_right = False
    assert is_right == HAVING[select]
    script = f"CREATE STREAM v (a INT, b INT, c INT); {select};"
    if is_right:
        assert penstock.parse(script).queries
    else:
        with pytest.raises(penstock.PenstockError):
            penstock.parse(script)


def test_aggregates_are_known_by_name_as_spark_knows_them(spark: SparkSession) -> None:
    registry = spark._jsparkSession.sessionState().functionRegistry()
    known = registry.listFunction()
    found = set()
    for place in range(known.size()):
        info = registry.lookupFunction(known.apply(place))
        if info.isDefined() and info.get().getGroup() == "agg_funcs":
            found.add(info.get().getName())
    assert found <= SPARK_AGGREGATES, " ".join(sorted(found - SPARK_AGGREGATES))
