"""Nexmark's questions: each run by Penstock on the streams, by Spark on the whole events, and by Spark on the streams.

The script is `examples/nexmark/nexmark.sql`, read from wherever the events were written. What Spark is asked is the
same text: its answer on the whole events is what every answer is compared with.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.packets.runs import ROOT
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import penstock
from penstock.analysis.check import check_query
from penstock.compile import runnable_plan
from penstock.model.script import Script
from penstock.spark.run import RunOptions, run_script

SCRIPT = ROOT / "examples" / "nexmark" / "nexmark.sql"
STREAMS = ("person", "auction", "bid")
LATEST = "1 second"

_STATEMENT = re.compile(r"^(?:INSERT INTO (?P<sink>\w+)|CREATE VIEW (?P<view>\w+) AS)\s(?P<text>[^;]*);", re.M)


@dataclass(frozen=True)
class Answered:
    """What was seen of one question."""

    name: str
    verdict: str
    right: bool
    batches: int
    rows: int
    seconds: float
    state_rows: int
    """The most that were stored after a batch, all blocks together."""
    state_bytes: int
    spark_rows: int | None
    """The same of Spark's own plan over the streams; None where it refuses the question."""
    spark_seconds: float | None
    spark_says: str


@dataclass(frozen=True)
class Places:
    """Where events lie and answers go."""

    events: Path
    home: Path

    def text(self) -> str:
        """The script over these places."""
        text = SCRIPT.read_text(encoding="utf-8")
        return text.replace("'nexmark/", f"'{self.events}/").replace("'out/nexmark/", f"'{self.home}/out/")


def answered(
    spark: SparkSession, places: Places, name: str, *, with_spark: bool, say: Callable[[str], None]
) -> Answered:
    """One question, answered by each."""
    text = places.text()
    script = penstock.parse(text, str(SCRIPT))
    query = next(query for query in script.queries if query.name == name)
    verdict = check_query(query)
    say(f"{name}: {verdict.verdict}")
    began = time.perf_counter()
    options = RunOptions(checkpoint=str(places.home / "checkpoint"), available_now=True, final=True)
    (ran,) = run_script(script, [(query, runnable_plan(query, verdict, allow_unbounded=False))], options)
    seconds = time.perf_counter() - began
    found = _answer(spark, script, name)
    expected = _whole(spark, places, text, name)
    right = found.exceptAll(expected).isEmpty() and expected.exceptAll(found).isEmpty()
    own = _by_spark(spark, places, text, name) if with_spark else (None, None, "")
    return Answered(
        name,
        verdict.verdict,
        right,
        len(ran.batches),
        expected.count(),
        seconds,
        max(sum(line["state_rows"].values()) for line in ran.batches),
        max(line["state_bytes"] for line in ran.batches),
        *own,
    )


def _answer(spark: SparkSession, script: Script, name: str) -> DataFrame:
    sink = script.sink(name)
    assert sink is not None
    return spark.read.parquet(dict(sink.storage.options)["path"])


def _asked(text: str, name: str) -> tuple[list[tuple[str, str]], str]:
    """The views of the script, and the text of a question."""
    found = list(_STATEMENT.finditer(text))
    views = [(m["view"], m["text"]) for m in found if m["view"]]
    return views, next(m["text"] for m in found if m["sink"] == name)


def _views(spark: SparkSession, views: list[tuple[str, str]]) -> None:
    for view, inner in views:
        spark.sql(f"CREATE OR REPLACE TEMP VIEW {view} AS {inner}")


def _whole(spark: SparkSession, places: Places, text: str, name: str) -> DataFrame:
    for stream in (*STREAMS, "channels"):
        spark.read.parquet(str(places.events / stream)).createOrReplaceTempView(stream)
    views, question = _asked(text, name)
    _views(spark, views)
    return spark.sql(question)


def _by_spark(spark: SparkSession, places: Places, text: str, name: str) -> tuple[int | None, float | None, str]:
    """What Spark's own plan stores and takes over the same files; its words where it will not."""
    for stream in STREAMS:
        schema = spark.read.parquet(str(places.events / stream)).schema
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        rows = reader.parquet(str(places.events / stream)).withWatermark("ts", LATEST)
        rows.createOrReplaceTempView(stream)
    spark.read.parquet(str(places.events / "channels")).createOrReplaceTempView("channels")
    views, question = _asked(text, name)
    home = places.home / "spark"
    shutil.rmtree(home, ignore_errors=True)
    provider = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(provider)
    began = time.perf_counter()
    try:
        spark.conf.set(provider, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
        _views(spark, views)
        writer = spark.sql(question).writeStream.outputMode("append").trigger(availableNow=True)
        handle = (
            writer.format("parquet")
            .option("path", str(home / "out"))
            .option("checkpointLocation", str(home / "checkpoint"))
            .start()
        )
        handle.awaitTermination()
        stored = [sum(int(s["numRowsTotal"]) for s in p["stateOperators"]) for p in handle.recentProgress]
        return max(stored, default=0), time.perf_counter() - began, ""
    except PySparkException as error:
        condition: Any = error.getCondition() if hasattr(error, "getCondition") else None
        return None, None, str(condition or error).split("\n")[0][:60]
    finally:
        spark.conf.set(provider, before or "")
