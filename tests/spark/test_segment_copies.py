"""Copies of segments that workers map: whole or not there, gone with what needs them, never relied upon."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.runtime import Changes
from penstock.spark import segment_copies
from penstock.spark.cell_commit import Committed
from penstock.spark.entry_places import placed
from penstock.spark.segment_copies import SegmentCopies
from penstock.spark.segment_files import SegmentFiles
from penstock.spark.worker_files import WorkerFolder

ROWS = b"the rows of a segment, " * 4000


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cache").mkdir(mode=0o700)
    monkeypatch.setattr(segment_copies, "cache_root", lambda: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def files(tmp_path: Path) -> SegmentFiles:
    return SegmentFiles(WorkerFolder(str(tmp_path / "segments")), kept=2, least=1, copies=SegmentCopies("run"))


def copies(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "run" / "segments").glob("*"))


def test_a_file_is_small_and_its_copy_is_what_was_written(root: Path, files: SegmentFiles, tmp_path: Path) -> None:
    file = files.write("cell-1", 3, ROWS)
    assert (tmp_path / "segments" / file.name).stat().st_size == file.size < len(ROWS) / 3
    found = files.copy(file)
    assert found is not None
    assert bytes(found) == bytes(files.read(file)) == ROWS
    assert copies(root) == [file.name]


def test_who_finds_none_makes_one(root: Path, files: SegmentFiles) -> None:
    """On another host, or after a restart; one that is not whole is not taken."""
    file = files.write("cell-1", 3, ROWS)
    (root / "run" / "segments" / file.name).unlink()
    assert bytes(files.read(file)) == ROWS
    assert copies(root) == [file.name]
    for left in (b"", ROWS[:-1]):
        (root / "run" / "segments" / file.name).write_bytes(left)
        assert files.copy(file) is None
        assert bytes(files.read(file)) == ROWS
        assert files.copy(file) is not None


def test_without_room_for_copies_the_files_are_enough(root: Path, files: SegmentFiles) -> None:
    root.rmdir()
    root.write_bytes(b"no folder")
    file = files.write("cell-1", 3, ROWS)
    assert files.copy(file) is None
    assert bytes(files.read(file)) == ROWS


def test_who_runs_nothing_makes_no_copies(root: Path, files: SegmentFiles) -> None:
    """`penstock state` and `rescale` read what a stopped query has left."""
    reader = replace(files, copies=None)
    assert bytes(reader.read(reader.write("cell-1", 3, ROWS))) == ROWS
    assert not list(root.iterdir())


def test_a_copy_goes_with_the_batch_that_needs_it_no_more_and_the_file_later(
    root: Path, files: SegmentFiles, tmp_path: Path
) -> None:
    file = files.write("cell-1", 3, ROWS)
    mapped = files.copy(file)
    first = placed(Changes({"segment/s/0": ROWS}, ()), 4, None, files, "cell-1")
    assert len(copies(root)) == 2
    before = Committed(4, "t", "id", 0.0, "q", "cell", "", first.files, first.dropped, {}, "run", 1)
    then = placed(Changes({}, ("segment/s/0",)), 5, before, files, "cell-1")
    assert copies(root) == [file.name]
    assert [name for _, name in then.dropped] == [one.name for one in first.files.values()]
    assert (tmp_path / "segments" / then.dropped[0][1]).exists()
    assert mapped is not None
    assert bytes(mapped) == ROWS


def test_what_another_host_has_dropped_is_swept(root: Path, files: SegmentFiles) -> None:
    kept, gone = files.write("cell-1", 3, ROWS), files.write("cell-1", 4, ROWS)
    other = files.write("cell-11", 3, ROWS)
    files.sweep_copies("cell-1", [kept.name])
    assert copies(root) == sorted([kept.name, other.name])
    assert bytes(files.read(gone)) == ROWS
