"""Queries of many shapes, started with hot keys split and without: the same answer, counts and quarantine."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.conftest import Bench
from tests.spark.oracle import written

COLUMNS = "k BIGINT, j BIGINT, p INT, name STRING, n BIGINT, ts BIGINT"
SCHEMA = pa.schema(
    [(c, pa.int64()) for c in ("k", "j")]
    + [("p", pa.int32()), ("name", pa.string())]
    + [(c, pa.int64()) for c in ("n", "ts")]
)
TIMED = "EVENT TIME ts, ORDERED BY ts WITHIN 50"
BAND = "t.ts BETWEEN s.ts - 40 AND s.ts + 40"
SINK = "CREATE SINK out USING parquet OPTIONS (path '{out}');\n"
ODD = "CREATE SINK odd USING parquet OPTIONS (path '{out}/../odd');\n"


def streams(s: str = TIMED, t: str = TIMED, u: str = TIMED, option: str = "") -> str:
    made = [
        f"CREATE STREAM {name} ({COLUMNS}, {said}) USING parquet OPTIONS (path '{{data}}/{name}'{option});"
        for name, said in (("s", s), ("t", t), ("u", u))
    ]
    return "\n".join(made) + "\n" + SINK


PAIR = f"INSERT INTO out SELECT s.n, t.n AS m FROM s JOIN t ON s.k = t.k AND {BAND};"
ON = f"ON s.k = t.k AND {BAND}"
QUARANTINED = TIMED.replace("WITHIN 50", "WITHIN 5 ON VIOLATION QUARANTINE INTO odd")
SHAPES: dict[str, tuple[str, bool]] = {
    # By name: the script, and whether keys are split in it.
    "inner": (streams() + PAIR, True),
    "filters": (streams() + PAIR.replace(";", " AND t.p <> 1 AND s.p > 0;"), True),
    "name": (streams() + PAIR.replace("s.k = t.k", "s.name = t.name"), True),
    "two columns": (streams() + PAIR.replace("s.k = t.k", "s.k = t.k AND s.name = t.name"), True),
    "left": (streams() + f"INSERT INTO out SELECT t.n, s.n AS m FROM t LEFT JOIN s {ON};", True),
    "left, the other is hot": (streams() + f"INSERT INTO out SELECT s.n, t.n AS m FROM s LEFT JOIN t {ON};", False),
    "full": (streams() + f"INSERT INTO out SELECT s.n, t.n AS m FROM s FULL JOIN t {ON};", False),
    "exists": (
        streams() + f"INSERT INTO out SELECT t.n FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.k = t.k AND {BAND});",
        True,
    ),
    "not exists": (
        streams() + f"INSERT INTO out SELECT t.n FROM t WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.k = t.k AND {BAND});",
        True,
    ),
    "three": (
        streams() + f"INSERT INTO out SELECT s.n, t.n AS m, u.n AS l FROM s, t, u WHERE s.k = t.k AND {BAND} "
        "AND t.k = u.k AND u.ts BETWEEN s.ts - 20 AND s.ts + 20;",
        True,
    ),
    "hot in both": (
        streams() + "INSERT INTO out SELECT t.n, u.n AS m FROM t JOIN u ON t.k = u.k AND t.p < 2 "
        "AND u.ts BETWEEN t.ts AND t.ts + 9;",
        True,
    ),
    "hot in both, broken": (
        ODD
        + streams(t=QUARANTINED, u=TIMED.replace("50", "5 ON VIOLATION RECOVER"))
        + "INSERT INTO out SELECT t.n, u.n AS m FROM t JOIN u ON t.k = u.k AND u.ts BETWEEN t.ts AND t.ts + 9;",
        True,
    ),
    "hypercube": (
        streams() + f"INSERT INTO out SELECT s.n, t.n AS m, u.n AS l FROM s, t, u WHERE s.k = t.k AND {BAND} "
        "AND t.j = u.j AND u.ts BETWEEN s.ts - 20 AND s.ts + 20;",
        True,
    ),
    "self": (
        streams() + "INSERT INTO out SELECT a.n, b.n AS m FROM t AS a JOIN t AS b ON a.k = b.k "
        "AND b.ts BETWEEN a.ts AND a.ts + 9 AND a.p = 0 AND b.p = 2;",
        True,
    ),
    "parts": (streams(f"{TIMED} , PARTS BY p", f"{TIMED}, PARTS BY p") + PAIR, True),
    "arrives, rows": (
        streams("EVENT TIME ts, ARRIVES BY n", "EVENT TIME ts, ARRIVES BY n")
        + "INSERT INTO out SELECT s.n, t.n AS m FROM s [ROWS 40], t [ROWS 60] WHERE s.k = t.k;",
        True,
    ),
    "range": (
        streams() + "INSERT INTO out SELECT s.n, t.n AS m FROM s [RANGE 40], t [RANGE 30] WHERE s.k = t.k;",
        True,
    ),
    "punctuated": (
        streams(t=f"{TIMED}, PUNCTUATED ON (k) WHEN p = 3", s="EVENT TIME ts, PUNCTUATED ON (k) WHEN p = 3")
        + "INSERT INTO out SELECT s.n, t.n AS m FROM s, t WHERE s.k = t.k;",
        True,
    ),
    "follows in time": (
        streams(t="EVENT TIME ts, ORDERED BY ts WITHIN 50, FOLLOWS s (k) ON (k) WITHIN 400")
        + "INSERT INTO out SELECT s.n, t.n AS m FROM s, t WHERE s.k = t.k;",
        True,
    ),
    "follows in rows": (
        streams(t=f"{TIMED}, FOLLOWS s (k) ON (k) WITHIN 100 ROWS", s=f"{TIMED}, FOLLOWS t (k) ON (k) WITHIN 100 ROWS")
        + "INSERT INTO out SELECT s.n, t.n AS m FROM s, t WHERE s.k = t.k;",
        True,
    ),
    "primary key, broken": (
        ODD
        + streams(
            f"{TIMED}, PRIMARY KEY (k) ON VIOLATION QUARANTINE INTO odd", f"{TIMED}, FOREIGN KEY (k) REFERENCES s (k)"
        )
        + "INSERT INTO out SELECT s.n, t.n AS m FROM s, t WHERE s.k = t.k;",
        True,
    ),
    "order, broken": (ODD + streams(QUARANTINED, QUARANTINED) + PAIR, True),
    "check, broken": (
        ODD
        + streams(*[f"{TIMED}, CHECK (j < 4) ON VIOLATION QUARANTINE INTO odd"] * 2)
        + PAIR.replace(";", " AND s.j < t.j + 1;"),
        True,
    ),
    "cooccurs, broken": (streams(t=f"{TIMED}, COOCCURS (k) AND s (k) WINDOW [-10, 10]") + PAIR, True),
    "recover": (streams(*[TIMED.replace("50", "5 ON VIOLATION RECOVER")] * 2) + PAIR, True),
    "recover, left": (
        streams(*[TIMED.replace("50", "5 ON VIOLATION RECOVER")] * 2)
        + f"INSERT INTO out SELECT t.n, s.n AS m FROM t LEFT JOIN s {ON};",
        True,
    ),
    "distinct": (streams() + PAIR.replace("SELECT s.n, t.n AS m", "SELECT DISTINCT s.k, t.p"), True),
    "groups": (
        streams() + "INSERT INTO out SELECT t.k, t.ts, count(*) AS c, sum(s.n) AS total FROM s JOIN t "
        f"{ON} GROUP BY t.k, t.ts;",
        False,
    ),
    "view": (
        streams().replace(SINK, f"CREATE VIEW v AS SELECT s.k, s.n, t.n AS m, t.ts FROM s JOIN t {ON};\n{SINK}")
        + "INSERT INTO out SELECT v.n, v.m, u.n AS l FROM v LEFT JOIN u ON v.k = u.k "
        "AND u.ts BETWEEN v.ts - 9 AND v.ts + 9;",
        False,
    ),
    "or exists": (
        streams() + "INSERT INTO out SELECT t.n FROM t WHERE t.p = 0 OR EXISTS "
        f"(SELECT 1 FROM s WHERE s.k = t.k AND {BAND});",
        True,
    ),
    "union": (
        streams() + f"INSERT INTO out SELECT s.n, t.n AS m FROM s JOIN t {ON} UNION ALL SELECT s.n, t.n AS m FROM t "
        f"JOIN s ON s.j = t.j AND {BAND};",
        True,
    ),
    "budget": (streams() + PAIR.replace("SELECT", "SELECT /*+ BUDGET(1000000 ROWS) */"), False),
    "expression": (streams() + PAIR.replace("s.n, t.n AS m", "s.n + t.n AS both, upper(t.name) AS name"), True),
}


def rows(draw: random.Random, stream: str, batch: int) -> list[dict[str, Any]]:
    """Rows of which, but for s, most are of key 0, and some of none; times are nearly in order."""
    found = []
    for place in range(60 if stream == "s" else 150):
        is_hot = place == 7 if stream == "s" else draw.random() < 0.6
        key = 0 if is_hot else draw.choice([None, *range(1, 400)])
        time = batch * 100 + place * 100 // 150 - draw.choice([0, 0, 0, 3, 12])
        row = {"k": key, "j": 0 if is_hot else draw.choice([None, 1, 2, 3, 4, 5]), "p": draw.randrange(4)}
        name = None if key is None else "hot" if is_hot else f"n{key % 50}"
        found.append({**row, "name": name, "n": (batch * 1000 + place) * 3 + "stu".index(stream), "ts": max(time, 0)})
    return found


def counted(bench: Bench, ran: Any) -> dict[str, Any]:
    """What stands in the metrics of all runs that does not hang on where rows lie."""
    sums: Counter[tuple[str, str]] = Counter()
    for line in ran.batches:
        for name in ("rows_in", "violations", "malformed"):
            # What a match breaks is seen in the cell of the match, once for each copy of a row that is in several.
            once = {
                key: min(value, 1) if key.startswith(("COOCCURS", "FOLLOWS")) else value
                for key, value in line[name].items()
            }
            sums.update({(name, key): value for key, value in once.items()})
        sums["rows out", line["query"]] += line["rows_out"]
        sums["lost", ""] += line["lost"]
    last = ran.batches[-1]
    kept = {name: last[name] for name in ("exact", "k", "pending_rows", "state_tuples")}
    return {"sums": {key: n for key, n in sums.items() if n}, **kept, "odd": written(bench.folder / "odd")}


def gone_through(folder: Path, script: str, least: int, seed: int) -> tuple[Any, dict[str, Any], bool]:
    """Three runs, the last of which ends the streams."""
    bench, draw, split = Bench(folder), random.Random(seed), False
    ran: Any = None
    for batch in range(3):
        for stream in "stu":
            path = bench.place(stream, f"{batch}.parquet")
            hidden = path.with_name("." + path.name)
            pq.write_table(pa.Table.from_pylist(rows(draw, stream, batch), schema=SCHEMA), hidden)
            bench.date(hidden, path)
        with (
            patch("penstock.spark.first_look.LEAST_BYTES", least),
            patch("penstock.runtime.input.split_keys.LEAST_ROWS", 5),
        ):
            ran = bench.run(script, conf={"penstock.cells": "8"}, final=batch == 2)
        assert ran.code == 0, ran.err
        assert batch == 0 or "split over" not in ran.err
        split = split or "split over" in ran.err
    return bench.sink(), counted(bench, ran), split


@pytest.mark.thorough
@pytest.mark.usefixtures("bench")
@pytest.mark.parametrize("shape", SHAPES)
def test_whether_keys_are_split_or_not_is_not_to_be_seen(shape: str, tmp_path: Path) -> None:
    script, is_split = SHAPES[shape]
    seed = sum(map(ord, shape))
    plain, known, never = gone_through(tmp_path / "plain", script, 1 << 60, seed)
    answer, beside, split = gone_through(tmp_path / "split", script, 0, seed)
    assert not never
    assert split == is_split
    assert plain
    assert answer == plain
    assert beside == known
