"""Counts in place of joins, on Spark: the answer, its limits, exactly once over two runs, and what the metrics say.

The oracle is the original query of section 2, counted row by row over the whole input. The streams keep what is
declared but for some late FINs, which only the sample can see.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import random
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.compile import check, parse
from penstock.spark.lags import Measurer
from penstock.spark.session import PARTITIONS, PROVIDER, ROCKSDB
from tests.spark.conftest import Bench
from tests.spark.test_run import KINDS

SECTION_2 = (Path(__file__).parents[2] / "examples" / "syn_without_fin.sql").read_text(encoding="utf-8")
PACKET = pa.schema([("ip", pa.string()), ("ts", pa.timestamp("us", "UTC"))])
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)
FOLLOWING = "sum(2) AS twice, 60 * count(*) AS an_hour, 1 - count(*) / 5.0 AS falls, sum(0.5) AS half, avg(3) AS three"
"""What follows from counts."""
Rows = dict[str, list[dict[str, Any]]]


def _script() -> str:
    """Section 2's script over files, by the minute: once as plain counts, once with bounds."""
    streams, query = SECTION_2.split("CREATE SINK", 1)
    for name in ("syn", "synack", "fin"):
        streams = streams.replace(f"(path 'data/tcp_{name}')", f"(path '{{data}}/{name}', maxFilesPerTrigger '1')")
    select = query[query.index("SELECT") :].replace("'5 minutes'", "'1 minute'")
    plain = select.replace("SELECT", "SELECT /*+ ERROR(25 PERCENT) */", 1)
    bounded = select.replace("SELECT", "SELECT /*+ ERROR(25 PERCENT WITH BOUNDS) */", 1)
    bounded = bounded.replace("AS cnt", f"AS cnt, {FOLLOWING}")
    return (
        f"{streams}CREATE SINK plain USING parquet OPTIONS (path '{{out}}/plain');\n"
        f"CREATE SINK bounded USING parquet OPTIONS (path '{{out}}/bounded');\n"
        f"INSERT INTO plain {plain}\nINSERT INTO bounded {bounded}"
    )


SCRIPT = _script()


def packets(late: float, seed: int = 3) -> Rows:
    """Six minutes of connections; a share of the FINs comes later than declared."""
    chosen = random.Random(seed)
    rows: Rows = {"syn": [], "synack": [], "fin": []}
    for number in range(1200):
        at = chosen.uniform(0, 360)
        ip = str(number)
        rows["syn"].append({"ip": ip, "ts": at})
        if chosen.random() < 0.9:
            at += chosen.uniform(0, 5)
            rows["synack"].append({"ip": ip, "ts": at})
            if chosen.random() < 0.8:
                at += 12 if chosen.random() < late else chosen.uniform(0, 10)
                rows["fin"].append({"ip": ip, "ts": at})
    for name, found in rows.items():
        found.append({"ip": None, "ts": 100.0})
        times = [{"ip": row["ip"], "ts": START + dt.timedelta(microseconds=round(row["ts"] * 1e6))} for row in found]
        rows[name] = sorted(times, key=lambda row: row["ts"])
    return rows


def original(rows: Rows) -> Counter[dt.datetime]:
    """Section 2's query, row by row."""
    found: Counter[dt.datetime] = Counter()
    answers = {row["ip"]: row["ts"] for row in rows["synack"]}
    ends = {row["ip"]: row["ts"] for row in rows["fin"]}
    for syn in rows["syn"]:
        answer = answers.get(syn["ip"])
        if syn["ip"] is None or answer is None or not dt.timedelta(0) <= answer - syn["ts"] <= dt.timedelta(seconds=5):
            continue
        end = ends.get(syn["ip"])
        if end is None or not dt.timedelta(0) <= end - answer <= dt.timedelta(seconds=10):
            found[START + (syn["ts"] - START) // MINUTE * MINUTE] += 1
    return found


def counted(rows: Rows) -> dict[dt.datetime, int]:
    """The paper's counts, window by window."""
    counts = {
        name: Counter(START + (row["ts"] - START) // MINUTE * MINUTE for row in found if row["ip"] is not None)
        for name, found in rows.items()
    }
    windows = {window for found in counts.values() for window in found}
    answers = {w: min(counts["syn"][w], counts["synack"][w]) - counts["fin"][w] for w in windows}
    return {window: answer for window, answer in answers.items() if answer > 0}


def _write(bench: Bench, rows: Rows, begin: float, end: float) -> None:
    for name, found in rows.items():
        part = [row for row in found if begin <= (row["ts"] - START).total_seconds() < end]
        bench.write(name, part, PACKET)


def _sink(bench: Bench, name: str) -> list[dict[str, Any]]:
    found = pa.concat_tables(
        [pa.parquet.read_table(path) for path in sorted((bench.folder / "out" / name).glob("*.parquet"))]
    )
    return [{**row, "tb": row["tb"].replace(tzinfo=dt.UTC)} for row in found.to_pylist()]


def _stored(bench: Bench, name: str) -> list[Path]:
    """The versions of a query's state."""
    found = (bench.folder / "checkpoint" / name / "spark" / "state" / "0").glob("*/*")
    return [path for path in found if path.parent.name.isdigit() and path.is_file() and path.name[0].isdigit()]


@pytest.mark.thorough
def test_two_runs_give_every_window_once_within_its_limits(bench: Bench) -> None:
    rows = packets(late=0)
    truth, paper = original(rows), counted(rows)
    syns = Counter(START + (row["ts"] - START) // MINUTE * MINUTE for row in rows["syn"] if row["ip"] is not None)
    conf = {"penstock.sample": "1"}
    _write(bench, rows, 0, 150)
    # What began on RocksDB in two tasks, as it did before counts lay on the heap, goes on there.
    first = bench.run(SCRIPT, conf=conf | {PROVIDER: ROCKSDB, PARTITIONS: "2"}, unbounded=False)
    assert first.code == 0, first.err
    bench.write("syn", [{"ip": "late", "ts": START}], PACKET)
    _write(bench, rows, 150, 400)
    second = bench.run(SCRIPT, conf=conf, unbounded=False)
    assert second.code == 0, second.err
    assert "plain: 1 row came for windows that were emitted already, and is not counted" in second.err
    over = [START + n * MINUTE for n in range(5)]  # the last minutes are open: no clock has passed them
    stored = _stored(bench, "plain")
    assert {path.parent.name for path in stored} == {"0", "1"}
    assert {path.suffix for path in stored} <= {".zip", ".changelog"}
    plain = {row["tb"]: row["cnt"] for row in _sink(bench, "plain")}
    assert len(plain) == len(_sink(bench, "plain"))
    assert {w: plain[w] for w in over} == {w: paper[w] for w in over}
    bounded = {row["tb"]: row for row in _sink(bench, "bounded")}
    for window in over:
        row = bounded[window]
        assert row["cnt"] == paper[window]
        assert row["cnt_low"] <= truth[window] <= row["cnt_high"]
        for name, of in (
            ("twice", lambda n: 2 * n),
            ("an_hour", lambda n: 60 * n),
            ("half", lambda n: Decimal(n) / 2),
            ("falls", lambda n: 1 - n / Decimal(5)),
            ("three", lambda _: 3.0),
        ):
            ends = (of(row["cnt_low"]), of(row["cnt_high"]))
            assert (row[name], row[f"{name}_low"], row[f"{name}_high"]) == (of(row["cnt"]), min(ends), max(ends))
        assert row["error_declared"] == pytest.approx(15 / 60)
        assert 0 < row["error_observed"] < row["error_declared"]
        assert row["error_answer"] == pytest.approx(row["error_observed"] * syns[window] / row["cnt"])
        assert (row["error_violations"], row["broken"], row["exceeded"]) == (0, False, False)
    lines = [line for line in bench.metrics() if line["query"] == "plain"]
    for line in lines:
        assert list(line) == list(KINDS)
        assert all(isinstance(line[name], kinds) for name, kinds in KINDS.items())
        assert set(line["state_rows"]) == {"(groups)"}
    assert sum(line["rows_in"]["s"] for line in lines) == len(rows["syn"]) + 1
    violated = [line["violations"] for line in lines if line["violations"]]
    assert violated == [{"ORDERED BY ts WITHIN 1 SECOND ON syn": 1}]
    assert sum(line["rows_out"] for line in lines) == len(plain)
    seen = json.loads((bench.folder / "checkpoint" / "bounded" / "observed.json").read_text())
    assert seen["error_observed"] == pytest.approx(max(row["error_observed"] for row in bounded.values()))
    changed = bench.run(SCRIPT.replace("'1 minute'", "'2 minutes'"), unbounded=False)
    assert changed.code == 2
    assert "was made by another query" in changed.err


def test_what_exceeds_the_declarations_is_said(bench: Bench) -> None:
    rows = packets(late=0.5)
    _write(bench, rows, 0, 400)
    head, _, bounded = SCRIPT.split("INSERT INTO ")
    ran = bench.run(f"{head}INSERT INTO {bounded}", conf={"penstock.sample": "1"}, unbounded=False)
    assert ran.code == 0, ran.err
    stored = _stored(bench, "bounded")
    assert {path.parent.name for path in stored} == {"0"}, "a few counts are one task's"
    assert {path.suffix for path in stored} == {".delta"}, "and lie on the heap"
    found = _sink(bench, "bounded")
    assert any(row["exceeded"] for row in found)
    assert all(row["error_violations"] > 0.1 and row["broken"] for row in found)
    truth = original(rows)
    outside = [row for row in found if not row["cnt_low"] <= truth[row["tb"]] <= row["cnt_high"]]
    assert outside == []
    assert "what was measured exceeds what was declared" in ran.err
    assert "windows rows break what was declared; by what was measured the counts may be off by up to" in ran.err


def test_the_text_gives_what_runs_and_a_dataframe_composes(bench: Bench, spark: SparkSession) -> None:
    rows = packets(late=0)
    _write(bench, rows, 0, 400)
    script = parse(bench.text(SCRIPT))
    sql = check(script, "plain").rewrite.sql
    assert sql is not None
    for name in rows:
        spark.read.parquet(str(bench.folder / "data" / name)).createOrReplaceTempView(name)
    as_text = {row["tb"].replace(tzinfo=dt.UTC): row["cnt"] for row in spark.sql(sql).collect()}
    assert as_text == counted(rows)
    # What follows from counts has the types that Spark gives it, in the text as in what runs.
    following = spark.sql(str(check(script, "bounded").rewrite.sql))
    assert {row["tb"].replace(tzinfo=dt.UTC): row["an_hour"] for row in following.collect()} == {
        window: 60 * count for window, count in as_text.items()
    }
    kinds = spark.sql(f"SELECT count(*) AS cnt, {FOLLOWING} FROM syn").dtypes
    assert following.drop("tb").dtypes == kinds
    assert penstock.stream(spark, script, query="bounded").select(*(name for name, _ in kinds)).dtypes == kinds
    streaming = penstock.stream(spark, script, query="plain")
    started = streaming.where("cnt >= 0").writeStream.format("memory").queryName("counted").start()
    started.processAllAvailable()
    started.stop()
    found = {row["tb"].replace(tzinfo=dt.UTC): row["cnt"] for row in spark.table("counted").collect()}
    assert found
    assert found.items() <= as_text.items()


def _measured(script: str, sample: list[tuple[str, int, int]], one_in: int) -> dict[str, Any]:
    """What is said of a window of a minute with 10 results, at least 8 and at most 12, of 20 rows of the root."""
    made = check(parse(script)).rewrite.rewriting
    assert made is not None
    lists = {name: [row[n] for row in sample] for n, name in enumerate(("sources", "entities", "times"))}
    columns = {"counted": [10], "low": [8], "high": [12], "rows": [20], "begin": [0], "sample": [lists]}
    (shown,) = Measurer(made, ("counted",), one_in)([pa.RecordBatch.from_pydict(columns)])
    (row,) = shown.to_pylist()
    return dict(row)


def test_limits_widen_by_what_the_sample_shows_to_be_broken_and_what_it_cannot_show_is_null() -> None:
    joined = (
        "CREATE STREAM q (k INT, id VIRTUAL, ts TIMESTAMP, EVENT TIME ts, PRIMARY KEY (id), "
        "ORDERED BY ts WITHIN 1 SECOND, STREAM KEY (k) SPANS p WINDOW [0, 9 SECONDS]); "
        "CREATE STREAM p (k INT, id VIRTUAL, ts TIMESTAMP, EVENT TIME ts, PRIMARY KEY (id), "
        "ORDERED BY ts WITHIN 1 SECOND, FOREIGN KEY (id, k) REFERENCES q (id, k) WINDOW [-6 SECONDS, 0]); "
        "SELECT /*+ ERROR(10 PERCENT WITH BOUNDS) */ count(*) AS n FROM q, p WHERE q.k = p.k AND p.ts >= q.ts "
        "AND p.ts - q.ts <= INTERVAL 6 SECONDS GROUP BY window(q.ts, '1 minute');"
    )
    second = 1_000_000
    kept = [("q", 1, 5 * second), ("p", 1, 8 * second), ("q", 2, 30 * second)]
    row = _measured(joined, kept, 1)
    assert (row["low"], row["high"], row["error_violations"], row["broken"]) == (8, 12, 0, False)
    assert row["error_answer"] == pytest.approx(row["error_observed"] * 20 / 10)
    # A row of p without its partner, of which each in the sample stands for four.
    row = _measured(joined, [*kept, ("p", 3, 40 * second)], 4)
    unseen = 2 * 0.75**0.5
    assert (row["low"], row["high"], row["broken"]) == (0, 12 + math.ceil(4 * (1 + unseen)), True)
    assert row["error_violations"] == pytest.approx((1 + unseen) / 2)
    assert row["exceeded"] is True
    row = _measured(joined, [], 4)
    assert (row["low"], row["high"], row["error_violations"], row["broken"]) == (8, 12, None, None)
    # By the window of p its rows alone are counted: exact, and nothing of q is read that could break a declaration.
    row = _measured(joined.replace("window(q.ts", "window(p.ts"), [("p", 3, 40 * second)], 1)
    assert (row["error_observed"], row["error_violations"], row["broken"]) == (0, None, None)
