"""Spark compiles nothing where it sees but packed rows, and what is set as a query starts is taken back."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tests.spark.conftest import Bench
from tests.spark.test_parquet_sink import KN, PAIRS

_CODEGEN = ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode")
_OFF = ("false", "NO_CODEGEN")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((PAIRS, {}), _OFF),
        ((PAIRS, {_CODEGEN[0]: "true"}), ("true", "NO_CODEGEN")),
        ((PAIRS.replace("s.n,", "s.n + 1 AS n,"), {}), None),
        ((PAIRS.replace("USING parquet OPTIONS (path '{data}/s'", "USING csv OPTIONS (path '{data}/none'"), {}), None),
    ],
    ids=["columns alone", "as the user says", "an expression in SELECT", "a stream that Spark decodes"],
)
def test_spark_compiles_only_where_it_sees_rows(
    bench: Bench,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    given: tuple[str, dict[str, str]],
    expected: tuple[str, str] | None,
) -> None:
    script, conf = given
    for stream in ("s", "t"):
        bench.write(stream, [{"k": 1, "n": 10}, {"k": 2, "n": 20}], KN)
    (bench.folder / "data" / "none").mkdir(parents=True)
    before, seen = _settings(spark), []
    start = DataStreamWriter.start

    def noted(writer: Any, *rest: Any, **named: Any) -> Any:
        seen.append(_settings(spark))
        return start(writer, *rest, **named)

    monkeypatch.setattr(DataStreamWriter, "start", noted)
    ran = bench.run(script, conf=conf)
    assert ran.code == 0, ran.err
    assert seen == [before if expected is None else expected]
    assert {name: spark.conf.get(name) for name in conf} == conf
    for name in conf:
        spark.conf.unset(name)
    assert _settings(spark) == before


def _settings(spark: SparkSession) -> tuple[str | None, ...]:
    return tuple(spark.conf.get(name, None) for name in _CODEGEN)
