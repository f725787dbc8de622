"""Jobs run both ways: as Spark runs them, and adopted. The oracle is Spark's own streaming plan on the same files.

Spark holds rows without a match, and windows, until its watermark has passed; so the last file of every stream holds
one row far in the future, and what came of these rows is left out of both answers.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.streaming.state import GroupStateTimeout

from tests.spark.conftest import Bench
from tests.spark.oracle import canonical

START = datetime(2024, 5, 1, tzinfo=UTC)
FAR = datetime(2024, 6, 1)
SCHEMA = pa.schema([("k", pa.int64()), ("n", pa.int32()), ("ts", pa.timestamp("us", "UTC"))])
DELAY = 3
KEYS = (None, 1, 2, 3)


@dataclass(frozen=True)
class Streams:
    """The streams of a job."""

    a: DataFrame
    b: DataFrame
    c: DataFrame


Job = Callable[[Streams], DataFrame]


def write(
    bench: Bench,
    seed: int,
    *,
    files: int = 3,
    rows: int = 10,
    keys: tuple[int | None, ...] = KEYS,
    without_time: float = 0.0,
) -> None:
    """Files of three streams whose rows come at most DELAY seconds late, but for those without a time."""
    for name in "abc":
        draw = random.Random(f"{name}{seed}")
        for file in range(files):
            found = [_row(draw, file, keys) for _ in range(rows)]
            timeless = [{**row, "ts": None} if draw.random() < without_time else row for row in found]
            bench.write(name, timeless, SCHEMA)
        bench.write(name, [{"k": -ord(name), "n": 30, "ts": START + timedelta(days=40)}], SCHEMA)


def _row(draw: random.Random, file: int, keys: tuple[int | None, ...]) -> dict[str, Any]:
    return {
        "k": draw.choice(keys),
        "n": draw.choice((None, 1, 2, 30)),
        "ts": START + timedelta(milliseconds=1000 * DELAY * file + 500 * draw.randint(0, 2 * DELAY - 1)),
    }


def streams(spark: SparkSession, bench: Bench, watermarks: str = "abc") -> Streams:
    """The streams, one file a batch; columns of b are `bk`, `bn`, `bts`."""
    found = {}
    for name in "abc":
        reader = spark.readStream.schema("k BIGINT, n INT, ts TIMESTAMP").option("maxFilesPerTrigger", 1)
        frame = reader.parquet(str(bench.folder / "data" / name)).toDF(f"{name}k", f"{name}n", f"{name}ts")
        found[name] = frame.withWatermark(f"{name}ts", f"{DELAY} seconds") if name in watermarks else frame
    return Streams(**found)


def at_rest(spark: SparkSession, bench: Bench) -> Streams:
    """The same rows as a batch, but for those far in the future: what becomes of them is not certain yet."""
    found = {}
    for name in "abc":
        frame = spark.read.schema("k BIGINT, n INT, ts TIMESTAMP").parquet(str(bench.folder / "data" / name))
        known = frame.where(F.col("ts").isNull() | (F.col("ts") < F.lit(FAR)))
        found[name] = known.toDF(f"{name}k", f"{name}n", f"{name}ts")
    return Streams(**found)


def batch_answer(frame: DataFrame) -> Counter[tuple[Any, ...]]:
    """What a DataFrame at rest gives."""
    return Counter(canonical(tuple(row)) for row in frame.collect() if not any(_is_far(value) for value in _flat(row)))


def answer(bench: Bench, frame: DataFrame, name: str) -> Counter[tuple[Any, ...]]:
    """What a DataFrame gives, until no more files are there."""
    out, kept = str(bench.folder / "out" / name), str(bench.folder / "checkpoint" / name)
    writer = frame.writeStream.format("parquet").option("path", out).option("checkpointLocation", kept)
    writer.trigger(availableNow=True).start().awaitTermination()
    rows = frame.sparkSession.read.schema(frame.schema).parquet(out).collect()
    return Counter(canonical(tuple(row)) for row in rows if not any(_is_far(value) for value in _flat(row)))


def counting(frame: DataFrame, timeout: str = GroupStateTimeout.NoTimeout) -> DataFrame:
    """How many rows of each key have come, by a function that remembers it."""

    def count(key: Any, rows: Any, state: Any) -> Any:
        before = state.get[0] if state.exists else 0
        total = before + sum(len(part) for part in rows)
        state.update((total,))
        yield pd.DataFrame({"k": [key[0]], "before": [before], "total": [total]})

    told = "k BIGINT, before BIGINT, total BIGINT"
    return frame.groupBy("ak").applyInPandasWithState(count, told, "n BIGINT", "append", timeout)


def _flat(row: Any) -> Iterator[Any]:
    for value in row:
        if isinstance(value, tuple):
            yield from _flat(value)
        else:
            yield value


def _is_far(value: Any) -> bool:
    return isinstance(value, datetime) and value > FAR
