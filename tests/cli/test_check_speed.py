"""`check` and `implies` answer in five seconds however large the script: each of these once took from 7 to minutes.

What is measured is the processor's time of one process, loading included, so that a busy machine changes little; in
the suite, whose workers share cores and caches, twice the limit is allowed.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.measure import FULL

ALLOWED = 5 if FULL else 10


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


def declared_chain() -> str:
    """Bands that ADAPT may widen, so that other sums of them may become the tightest."""
    made = []
    for n in range(200):
        band = f", COOCCURS (k) AND s{n - 1} (k) WINDOW [-5 SECONDS, 0]" if n else ""
        made.append(f"CREATE STREAM s{n} (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts{band});\n")
    named, met = (f"s{n}" for n in range(200)), (f"s{n}.k = s{n - 1}.k" for n in range(1, 200))
    return f"{''.join(made)}SELECT s0.k FROM {', '.join(named)} WHERE {' AND '.join(met)};"


def chain_of_left_joins() -> str:
    joined = " ".join(f"LEFT JOIN s{n} ON {_band(n - 1, n)}" for n in range(1, 31))
    return f"{_streams(31)}SELECT s0.v FROM s0 {joined};"


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


def bad_columns_beside_many() -> str:
    good, bad = (", ".join(f"{letter}{n}{kind}" for n in range(5_000)) for letter, kind in (("a", " INT"), ("b", "")))
    return f"CREATE STREAM s ({good});\nSELECT {bad} FROM s;"


def _seconds_of(code: int, *arguments: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([sys.executable, "-m", "penstock", *arguments], capture_output=True, check=False, timeout=120)
    assert done.returncode == code, done.stderr[-1000:]
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (chain, 0),
        (declared_chain, 0),
        (star, 0),
        (left_joins, 0),
        (chain_of_left_joins, 0),
        (strings, 3),
        (excluded_strings, 3),
        (bad_statements, 2),
        (bad_columns, 2),
        (bad_columns_beside_many, 2),
    ],
)
def test_large_scripts_are_checked_in_seconds(script: Callable[[], str], code: int, tmp_path: Path) -> None:
    file = tmp_path / "script.sql"
    file.write_text(script(), encoding="utf-8")
    assert _seconds_of(code, "check", str(file)) < ALLOWED


@pytest.mark.parametrize(
    ("declared", "goal", "code"),
    [
        (
            "FOREIGN KEY (a, b) REFERENCES s (a, d) WINDOW [0, *], STREAM KEY (d) SPANS s, "
            "COOCCURS (c, a) AND s (b, a) WINDOW [*, 0], FOREIGN KEY (a) REFERENCES s (b)",
            "PRIMARY KEY (a, b) ON s",
            3,
        ),
        (
            "PRIMARY KEY (d), FOREIGN KEY (d) REFERENCES s (b) WINDOW [0, *], STREAM KEY (d) SPANS s",
            "COOCCURS (d, c) AND s (b, d) WINDOW [0, *] ON s",
            4,
        ),
        (
            "COOCCURS (d) AND s (c) WINDOW [*, 0], PRIMARY KEY (b), "
            "FOREIGN KEY (b) REFERENCES s (c) WINDOW [-4 SECONDS, 5 SECONDS], COOCCURS (d) AND s (c)",
            "STREAM KEY (c) SPANS s ON s",
            4,
        ),
        (", ".join(f"e{n} BIGINT" for n in range(20)), "PRIMARY KEY (a) ON s", 3),
    ],
)
def test_foreign_keys_of_a_stream_to_itself_are_decided_in_seconds(
    declared: str, goal: str, code: int, tmp_path: Path
) -> None:
    columns = "a BIGINT, b BIGINT, c BIGINT, d BIGINT, ts TIMESTAMP, EVENT TIME ts"
    file = tmp_path / "script.sql"
    file.write_text(f"CREATE STREAM s ({columns}, {declared});", encoding="utf-8")
    assert _seconds_of(code, "implies", str(file), goal) < ALLOWED
