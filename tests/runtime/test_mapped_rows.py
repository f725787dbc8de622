"""Of rows that lie in a mapped file, columns that neither match nor close are read for results alone."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.runtime import Batch, Cell
from tests.runtime.driving import plan_of
from tests.runtime.test_derived_again import NEAR, STREAMS, bag, chunks

ROWS = 5_000
_PAYLOAD = 4_000
"""Bytes of a row that nothing but a result asks for."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pages are counted by /proc/self/smaps")


def _rows(keys: range, second: int) -> Any:
    times = pa.array([second * 1_000_000] * len(keys), pa.timestamp("us", "UTC"))
    payload = pa.array([f"{key:x<{_PAYLOAD}}" for key in keys])
    return pa.table({"k": [f"key {key}" for key in keys], "n": payload, "ts": times})


def _pages_of(path: Path) -> int:
    """Bytes of a mapped file that this process has looked at."""
    maps = Path("/proc/self/smaps").read_text()
    return 1024 * sum(int(kib) for kib in re.findall(rf"{re.escape(str(path))}\n(?:.*\n)*?Rss: +(\d+) kB", maps))


@pytest.mark.parametrize("is_handed_on", [False, True], ids=["by whoever wrote it", "by another worker, and back"])
def test_what_no_result_asks_for_is_not_read(tmp_path: Path, is_handed_on: bool) -> None:
    plan = plan_of(f"{STREAMS.replace('n BIGINT', 'n STRING')}SELECT a.n AS m, b.n FROM a JOIN b ON {NEAR};")
    cell = Cell(plan)
    cell.step(Batch(0, chunks(plan, {"a": _rows(range(ROWS), 1), "b": _rows(range(0), 1)})))
    written = cell.save().put
    (name,) = (name for name in written if name.startswith("segment/"))
    path = tmp_path / "segment.arrow"
    path.write_bytes(written[name])
    with pa.memory_map(str(path)) as mapped:
        entries = {**written, name: mapped.read_buffer()}
    if is_handed_on:
        again = Cell.restore(plan, entries)
        again.derive_as(cell)
        cell = again
    else:
        cell.rest_on(entries)
    nothing = cell.step(Batch(1, chunks(plan, {"a": _rows(range(0), 2), "b": _rows(range(ROWS, ROWS + 100), 2)})))
    assert len(nothing.rows) == 0
    assert _pages_of(path) < ROWS * _PAYLOAD / 4
    found = cell.step(Batch(2, chunks(plan, {"a": _rows(range(0), 3), "b": _rows(range(ROWS), 3)})))
    assert bag(found.rows)[f"{7:x<{_PAYLOAD}}", f"{7:x<{_PAYLOAD}}"] == 1
    assert _pages_of(path) > ROWS * _PAYLOAD
