"""`penstock run`: its options, its metrics, its exit codes, and what it refuses before anything starts."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from penstock.cli import app
from penstock.spark.batch_times import PARTS
from tests.measure import size
from tests.spark.conftest import Bench, Ran
from tests.spark.oracle import bag, joined, same, written

KN = pa.schema([("k", pa.int64()), ("n", pa.int64())])
Rows = list[dict[str, Any]]
STREAMS = """
CREATE STREAM s (k BIGINT, n BIGINT {s}) USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE STREAM t (k BIGINT, n BIGINT {t}) USING parquet OPTIONS (path '{data}/t', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
"""
JOIN = "INSERT INTO out SELECT s.n, t.n AS m FROM s, t WHERE s.k = t.k;"
PLAIN = STREAMS.replace("{s}", "").replace("{t}", "")

KINDS: dict[str, tuple[type, ...]] = {
    "query": (str,),
    "batch": (int,),
    "rows_in": (dict,),
    "rows_out": (int,),
    "state_rows": (dict,),
    "state_tuples": (dict,),
    "pending_rows": (int,),
    "promise_rows": (int,),
    "state_bytes": (int,),
    "purged": (dict,),
    "evicted": (int,),
    "recall": (type(None), float),
    "recall_error": (type(None), float),
    "violations": (dict,),
    "malformed": (dict,),
    "lost": (int,),
    "k": (dict,),
    "seconds": (float, int),
    "oldest": (dict,),
    "clock": (dict,),
    "let_go": (dict,),
    "fullest_cell": (int,),
    "times": (dict,),
    "exact": (bool,),
    "inexact_because": (list,),
}
"""The contract of `--metrics` (DESIGN section 4)."""


def rows(start: int, count: int, keys: int = 5) -> Rows:
    return [{"k": n % keys, "n": n} for n in range(start, start + count)]


def expected(s: Rows, t: Rows) -> Any:
    return joined([s, t], lambda s, t: same(s["k"], t["k"]), lambda s, t: (s["n"], t["n"]))


def fingerprint(folder: Path) -> str:
    """Every file of a folder, its content and its time."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found.update(str(path).encode() + str(path.stat().st_mtime_ns).encode())
        found.update(path.read_bytes() if path.is_file() else b"")
    return found.hexdigest()


def is_clean(ran: Ran, code: int) -> bool:
    """The exit code, and sentences instead of a trace."""
    assert "Traceback" not in ran.err
    assert "\tat org." not in ran.err
    assert "bug in Penstock" not in ran.err
    assert '"logger"' not in ran.err, "a line of PySpark's own log"
    return ran.code == code


def test_metrics_have_every_field_and_add_up_over_two_runs(bench: Bench) -> None:
    s, t = rows(0, 10), rows(100, 15)
    bench.write("s", s, KN)
    bench.write("t", t[:8], KN)
    bench.write("t", t[8:], KN)
    first = bench.run(PLAIN + JOIN)
    assert first.code == 0, first.err
    assert bench.sink() == expected(s, t)
    more = rows(20, 7)
    bench.write("s", more, KN)
    second = bench.run(PLAIN + JOIN)
    assert second.code == 0, second.err
    assert bench.sink() == expected(s + more, t), "only the new results were added"
    lines = second.batches
    assert [line["batch"] for line in lines] == [0, 1, 2]
    for line in lines:
        assert list(line) == list(KINDS)
        for field, kinds in KINDS.items():
            assert isinstance(line[field], kinds), field
    assert sum(line["rows_in"]["s"] for line in lines) == 17
    assert sum(line["rows_in"]["t"] for line in lines) == 15
    assert sum(line["rows_out"] for line in lines) == bench.sink().total()
    assert lines[-1]["state_rows"] == {"s": 17, "t": 15}
    for line in lines:
        assert tuple(line["times"]) == PARTS
        assert min(line["times"].values()) >= 0
        assert sum(line["times"].values()) == pytest.approx(line["seconds"], abs=0.3 * line["seconds"])
    assert lines[-1]["oldest"] == {alias: {"batch": 0, "waits_for": [other]} for alias, other in ("st", "ts")}
    metrics, page = str(bench.folder / "metrics.jsonl"), bench.folder / "run.html"
    assert CliRunner().invoke(app, ["page", metrics, "--html", str(page)]).exit_code == 0
    assert '"says": "' in page.read_text(encoding="utf-8"), "what is written beside the metrics"


def test_two_queries_side_by_side(bench: Bench) -> None:
    s, t = rows(0, 6), rows(50, 6)
    bench.write("s", s, KN)
    bench.write("t", t, KN)
    script = (
        PLAIN
        + JOIN
        + """
        CREATE SINK lines USING json OPTIONS (path '{out}/lines');
        INSERT INTO lines SELECT s.n FROM s WHERE s.n >= 3;
        """.replace("{out}", "{out}lines")
    )
    ran = bench.run(script)
    assert ran.code == 0, ran.err
    assert bench.sink() == expected(s, t)
    folder = bench.folder / "outlines" / "lines"
    found = [json.loads(line) for file in folder.glob("*.json") for line in file.read_text().splitlines()]
    assert bag([r["n"]] for r in found) == bag([r["n"]] for r in s if r["n"] >= 3)
    assert {line["query"] for line in ran.batches} == {"out", "lines"}


def test_fail_names_the_row_and_writes_nothing_of_its_batch(bench: Bench) -> None:
    bench.write("s", rows(0, 4), KN)
    bench.write("t", rows(0, 4), KN)
    bench.write("s", [{"k": 9, "n": 90}, {"k": 2, "n": 91}], KN)
    bench.write("t", [{"k": 9, "n": 92}], KN)
    script = STREAMS.replace("{s}", ", PRIMARY KEY (k) ON VIOLATION FAIL").replace("{t}", "") + JOIN
    ran = bench.run(script)
    assert is_clean(ran, 1)
    assert "a row of s breaks PRIMARY KEY (k) ON s" in ran.err
    assert "k = 2" in ran.err
    assert bench.sink() == expected(rows(0, 4), rows(0, 4))


def test_quarantined_rows_lie_beside_the_checkpoint(bench: Bench) -> None:
    s, t = rows(0, 4), rows(0, 4)
    bench.write("s", s, KN)
    bench.write("t", t, KN)
    bench.write("s", [{"k": 2, "n": 91}, {"k": 4, "n": 92}, {"k": None, "n": 93}], KN)
    bench.write("t", [{"k": 4, "n": 94}], KN)
    script = STREAMS.replace("{s}", ", PRIMARY KEY (k) ON VIOLATION QUARANTINE").replace("{t}", "") + JOIN
    ran = bench.run(script, conf={"penstock.cells": "2"})
    assert ran.code == 0, ran.err
    assert bench.sink() == expected([*s, {"k": 4, "n": 92}], [*t, {"k": 4, "n": 94}])
    files = list((bench.folder / "checkpoint" / "out" / "quarantine").rglob("*.parquet"))
    kept_out = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
    assert sorted(row["n"] for row in kept_out) == [91, 93]
    assert ran.batches[-1]["violations"] == {"PRIMARY KEY (k) ON s": 2}
    assert ran.err.count("note: out: 2 rows break PRIMARY KEY (k) ON s; QUARANTINE keeps what breaks it out") == 1


def test_quarantine_into_a_sink_writes_whole_rows_there_once(bench: Bench) -> None:
    schema = pa.schema([*KN, ("note", pa.string()), ("at", pa.timestamp("us", "UTC"))])
    script = (
        STREAMS.replace("{s}", ", note STRING, at TIMESTAMP, PRIMARY KEY (k) ON VIOLATION QUARANTINE INTO Bad")
        .replace("{t}", "")
        .replace("CREATE SINK out", "CREATE SINK bad USING parquet OPTIONS (path '{out}/bad');\nCREATE SINK out")
        .replace("(path '{out}')", "(path '{out}/good')")
    )
    at = datetime(2024, 3, 1, tzinfo=UTC)
    bench.write("t", rows(0, 4), KN)
    bench.write("s", [{**row, "note": "first", "at": at} for row in rows(0, 4)], schema)
    late: Rows = [{"k": 2, "n": 91, "note": "again", "at": at}, {"k": None, "n": 92, "note": None, "at": None}]
    bench.write("s", late, schema)
    first = bench.run(script + JOIN, conf={"penstock.cells": "2"})
    assert first.code == 0, first.err
    assert bench.sink("bad") == bag(list(row.values()) for row in late)
    more: Rows = [{"k": 3, "n": 93, "note": "third run", "at": at}]
    bench.write("s", more, schema)
    second = bench.run(script + JOIN, conf={"penstock.cells": "2"})
    assert second.code == 0, second.err
    assert bench.sink("bad") == bag(list(row.values()) for row in [*late, *more]), "each once, over two runs"
    assert bench.sink("good") == expected(rows(0, 4), rows(0, 4))


@pytest.mark.parametrize(
    ("script", "code", "says"),
    [
        (PLAIN.replace("{data}/t", "{data}/nowhere") + JOIN, 2, "nowhere"),
        (PLAIN.replace("{out}", "{data}/s") + JOIN, 2, "lie one in the other"),
        (PLAIN.replace("{out}", "{data}/u") + JOIN, 1, "holds something else"),
        (PLAIN + JOIN + JOIN.replace("s.n", "s.k"), 2, "give each query a sink of its own"),
        (PLAIN.replace("OPTIONS (path '{out}')", "") + JOIN, 2, "has no path"),
        (PLAIN.replace("{out}", "{data}/../checkpoint") + JOIN, 2, "lie one in the other"),
        (PLAIN.replace("t (k BIGINT", "t (__ps_index BIGINT, k BIGINT") + JOIN, 2, "begins with __ps_"),
        (PLAIN.replace("SINK out", "SINK `../out`") + JOIN.replace("INTO out", "INTO `../out`"), 2, "plainer name"),
        (
            STREAMS.replace("{s}", ", PRIMARY KEY (k) ON VIOLATION QUARANTINE INTO out").replace("{t}", "") + JOIN,
            2,
            "give each query a sink of its own",
        ),
        (
            PLAIN.replace("USING parquet OPTIONS (path '{data}/t'", "USING nosuch OPTIONS (path '{data}/t'") + JOIN,
            2,
            "stream t: Spark has no format nosuch here",
        ),
        (PLAIN.replace("USING parquet OPTIONS (path '{out}')", "USING nosuch") + JOIN, 2, "out: Spark has no format"),
        (PLAIN.replace("USING parquet OPTIONS (path '{out}')", "USING delta OPTIONS (path 'x')") + JOIN, 2, "io.delta"),
        (PLAIN.replace("USING parquet OPTIONS (path '{out}')", "USING foreachBatch") + JOIN, 2, "no format"),
        (PLAIN.replace("path '{out}'", "path '{out}', partitionBy 'm, day'") + JOIN, 2, "partitionBy names day"),
        (PLAIN + JOIN.replace("WHERE", "WHERE nosuch(s.n) AND"), 2, "nosuch"),
        (PLAIN + JOIN.replace("t.n AS m", "nosuch(t.n) AS m"), 2, "nosuch"),
        (PLAIN.replace("t (k BIGINT", "t (more INT AS (nosuch(k)), k BIGINT") + JOIN, 2, "nosuch"),
    ],
)
def test_refused_before_anything_starts(bench: Bench, script: str, code: int, says: str) -> None:
    bench.write("s", rows(0, 4), KN)
    bench.write("t", rows(0, 4), KN)
    bench.write("u", rows(0, 4), KN)
    before = fingerprint(bench.folder / "data")
    ran = bench.run(script)
    assert is_clean(ran, code), ran.err
    assert says in ran.err
    assert fingerprint(bench.folder / "data") == before
    assert not bench.sink()
    assert not ran.batches


@pytest.mark.thorough
def test_a_sink_parts_its_files_by_columns(bench: Bench) -> None:
    bench.write("s", rows(0, 4), KN)
    bench.write("t", rows(0, 4), KN)
    ran = bench.run(PLAIN.replace("path '{out}'", "path '{out}', PartitionBy 'M'") + JOIN)
    assert ran.code == 0, ran.err
    assert sorted(p.name for p in (bench.folder / "out").glob("m=*")) == ["m=0", "m=1", "m=2", "m=3"]


def test_cells_must_be_a_number(bench: Bench) -> None:
    bench.write("s", rows(0, 4), KN)
    bench.write("t", rows(0, 4), KN)
    ran = bench.run(PLAIN + JOIN, conf={"penstock.cells": "many"})
    assert is_clean(ran, 2)
    assert "penstock.cells" in ran.err


def test_a_sink_of_another_run_is_refused(bench: Bench) -> None:
    """Spark would take the batches of the new checkpoint for those that it has, and drop them."""
    bench.write("s", rows(0, 4), KN)
    bench.write("t", rows(0, 4), KN)
    assert bench.run(PLAIN + JOIN).code == 0
    before = fingerprint(bench.folder / "out")
    ran = bench.run(PLAIN + JOIN, checkpoint="another")
    assert is_clean(ran, 1)
    assert "holds the results of another run" in ran.err
    assert fingerprint(bench.folder / "out") == before


@pytest.mark.usefixtures("spark")
def test_ctrl_c_stops_cleanly_and_a_restart_goes_on(outside: Bench) -> None:
    """SIGINT to the whole group, as a terminal sends it. Beside it a bare SELECT, which goes to the console."""
    script = PLAIN + JOIN + "SELECT t.n * 1000 AS thousands FROM t WHERE t.n = 101;"
    s, t = rows(0, 12), rows(100, 12)
    outside.write("s", s, KN)
    outside.write("t", t, KN)
    process = outside.start(script, now=False)
    deadline = time.monotonic() + 300
    while {line["query"] for line in outside.metrics()} != {"out", "query_2"}:
        assert process.poll() is None
        assert time.monotonic() < deadline, "a batch of both queries was done"
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    ran = outside.finish(process)
    assert is_clean(ran, 130), ran.err
    assert "101000" in ran.out
    assert "stopped: batches that were committed stay" in ran.err
    assert "the same command goes on from there" in ran.err
    more = rows(50, 6)
    outside.write("s", more, KN)
    ran = outside.run(script)
    assert ran.code == 0, ran.err
    assert outside.sink() == expected(s + more, t)
    ran = outside.run(script)
    assert ran.code == 0, ran.err
    assert "out: nothing new to read; the answer stands as the last run left it" in ran.err
    told = sum(line["rows_out"] for line in ran.batches if line["query"] == "out")
    assert told == written(outside.folder / "out").total()


def test_the_queries_of_a_long_script_begin_in_turn_and_all_end(bench: Bench) -> None:
    count = size(3, 15)
    bench.write("s", rows(0, 20), KN)
    bench.write("t", rows(0, 10), KN)
    queries = "".join(
        f"CREATE SINK o{n} USING parquet OPTIONS (path '{{out}}/{n}');"
        f"INSERT INTO o{n} SELECT s.n, t.n AS m FROM s, t WHERE s.k = t.k AND s.n >= {n};"
        for n in range(count)
    )
    ran = bench.run(PLAIN + queries)
    assert ran.code == 0, ran.err
    assert {line["query"] for line in ran.batches} == {f"o{n}" for n in range(count)}
    for n in range(count):
        assert bench.sink(str(n)) == expected(rows(n, 20 - n), rows(0, 10))


LATE = """
CREATE STREAM s (k BIGINT, n BIGINT, EVENT TIME n, ORDERED BY n)
  USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE STREAM t (k BIGINT, n BIGINT, EVENT TIME n, ORDERED BY n)
  USING parquet OPTIONS (path '{data}/t', maxFilesPerTrigger '1');
CREATE SINK out USING parquet OPTIONS (path '{out}');
INSERT INTO out SELECT s.n, t.n AS m FROM s, t WHERE s.k = t.k AND s.n = t.n;
"""


def test_a_run_ends_by_saying_whether_its_answer_is_exact_and_strict_asks_for_it(bench: Bench) -> None:
    bench.write("s", rows(0, 5), KN)
    bench.write("t", rows(0, 5), KN)
    first = bench.run(LATE, strict=True)
    assert first.code == 0, first.err
    assert first.err.splitlines()[-1] == "out: exact"
    assert first.batches[-1]["exact"] is True
    bench.write("s", rows(2, 1), KN)
    late = bench.run(LATE)
    assert late.code == 0
    said = (
        "out: INEXACT: 1 row broke ORDERED BY n ON s, 0 results known to be lost (how many in all is not known), "
        "answers may be wrong since batch 1"
    )
    assert late.err.splitlines()[-1] == said
    assert late.batches[-1]["inexact_because"][0] == "1 row broke ORDERED BY n ON s"
    bench.write("s", rows(6, 1), KN)
    again = bench.run(LATE, strict=True)
    assert again.code == 5
    assert again.err.splitlines()[-1] == said, "once inexact, always"


@pytest.mark.thorough
def test_batches_that_were_committed_and_never_told_of_are_not_called_exact(bench: Bench) -> None:
    bench.write("s", rows(0, 5), KN)
    bench.write("t", rows(0, 5), KN)
    assert bench.run(LATE).code == 0
    (bench.folder / "checkpoint" / "out" / "exact.json").unlink()
    after = bench.run(LATE)
    assert "INEXACT: what 1 batch broke is not known" in after.err.splitlines()[-1]


def test_a_setting_that_spark_does_not_take_is_told_as_such(bench: Bench) -> None:
    bench.write("s", rows(0, 2, keys=2), KN)
    bench.write("t", rows(0, 2, keys=2), KN)
    ran = bench.run(PLAIN + JOIN, conf={"spark.sql.shuffle.partitions": "few"})
    assert ran.code == 2
    assert ran.err.startswith("error: Spark does not take a setting\n  detail: ")
    assert "spark.sql.shuffle.partitions" in ran.err
