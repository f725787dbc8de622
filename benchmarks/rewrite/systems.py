"""The systems side by side in one Spark session: Spark's own joins, whole or over a sample of connections, the engine,
and the counts.

Spark's joins are written as its guide says: an inner join on ip with both limits of time, then a left outer join whose
unmatched rows are the answer; its event times but one are plain numbers after a join. It writes the time of the SYN of
each result and is spared the aggregation; the engine runs the query as it stands. A sample takes every connection whose
ip hashes to it, as the paper does. They run on Spark's default store, which holds all on the heap, as users have it;
and whole on RocksDB, in which Penstock's own state lies. CPU is that of the whole process tree, the session's start and
a first small run of each system left out.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from benchmarks.rewrite.traffic import SECOND, START
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock import compile as way
from penstock.spark.run import RunOptions, run_script
from penstock.spark.session import ON_HEAP, PROVIDER, ROCKSDB

ROOT = Path(__file__).parents[2]
_TICKS = os.sysconf("SC_CLK_TCK")
ALLOWED, WITH_BOUNDS = "/*+ ERROR(25 PERCENT) */ ", "/*+ ERROR(25 PERCENT WITH BOUNDS) */ "
# The joins keep a million rows in the heap.
CONF = {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2", "spark.driver.memory": "6g"}


@dataclass(frozen=True)
class Told:
    """What WITH BOUNDS says of a window: limits, shares of the SYNs and of the answer, whether a declaration was seen
    broken, and whether more was measured than declared.
    """

    low: int
    high: int
    declared: float
    lags: float
    violations: float
    answer: float
    broken: bool
    exceeded: bool


@dataclass(frozen=True)
class Ran:
    """What a system took, and the counts it gave: by window length in minutes, by window."""

    system: str
    cpu: float
    seconds: float
    state_rows: int
    state_bytes: int
    counts: dict[int, dict[int, float]]
    told: dict[int, Told] = field(default_factory=dict)
    """By window, where bounds are asked for."""
    is_exact: bool = False
    """Whether it joins, and all connections."""


def cpu_of_tree() -> float:
    """CPU seconds of this process and all below it, those that have ended included."""
    stats = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            fields = text[text.rindex(")") + 2 :].split()
            stats[int(entry.name)] = (int(fields[1]), sum(int(f) for f in fields[11:15]))
    total, left = 0, [os.getpid()]
    while left:
        pid = left.pop()
        total += stats.get(pid, (0, 0))[1]
        left += [child for child, (parent, _) in stats.items() if parent == pid]
    return total / _TICKS


def timed(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """What a call gives, its CPU and its seconds."""
    cpu, began = cpu_of_tree(), time.perf_counter()
    given = run()
    return given, cpu_of_tree() - cpu, time.perf_counter() - began


def spark_joins(
    spark: SparkSession, data: Path, home: Path, percent: int, minutes: tuple[int, ...], *, on_rocksdb: bool = False
) -> Ran:
    """The original query on Spark's own joins, over a sample of connections; on the store that Spark has by default."""
    before = spark.conf.get(PROVIDER) or ON_HEAP
    spark.conf.set(PROVIDER, ROCKSDB if on_rocksdb else ON_HEAP)
    try:
        (handle, cpu, seconds) = timed(lambda: _joined(spark, data, home, percent))
    finally:
        spark.conf.set(PROVIDER, before)
    operators = [progress["stateOperators"] for progress in handle.recentProgress]
    syns = pq.read_table(home / "out").column("s_us").to_numpy() - START
    counts = {m: {w: n * 100 / percent for w, n in by_window(syns, m).items()} for m in minutes}
    name = "Spark's joins" if percent == 100 else f"Spark's joins, {percent} % of connections"
    name += ", on RocksDB" if on_rocksdb else ""
    return Ran(
        name,
        cpu,
        seconds,
        max(sum(o["numRowsTotal"] for o in batch) for batch in operators),
        max(sum(o["memoryUsedBytes"] for o in batch) for batch in operators),
        counts,
        is_exact=percent == 100,
    )


def by_window(times: Any, minutes: int) -> dict[int, int]:
    """How many times fall into each window, from the start."""
    windows, counts = np.unique(times // (minutes * 60 * SECOND), return_counts=True)
    return dict(zip(windows.tolist(), counts.tolist(), strict=True))


def _joined(spark: SparkSession, data: Path, home: Path, percent: int) -> Any:
    def read(name: str) -> DataFrame:
        frame = spark.readStream.schema("ip STRING, ts TIMESTAMP").option("maxFilesPerTrigger", "1")
        rows = frame.parquet(str(data / name)).withWatermark("ts", "1 second")
        if percent < 100:
            rows = rows.where(F.expr(f"pmod(xxhash64(ip), 100) < {percent}"))
        return rows.alias(name)

    both = read("syn").join(
        read("synack"),
        F.expr("syn.ip = synack.ip AND synack.ts >= syn.ts AND synack.ts <= syn.ts + INTERVAL 5 SECONDS"),
    )
    pairs = both.selectExpr("synack.ip AS ip", "synack.ts AS ts", "unix_micros(syn.ts) AS s_us").alias("sa")
    within = F.expr("sa.ip = fin.ip AND fin.ts >= sa.ts AND fin.ts <= sa.ts + INTERVAL 10 SECONDS")
    open_ends = pairs.join(read("fin"), within, "left_outer").where("fin.ip IS NULL").select("s_us")
    writer = open_ends.writeStream.format("parquet").option("path", str(home / "out"))
    handle = writer.option("checkpointLocation", str(home / "checkpoint")).trigger(availableNow=True).start()
    handle.awaitTermination()
    return handle


def engine(data: Path, home: Path, minutes: tuple[int, ...]) -> Ran:
    """The original query on Penstock's engine, by the minute; longer windows are sums of its windows."""
    ran = _run(script(data, home / "out", 1, ""), home, "Penstock's engine")
    counts: dict[int, dict[int, float]] = {m: defaultdict(float) for m in minutes}
    for row in _rows(home / "out"):
        since = int(row["tb"].timestamp() * SECOND) - START
        for m, found in counts.items():
            found[since // (m * 60 * SECOND)] += row["cnt"]
    return replace(ran, counts=counts, is_exact=True)


def counts(data: Path, home: Path, minutes: int, *, bounds: bool) -> Ran:
    """Section 2's script with a hint that allows the counts."""
    name = f"counts with bounds, {minutes} min" if bounds else f"counts, {minutes} min"
    ran = _run(script(data, home / "out", minutes, WITH_BOUNDS if bounds else ALLOWED), home, name)
    length = minutes * 60 * SECOND
    rows = {(int(row["tb"].timestamp() * SECOND) - START) // length: row for row in _rows(home / "out")}
    told = {window: _told(row) for window, row in rows.items()} if bounds else {}
    return replace(ran, counts={minutes: {window: float(row["cnt"]) for window, row in rows.items()}}, told=told)


def _told(row: dict[str, Any]) -> Told:
    declared, lags, violations, answer = (
        row[f"error_{name}"] or 0.0 for name in ("declared", "observed", "violations", "answer")
    )
    limits = row["cnt_low"], row["cnt_high"]
    return Told(*limits, declared, lags, violations, answer, bool(row["broken"]), row["exceeded"])


def _run(text: str, home: Path, name: str) -> Ran:
    """A script as `penstock run` runs it."""
    read = way.parse(text)
    query = read.queries[0]
    plan = way.runnable_plan(query, way.check(read), allow_unbounded=False)
    options = RunOptions(checkpoint=str(home / "checkpoint"), available_now=True, conf=CONF)
    (ran,), cpu, seconds = timed(lambda: run_script(read, [(query, plan)], options))
    kept = max(sum(line["state_rows"].values()) + line["promise_rows"] for line in ran.batches)
    return Ran(name, cpu, seconds, kept, max(line["state_bytes"] for line in ran.batches), {})


def _rows(out: Path) -> list[dict[str, Any]]:
    files = [path for path in out.glob("*.parquet") if pq.read_metadata(path).num_rows]
    return [row for path in files for row in pq.read_table(path).to_pylist()]


def script(data: Path, out: Path, minutes: int, hint: str) -> str:
    """The script of section 2 over files."""
    text = (ROOT / "examples" / "syn_without_fin.sql").read_text(encoding="utf-8")
    for name in ("syn", "synack", "fin"):
        text = text.replace(f"(path 'data/tcp_{name}')", f"(path '{data / name}', maxFilesPerTrigger '1')")
    text = text.replace("out/unfinished", str(out))
    text = text.replace("'5 minutes'", f"'{minutes} minutes'")
    return text.replace("SELECT window", f"SELECT {hint}window")
