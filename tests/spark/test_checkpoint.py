"""A checkpoint is one query's: anything else is refused with what differs, and nothing is touched. Damage is told."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import penstock
from penstock.analysis.check import check_query
from penstock.plan.planner import make_plan
from penstock.spark.cells import KeyedGrid
from penstock.spark.essence import differences, essence_of
from tests.measure import size
from tests.spark.conftest import Bench
from tests.spark.test_run import JOIN, KN, PLAIN, expected, fingerprint, is_clean, rows

OTHERS = {
    "another join": (
        PLAIN + JOIN.replace("s.k = t.k", "s.k = t.n"),
        {},
        "`WHERE s.k = t.k` then, `WHERE s.k = t.n` now",
    ),
    "a derived column": (
        PLAIN.replace("n BIGINT", "n BIGINT, x BIGINT AS (n + 1)")
        + JOIN.replace("s.n, t.n AS m", "s.n, s.x, t.n AS m"),
        {},
        "SELECT s.n, s.x, t.n AS m",
    ),
    "another type": (PLAIN.replace("s (k BIGINT", "s (k INT") + JOIN, {}, "stream s: `k BIGINT` then, `k INT` now"),
    "another stream": (PLAIN + JOIN.replace("FROM s, t", "FROM s, s AS t"), {}, "FROM s, s AS t"),
    "another filter": (PLAIN + JOIN.replace("WHERE", "WHERE s.n > 1 AND"), {}, "s.n > 1"),
    "DISTINCT": (PLAIN + JOIN.replace("SELECT", "SELECT DISTINCT"), {}, "SELECT DISTINCT"),
    "another WHERE of a stream": (
        PLAIN.replace("maxFilesPerTrigger '1');", "maxFilesPerTrigger '1') WHERE n > 1;", 1) + JOIN,
        {},
        "WHERE",
    ),
    "a promise more": (
        PLAIN.replace("s (k BIGINT, n BIGINT", "s (k BIGINT, n BIGINT, PRIMARY KEY (k)") + JOIN,
        {},
        "stream s: `PRIMARY KEY (k)` is new",
    ),
    "other cells": (PLAIN + JOIN, {"penstock.cells": "3"}, "cells: [2] then, [3] now"),
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> tuple[Path, Path]:
    """A folder with data, a checkpoint of two batches and a sink, and a copy of it. The paths are in Spark's logs."""
    folder, copy = tmp_path_factory.mktemp("done"), tmp_path_factory.mktemp("copy")
    bench = Bench(folder)
    for part in range(2):
        bench.write("s", rows(part * 10, 6), KN)
        bench.write("t", rows(part * 10 + 100, 6), KN)
    ran = bench.run(PLAIN + JOIN, conf={"penstock.cells": "2"})
    assert ran.code == 0, ran.err
    spark.conf.unset("penstock.cells")
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    return folder, copy


@pytest.fixture
def again(done: tuple[Path, Path], spark: SparkSession) -> Iterator[Bench]:
    """That folder, as it was."""
    folder, copy = done
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    yield Bench(folder, files=4)
    spark.conf.unset("penstock.cells")
    spark.conf.set("spark.sql.shuffle.partitions", "2")


@pytest.mark.parametrize("other", OTHERS)
def test_a_checkpoint_of_something_else_is_refused_and_not_touched(again: Bench, other: str) -> None:
    script, conf, says = OTHERS[other]
    before = fingerprint(again.folder / "checkpoint"), fingerprint(again.folder / "out")
    ran = again.run(script, conf={"penstock.cells": "2", **conf})
    assert is_clean(ran, 2), ran.err
    assert "was made by another query or with other settings" in ran.err
    assert says in ran.err
    assert (fingerprint(again.folder / "checkpoint"), fingerprint(again.folder / "out")) == before


@pytest.mark.parametrize("conf", [{"penstock.cells": "2"}, {"spark.sql.shuffle.partitions": "7"}], ids=str)
def test_the_same_query_goes_on_with_the_cells_it_began_with(again: Bench, conf: dict[str, str]) -> None:
    """Whatever the machine or the settings would have it begin with."""
    more = rows(50, 5)
    again.write("s", more, KN)
    ran = again.run(PLAIN + JOIN, conf=conf)
    assert ran.code == 0, ran.err
    known = json.loads((again.folder / "checkpoint" / "out" / "plan.json").read_text())
    assert known["cells"] == [2]
    s = [*rows(0, 6), *rows(10, 6), *more]
    assert again.sink() == expected(s, [*rows(100, 6), *rows(110, 6)])


def cut(path: Path) -> int:
    return path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garble(path: Path) -> int:
    return path.write_bytes(bytes(255 - byte for byte in path.read_bytes()))


def newest(folder: Path, pattern: str) -> Path:
    found = [path for path in folder.rglob(pattern) if path.is_file() and not path.name.startswith(".")]
    return max(found, key=lambda path: (path.stat().st_mtime_ns, str(path)))


def without_checksum(path: Path) -> Path:
    """Spark keeps a checksum beside most files; without it the damage must show by itself."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    return path


DAMAGE: dict[str, Callable[[Path], object]] = {
    "plan.json is gone": lambda c: (c / "plan.json").unlink(),
    "plan.json is cut": lambda c: cut(c / "plan.json"),
    "plan.json is garbled": lambda c: garble(c / "plan.json"),
    "plan.json is a list": lambda c: (c / "plan.json").write_text("[]"),
    "an offset is cut": lambda c: cut(without_checksum(newest(c / "spark" / "offsets", "*"))),
    "an offset is garbled": lambda c: garble(newest(c / "spark" / "offsets", "*")),
    "a commit is garbled": lambda c: garble(without_checksum(newest(c / "spark" / "commits", "*"))),
    "the metadata is garbled": lambda c: garble(c / "spark" / "metadata"),
    "state is cut": lambda c: [cut(p) for p in (c / "spark" / "state").rglob("*.changelog")],
    "state is garbled": lambda c: [garble(without_checksum(p)) for p in (c / "spark" / "state").rglob("*.changelog")],
    "state is gone": lambda c: shutil.rmtree(c / "spark" / "state" / "0" / "0"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_told_in_a_sentence(again: Bench, damage: str) -> None:
    """Never a stack trace, never a wrong answer: an error that says where to look."""
    before = again.sink()
    DAMAGE[damage](again.folder / "checkpoint" / "out")
    again.write("s", rows(50, 5), KN)
    ran = again.run(PLAIN + JOIN, conf={"penstock.cells": "2"})
    assert is_clean(ran, 1), ran.err
    assert "error: " in ran.err
    assert "checkpoint" in ran.err
    assert again.sink() == before


def gone(path: Path) -> None:
    """A file and its checksum."""
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def last_of(folder: Path) -> Path:
    return max((p for p in folder.iterdir() if p.name.isdigit()), key=lambda p: int(p.name))


def last_batch_without_its_file(bench: Bench) -> None:
    """The last batch is not committed, so it is done again; a file of it is gone."""
    gone(last_of(bench.folder / "checkpoint/out/spark/commits"))
    gone(max((bench.folder / "data/t").iterdir()))


VANISHED: dict[str, tuple[Callable[[Bench], object], str | None]] = {
    "the last commit": (lambda b: gone(last_of(b.folder / "checkpoint/out/spark/commits")), None),
    "the log of the sink": (lambda b: shutil.rmtree(b.folder / "out/_spark_metadata"), "no longer knows what it holds"),
    "the folder of the sink": (lambda b: shutil.rmtree(b.folder / "out"), "/out is gone, with what batches up to"),
    "a file of a batch that is done again": (last_batch_without_its_file, "must do batch 1 again"),
    "the folder of a stream": (lambda b: shutil.rmtree(b.folder / "data/t"), "/t"),
    "the last offset": (lambda b: gone(last_of(b.folder / "checkpoint/out/spark/offsets")), "checkpoint"),
    "all commits": (lambda b: shutil.rmtree(b.folder / "checkpoint/out/spark/commits"), None),
    "all offsets": (lambda b: shutil.rmtree(b.folder / "checkpoint/out/spark/offsets"), "checkpoint"),
    "the log of what was read": (lambda b: shutil.rmtree(b.folder / "checkpoint/out/spark/sources"), "checkpoint"),
}
"""What goes, and what is said of it; None where the run goes on, and its answer is right."""


@pytest.mark.parametrize("what", list(VANISHED)[: size(5, 9)])
def test_what_vanishes_between_two_runs_makes_no_wrong_answer(again: Bench, what: str) -> None:
    before = again.sink()
    vanish, says = VANISHED[what]
    vanish(again)
    more = rows(50, 5)
    again.write("s", more, KN)
    ran = again.run(PLAIN + JOIN, conf={"penstock.cells": "2"})
    if says is None:
        assert ran.code == 0, ran.err
        s = [*rows(0, 6), *rows(10, 6), *more]
        assert again.sink() == expected(s, [*rows(100, 6), *rows(110, 6)])
    else:
        assert is_clean(ran, 2 if what == "the folder of a stream" else 1), ran.err
        assert says in ran.err
        assert "sink" in what or again.sink() == before


@pytest.mark.thorough
def test_a_session_of_ones_own_is_guarded_too(bench: Bench, spark: SparkSession, tmp_path: Path) -> None:
    """Without `run` nobody looks at plan.json; the state itself says what it is of."""
    bench.write("s", rows(0, 6), KN)
    bench.write("t", rows(0, 6), KN)
    streams = bench.text(PLAIN)

    def run(select: str) -> None:
        answer = penstock.stream(spark, penstock.parse(streams + select), allow_unbounded=True)
        query = (
            answer.writeStream.format("noop")
            .option("checkpointLocation", str(tmp_path / "own"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    run(JOIN)
    bench.write("s", rows(20, 6), KN)
    with pytest.raises(StreamingQueryException, match="made by another query"):
        run(JOIN.replace("s.k = t.k", "s.k = t.n"))


def test_one_run_at_a_time_on_a_checkpoint(tmp_path: Path, spark: SparkSession) -> None:
    from penstock.errors import DataError, UsageError
    from penstock.spark.checkpoint import Checkpoint

    first, second = (Checkpoint(tmp_path, "q") for _ in range(2))
    first.hold(spark)
    with pytest.raises(DataError, match="another run is at work"):
        second.hold(spark)
    first.release()
    second.hold(spark)
    second.release()
    with pytest.raises(UsageError, match="a folder of its name"):
        Checkpoint(tmp_path, "../q")


def test_what_differs_is_shown_where_it_differs() -> None:
    from penstock.spark.essence import differences

    then, now = ({"window": {"text": "a" * 90, "rows": n}} for n in (10, 20))
    (phrase,) = differences({"sources": [then]}, {"sources": [now]})
    assert '"rows": 10} then' in phrase
    assert '"rows": 20} now' in phrase


def test_what_differs_is_said_of_a_plan_that_is_no_plan(tmp_path: Path) -> None:
    from penstock.errors import DataError, UsageError
    from penstock.spark.checkpoint import Checkpoint

    checkpoint = Checkpoint(tmp_path, "q")
    now: dict[str, Any] = {"sources": [{"alias": "s", "kept": ["k"]}], "cells": [2]}
    checkpoint.adopt(now)
    checkpoint.require(now)
    no_plans: list[Any] = [[], {}, {"sources": "?", "cells": [2]}, {"sources": [1], "cells": [2]}]
    for known in no_plans:
        (tmp_path / "q" / "plan.json").write_text(json.dumps(known))
        with pytest.raises((DataError, UsageError)):
            checkpoint.require(now)


@pytest.mark.parametrize("written", [{}, {"format of the state": 1}, {"format of the state": 9_000}])
def test_state_that_another_version_wrote_is_refused_with_a_sentence_that_says_so(
    tmp_path: Path, written: dict[str, int]
) -> None:
    from penstock.errors import UsageError
    from penstock.runtime.state.store import STATE_FORMAT
    from penstock.spark.checkpoint import Checkpoint

    checkpoint = Checkpoint(tmp_path, "q")
    checkpoint.adopt({"cells": [2], **written})
    with pytest.raises(UsageError, match="was written by another version of Penstock") as refused:
        checkpoint.require({"cells": [2], "format of the state": STATE_FORMAT})
    assert f"its state is of format {written.get('format of the state', 1)}" in str(refused.value.detail)


@pytest.mark.parametrize(
    ("columns", "rest", "minds"),
    [
        ("k BIGINT, ts TIMESTAMP, EVENT TIME ts", "USING parquet OPTIONS (path 'x')", False),
        ("k BIGINT, ts TIMESTAMP, d DATE AS (to_date(ts)), EVENT TIME ts", "USING parquet OPTIONS (path 'x')", True),
        ("k BIGINT, ts TIMESTAMP, EVENT TIME ts", "USING parquet OPTIONS (path 'x') WHERE hour(ts) = 3", True),
        ("k BIGINT, ts TIMESTAMP, EVENT TIME ts", "USING json OPTIONS (path 'x')", True),
        ("k BIGINT, ts BIGINT, EVENT TIME ts", "USING json OPTIONS (path 'x')", False),
    ],
)
def test_the_zone_of_the_session_belongs_to_what_spark_makes_of_the_rows(columns: str, rest: str, minds: bool) -> None:
    script = penstock.parse(
        f"CREATE STREAM a ({columns}) {rest}; CREATE STREAM b (k BIGINT) USING parquet OPTIONS (path 'y');"
        "SELECT a.ts FROM a, b WHERE a.k = b.k;"
    )
    (query,) = script.queries
    plan = make_plan(query, check_query(query))
    grid = KeyedGrid.over(plan, 2)
    then, now = (essence_of(script, query, plan, grid, zone) for zone in ("UTC", "Asia/Tokyo"))
    told = ['spark.sql.session.timeZone: "UTC" then, "Asia/Tokyo" now'] if minds else []
    assert differences(then, now) == told
