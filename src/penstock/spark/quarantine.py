"""Rows that a QUARANTINE keeps out of a query, written beside it.

A cell writes them itself, as a parquet file named after the batch and the cell, before the batch commits: a batch
that is replayed gives the same rows and so writes the same file again, and nothing is written twice. Rows for a sink
(QUARANTINE INTO) go to a folder of their sink and stream, from where they are handed on (`quarantine_sinks.py`); the
others stay in a folder of their constraint. Workers import this: nothing of the language or of checkpoints.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.errors import DataError
from penstock.runtime import Quarantined
from penstock.spark.worker_files import WorkerFolder


def folder_of(constraint: str) -> str:
    """A folder's name for a constraint, a sink or a stream: readable, and different for each."""
    words = re.sub(r"[^A-Za-z0-9]+", "-", constraint).strip("-").lower()[:60]
    return f"{words}-{hashlib.sha256(constraint.encode()).hexdigest()[:8]}"


def waiting_for(sink: str, stream: str) -> str:
    """Where, in the quarantine, the rows of a stream lie that wait for a sink."""
    return f"into/{folder_of(sink)}/{folder_of(stream)}"


def write_quarantined(place: WorkerFolder | None, found: Sequence[Quarantined], name: str) -> None:
    """Write what one step of one cell kept out."""
    if place is None:
        raise DataError(
            f"a row breaks {found[0].constraint}, and there is no place for quarantined rows",
            hint="run with --checkpoint DIR; they are written to DIR/<query>/quarantine",
        )
    files = {}
    for number, kept_out in enumerate(found):
        if kept_out.into is None:
            folder = folder_of(kept_out.constraint)
        else:
            folder = waiting_for(kept_out.into, kept_out.stream)
        files[f"{folder}/{name}-{number}.parquet"] = kept_out.rows
    place.write(files)


def write_malformed(
    place: WorkerFolder | None, into: Mapping[str, str | None], found: Mapping[str, Any], name: str
) -> None:
    """Write the malformed rows that one cell was given of some streams: their files and their text."""
    if place is None:
        raise DataError(
            f"a row of stream {next(iter(found))} does not read as declared, and there is no place for it",
            hint="run with --checkpoint DIR; it is written to DIR/<query>/quarantine",
        )
    files = {}
    for stream, rows in found.items():
        sink = into.get(stream)
        about = malformed_of(stream)
        files[f"{folder_of(about) if sink is None else waiting_for(sink, about)}/{name}.parquet"] = rows
    place.write(files)


def malformed_of(stream: str) -> str:
    """What the folder of a stream's malformed rows is named after."""
    return f"malformed {stream}"
