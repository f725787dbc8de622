"""Tables of Delta and Iceberg as streams and as sinks, by their own packages: a kill and restarts, the batch join.

They have no package for the Spark of the other tests, so `penstock run` is a process of an environment with Spark 4.1.
Where Maven is missing, these tests say so and are skipped.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests.lake.tables import Lake, environment, python
from tests.maven import lacking
from tests.spark.conftest import MASTER, Bench, kill_session

pytestmark = [pytest.mark.skipif(lacking() is not None, reason=str(lacking())), pytest.mark.thorough]

SCRIPT = """
CREATE STREAM a (k BIGINT, n BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 60 SECONDS)
  USING {kind} OPTIONS (path '{a}', {most} '1');
CREATE STREAM b (k BIGINT, n BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 60 SECONDS)
  USING {kind} OPTIONS (path '{b}', {most} '1');
CREATE SINK out USING {kind} OPTIONS (path '{o}');
INSERT INTO out
SELECT a.k, a.n, b.n AS m FROM a, b
WHERE a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL 30 SECONDS AND a.ts + INTERVAL 30 SECONDS;
"""
MOST = {"delta": "maxFilesPerTrigger", "iceberg": "'streaming-max-files-per-micro-batch'"}


def command(bench: Bench, lake: Lake, *, now: bool, script: str = SCRIPT) -> list[str]:
    text = script.replace("{kind}", lake.kind).replace("{most}", MOST[lake.kind])
    for name in ("a", "b"):
        text = text.replace(f"{{{name}}}", lake.table(name))
    text = text.replace("{o}", lake.table("out"))
    arguments = bench.arguments(text, {**MASTER, **lake.conf}, unbounded=False, now=now)
    return [python(), "-m", "penstock", *arguments]


def start(bench: Bench, lake: Lake, *, now: bool, script: str = SCRIPT) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        command(bench, lake, now=now, script=script),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment(),
    )
    bench.started.append(process)
    return process


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_two_tables_are_joined_into_a_third_over_a_kill_and_restarts(outside: Bench, tmp_path: Path, kind: str) -> None:
    lake = Lake(kind, tmp_path / "lake")
    lake.work("fill:0:4")
    ran = outside.finish(start(outside, lake, now=True))
    assert ran.code == 0, ran.err
    before = len(ran.batches)
    assert before >= 4
    lake.work("fill:4:6")
    process = start(outside, lake, now=False)
    until = time.monotonic() + 180
    while len(outside.metrics()) < before + 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "nothing more came"
        time.sleep(0.1)
    kill_session(process.pid)
    process.communicate()
    lake.work("fill:10:2")
    ran = outside.finish(start(outside, lake, now=True))
    assert ran.code == 0, ran.err
    told = lake.work("compare")
    assert (told["missing"], told["extra"]) == (0, 0), told
    assert told["rows"] > 500
    assert max(line["state_tuples"]["a"] for line in ran.batches) < 40 * 12, "rows leave as time goes on"
    assert all(not line["violations"] for line in ran.batches)


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
@pytest.mark.parametrize(("declared", "says"), [("zz BIGINT", "zz"), ("n TIMESTAMP", "n")])
def test_a_column_that_the_table_lacks_or_has_of_another_type_is_refused(
    outside: Bench, tmp_path: Path, kind: str, declared: str, says: str
) -> None:
    lake = Lake(kind, tmp_path / "lake")
    lake.work("fill:0:1")
    columns = "k BIGINT, n BIGINT, ts TIMESTAMP"
    others = columns.replace("n BIGINT", declared) if says == "n" else f"{columns}, {declared}"
    ran = outside.finish(start(outside, lake, now=True, script=SCRIPT.replace(columns, others, 1)))
    assert ran.code == 1, ran.err
    assert says in ran.err.partition("error: ")[2]
    assert "Traceback" not in ran.err
