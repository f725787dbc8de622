"""The Python that pages show of a job runs: each block of README, adopt and withwatermark, over two small streams.

Blocks that the reader saves as a file are run by the commands of their page (tests/docs).
"""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

import penstock
from tests.docs.pages import PAGES, Block, blocks

SHOWN = [
    (page, block)
    for page in PAGES
    for block in blocks(page.read_text(encoding="utf-8"))
    if block.language == "python" and block.file is None
]


def _is_slow(page: Path, block: Block) -> bool:
    """What runs the job twice, and the page that begins with the job of the README."""
    return "penstock.compare" in block.body or (page.name == "adopt.md" and "writeStream" in block.body)


def _write(folder: Path, columns: dict[str, Any]) -> None:
    folder.mkdir(parents=True)
    pq.write_table(pa.table(columns), folder / "0.parquet")


def _times(minutes: range) -> pa.Array:
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    return pa.array([start + dt.timedelta(minutes=n) for n in minutes], pa.timestamp("us", tz="UTC"))


def test_the_pages_that_show_jobs_are_those() -> None:
    assert {page.name for page, _ in SHOWN} == {"README.md", "adopt.md", "withwatermark.md"}


@pytest.mark.parametrize(
    ("page", "block"),
    [pytest.param(page, block, marks=[pytest.mark.thorough] if _is_slow(page, block) else []) for page, block in SHOWN],
    ids=[f"{page.name}:{block.line}" for page, block in SHOWN],
)
def test_a_block_runs(page: Path, block: Block, spark: SparkSession, tmp_path: Path) -> None:
    # The JVM has a working directory of its own, so what is relative to it is put into this one.
    shown = re.sub(r'"(out|state|data/\w+)"', lambda found: repr(str(tmp_path / found[1])), block.body)
    hour = range(0, 60, 6)
    _write(tmp_path / "data/orders", {"id": list(range(10)), "ts": _times(hour), "ordered": _times(hour)})
    _write(tmp_path / "data/payments", {"order_id": list(range(10)), "paid": _times(range(5, 65, 6))})
    orders = spark.readStream.schema("id BIGINT, ordered TIMESTAMP").parquet(str(tmp_path / "data/orders"))
    payments = spark.readStream.schema("order_id BIGINT, paid TIMESTAMP").parquet(str(tmp_path / "data/payments"))
    orders, payments = orders.withWatermark("ordered", "1 minute"), payments.withWatermark("paid", "1 minute")
    known: dict[str, Any] = {"penstock": penstock, "F": F, "spark": spark, "orders": orders, "payments": payments}
    near = "id = order_id AND paid BETWEEN ordered AND ordered + INTERVAL 1 HOUR"
    known["joined"] = orders.join(payments, F.expr(near))
    before = {query.id for query in spark.streams.active}
    exec(compile(shown, f"{page.name}:{block.line}", "exec"), known)
    for query in spark.streams.active:
        if query.id not in before:
            query.processAllAvailable()
            query.stop()
    if "writeStream" in block.body:
        assert spark.read.parquet(str(tmp_path / "out")).count() == 10
