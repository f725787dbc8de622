"""FAIL on several cells: what all of them found of a batch, in one error.

Spark ends a batch with the first task that fails, and a cell asks no other. So a cell that finds rows which break a
promise leaves them in the run's folder of the host, waits a moment for the cells that run beside it (as long as
its own step took, and half a second), and tells what all have left there. It always fails, whatever it finds.

Not decided: cells that Spark had not started yet, or that run on another host; so it is told how many cells found some.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from penstock.runtime.promise.violations import BrokenRows, PromiseBroken
from penstock.runtime.state.store import from_ipc, to_ipc
from penstock.spark.private_folder import mapped_file, opened, write_file

_FOLDER = "broken"
_PATIENCE, _LONGEST = 0.5, 10.0
_CONSTRAINT, _ALIAS, _COUNT = b"penstock.constraint", b"penstock.alias", b"penstock.count"


def with_other_cells(
    error: PromiseBroken, place: tuple[Path, str], batch: str, cell: int, *, cells: int, took: float
) -> PromiseBroken:
    """The error of one cell, with what others found; `place` is the root of the host's folders and the run's."""
    if cells == 1:
        return error
    with suppress(OSError):
        _leave(error.broken, place, f"{batch}-{cell}")
        time.sleep(min(took + _PATIENCE, _LONGEST))
        found = _left(place, batch)
        error = PromiseBroken([one for mine in found.values() for one in mine])
        if len(found) < cells:
            others = "the others found none, or had not begun"
            error.detail = f"{error.detail} (found in {len(found)} of {cells} cells; {others})"
    return error


def _leave(broken: Sequence[BrokenRows], place: tuple[Path, str], name: str) -> None:
    root, run = place
    with opened(root, run, _FOLDER, create=True) as folder:
        for number, one in enumerate(broken):
            told = {_CONSTRAINT: one.constraint.encode(), _ALIAS: one.alias.encode(), _COUNT: str(one.count).encode()}
            write_file(folder, f"{name}-{number}", bytes(to_ipc(one.rows.replace_schema_metadata(told))))


def _left(place: tuple[Path, str], batch: str) -> dict[str, list[BrokenRows]]:
    """By cell, what is there of a batch."""
    root, run = place
    found: dict[str, list[BrokenRows]] = {}
    with opened(root, run, _FOLDER) as folder:
        for name in sorted(os.listdir(folder)):
            of_batch, _, rest = name.rpartition("-")[0].rpartition("-")
            if of_batch == batch and not name.endswith(".new"):
                rows = from_ipc(mapped_file(folder, name)[0])
                told = rows.schema.metadata
                one = BrokenRows(told[_CONSTRAINT].decode(), told[_ALIAS].decode(), rows, int(told[_COUNT]))
                found.setdefault(rest, []).append(one)
    return found
