"""Odd inputs: text formats, values that cannot be read, nothing at all, extremes, one key with half of the rows."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from tests.spark.conftest import Bench
from tests.spark.oracle import joined, same

KNT = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
START = datetime(2024, 5, 1, tzinfo=UTC)
Rows = list[dict[str, Any]]


def test_csv_and_json_with_values_that_cannot_be_read(bench: Bench) -> None:
    """What Spark cannot read is NULL, if the stream says so: it joins with nothing, and the row counts as read."""
    bench.write_text("s", "1.csv", "k,n,ts\n1,10,2024-05-01T00:00:00Z\nx,11,never\n2,y,2024-05-01T00:00:01Z\n")
    bench.write_text("s", "2.csv", 'k,n,ts\n,12,\n2,13,2024-05-01T00:00:02Z\n"2\n')
    lines = [{"k": 1, "v": 1.5}, {"k": "z", "v": 2.5}, {"k": 2, "v": "w"}, {"v": 3.5}]
    bench.write_text("t", "1.json", "\n".join(json.dumps(line) for line in lines) + "\nnot json\n")
    ran = bench.run(
        """
        CREATE STREAM s (k INT, n INT, ts TIMESTAMP, EVENT TIME ts, ON MALFORMED NULL)
          USING csv OPTIONS (path '{data}/s', header 'true');
        CREATE STREAM t (k INT, v DOUBLE, ON MALFORMED NULL) USING json OPTIONS (path '{data}/t');
        CREATE SINK out USING parquet OPTIONS (path '{out}');
        INSERT INTO out SELECT s.k, s.n, t.v FROM s, t WHERE s.k = t.k;
        """
    )
    assert ran.code == 0, ran.err
    s: Rows = [{"k": 1, "n": 10}, {"k": None, "n": 11}, {"k": 2, "n": None}, {"k": None, "n": 12}, {"k": 2, "n": 13}]
    s.append({"k": 2, "n": None})
    t: Rows = [{"k": 1, "v": 1.5}, {"k": None, "v": 2.5}, {"k": 2, "v": None}, {"k": None, "v": 3.5}]
    t.append({"k": None, "v": None})
    assert bench.sink() == joined([s, t], lambda s, t: same(s["k"], t["k"]), lambda s, t: (s["k"], s["n"], t["v"]))
    assert ran.batches[0]["rows_in"] == {"s": len(s), "t": len(t)}
    assert ran.batches[0]["malformed"] == {"s": 3, "t": 3}


WINDOWED = """
CREATE STREAM s (k BIGINT, n BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS)
  USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE STREAM t (k BIGINT, n BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS)
  USING parquet OPTIONS (path '{data}/t', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT s.n, t.n AS m FROM s [RANGE 10 SECONDS], t [RANGE 10 SECONDS] WHERE s.k = t.k;
"""


def in_windows(s: Any, t: Any) -> bool:
    return same(s["k"], t["k"]) and abs(s["ts"] - t["ts"]) < timedelta(seconds=10)


def pair(s: Any, t: Any) -> tuple[Any, ...]:
    return s["n"], t["n"]


def moving(seed: int, count: int, start: datetime = START) -> Rows:
    """Rows whose time moves on, with one key that holds half of them."""
    rng = random.Random(seed)
    return [
        {"k": 0 if rng.random() < 0.5 else rng.randrange(1, 30), "n": n, "ts": start + timedelta(seconds=n // 2)}
        for n in range(count)
    ]


def test_empty_files_and_a_key_with_half_of_the_rows(bench: Bench) -> None:
    s, t = moving(1, 120), moving(2, 120)
    bench.write("s", [], KNT)
    bench.write("t", [], KNT)
    for part in range(3):
        bench.write("s", s[part * 40 : part * 40 + 40], KNT)
        bench.write("t", t[part * 40 : part * 40 + 40], KNT)
        if part == 0:
            bench.write("s", [], KNT)
            bench.write("t", [], KNT)
    ran = bench.run(WINDOWED, unbounded=False)
    assert ran.code == 0, ran.err
    assert bench.sink() == joined([s, t], in_windows, pair)
    assert [line["batch"] for line in ran.batches] == [0, 1, 2, 3, 4], "a batch without rows has a line too"
    assert ran.batches[0]["rows_in"] == {"s": 0, "t": 0}
    assert ran.batches[2]["state_rows"] == ran.batches[1]["state_rows"]
    assert ran.batches[-1]["state_tuples"]["s"] < 80


def test_distinct_forgets_what_cannot_come_again(bench: Bench) -> None:
    """An output row holds an event time; once both streams have passed it, nobody need remember the row."""
    s, t = moving(1, 120), moving(2, 120)
    for part in range(4):
        bench.write("s", s[part * 30 : part * 30 + 30], KNT)
        bench.write("t", t[part * 30 : part * 30 + 30], KNT)
    ran = bench.run(WINDOWED.replace("SELECT s.n, t.n AS m", "SELECT DISTINCT s.k, t.ts"), unbounded=False)
    assert ran.code == 0, ran.err
    expected = joined([s, t], in_windows, lambda s, t: (s["k"], t["ts"]))
    assert bench.sink() == dict.fromkeys(expected, 1)
    assert sum(line["rows_out"] for line in ran.batches) == len(expected)
    remembered = [line["state_rows"]["(distinct)"] for line in ran.batches]
    assert 0 < remembered[-1] < len(expected) / 2
    assert all(line["state_tuples"]["(distinct)"] == count for line, count in zip(ran.batches, remembered, strict=True))


def test_one_stream_stays_empty(bench: Bench) -> None:
    bench.write("s", moving(1, 20), KNT)
    bench.write("t", [], KNT)
    ran = bench.run(WINDOWED, unbounded=False)
    assert ran.code == 0, ran.err
    assert not bench.sink()
    assert ran.batches[0]["rows_in"] == {"s": 20, "t": 0}
    assert ran.batches[0]["state_rows"]["s"] == 20


def test_extreme_times_and_nulls(bench: Bench) -> None:
    """The first and the last instants that Spark knows, and none at all."""
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    s: Rows = [{"k": 1, "n": 0, "ts": first}, {"k": 1, "n": 1, "ts": START}, {"k": 1, "n": 2, "ts": None}]
    t: Rows = [{"k": 1, "n": 0, "ts": first}, {"k": 1, "n": 1, "ts": START}, {"k": None, "n": 3, "ts": START}]
    bench.write("s", s, KNT)
    bench.write("t", t, KNT)
    bench.write("s", [{"k": 1, "n": 5, "ts": last}], KNT)
    bench.write("t", [{"k": 1, "n": 6, "ts": last}, {"k": 1, "n": 7, "ts": None}], KNT)
    ran = bench.run(WINDOWED, unbounded=False)
    assert ran.code == 0, ran.err
    assert bench.sink() == {(0, 0): 1, (1, 1): 1, (5, 6): 1}
    assert ran.batches[-1]["violations"] == {}


def test_rate_source_to_noop(bench: Bench) -> None:
    """A source that is no files: rows come in its own order, and nothing is written that lasts."""
    script = """
        CREATE STREAM r (timestamp TIMESTAMP, value BIGINT, EVENT TIME timestamp, ORDERED BY timestamp)
          USING `rate-micro-batch` OPTIONS (rowsPerBatch '50', numPartitions '2', startTimestamp '1700000000000');
        CREATE SINK nowhere USING noop;
        INSERT INTO nowhere SELECT x.value, y.value AS next FROM r [ROWS 10] AS x, r [ROWS 10] AS y
        WHERE x.value = y.value;
    """
    ran = bench.run(script, unbounded=False, checkpoint=None)
    assert ran.code == 0, ran.err
    assert sum(line["rows_in"]["x"] for line in ran.batches) > 0
    assert all(line["rows_out"] == line["rows_in"]["x"] for line in ran.batches)
