"""Every kind of query, over two streams of small files, and its exact answer: what is killed must give it in the end.

The answers know nothing of plans, batches or promises: they read the files, rows one by one. The last row of each file
of s but the first is late, by far, and is kept out of all of them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.spark.conftest import Bench, Ran
from tests.spark.oracle import Bag, bag, joined, same

SCHEMA = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
START = datetime(2024, 5, 1, tzinfo=UTC)
STREAM = """
CREATE STREAM {name} (k BIGINT, n BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 2 SECONDS{answer})
  USING parquet OPTIONS (path '{data}/{name}', maxFilesPerTrigger '1');
"""
ANSWERS = {"s": " ON VIOLATION QUARANTINE", "t": ""}
STREAMS = "".join(STREAM.replace("{name}", name).replace("{answer}", answer) for name, answer in ANSWERS.items())
PAIRS = """
CREATE SINK pairs USING parquet OPTIONS (path '{out}/pairs');
INSERT INTO pairs SELECT s.n, t.n AS m FROM s [RANGE 6 SECONDS], t [RANGE 6 SECONDS] WHERE s.k = t.k AND s.n <> 3;
"""
DISTINCT = """
CREATE SINK kinds USING parquet OPTIONS (path '{out}/kinds');
INSERT INTO kinds SELECT DISTINCT s.k, t.ts FROM s [RANGE 6 SECONDS], t [RANGE 6 SECONDS] WHERE s.k = t.k;
"""
SCRIPT = STREAMS + PAIRS + DISTINCT
MERGED = """
CREATE SINK merged USING parquet OPTIONS (path '{out}/merged');
INSERT INTO merged SELECT s.k FROM s, t WHERE s.k = t.k AND s.k > 0 AND s.k < 4;
"""
"""No window bounds it: rows of one k become one with a count, which a lost or repeated batch would change."""
GROUPED = """
CREATE SINK counts USING parquet OPTIONS (path '{out}/counts');
INSERT INTO counts SELECT window(s.ts, '1 second').start AS since, s.k, count(*) AS results, sum(t.n) AS total
FROM s [RANGE 1 SECONDS], t [RANGE 1 SECONDS] WHERE s.k = t.k GROUP BY window(s.ts, '1 second'), s.k;
"""
BUDGETED = """
CREATE SINK kept USING parquet OPTIONS (path '{out}/kept');
INSERT INTO kept SELECT /*+ BUDGET(40 ROWS), ARCHIVE('{out}/archive') */ s.n, t.n AS m
FROM s [RANGE 6 SECONDS], t [RANGE 6 SECONDS] WHERE s.k = t.k AND s.n <> 3;
"""
"""The answer of `pairs`, in a fifth of the room; what is evicted is archived."""
COUNTED = """
CREATE STREAM one (k BIGINT, n BIGINT, ts TIMESTAMP, id VIRTUAL, EVENT TIME ts, ORDERED BY ts WITHIN 2 SECONDS,
  PRIMARY KEY (id), STREAM KEY (k) SPANS other WINDOW [0, 1 SECOND])
  USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE STREAM other (k BIGINT, n BIGINT, ts TIMESTAMP, id VIRTUAL, EVENT TIME ts, ORDERED BY ts WITHIN 2 SECONDS,
  PRIMARY KEY (id), FOREIGN KEY (id, k) REFERENCES one (id, k) WINDOW [-1 SECOND, 0])
  USING parquet OPTIONS (path '{data}/t', maxFilesPerTrigger '1');
CREATE SINK rewritten USING parquet OPTIONS (path '{out}/rewritten');
INSERT INTO rewritten SELECT /*+ ERROR(50 PERCENT) */ window(one.ts, '2 seconds').start AS since, count(*) AS results
FROM one, other WHERE one.k = other.k AND other.ts >= one.ts AND other.ts - one.ts <= INTERVAL 1 SECOND
GROUP BY window(one.ts, '2 seconds');
"""
"""Counts in place of the join, whatever the data keep. The late rows of s come for a window that is given."""
UNMATCHED = """
CREATE SINK unmatched USING parquet OPTIONS (path '{out}/unmatched');
INSERT INTO unmatched SELECT s.n, t.n AS m FROM s LEFT JOIN t ON s.k = t.k AND s.ts = t.ts AND t.n > s.n;
"""
ALONE = """
CREATE SINK alone USING parquet OPTIONS (path '{out}/alone');
INSERT INTO alone SELECT s.n FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = s.k AND t.ts = s.ts);
"""
"""Rows given once it is certain that nothing meets them."""
MET = """
CREATE SINK met USING parquet OPTIONS (path '{out}/met');
INSERT INTO met SELECT s.n FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.k = s.k AND t.ts = s.ts);
"""
TOPPED = """
CREATE SINK topped USING parquet OPTIONS (path '{out}/topped');
INSERT INTO topped SELECT g.since, max(g.results) AS most FROM (
  SELECT window(s.ts, '1 second').start AS since, s.k, count(*) AS results
  FROM s [RANGE 1 SECONDS], t [RANGE 1 SECONDS] WHERE s.k = t.k GROUP BY window(s.ts, '1 second'), s.k) AS g
GROUP BY g.since;
"""
"""Groups of groups: a block above another."""
Rows = list[dict[str, Any]]
Files = tuple[Rows, Rows]


def write_files(bench: Bench, count: int, first: int = 0) -> tuple[Bag, Bag]:
    """So many files a stream, numbered from the first; gives the bags of PAIRS and of DISTINCT."""
    rng = random.Random(3 + first)
    for file in range(first, first + count):
        for stream in "st":
            rows: Rows = [
                {"k": rng.randrange(6), "n": file * 20 + n, "ts": START + timedelta(seconds=file + n % 2)}
                for n in range(20)
            ]
            late: Rows = [{"k": 0, "n": -file, "ts": START - timedelta(seconds=9)}] if stream == "s" and file else []
            bench.write(stream, rows + late, SCHEMA)
    return pairs(files_of(bench)), kinds(files_of(bench))


def files_of(bench: Bench) -> Files:
    """The rows of s that are in time, and those of t."""
    s, t = (pq.read_table(bench.folder / "data" / name).to_pylist() for name in "st")
    return [row for row in s if row["n"] >= 0], t


def near(s: Any, t: Any) -> bool:
    return same(s["k"], t["k"]) and abs(s["ts"] - t["ts"]) < timedelta(seconds=6)


def pairs(files: Files) -> Bag:
    return joined(files, lambda s, t: near(s, t) and s["n"] != 3, lambda s, t: (s["n"], t["n"]))


def kinds(files: Files) -> Bag:
    return bag(dict.fromkeys(joined(files, near, lambda s, t: (s["k"], t["ts"]))))


def merged(files: Files) -> Bag:
    return joined(files, lambda s, t: same(s["k"], t["k"]) and 0 < s["k"] < 4, lambda s, _: (s["k"],))


def grouped(bench: Bench, until: datetime, dropped: int = -1) -> Bag:
    """The groups of GROUPED that start before that; every row stands on a whole second."""
    s, t = files_of(bench)
    sums: dict[tuple[datetime, int], list[int]] = {}
    for one in s:
        for other in t:
            if one["n"] != dropped and one["k"] == other["k"] and one["ts"] == other["ts"] < until:
                sums.setdefault((one["ts"], one["k"]), []).append(other["n"])
    return bag((since, k, len(values), sum(values)) for (since, k), values in sums.items())


def rewritten(files: Files, until: datetime) -> Bag:
    """The counts of COUNTED in windows that were over by then: the fewer rows of the two."""
    counts: list[Counter[datetime]] = []
    for rows in files:
        seconds = [(row["ts"] - START) // timedelta(seconds=2) for row in rows]
        counts.append(Counter(START + second * timedelta(seconds=2) for second in seconds))
    over = [since for since in counts[0] if since + timedelta(seconds=2) <= until]
    return bag((since, min(found[since] for found in counts)) for since in over)


def quarantined(bench: Bench, query: str) -> list[int]:
    files = (bench.folder / "checkpoint" / query / "quarantine").rglob("*.parquet")
    return sorted(row["n"] for file in files for row in pq.ParquetFile(file).read().to_pylist())


@dataclass(frozen=True)
class Ended:
    """A run that has read all files, after however many that were killed."""

    bench: Bench
    ran: Ran
    count: int
    """The files of each stream."""

    @property
    def until(self) -> datetime:
        """The clock of both stands 2 seconds behind the last second, and what it has not passed may still come."""
        return START + timedelta(seconds=self.count - 2)

    @property
    def files(self) -> Files:
        return files_of(self.bench)

    def sink(self, name: str) -> Bag:
        return self.bench.sink(name)


def check_pairs(ended: Ended) -> None:
    assert ended.sink("pairs") == pairs(ended.files)
    assert quarantined(ended.bench, "pairs") == sorted(-file for file in range(1, ended.count))


def check_rewritten(ended: Ended) -> None:
    assert ended.sink("rewritten") == rewritten(ended.files, ended.until)
    # Spark drops what the clock of the batch before had passed, so nothing in the first two.
    lines = [line for line in ended.ran.batches if line["query"] == "rewritten" and line["rows_in"]["one"]]
    assert any(line["batch"] > 1 for line in lines)
    for line in lines:
        assert line["violations"] == ({"ORDERED BY ts WITHIN 2 SECONDS ON one": 1} if line["batch"] > 1 else {})


def check_budget(ended: Ended) -> None:
    """Kept after every batch, whoever died; what was emitted is a part of the answer, and the archive has the rest."""
    bench, due = ended.bench, pairs(ended.files)
    stored = [sum(b["state_rows"].values()) + b["promise_rows"] for b in ended.ran.batches if b["query"] == "kept"]
    assert stored
    assert max(stored) <= 40
    kept = bench.sink("kept")
    assert kept < due
    quiet = bench.finish(bench.start(STREAMS + BUDGETED, unbounded=False, conf={"penstock.archive": "join"}))
    assert quiet.code == 0, quiet.err
    late = [pq.read_table(file) for file in (bench.folder / "out" / "archive" / "answers").rglob("*.parquet")]
    assert kept + bag(tuple(row.values()) for table in late for row in table.to_pylist()) == due


def met(files: Files) -> dict[tuple[int, datetime], list[int]]:
    found: dict[tuple[int, datetime], list[int]] = {}
    for row in files[1]:
        found.setdefault((row["k"], row["ts"]), []).append(row["n"])
    return found


def check_unmatched(ended: Ended) -> None:
    """Matches whenever they are, rows without one up to the clock."""
    by_place, s = met(ended.files), ended.files[0]
    larger = {row["n"]: [n for n in by_place.get((row["k"], row["ts"]), []) if n > row["n"]] for row in s}
    matched = bag((row["n"], n) for row in s for n in larger[row["n"]])
    without = bag((row["n"], None) for row in s if not larger[row["n"]] and row["ts"] < ended.until)
    assert ended.sink("unmatched") == matched + without


def check_alone(ended: Ended) -> None:
    by_place, s = met(ended.files), ended.files[0]
    assert ended.sink("alone") == bag(
        (row["n"],) for row in s if (row["k"], row["ts"]) not in by_place and row["ts"] < ended.until
    )


def check_met(ended: Ended) -> None:
    by_place, s = met(ended.files), ended.files[0]
    assert ended.sink("met") == bag((row["n"],) for row in s if (row["k"], row["ts"]) in by_place)


def check_topped(ended: Ended) -> None:
    most: dict[datetime, int] = {}
    for since, _, results, _ in grouped(ended.bench, ended.until):
        most[since] = max(most.get(since, 0), results)
    assert ended.sink("topped") == bag(most.items())


KINDS: dict[str, tuple[str, Callable[[Ended], None]]] = {
    "pairs": (PAIRS, check_pairs),
    "kinds": (DISTINCT, lambda ended: same_bags(ended.sink("kinds"), kinds(ended.files))),
    "merged": (MERGED, lambda ended: same_bags(ended.sink("merged"), merged(ended.files))),
    "counts": (GROUPED, lambda ended: same_bags(ended.sink("counts"), grouped(ended.bench, ended.until))),
    "kept": (BUDGETED, check_budget),
    "rewritten": (COUNTED, check_rewritten),
    "unmatched": (UNMATCHED, check_unmatched),
    "alone": (ALONE, check_alone),
    "met": (MET, check_met),
    "topped": (TOPPED, check_topped),
}
"""By the name of the sink and so of the query: the text, and what must hold at the end."""


def same_bags(found: Bag, due: Bag) -> None:
    assert found == due
