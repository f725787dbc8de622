"""Many small batches, and one batch with a hot key, on real Spark: no process grows, none needs more than its share.

At the size of the issue both take minutes, so they run under PENSTOCK_MEASURE=full alone.
"""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.measure import FULL
from tests.spark.conftest import Bench
from tests.spark.processes import Watched

STREAMS = "".join(
    f"""
CREATE STREAM {name} (k BIGINT, n BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 1 SECOND)
  USING parquet OPTIONS (path '{{data}}/{name}'{{options}});
"""
    for name in "ab"
)
SINK = "CREATE SINK out USING parquet OPTIONS (path '{out}'); INSERT INTO out "
BAND = "a.k = b.k AND b.ts - a.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 1 SECOND"
SECOND = 1_000_000
BATCHES, ROWS = 500, 100


def put(bench: Bench, stream: str, keys: Any, numbers: Any, times: Any) -> None:
    path = bench.place(stream, f"{bench.files:06d}.parquet")
    aside = path.with_name("." + path.name)
    table = {"k": keys, "n": numbers, "ts": pa.array(times, pa.timestamp("us", "UTC"))}
    pq.write_table(pa.table(table), aside)
    bench.date(aside, path)


@pytest.mark.skipif(not FULL, reason="500 batches take minutes")
def test_500_small_batches_and_no_process_grows(outside: Bench) -> None:
    for batch in range(BATCHES):
        numbers = np.arange(ROWS) + batch * ROWS
        for stream in "ab":
            put(outside, stream, numbers % 977, numbers, numbers * SECOND // ROWS)
    script = (
        STREAMS.replace("{options}", ", maxFilesPerTrigger '1'")
        + SINK
        + f"SELECT a.n, b.n AS m FROM a, b WHERE {BAND};"
    )
    process = outside.start(script, unbounded=False)
    watched = Watched(process)
    ran = outside.finish(process, timeout=1800)
    assert ran.code == 0, ran.err
    assert "out: exact" in ran.err
    assert len(ran.batches) == BATCHES
    assert sum(line["rows_out"] for line in ran.batches) == BATCHES * ROWS
    third = len(watched.seen) // 3
    for kind in ("driver", "jvm", "workers"):
        middle, last = (
            median(now[kind] for _, now in part)
            for part in (watched.seen[third : third + third // 2], watched.seen[-third // 2 :])
        )
        print(f"{kind}: {middle / 1e6:,.0f} MB after a third, {last / 1e6:,.0f} MB at the end")
        assert last < 1.15 * middle + 30_000_000, kind
    seconds = [line["seconds"] for line in ran.batches]
    print(f"a batch: {median(seconds[50:150]):.2f} s, and {median(seconds[-100:]):.2f} s at the end")
    assert median(seconds[-100:]) < 1.5 * median(seconds[50:150])


TOGETHER = 3_000_000
HALF = TOGETHER // 2
QUERIES = {
    "inner": f"SELECT a.n, b.n AS m FROM a, b WHERE {BAND}",
    "left": f"SELECT a.n, b.n AS m FROM a LEFT JOIN b ON {BAND}",
    "exists": f"SELECT a.n FROM a WHERE EXISTS (SELECT 1 FROM b WHERE {BAND})",
    "range": "SELECT a.n, b.n AS m FROM a [RANGE 1 SECOND], b [RANGE 1 SECOND] WHERE a.k = b.k",
    "rows": "SELECT a.n, b.n AS m FROM a [ROWS 2], b [ROWS 2] WHERE a.k = b.k",
    "groups": f"SELECT window(a.ts, '1 minute').start AS since, count(*) AS c FROM a, b WHERE {BAND} "
    "GROUP BY window(a.ts, '1 minute')",
}


def keys_of(seed: int, *, hot: bool) -> Any:
    """Nine of ten rows with one key, or with one for each thousand of them; the others are drawn by chance."""
    rng = np.random.default_rng(seed)
    places = np.arange(HALF)
    return np.where(rng.random(HALF) < 0.9, 7 if hot else -1 - places // 1_000, rng.integers(0, HALF, HALF))


@pytest.mark.skipif(not FULL, reason="3 million rows, twice")
@pytest.mark.parametrize("kind", QUERIES)
def test_one_key_with_nine_of_ten_rows_of_a_batch(outside: Bench, kind: str) -> None:
    """A second between two rows: each of a meets the one of b at its time, and the next, where their keys agree."""
    seconds, most, found = {}, {}, {}
    for hot in (False, True):
        name = "hot" if hot else "spread"
        keys = {stream: keys_of(number, hot=hot) for number, stream in enumerate("ab")}
        for stream in "ab":
            put(outside, f"{name}/{stream}", keys[stream], np.arange(HALF), np.arange(HALF) * SECOND)
        script = STREAMS.replace("{data}", f"{{data}}/{name}").replace("{options}", "")
        script += SINK.replace("{out}", f"{{out}}/{name}") + QUERIES[kind] + ";"
        (outside.folder / "metrics.jsonl").unlink(missing_ok=True)
        process = outside.start(script, checkpoint=name, conf={"spark.driver.memory": "2g"})
        watched = Watched(process)
        ran = outside.finish(process, timeout=900)
        assert ran.code == 0, ran.err
        seconds[hot], most[hot] = ran.batches[0]["seconds"], watched.most("workers")
        found[hot] = ran.batches[0]["rows_out"]
        same, following = keys["a"] == keys["b"], keys["a"][:-1] == keys["b"][1:]
        if kind == "inner":
            assert found[hot] == np.count_nonzero(same) + np.count_nonzero(following)
        if kind == "exists":
            assert found[hot] == np.count_nonzero(same | np.append(following, False))
        if kind == "range":
            assert found[hot] == np.count_nonzero(same)
    print(
        f"{kind}: {TOGETHER:,} rows in one batch: spread {seconds[False]:.1f} s, workers {most[False] / 1e9:.2f} GB; "
        f"one key {seconds[True]:.1f} s, workers {most[True] / 1e9:.2f} GB; {found[True]:,} results"
    )
    assert most[True] < 2_000_000_000
    assert seconds[True] <= 3 * seconds[False]
