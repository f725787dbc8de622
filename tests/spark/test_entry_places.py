"""Where entries lie: each in one place, all of them found again, whatever steps change; commits of before are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import DataError
from penstock.runtime import Changes
from penstock.runtime.state.store import COLD
from penstock.spark.cell_commit import Committed
from penstock.spark.entry_places import EntryPlaces, placed, whole_store
from penstock.spark.segment_files import SegmentFile, SegmentFiles
from penstock.spark.worker_files import WorkerFolder

SIZES = st.sampled_from([0, 1, 100, 1 << 13, (1 << 13) + 1, 1 << 15, 1 << 16])
CHANGING = ("mask/a/0", "numbers", "climb", f"{COLD}x")


class _Store:
    """Spark's store, and what a cell holds."""

    def __init__(self, among: SegmentFiles | None) -> None:
        self.among = among
        self.store: dict[str, bytes] = {}
        self.held: dict[str, bytes] = {}
        self.committed: Committed | None = None
        self.placed: EntryPlaces | None = None

    def take(self, number: int, put: dict[str, bytes], delete: list[str], least: int | None) -> None:
        """A step of a run that was told to make files of segments of so many bytes."""
        self.held = {**{name: data for name, data in self.held.items() if name not in delete}, **put}
        self.placed = places = placed(Changes(put, tuple(delete)), number, self.committed, self.among, "cell-1")
        for name in places.in_store.delete:
            self.store.pop(name, None)
        self.store.update(places.in_store.put)
        since = "" if self.committed is None else self.committed.in_store
        tag = f"t{number}" if places.in_store.put or places.in_store.delete else since
        now = Committed(
            number, f"t{number}", "id", 0.5, "q", "cell", tag, places.files, places.dropped, places.small, "run", least
        )
        self.committed = Committed.read(now.written())
        assert self.committed == now


LEASTS = st.sampled_from([None, 1, 1 << 14, 1 << 16])


@given(st.data(), st.booleans())
def test_each_lies_in_one_place_and_is_found(
    tmp_path_factory: pytest.TempPathFactory, data: Any, has_files: bool
) -> None:
    """Whatever each run was told."""
    folder = tmp_path_factory.mktemp("segments")
    cell = _Store(SegmentFiles(WorkerFolder(str(folder)), kept=2) if has_files else None)
    for number in range(data.draw(st.integers(1, 6))):
        fresh = [f"segment/a/{number}-{n}" for n in range(data.draw(st.integers(0, 12)))]
        names = [*fresh, *data.draw(st.lists(st.sampled_from(CHANGING), unique=True))]
        put = {name: bytes([number + 1]) * data.draw(SIZES) for name in names}
        gone = [name for name in cell.held if name not in put]
        deleted = data.draw(st.lists(st.sampled_from(gone), unique=True)) if gone else []
        if has_files:
            # A run that was told something else, and did the batch before.
            other = SegmentFiles(WorkerFolder(str(folder)), kept=2, least=1)
            again = placed(Changes(put, tuple(deleted)), number, cell.committed, other, "cell-1")
        cell.take(number, put, deleted, data.draw(LEASTS))
        if has_files:
            assert cell.placed is not None
            assert (again.in_store, again.small, [*again.files]) == (
                cell.placed.in_store,
                cell.placed.small,
                [*cell.placed.files],
            )
        assert cell.committed is not None
        places = (cell.store, cell.committed.small, cell.committed.files)
        assert sorted(name for place in places for name in place) == sorted(cell.held)
        assert sum(map(len, cell.committed.small.values())) <= 1 << 16
        assert not any(name.startswith(COLD) for name in cell.committed.small)
        whole = whole_store(cell.store, cell.committed, cell.among)
        assert {name: bytes(entry) for name, entry in whole.items()} == cell.held
        assert cell.committed.in_store or not cell.store


def test_little_state_is_one_entry(tmp_path: Path) -> None:
    """Of a cell that keeps a few rows Spark's store is told the commit, and nothing else, batch after batch."""
    cell = _Store(SegmentFiles(WorkerFolder(str(tmp_path)), kept=2))
    for number in range(5):
        cell.take(
            number,
            {f"segment/a/{number}": b"x" * 500, "numbers": b"y" * number},
            [f"segment/a/{number - 1}"][:number],
            1 << 16,
        )
        assert cell.store == {}
    assert cell.committed is not None
    assert (cell.committed.in_store, list(tmp_path.iterdir())) == ("", [])


def test_commits_of_before_are_read() -> None:
    """Without files, and with files but without small entries: all others lie in Spark's store."""
    begun = [3, "tag", "id/4", 0.25, "out", "cell"]
    oldest = Committed(3, "tag", "id/4", 0.25, "out", "cell", "tag", least=None)
    assert Committed.read(json.dumps(begun).encode()) == oldest
    # A batch that 0.1 may have written lies in Spark's store as a whole, whoever does it.
    assert placed(Changes({"mask/a/0": b"1"}, ()), 4, oldest, None, "cell-1").in_store.put == {"mask/a/0": b"1"}
    named = [*begun, {"segment/a/0": ["f.arrow", 5, 7]}, [[2, "g.arrow"]]]
    assert Committed.read(json.dumps(named).encode()) == Committed(
        3, "tag", "id/4", 0.25, "out", "cell", "tag", {"segment/a/0": SegmentFile("f.arrow", 5, 7)}, ((2, "g.arrow"),)
    )


def test_files_that_nobody_knows_the_place_of_are_told() -> None:
    committed = Committed(0, "tag", "id", 0.0, "out", "cell", "", {"segment/x/0": SegmentFile("f.arrow", 1, 0)})
    with pytest.raises(DataError, match="lacks a part of its state"):
        whole_store({}, committed, None)
