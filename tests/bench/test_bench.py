"""`penstock bench`: which experiments there are, what is refused, what is sampled, and the packets run small."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from benchmarks.packets.measures import DEFAULT, Findings, Measure
from benchmarks.packets.memory import memory_of_tree, run_watched
from benchmarks.packets.report import PUBLISHED, as_text, table, write_docs
from benchmarks.packets.sizes import FULL, QUICK

from penstock.errors import MachineError, UsageError
from tests.measure import FULL as IS_FULL

ROOT = Path(__file__).parents[2]
PENSTOCK = (sys.executable, "-m", "penstock")


def _bench(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PENSTOCK, "bench", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_experiment_that_is_not_there_is_refused_with_those_that_are() -> None:
    done = _bench("pakets")
    assert (done.returncode, done.stdout) == (2, "")
    there = sorted(main.parent.name for main in (ROOT / "benchmarks").glob("*/main.py"))
    assert f"there are: {', '.join(there)}" in done.stderr


def test_options_after_the_name_belong_to_the_experiment() -> None:
    assert "--rows-a-batch" in _bench("packets", "--help").stdout
    done = _bench("packets", "--rows", "-3")
    assert (done.returncode, done.stdout) == (2, "")
    assert "not at least 1" in done.stderr
    assert _bench("packets", "--seconds", "10").stderr.startswith("error: the stream is shorter than two batches")


def test_a_package_without_the_repository_says_where_the_experiments_are(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src" / "penstock", tmp_path / "lib" / "site" / "penstock")
    done = _bench("packets", PYTHONPATH=str(tmp_path / "lib" / "site"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "come with the repository" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_memory_of_the_whole_tree_is_sampled(tmp_path: Path) -> None:
    grandchild = "import time; held = bytearray(80 << 20); held[::4096] = b'x' * len(held[::4096]); time.sleep(1.5)"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {grandchild!r}])"
    watched = run_watched([sys.executable, "-c", child], tmp_path / "log", {})
    assert 80 << 20 < watched.peak < 300 << 20
    assert watched.seconds > 1.5
    # Of all samples: the last may have been taken as the command ended, and then shows nothing.
    assert {program for sample in watched.samples for program in sample.bytes_by_program} == {"python"}
    assert memory_of_tree(os.getpid())["python"] > 10 << 20


def test_a_system_that_fails_ends_the_bench_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="ended with code 3") as raised:
        run_watched([sys.executable, "-c", "print('first'); print('no room'); exit(3)"], tmp_path / "log", {})
    assert raised.value.detail == "first | no room"


def test_targets_are_judged_at_the_size_of_the_issue_only() -> None:
    found = Findings(measures=[Measure("speed", "1.0", "at least 6", False), Measure("state", "1", "at most 2", True)])
    full, quick = ("\n".join(as_text(size, found)) for size in (FULL, QUICK))
    assert "FAIL" in full
    assert "pass" in full
    assert "FAIL" not in quick
    assert quick.count("not judged at this size") == 2


def test_published_figures_are_shown_with_their_source() -> None:
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    assert "2 cores" in published["source"]
    shown = "\n".join(as_text(FULL, Findings()))
    assert all(one["system"] in shown and f"{one['rows_a_second']:,}" in shown for one in published["systems"])


def test_tables_are_aligned() -> None:
    assert table([["a", "bb"], ["ccc", "d"]]) == ["  a    bb", "  ccc   d"]


def test_figures_replace_those_of_the_page_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    shutil.copy(ROOT / "docs" / "performance.md", page)
    before = page.read_text(encoding="utf-8")
    write_docs(page, ["one", "two"])
    after = page.read_text(encoding="utf-8")
    assert "```\none\ntwo\n```\n<!-- end of figures -->" in after
    start, end = before.index("<!-- figures"), before.index("<!-- end of figures")
    assert after.startswith(before[:start])
    assert after.endswith(before[end:])
    write_docs(page, ["one", "two"])
    assert page.read_text(encoding="utf-8") == after
    page.write_text("no marks")
    with pytest.raises(UsageError, match="no place"):
        write_docs(page, ["one"])


@pytest.mark.measure
def test_packets_beside_sparks_own_joins(tmp_path: Path) -> None:
    """Small, beside Spark's default store alone, the answers and the state are held; at full size every target is."""
    figures = tmp_path / "figures.json"
    began = time.perf_counter()
    small = ["--quick", "--seconds", "75", "--only", "throughput"]
    done = _bench("packets", *([] if IS_FULL else small), "--json", str(figures))
    print(done.stdout, f"\n{time.perf_counter() - began:.0f} s")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(figures.read_text(encoding="utf-8"))
    assert found["wrong"] == []
    ours, *others = found["runs"]["throughput"]
    assert len(others) == (3 if IS_FULL else 1)
    default = next(run for run in others if run["system"] == DEFAULT)
    assert {run["rows"] for run in others} == {ours["rows"]}
    assert ours["rows"] > 0
    # Of rows that left, up to a thousand of each FOLLOWS are remembered to see it broken: much, at this size.
    assert ours["kept"] * (100 if IS_FULL else 50) <= default["kept"]
    assert all(run["kept"] <= default["kept"] for run in others)
    if not IS_FULL:
        return
    parts = found["breakdown"]["promises"]
    assert set(parts["seconds"]) == {"read", "pack", "shuffle", "whole", "fixed"}
    assert 0 < sum(parts["cells"].values()) < parts["seconds"]["whole"]


@pytest.mark.measure
def test_demo_shows_the_right_answer(tmp_path: Path) -> None:
    """At the size of `make demo` it takes less than a minute; in the suite, whose workers share the cores, a third."""
    seconds = 120 if IS_FULL else 40
    began = time.perf_counter()
    done = subprocess.run(
        ["sh", "scripts/demo.sh", str(Path(sys.executable).parent / "penstock"), str(tmp_path), str(seconds)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    spent = time.perf_counter() - began
    print(done.stdout, f"\n{seconds * 12_000:,} rows, {spent:.0f} s")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{seconds * 12_000:,}" in done.stdout
    assert "the same as a direct join of the files" in done.stdout
    assert "BOUNDED" in done.stdout
    if IS_FULL:
        assert spent < 60
