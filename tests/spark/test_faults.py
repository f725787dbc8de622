"""Whatever dies, and whenever: the sink holds exactly the bag of the slow reference.

The runs are processes of their own, in sessions of their own, so that all of them (driver, JVM, workers) can be
killed and nobody else.
"""

from __future__ import annotations

import os
import random
import tempfile
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.runtime import Changes
from penstock.spark import cache
from penstock.spark.cache import WarmCache, forget, new_run, sweep
from tests.measure import FULL, size
from tests.spark.conftest import Bench, kill_session
from tests.spark.oracle import Bag, bag, joined, same

SCHEMA = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
START = datetime(2024, 5, 1, tzinfo=UTC)
STREAM = """
CREATE STREAM {name} (k BIGINT, n BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 2 SECONDS{answer})
  USING parquet OPTIONS (path '{data}/{name}', maxFilesPerTrigger '1');
"""
ANSWERS = {"s": " ON VIOLATION QUARANTINE", "t": ""}
STREAMS = "".join(STREAM.replace("{name}", name).replace("{answer}", answer) for name, answer in ANSWERS.items())
SCRIPT = (
    STREAMS
    + """
CREATE SINK pairs USING parquet OPTIONS (path '{out}/pairs');
CREATE SINK kinds USING parquet OPTIONS (path '{out}/kinds');
INSERT INTO pairs SELECT s.n, t.n AS m FROM s [RANGE 6 SECONDS], t [RANGE 6 SECONDS] WHERE s.k = t.k AND s.n <> 3;
INSERT INTO kinds SELECT DISTINCT s.k, t.ts FROM s [RANGE 6 SECONDS], t [RANGE 6 SECONDS] WHERE s.k = t.k;
"""
)
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
OUTER = """
CREATE SINK unmatched USING parquet OPTIONS (path '{out}/unmatched');
INSERT INTO unmatched SELECT s.n, t.n AS m FROM s LEFT JOIN t ON s.k = t.k AND s.ts = t.ts AND t.n > s.n;
CREATE SINK alone USING parquet OPTIONS (path '{out}/alone');
INSERT INTO alone SELECT s.n FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = s.k AND t.ts = s.ts);
CREATE SINK topped USING parquet OPTIONS (path '{out}/topped');
INSERT INTO topped SELECT g.since, max(g.results) AS most FROM (
  SELECT window(s.ts, '1 second').start AS since, s.k, count(*) AS results
  FROM s [RANGE 1 SECONDS], t [RANGE 1 SECONDS] WHERE s.k = t.k GROUP BY window(s.ts, '1 second'), s.k) AS g
GROUP BY g.since;
"""
"""Rows given once it is certain that nothing meets them, and groups of groups: a block above another."""
Rows = list[dict[str, Any]]


def write_files(bench: Bench, count: int) -> tuple[Bag, Bag]:
    """So many files a stream, and the bags of both queries. In s, the last row of each file but the first is late."""
    rng = random.Random(3)
    data: dict[str, Rows] = {"s": [], "t": []}
    for file in range(count):
        for stream in data:
            rows = [
                {"k": rng.randrange(6), "n": file * 20 + n, "ts": START + timedelta(seconds=file + n % 2)}
                for n in range(20)
            ]
            data[stream] += rows
            late = [{"k": 0, "n": -file, "ts": START - timedelta(seconds=9)}] if stream == "s" and file else []
            bench.write(stream, rows + late, SCHEMA)

    def near(s: Any, t: Any) -> bool:
        return same(s["k"], t["k"]) and abs(s["ts"] - t["ts"]) < timedelta(seconds=6)

    pairs = joined([data["s"], data["t"]], lambda s, t: near(s, t) and s["n"] != 3, lambda s, t: (s["n"], t["n"]))
    kinds = joined([data["s"], data["t"]], near, lambda s, t: (s["k"], t["ts"]))
    return pairs, type(kinds)(dict.fromkeys(kinds, 1))


def quarantined(bench: Bench, query: str) -> list[int]:
    files = (bench.folder / "checkpoint" / query / "quarantine").rglob("*.parquet")
    return sorted(row["n"] for file in files for row in pq.ParquetFile(file).read().to_pylist())


@pytest.mark.measure
@pytest.mark.usefixtures("spark")
def test_killed_at_random_moments_and_restarted(outside: Bench) -> None:
    """At least 20 kills in full size. A run is left alone until its first batch is under way, so that each gets on."""
    kills = int(os.environ.get("PENSTOCK_KILLS", size(1, 20)))
    files = 4 if kills < 2 else 50
    pairs, kinds = write_files(outside, files)
    script = SCRIPT + MERGED + GROUPED + BUDGETED + COUNTED + OUTER
    rng = random.Random(int(os.environ.get("PENSTOCK_SEED", "11")))
    for _ in range(kills):
        before = offsets(outside)
        process = outside.start(script, unbounded=False)
        deadline = time.monotonic() + 300
        while process.poll() is None and offsets(outside) == before and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(rng.uniform(0, 2.5))
        assert process.poll() is None, "it was killed while it worked"
        kill_session(process.pid)
        process.communicate()
    ran = outside.run(script, unbounded=False)
    assert ran.code == 0, ran.err
    print(f"{kills} kills, {files} files a stream")
    assert outside.sink("pairs") == pairs
    assert outside.sink("kinds") == kinds
    assert quarantined(outside, "pairs") == sorted(-file for file in range(1, files))
    assert outside.sink("merged") == merged(outside)
    # The clock of both stands 2 seconds behind the last second, and what it has not passed may still come.
    assert outside.sink("counts") == grouped(outside, START + timedelta(seconds=files - 2))
    assert outside.sink("rewritten") == rewritten(outside, START + timedelta(seconds=files - 2))
    assert_outer(outside, START + timedelta(seconds=files - 2))
    # Spark drops what the clock of the batch before had passed, so nothing in the first two.
    lines = [line for line in ran.batches if line["query"] == "rewritten" and line["rows_in"]["one"]]
    assert any(line["batch"] > 1 for line in lines)
    for line in lines:
        assert line["violations"] == ({"ORDERED BY ts WITHIN 2 SECONDS ON one": 1} if line["batch"] > 1 else {})
    assert_budget_was_kept(outside, pairs)


def assert_budget_was_kept(bench: Bench, pairs: Bag) -> None:
    """After every batch, whoever died; what was emitted is a part of the answer, and the archive has the rest of it."""
    stored = [sum(b["state_rows"].values()) + b["promise_rows"] for b in bench.metrics() if b["query"] == "kept"]
    assert stored
    assert max(stored) <= 40
    kept = bench.sink("kept")
    assert kept < pairs
    quiet = bench.run(STREAMS + BUDGETED, unbounded=False, conf={"penstock.archive": "join"})
    assert quiet.code == 0, quiet.err
    late = [pq.read_table(file) for file in (bench.folder / "out" / "archive" / "answers").rglob("*.parquet")]
    assert kept + bag(tuple(row.values()) for table in late for row in table.to_pylist()) == pairs


def assert_outer(bench: Bench, until: datetime) -> None:
    """The answers of OUTER: unmatched rows and groups up to that, matches whenever they are."""
    s, t = ([r for r in pq.read_table(bench.folder / "data" / name).to_pylist() if r["n"] >= 0] for name in "st")
    met: dict[tuple[int, datetime], list[int]] = {}
    for row in t:
        met.setdefault((row["k"], row["ts"]), []).append(row["n"])
    larger = {row["n"]: [n for n in met.get((row["k"], row["ts"]), []) if n > row["n"]] for row in s}
    matched = bag((row["n"], n) for row in s for n in larger[row["n"]])
    assert bench.sink("unmatched") == matched + bag(
        (row["n"], None) for row in s if not larger[row["n"]] and row["ts"] < until
    )
    assert bench.sink("alone") == bag(
        (row["n"],) for row in s if (row["k"], row["ts"]) not in met and row["ts"] < until
    )
    most: dict[datetime, int] = {}
    for since, _, results, _ in grouped(bench, until):
        most[since] = max(most.get(since, 0), results)
    assert bench.sink("topped") == bag(most.items())


def merged(bench: Bench) -> Bag:
    """The results of MERGED; the late rows of s, which are kept out, have another k."""
    s, t = (pq.read_table(bench.folder / "data" / name).to_pylist() for name in "st")
    return joined([s, t], lambda s, t: same(s["k"], t["k"]) and 0 < s["k"] < 4, lambda s, _: (s["k"],))


def grouped(bench: Bench, until: datetime, dropped: int = -1) -> Bag:
    """The groups of GROUPED that start before that, late rows left out; every row stands on a whole second."""
    s, t = ([r for r in pq.read_table(bench.folder / "data" / name).to_pylist() if r["n"] >= 0] for name in "st")
    sums: dict[tuple[datetime, int], list[int]] = {}
    for one in s:
        for other in t:
            if one["n"] != dropped and one["k"] == other["k"] and one["ts"] == other["ts"] < until:
                sums.setdefault((one["ts"], one["k"]), []).append(other["n"])
    return bag((since, k, len(values), sum(values)) for (since, k), values in sums.items())


def rewritten(bench: Bench, until: datetime) -> Bag:
    """The counts of COUNTED in windows that were over by then: the fewer rows of the two, the late ones left out."""
    counts: list[Counter[datetime]] = []
    for name in "st":
        rows = pq.read_table(bench.folder / "data" / name).to_pylist()
        seconds = [(row["ts"] - START) // timedelta(seconds=2) for row in rows if row["n"] >= 0]
        counts.append(Counter(START + second * timedelta(seconds=2) for second in seconds))
    over = [since for since in counts[0] if since + timedelta(seconds=2) <= until]
    return bag((since, min(found[since] for found in counts)) for since in over)


def offsets(bench: Bench) -> int:
    folders = (bench.folder / "checkpoint").glob("*/spark/offsets")
    return sum(1 for folder in folders for path in folder.iterdir() if path.name.isdigit())


@pytest.mark.thorough
def test_tasks_that_fail_and_workers_that_die(outside: Bench) -> None:
    """Every first attempt fails (see sabotage); the second finds a cache and a live cell of a batch that never was.

    In the suite groups alone, whose counts a repeated result would change; at full size all. A filter has Spark read
    the rows of s, so that packing them can fail by itself.
    """
    counts = GROUPED.replace("s.k = t.k", "s.k = t.k AND s.n <> 3")
    pairs, kinds = write_files(outside, 4)
    marks = outside.folder / "marks"
    marks.mkdir()
    process = outside.start(
        (SCRIPT if FULL else STREAMS) + counts,
        unbounded=False,
        conf={"spark.master": "local[2,8]", "spark.python.daemon.module": "tests.spark.sabotage"},
        environment={"SABOTAGE": str(marks), "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    ran = outside.finish(process)
    assert ran.code == 0, ran.err
    failed = [mark.name for mark in marks.iterdir()]
    assert {name.split("-")[0] for name in failed} == {"cell", "second", "pack"}
    assert outside.sink("counts") == grouped(outside, START + timedelta(seconds=2), dropped=3)
    assert quarantined(outside, "counts") == [-3, -2, -1]
    if FULL:
        assert outside.sink("pairs") == pairs
        assert outside.sink("kinds") == kinds


@pytest.mark.thorough
def test_a_cache_that_is_deleted_and_garbled_all_the_time(bench: Bench) -> None:
    pairs, kinds = write_files(bench, 4)
    stop = threading.Event()
    rng = random.Random(5)
    touched: list[str] = []

    def spoil() -> None:
        while not stop.wait(0.02):
            for path in own_entries(cache.cache_root()):
                if rng.random() < 0.6:
                    continue
                try:
                    if rng.random() < 0.5:
                        path.unlink()
                    else:
                        # A new file: one that a worker has mapped must not change under it.
                        garbled = path.with_name("garbled")
                        garbled.write_bytes(bytes(255 - byte for byte in path.read_bytes()))
                        garbled.replace(path)
                    touched.append(path.name)
                except OSError:
                    continue

    thread = threading.Thread(target=spoil)
    thread.start()
    try:
        ran = bench.run(SCRIPT, unbounded=False)
    finally:
        stop.set()
        thread.join()
    assert ran.code == 0, ran.err
    assert touched
    assert bench.sink("pairs") == pairs
    assert bench.sink("kinds") == kinds


def own_entries(root: Path) -> list[Path]:
    """The files of this process's caches, and of nobody's who runs beside it; folders may go meanwhile."""
    mine = list(root.glob(f"*~{os.getpid()}~*"))
    return [Path(folder) / name for run in mine for folder, _, names in os.walk(run) for name in names]


@pytest.fixture
def warm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WarmCache:
    monkeypatch.setattr(cache, "cache_root", lambda: tmp_path / "cache")
    found = WarmCache("run", "cell")
    found.store(None, "1", Changes({"segment/a": b"one", "mask/a": b"two"}, ()))
    return found


def content(found: dict[str, Any] | None) -> dict[str, bytes] | None:
    return None if found is None else {key: bytes(data) for key, data in found.items()}


def test_cache_gives_what_was_committed_under_a_tag(warm: WarmCache) -> None:
    assert content(warm.load("1")) == {"segment/a": b"one", "mask/a": b"two"}
    assert warm.load("2") is None
    warm.store("1", "2", Changes({"mask/a": b"three"}, ("segment/a",)))
    assert content(warm.load("2")) == {"mask/a": b"three"}
    assert warm.load("1") is None


def test_cache_is_cold_after_a_commit_that_it_does_not_know(warm: WarmCache) -> None:
    """The batch that left tag 1 here was never committed; the retry began from what the store had under tag 0."""
    warm.store("0", "2", Changes({"mask/a": b"three"}, ()))
    assert warm.load("2") is None
    warm.refill("2", {"mask/a": b"four"})
    assert content(warm.load("2")) == {"mask/a": b"four"}


@pytest.mark.parametrize("name", ["segment%2Fa", "mask%2Fa"])
def test_cache_is_cold_where_a_file_was_touched(warm: WarmCache, name: str) -> None:
    path = warm.folder / "entries" / name
    path.write_bytes(b"xyz")
    assert warm.load("1") is None
    path.unlink()
    assert warm.load("1") is None


def test_cache_is_cold_where_the_manifest_was_touched(warm: WarmCache) -> None:
    for text in ("", "{", "[]", '{"tag": "1"}', '{"tag": "1", "files": 3}', '{"tag": "1", "files": {"x": 1}}'):
        (warm.folder / "entries").mkdir(parents=True, exist_ok=True)
        (warm.folder / "manifest.json").write_text(text)
        assert warm.load("1") is None
        warm.store("1", "2", Changes({"a": b"b"}, ()))
        assert content(warm.load("2")) in (None, {"a": b"b"}), "cold, or what this commit wrote"


def test_caches_of_dead_runs_are_swept(warm: WarmCache, tmp_path: Path) -> None:
    root = tmp_path / "cache"
    mine = new_run()
    host = mine.split("~")[0]
    dead = f"{host}~999999999~0"
    for run in (mine, dead, "elsewhere~1~0"):
        (root / run).mkdir()
    sweep()
    assert {path.name for path in root.iterdir()} == {"run", mine, "elsewhere~1~0"}
    forget(mine)
    assert not (root / mine).exists()
    assert warm.load("1") is not None


def test_cache_of_someone_else_is_not_used(warm: WarmCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "theirs")
    monkeypatch.setattr(cache, "cache_root", lambda: tmp_path / "link")
    other = WarmCache("run", "cell")
    other.store(None, "1", Changes({"a": b"b"}, ()))
    assert other.load("1") is None
    assert warm.load("1") is not None


def test_a_sweep_follows_no_link_and_enters_no_folder_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A root that is a link, that others may enter, or that has links in it: nothing behind them is touched."""
    host = new_run().split("~")[0]
    dead = f"{host}~999999999~0"
    precious = tmp_path / "precious" / dead
    precious.mkdir(parents=True)
    (precious / "data").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    open_root = tmp_path / "open"
    (open_root / dead).mkdir(parents=True)
    open_root.chmod(0o755)
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    (own / dead).symlink_to(precious)
    (own / f"{dead}1").mkdir()
    (own / f"{dead}1" / "inner").symlink_to(precious)
    for root in (tmp_path / "link", open_root, own):
        monkeypatch.setattr(cache, "cache_root", lambda root=root: root)
        sweep()
        forget(dead)
        WarmCache(dead, "cell").clear()
    assert (precious / "data").read_text() == "x"
    assert (open_root / dead).exists()
    assert [path.name for path in own.iterdir()] == [dead], "what was ours is gone"


def test_entries_of_a_cache_are_read_and_written_through_no_link(warm: WarmCache, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"one")
    entry = warm.folder / "entries" / "segment%2Fa"
    entry.unlink()
    entry.symlink_to(secret)
    assert warm.load("1") is None
    (warm.folder / "entries" / "mask%2Fa.new").symlink_to(secret)
    warm.store("1", "2", Changes({"mask/a": b"three"}, ()))
    assert secret.read_bytes() == b"one"


def test_spark_log_is_a_file_of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.spark import session

    planted = tmp_path / "planted"
    (tmp_path / f"penstock-spark-{os.getpid()}.log").symlink_to(planted)
    monkeypatch.setattr(session, "_log", None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with session._errors_into_log():
        os.write(2, b"said by Spark\n")
    assert not planted.exists()
    assert session.spark_log().read_text() == "said by Spark\n"
    assert session.spark_log().stat().st_mode & 0o077 == 0
