"""What a JVM that never came up has said is told in a sentence, and is no bug of ours."""

from __future__ import annotations

from pathlib import Path

from penstock.spark.unstarted import unstarted

FETCHED_NOTHING = """:: org.apache.spark#spark-sql-kafka-0-10_2.13;9.9.9: not found
Exception in thread "main" java.lang.Error: [unresolved dependency: org.apache.spark#spark-kafka;9.9.9: not found]
\tat org.apache.spark.util.MavenUtils$.resolveMavenCoordinates(MavenUtils.scala:539)
"""


def test_a_package_that_is_not_there_is_named(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(FETCHED_NOTHING)
    found = unstarted(log)
    assert found.detail == "org.apache.spark:spark-kafka:9.9.9: not found"
    assert "spark.jars.packages" in str(found)
    assert "spark.jars=" in str(found.hint)


def test_another_reason_is_told_as_spark_says_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text('Exception in thread "main" java.lang.Error: no room\n\tat x.y(z:1)\n')
    assert unstarted(log).detail == "java.lang.Error: no room"
    assert unstarted(None).detail is None
    assert unstarted(tmp_path / "none").detail is None
