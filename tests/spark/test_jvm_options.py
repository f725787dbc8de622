"""What is asked of the JVM: one collector alone, and the second compiler only where rows come one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.spark.jvm_options import jvm_options

SETTING = "spark.driver.defaultJavaOptions"


@pytest.fixture(autouse=True)
def nothing_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))


def told(conf: dict[str, str] | None = None, *, few_rows: bool = False) -> str:
    return jvm_options(conf or {}, few_rows=few_rows)[SETTING]


def test_what_is_new_has_half_of_the_heap_and_few_rows_one_compiler() -> None:
    assert "-XX:+UseParallelGC -XX:NewRatio=1" in told()
    assert "TieredStopAtLevel" not in told()
    assert "-XX:TieredStopAtLevel=1" in told(few_rows=True)


def test_a_collector_that_the_user_asks_for_is_the_only_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mine = {"spark.driver.extraJavaOptions": "-Xss4m -XX:+UseG1GC"}
    assert "GC" not in told(mine)
    assert "-XX:TieredStopAtLevel=1" in told(mine, few_rows=True)
    assert "ParallelGC" in told({"spark.driver.extraJavaOptions": "-XX:+PrintFlagsFinal -XX:-UseGCOverheadLimit"})
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:+UseZGC")
    assert "GC" not in told()
    monkeypatch.delenv("JDK_JAVA_OPTIONS")
    defaults = tmp_path / "spark-defaults.conf"
    defaults.write_text("spark.driver.extraJavaOptions -XX:+UseG1GC\n")
    assert "GC" not in told()
    defaults.write_text("# spark.driver.extraJavaOptions -XX:+UseG1GC\n")
    assert "ParallelGC" in told()
