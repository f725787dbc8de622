"""The Python of the pages that needs Spark runs as it stands there, over the data of the example jobs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from examples.jobs.make_data import write
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

import penstock
from tests.docs.pages import PAGES, Block, blocks

SNIPPETS = [
    (page, block)
    for page in PAGES
    for block in blocks(page.read_text(encoding="utf-8"))
    if block.language == "python" and block.file is None
]


def test_there_are_such_snippets() -> None:
    assert len(SNIPPETS) >= 5


@pytest.mark.thorough
@pytest.mark.parametrize(("page", "block"), SNIPPETS, ids=[f"{page.name}:{block.line}" for page, block in SNIPPETS])
def test_a_snippet_runs(
    page: Path, block: Block, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "data", files=2)

    def stream(name: str, columns: str, time: str) -> Any:
        reader = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(tmp_path / "data" / name)).withWatermark(time, "5 seconds")

    orders = stream("orders", "id BIGINT, amount BIGINT, ordered TIMESTAMP", "ordered")
    payments = stream("payments", "order_id BIGINT, paid_amount BIGINT, paid TIMESTAMP", "paid")
    within = "id = order_id AND paid BETWEEN ordered AND ordered + INTERVAL 1 HOUR"
    joined = orders.join(payments, F.expr(within))
    names = {"F": F, "penstock": penstock, "spark": spark, "orders": orders, "payments": payments, "joined": joined}
    try:
        # Spark's own folder is not the test's, so what the page names is put into that.
        code = re.sub(r'"(data/\w+|out|state|…)"', rf'"{tmp_path}/\1"', block.body)
        exec(compile(code, f"{page.name}:{block.line}", "exec"), names)
        for query in spark.streams.active:
            query.processAllAvailable()
    finally:
        for query in spark.streams.active:
            query.stop()
