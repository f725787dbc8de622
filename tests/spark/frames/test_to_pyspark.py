"""A script as PySpark code, run: the same declarations, the same query, the same answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.jobs import to_sql
from tests.spark.conftest import Bench
from tests.spark.frames.job_bench import answer, write

SCRIPT = """
CREATE STREAM a (k BIGINT, n INT, ts TIMESTAMP, m INT AS (n + 1), EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS,
  FOLLOWS b (k) ON (k) WITHIN 1 HOUR) USING parquet OPTIONS (path '{data}/a', maxFilesPerTrigger '1');
CREATE STREAM b (k BIGINT, n INT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS, CHECK (n < 100))
  USING parquet OPTIONS (path '{data}/b', maxFilesPerTrigger '1') WHERE n > 1;
SELECT a.k, count(*) AS c, b.n + 1 AS o FROM a JOIN b ON a.k = b.k AND a.ts = b.ts
GROUP BY a.k, b.n + 1, window(a.ts, '4 seconds');
"""


def made(spark: SparkSession, text: str) -> Any:
    names: dict[str, Any] = {"spark": spark}
    code = penstock.to_pyspark(penstock.parse(text)).replace("answer = penstock.adopt(", "answer = (")
    exec(code, names)
    return names["answer"]


def test_sql_of_the_code_declares_the_same(spark: SparkSession, bench: Bench) -> None:
    write(bench, seed=1, files=0)
    text = bench.text(SCRIPT)
    said = penstock.parse(to_sql(made(spark, text)))
    wanted = penstock.parse(text)
    for one, other in zip(said.streams, wanted.streams, strict=True):
        assert (one.name, one.event_time, one.schemes) == (other.name, other.event_time, other.schemes)
    assert penstock.check(said).verdict == penstock.check(wanted).verdict == "bounded"


@pytest.mark.thorough
def test_code_gives_what_the_script_gives(spark: SparkSession, bench: Bench) -> None:
    write(bench, seed=1, files=2)
    text = bench.text(SCRIPT)
    wanted = answer(bench, penstock.stream(spark, penstock.parse(text)), "script")
    assert answer(bench, penstock.adopt(made(spark, text)), "code") == wanted != Counter()
