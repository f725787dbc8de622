"""`check` answers in seconds however large the script: each of these once took from 15 seconds to minutes.

What is measured is the processor's time of one process, loading included, so that a busy machine changes little; the
limits are about three times what it takes.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


def _streams(count: int) -> str:
    columns = "k BIGINT, ts TIMESTAMP, v BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS"
    return "".join(f"CREATE STREAM s{n} ({columns});\n" for n in range(count))


def _band(one: int, other: int) -> str:
    within = "BETWEEN INTERVAL 0 SECONDS AND INTERVAL 5 SECONDS"
    return f"s{one}.k = s{other}.k AND s{other}.ts - s{one}.ts {within}"


def chain() -> str:
    named, met = (f"s{n}" for n in range(200)), (_band(n, n + 1) for n in range(199))
    return f"{_streams(200)}SELECT s0.v FROM {', '.join(named)} WHERE {' AND '.join(met)};"


def star() -> str:
    named, met = (f"s{n}" for n in range(100)), (_band(0, n) for n in range(1, 100))
    return f"{_streams(100)}SELECT s0.v FROM {', '.join(named)} WHERE {' AND '.join(met)};"


def left_joins() -> str:
    joined = " ".join(f"LEFT JOIN s{n} ON {_band(0, n)}" for n in range(1, 31))
    return f"{_streams(31)}SELECT s0.v FROM s0 {joined};"


def strings() -> str:
    listed = ", ".join(f"'x{n}'" for n in range(20_000))
    streams = "CREATE STREAM a (k BIGINT, name STRING);\nCREATE STREAM b (k BIGINT, name STRING);\n"
    return f"{streams}SELECT a.name FROM a, b WHERE a.k = b.k AND a.name IN ({listed});"


def excluded_strings() -> str:
    return strings().replace(" IN (", " NOT IN (")


def bad_statements() -> str:
    return "CREATE STREAM s (a INT);\n" + "".join(f"SELECT b{n} FROM s WHERE;\n" for n in range(20_000))


def bad_columns() -> str:
    return f"CREATE STREAM s (a INT);\nSELECT {', '.join(f'b{n}' for n in range(5_000))} FROM s;"


@pytest.mark.parametrize(
    ("script", "code", "seconds"),
    [
        (chain, 0, 18),
        (star, 0, 8),
        (left_joins, 0, 6),
        (strings, 3, 6),
        (excluded_strings, 3, 6),
        (bad_statements, 2, 10),
        (bad_columns, 2, 6),
    ],
)
def test_large_scripts_are_checked_in_seconds(
    script: Callable[[], str], code: int, seconds: float, tmp_path: Path
) -> None:
    file = tmp_path / "script.sql"
    file.write_text(script(), encoding="utf-8")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "check", str(file)], capture_output=True, check=False, timeout=120
    )
    assert done.returncode == code, done.stderr[-1000:]
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < seconds
