"""Tasks that fail, workers that die, caches that are spoilt: the sink holds exactly the bag of the slow reference."""

from __future__ import annotations

import os
import random
import tempfile
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.runtime import Changes
from penstock.spark import cache
from penstock.spark.cache import WarmCache, forget, new_run, sweep
from tests.measure import FULL
from tests.spark.conftest import Bench
from tests.spark.killed_queries import GROUPED, SCRIPT, START, STREAMS, grouped, quarantined, write_files


@pytest.mark.thorough
@pytest.mark.parametrize("segments", ["1", "65536"])
def test_tasks_that_fail_and_workers_that_die(outside: Bench, segments: str) -> None:
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
        conf={
            "spark.master": "local[2,8]",
            "spark.python.daemon.module": "tests.spark.sabotage",
            # Every segment is a file of the checkpoint, as large ones are, or all lies in the commits.
            "penstock.segments": segments,
        },
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
def test_a_cache_that_is_deleted_and_garbled_all_the_time(bench: Bench, spark: SparkSession) -> None:
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
        # Small entries would lie in the commits, and not in the cache.
        ran = bench.run(SCRIPT, unbounded=False, conf={"penstock.segments": "1"})
    finally:
        spark.conf.unset("penstock.segments")
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
