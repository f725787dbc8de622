"""What a run tells those who watch it: Prometheus, Python's logging, a program of the user's."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.compile import plan
from penstock.errors import UsageError
from penstock.spark.cache import cache_root
from penstock.spark.events import Events, Hook
from penstock.spark.following import following
from penstock.spark.prometheus import COUNTERS, GAUGES, PrometheusServer, PrometheusText, address_of
from penstock.spark.spark_metrics import gauge_name
from tests.spark.conftest import Bench
from tests.spark.test_run import JOIN, KN, PLAIN, rows

FOLLOWS = "FOLLOWS b (k) ON (k) WITHIN 3 ROWS ON a"
PLAN = plan(
    penstock.parse(
        "CREATE STREAM b (k BIGINT); CREATE STREAM a (k BIGINT, FOLLOWS b (k) ON (k) WITHIN 3 ROWS);"
        "SELECT a.k FROM a, b WHERE a.k = b.k;"
    )
)


def line(batch: int, **told: Any) -> dict[str, Any]:
    """The metrics of a batch, as a run writes them."""
    return {
        "query": "out",
        "batch": batch,
        "rows_in": {"a": 3, "b": 4},
        "rows_out": 2,
        "state_rows": {"a": 5, "b": 6},
        "state_tuples": {"a": 5, "b": 6},
        "pending_rows": 0,
        "promise_rows": 1,
        "state_bytes": 700,
        "purged": {"closed": 2},
        "evicted": 0,
        "recall": None,
        "recall_error": None,
        "violations": {FOLLOWS: 0},
        "malformed": {},
        "lost": 0,
        "k": {FOLLOWS: 3.0},
        "seconds": 0.25,
        "exact": True,
        "inexact_because": [],
        **told,
    }


def test_counts_are_added_up_and_what_stands_is_as_it_stands() -> None:
    text = PrometheusText()
    text.take(line(0))
    text.take(line(1, state_rows={"a": 9, "b": 1}, exact=False))
    said = text.text().splitlines()
    assert 'penstock_rows_in_total{query="out",stream="a"} 6' in said
    assert 'penstock_seconds_total{query="out"} 0.5' in said
    assert 'penstock_batches_total{query="out"} 2' in said
    assert 'penstock_state_rows{query="out",stream="a"} 9' in said
    assert 'penstock_exact{query="out"} 0' in said
    assert f'penstock_k{{query="out",constraint="{FOLLOWS}"}} 3' in said
    assert not any(one.startswith("penstock_recall{") for one in said), "an exact answer has none"
    for one in said:
        name = one.split("{")[0].split(" ")[-1] if not one.startswith("#") else one.split(" ")[2]
        assert name in {*COUNTERS, *GAUGES, "penstock_batches_total"}


def test_a_name_with_quotes_and_lines_is_escaped() -> None:
    text = PrometheusText()
    text.take(line(0, rows_in={'a"b\\c\nd': 1}))
    assert 'stream="a\\"b\\\\c\\nd"} 1' in text.text()


def test_every_field_of_the_board_and_of_the_alerts_is_served() -> None:
    folder = Path(__file__).parents[2] / "docs" / "watching"
    known = {*COUNTERS, *GAUGES, "penstock_batches_total"}
    for file in ("grafana.json", "alerts.yml"):
        text = (folder / file).read_text()
        words = set("".join(c if c.isalnum() or c == "_" else " " for c in text).split())
        named = {word for word in words if word.startswith("penstock_")}
        assert named
        assert named <= known, named - known
    assert json.loads((folder / "grafana.json").read_text())["panels"]


def test_the_page_lists_every_name_that_is_served_and_no_other() -> None:
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    listed = re.findall(r"^\| `(penstock_[a-z_]+)` \|", page, re.MULTILINE)
    assert set(listed) == {*COUNTERS, *GAUGES, "penstock_batches_total"}


def test_a_rule_of_a_count_fires_on_one_that_is_first_seen_above_0_and_on_a_run_that_is_gone() -> None:
    """`increase` sees neither: `alerts_test.yml` has the cases, for promtool."""
    rules = (Path(__file__).parents[2] / "docs" / "watching" / "alerts.yml").read_text()
    for count in ("penstock_violations_total", "penstock_lost_total", "penstock_malformed_total"):
        assert f"increase({count}[15m]) > 0 or ({count} unless {count} offset 15m) > 0" in rules
    assert "last_over_time(penstock_batches_total[1d]) unless increase(penstock_batches_total[15m]) > 0" in rules


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not here: Debian has it in prometheus")
def test_the_rules_fire_as_their_cases_say() -> None:
    folder = Path(__file__).parents[2] / "docs" / "watching"
    command = ["promtool", "test", "rules", "alerts_test.yml"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_served_on_this_machine_alone_unless_asked_otherwise() -> None:
    assert address_of("9464") == ("127.0.0.1", 9464)
    assert address_of("0.0.0.0:9464") == ("0.0.0.0", 9464)
    for wrong in ("", "x", ":80", "host:", "1:99999"):
        with pytest.raises(UsageError, match="is no"):
            address_of(wrong)
    text = PrometheusText()
    text.take(line(0))
    server = PrometheusServer("0", text)
    try:
        with urllib.request.urlopen(server.url, timeout=5) as answer:
            assert answer.read().decode() == text.text()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(server.url.replace("/metrics", "/other"), timeout=5)
        with pytest.raises(UsageError, match="--prometheus"):
            PrometheusServer(server.url.split(":")[-1].split("/")[0], text)
    finally:
        server.stop()


def test_an_event_is_told_when_it_begins() -> None:
    events = Events(mark=0.9)
    assert list(events.of(PLAN, line(0))) == []
    broken = list(events.of(PLAN, line(1, violations={FOLLOWS: 2}, exact=False, inexact_because=["2 rows broke it"])))
    assert [(event.event, event.about) for event in broken] == [
        ("promise broken", FOLLOWS),
        ("bound lost", "a"),
        ("inexact", "2 rows broke it"),
    ]
    assert list(events.of(PLAN, line(2, violations={FOLLOWS: 5}, exact=False, inexact_because=["7 rows"]))) == []
    low = [
        list(events.of(PLAN, line(batch, recall=recall))) for batch, recall in enumerate((0.95, 0.8, 0.7, 0.95, 0.5))
    ]
    assert [len(found) for found in low] == [0, 1, 0, 0, 1]
    assert low[1][0].about == "0.8000, below 0.9"


def test_a_hook_is_given_the_event_and_never_stops_the_run(tmp_path: Path) -> None:
    said: list[str] = []
    kept = tmp_path / "kept"
    program = f"{sys.executable} -c \"import sys; open({str(kept)!r}, 'a').write(sys.stdin.read())\""
    (event,) = list(Events().of(PLAN, line(3, exact=False, inexact_because=["why"])))
    Hook(program, said.append)(event)
    assert json.loads(kept.read_text()) == {"event": "inexact", "query": "out", "batch": 3, "about": "why"}
    gone = tmp_path / "gone"
    gone.write_text("#!/bin/sh\n")
    gone.chmod(0o755)
    later = Hook(str(gone), said.append)
    gone.unlink()
    later(event)
    Hook(f"{sys.executable} -c 'raise SystemExit(3)'", said.append)(event)
    assert [one.split(":")[1] for one in said[:1]] == [" the hook failed"]
    assert said[1] == "note: the hook ended with 3"
    with pytest.raises(UsageError, match="names no program"):
        Hook(" ", said.append)
    for none in ("/no/such/program --now", f"{kept} x"):
        with pytest.raises(UsageError, match="there is no program"):
            Hook(none, said.append)


def test_whoever_listens_to_the_log_has_the_metrics(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[Any] = []
    one: Any = SimpleNamespace(plan=PLAN)

    def show(_: Any, told: Any) -> None:
        shown.append(told)

    with caplog.at_level(logging.INFO, "penstock"), following(show, shown.append) as follow:
        follow(one, line(0))
        follow(one, line(1, exact=False, inexact_because=["why"]))
    assert len(shown) == 2
    assert [record.levelname for record in caplog.records] == ["INFO", "INFO", "WARNING"]
    assert getattr(caplog.records[0], "penstock")["rows_in"] == {"a": 3, "b": 4}  # noqa: B009 - no field of its type
    with following(show, shown.append, log="json") as follow:
        follow(one, line(2))
    assert len(shown) == 2, "an object in place of the line for the eye"
    told = json.loads(capsys.readouterr().err)
    assert (told["level"], told["batch"]) == ("INFO", 2)
    for wrong in ({"log": "xml"}, {"recall": "2"}, {"prometheus": "x"}):
        with pytest.raises(UsageError), following(show, shown.append, **wrong):
            pass


def test_a_run_tells_them_all(bench: Bench, tmp_path: Path) -> None:
    bench.write("s", rows(0, 6), KN)
    bench.write("t", rows(0, 6), KN)
    bench.write("s", [{"k": 0, "n": 50}], KN)
    kept = tmp_path / "kept"
    program = f"{sys.executable} -c \"import sys; open({str(kept)!r}, 'a').write(sys.stdin.read())\""
    script = PLAIN.replace("s (k BIGINT, n BIGINT ", "s (k BIGINT, n BIGINT, PRIMARY KEY (k) ") + JOIN
    ran = bench.run(script, options=("--log", "json", "--prometheus", "0", "--hook", program))
    assert ran.code == 0, ran.err
    lines = [json.loads(one) for one in ran.err.splitlines() if one.startswith("{")]
    assert [one["batch"] for one in lines if "batch" in one and one["level"] == "INFO"] == [0, 1]
    assert "metrics for Prometheus at http://127.0.0.1:" in ran.err
    assert '"event": "promise broken"' in kept.read_text()


def test_a_gauge_of_sparks_is_named_after_what_prometheus_is_given() -> None:
    text = PrometheusText()
    text.take(line(0))
    names = {gauge_name(name, labels): value for name, labels, value in text.samples()}
    assert names["penstock.out.rows_in_total.a"] == 3
    assert names["penstock.out.violations_total.FOLLOWS_b__k__ON__k__WITHIN_3_ROWS_ON_a"] == 0
    assert all(re.fullmatch(r"[\w.]+", name) for name in names)


@pytest.mark.thorough
def test_sparks_own_metrics_system_has_them_where_streaming_metrics_are_asked_for(outside: Bench) -> None:
    """By one of the sinks that Spark brings: a file for each gauge, a line a second."""
    for number in range(3):
        outside.write("s", rows(6 * number, 6), KN)
        outside.write("t", rows(6 * number, 6), KN)
    folder = outside.folder / "gauges"
    folder.mkdir()
    sink = {
        "class": "org.apache.spark.metrics.sink.CsvSink",
        "period": "1",
        "unit": "seconds",
        "directory": str(folder),
    }
    conf = {f"spark.metrics.conf.*.sink.csv.{name}": value for name, value in sink.items()}
    ran = outside.finish(outside.start(PLAIN + JOIN, conf={**conf, "spark.sql.streaming.metricsEnabled": "true"}))
    assert ran.code == 0, ran.err
    (told,) = folder.glob("*.driver.AccumulatorSource.penstock.out.rows_in_total.t.csv")
    # Spark tells once more as it stops.
    assert float(told.read_text().splitlines()[-1].split(",")[1]) == 18


@pytest.mark.thorough
def test_what_spark_observes_has_a_name_that_stays(bench: Bench, spark: SparkSession, tmp_path: Path) -> None:
    """And when a query that a program starts has ended, nothing of it is left on the host."""
    bench.write("s", rows(0, 6), KN)
    bench.write("t", rows(0, 6), KN)
    script = penstock.parse(bench.text(PLAIN) + "CREATE SINK named USING noop; " + JOIN.replace("out", "named"))
    seen = []
    for attempt in range(2):
        answer = penstock.stream(spark, script, query="named", allow_unbounded=True)
        writer = answer.writeStream.format("noop").option("checkpointLocation", str(tmp_path / str(attempt)))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        seen.append({name for progress in query.recentProgress for name in progress["observedMetrics"]})
    assert seen == [{"penstock_named"}, {"penstock_named~2"}]
    until = time.monotonic() + 20
    own = f"~{os.getpid()}~"
    while any(own in path.name for path in cache_root().glob("*")):
        assert time.monotonic() < until, "the caches of queries that ended are still there"
        time.sleep(0.1)
