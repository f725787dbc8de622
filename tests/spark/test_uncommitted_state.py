"""A batch whose state a killed run has written, but not committed, is done again by a run with other settings.

Spark leaves the version of a store that it finds, so that later batches would change what another run has written.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.spark.uncommitted_state import remove_uncommitted
from tests.spark.conftest import Bench
from tests.spark.killed_queries import KINDS, STREAMS, Ended, write_files


def _take_back_last(log: Path) -> None:
    last = max((path for path in log.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink()


_SEGMENTS = "penstock.segments"
LATER = pytest.mark.thorough


@pytest.mark.parametrize(
    ("before", "after", "done", "sink_knows"),
    [
        ((_SEGMENTS, "1"), (_SEGMENTS, "65536"), 3, False),
        pytest.param((_SEGMENTS, "1"), (_SEGMENTS, "65536"), 3, True, marks=LATER),
        pytest.param((_SEGMENTS, "65536"), (_SEGMENTS, "1"), 3, False, marks=LATER),
        pytest.param((_SEGMENTS, "1"), (_SEGMENTS, "65536"), 1, False, marks=LATER),
        pytest.param(("penstock.purge", "lazy"), ("penstock.purge", "eager"), 3, True, marks=LATER),
    ],
)
def test_a_run_with_other_settings_goes_on_and_so_does_the_next(
    bench: Bench, before: tuple[str, str], after: tuple[str, str], done: int, sink_knows: bool
) -> None:
    script, check = STREAMS + KINDS["counts"][0], KINDS["counts"][1]
    files = 0
    for more, setting in ((done, before), (4, after), (4, after)):
        write_files(bench, more, files)
        files += more
        ran = bench.run(script, unbounded=False, conf=dict([setting, ("penstock.cells", "2")]))
        assert ran.code == 0, ran.err
        if files == done:
            # As if it had been killed after the tasks of its last batch, before or after its sink knew of it.
            _take_back_last(bench.folder / "checkpoint" / "counts" / "spark" / "commits")
            if not sink_knows:
                _take_back_last(bench.folder / "out" / "counts" / "_spark_metadata")
    check(Ended(bench, ran, files))


def test_only_the_version_that_no_commit_has_is_removed(tmp_path: Path) -> None:
    files = [f"{name}/{batch}" for name in ("offsets", "commits") for batch in range(12)]
    files += [
        f"state/{store}/{partition}/{file}"
        for store in range(2)
        for partition in range(2)
        for file in ("1.zip", "1.changelog", "11.changelog", "12.changelog", ".12.changelog.crc", "12.zip")
    ]
    others = {"state/0/_metadata/metadata", "state/0/0/SSTs/12.sst"}
    for name in (*files, *others):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert remove_uncommitted(tmp_path, lambda _: False) == 0
    (tmp_path / "commits" / "11").unlink()
    assert remove_uncommitted(tmp_path, lambda batch: batch == 11) == 0
    assert remove_uncommitted(tmp_path, lambda batch: batch != 11) == 12
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {file for file in files if "12." not in file and file != "commits/11"} | others


def test_a_checkpoint_without_batches_has_nothing_to_remove(tmp_path: Path) -> None:
    assert remove_uncommitted(tmp_path, lambda _: False) == 0
