"""Adopted queries that merge what they give into tables of Delta, as jobs do it by `foreachBatch`.

The oracle is the same job by Spark's own plan, over the same files. Delta has no package for the Spark of the other
tests, so the job is a process of an environment with Spark 4.1. Where Maven is missing, this is said and skipped.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.lake.tables import HERE, Lake, environment, python
from tests.maven import lacking

pytestmark = [pytest.mark.skipif(lacking() is not None, reason=str(lacking())), pytest.mark.thorough]

START = datetime(2024, 5, 1, tzinfo=UTC)
TIME = pa.timestamp("us", "UTC")
ORDERS = pa.schema([("id", pa.int64()), ("ordered", TIME)])
PAYMENTS = pa.schema([("order_id", pa.int64()), ("amount", pa.int64()), ("paid", TIME)])
LAST = 60
"""A file long after all others, whose rows let the clocks pass all before."""
TOO_LATE = 1_000_000
"""Ids of rows that come an hour after their time."""


def write(folder: Path, first: int, files: int) -> None:
    """Files of five minutes each, their rows up to two minutes late; from the third on also some that are far too late.

    Three of four orders are paid once.
    """
    for number in range(first, first + files):
        draw = random.Random(number)
        since = START + timedelta(minutes=5 * number)

        def at(draw: random.Random = draw, since: datetime = since) -> datetime:
            return since + timedelta(seconds=draw.randrange(-119, 300))

        late = since - timedelta(hours=1)
        orders = [{"id": 40 * number + one, "ordered": at()} for one in range(40)]
        # Of orders of this file, and of others of the one before.
        paid = [40 * (number - one % 2) + one for one in range(40) if one % 4]
        payments = [{"order_id": one, "amount": draw.randrange(100), "paid": at()} for one in paid if one >= 0]
        if 2 <= number < LAST:
            orders += [{"id": TOO_LATE + number, "ordered": late}]
            payments += [{"order_id": TOO_LATE + number, "amount": 1, "paid": late}]
            payments += [{"order_id": 40 * number, "amount": 1, "paid": late}]
        for name, rows, schema in (("orders", orders, ORDERS), ("payments", payments, PAYMENTS)):
            home = folder / "data" / name
            home.mkdir(parents=True, exist_ok=True)
            file = home / f"{number:03}.parquet"
            pq.write_table(pa.Table.from_pylist(rows, schema), file)
            # Spark reads files in the order of their times, which are the same for files of one moment.
            os.utime(file, (1_700_000_000 + number,) * 2)


def run(lake: Lake, way: str, dies: str = "") -> Any:
    """What the job says in the end; None if it died."""
    settings = [f"{name}={value}" for name, value in lake.conf.items()]
    command = [python(), str(HERE / "merging_job.py"), json.dumps(settings), str(lake.folder), way, dies]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment())
    assert done.returncode == (77 if dies else 0), done.stderr[-3000:]
    return None if dies else json.loads(done.stdout.splitlines()[-1])


def test_tables_that_adopted_queries_merge_into_are_those_of_spark_s_own_plan(tmp_path: Path) -> None:
    """Over a stop, and a death between a merge and the end of its batch; with rows that both ways drop as too late."""
    lake = Lake("delta", tmp_path)
    write(tmp_path, 0, 4)
    run(lake, "adopted", dies="paid:2")
    run(lake, "adopted")
    write(tmp_path, 4, 2)
    write(tmp_path, LAST, 1)
    found, wanted = run(lake, "adopted"), run(lake, "spark")
    assert found["quarters"] == wanted["quarters"]
    end = str(START + timedelta(minutes=5 * LAST - 10))[:19]
    before = [[row for row in told["paid"] if row[1] < end] for told in (found, wanted)]
    assert before[0] == before[1]
    assert len(before[0]) == 240
    assert {row[2] == "None" for row in before[0]} == {True, False}
    assert len(found["quarters"]) > 1
    assert found["late"] > 0
    assert not any(int(row[0]) >= TOO_LATE for row in found["paid"])
