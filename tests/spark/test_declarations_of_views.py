"""Streams and views that say of each other when their rows match, on Spark; the oracle is Spark's batch answer."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import SparkSession

from tests.spark.conftest import Bench
from tests.spark.test_groups_of_times import declared, row_of, write

_VIEWS = """
CREATE VIEW sums AS
SELECT k, window(ts, '10 minutes').end AS ts, sum(v) AS v FROM t GROUP BY k, window(ts, '10 minutes');
CREATE VIEW known (FOLLOWS sums (k) ON (k) WITHIN 1 DAY, COOCCURS (k) AND u (k) WINDOW [-1 DAY, 1 DAY]) AS
SELECT k, v, ts FROM x WHERE v > 6;
"""
_SELECTS = {
    "a stream names a view": "SELECT u.k, u.ts, s.ts AS until, s.v FROM u FULL JOIN sums AS s ON s.k = u.k",
    "a view names a stream": "SELECT n.k, n.ts, u.v FROM known AS n LEFT JOIN u ON u.k = n.k",
    "two of three say": "SELECT k, t.v AS a, u.v AS b, x.v AS c, t.ts AS p, u.ts AS q, x.ts AS r "
    "FROM (SELECT * FROM t WHERE v = 3) AS t FULL JOIN (SELECT * FROM u WHERE v = 4) AS u USING (k) "
    "FULL JOIN (SELECT * FROM x WHERE v = 5) AS x USING (k)",
}
_SAID = {
    "t": ", COOCCURS (k) AND u (k) WINDOW [-1 DAY, 1 DAY], COOCCURS (k) AND x (k) WINDOW [-1 DAY, 1 DAY]",
    "u": ", COOCCURS (k) AND sums (k) WINDOW [-6 HOURS, 6 HOURS], COOCCURS (k) AND x (k) WINDOW [-1 DAY, 1 DAY]",
}


@pytest.mark.parametrize("name", _SELECTS)
def test_what_is_said_between_streams_and_views_leaves_the_answer_whole(
    spark: SparkSession, bench: Bench, name: str
) -> None:
    for stream in "tux":
        write(bench, stream)
        spark.read.parquet(str(bench.folder / "data" / stream)).createOrReplaceTempView(stream)
    streams = "".join(declared(stream, _SAID.get(stream, "")) for stream in "tux")
    sink = "CREATE SINK s USING parquet OPTIONS (path '{out}/s');"
    ran = bench.run(f"{streams} {_VIEWS} {sink} INSERT INTO s {_SELECTS[name]};", unbounded=False, final=True)
    assert ran.code == 0, ran.err
    for view in ("sums", "known"):
        (text,) = (v.split(" AS", 1)[1] for v in _VIEWS.split(";") if f"CREATE VIEW {view}" in v)
        spark.sql(text.lstrip()).createOrReplaceTempView(view)
    wanted = Counter(map(row_of, spark.sql(_SELECTS[name]).collect()))
    assert len(wanted) > 5
    assert Counter(map(row_of, spark.read.parquet(str(bench.folder / "out" / "s")).collect())) == wanted
    assert all(line["exact"] for line in ran.batches)
