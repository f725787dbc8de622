"""The jobs of examples/jobs: each checked, and adopted with the same answer as Spark's own on the rows at rest."""

from __future__ import annotations

import runpy
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock
from tests.spark.conftest import Bench
from tests.spark.frames.job_bench import answer, batch_answer

JOBS = Path(__file__).parents[3] / "examples" / "jobs"
NAMES = [path.stem for path in sorted(JOBS.glob("*.py")) if path.stem != "make_data"]


def answer_of(name: str, spark: SparkSession, folder: Path) -> DataFrame:
    found: DataFrame = runpy.run_path(str(JOBS / f"{name}.py"))["answer"](spark, str(folder / "data"))
    return found


@pytest.fixture
def data(bench: Bench) -> Bench:
    """The data of all jobs."""
    runpy.run_path(str(JOBS / "make_data.py"))["write"](bench.folder / "data")
    return bench


def test_there_are_five() -> None:
    assert len(NAMES) == 5


@pytest.mark.parametrize("name", NAMES)
def test_each_job_is_bounded(spark: SparkSession, data: Bench, name: str) -> None:
    assert penstock.check(answer_of(name, spark, data.folder)).verdict == "bounded"


class AtRest:
    """Reads at once what a stream reads in turn."""

    def __init__(self, spark: SparkSession) -> None:
        self.reader = spark.read

    def schema(self, columns: str) -> AtRest:
        self.reader = self.reader.schema(columns)
        return self

    def option(self, *_: Any) -> AtRest:
        return self

    def parquet(self, path: str) -> DataFrame:
        return self.reader.parquet(path)


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_each_job_gives_the_same_when_it_is_adopted(
    spark: SparkSession, data: Bench, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = answer(data, penstock.adopt(answer_of(name, spark, data.folder)), "adopted")
    monkeypatch.setattr(SparkSession, "readStream", property(AtRest))
    wanted = batch_answer(answer_of(name, spark, data.folder))
    # Of rows that tell no time the one far in the future is known by its key.
    assert _near(found) == _near(wanted) != Counter()


def _near(rows: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter({row: n for row, n in rows.items() if -1 not in row and not any(_far(value) for value in row)})


def _far(value: Any) -> bool:
    return isinstance(value, datetime) and value > datetime(2024, 6, 1)
