"""Rows that a QUARANTINE keeps out of a query, written beside it.

A cell writes them itself, as a parquet file named after the batch and the cell, before the batch commits: a batch
that is replayed gives the same rows and so writes the same file again, and nothing is written twice. Rows for a sink
(QUARANTINE INTO) go to a folder of their sink and stream, from where `quarantine_sinks.py` hands them on; the others
stay in a folder of their constraint.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from penstock.errors import DataError
from penstock.runtime import Quarantined


def folder_of(constraint: str) -> str:
    """A folder's name for a constraint, a sink or a stream: readable, and different for each."""
    words = re.sub(r"[^A-Za-z0-9]+", "-", constraint).strip("-").lower()[:60]
    return f"{words}-{hashlib.sha256(constraint.encode()).hexdigest()[:8]}"


def waiting_for(root: str, sink: str, stream: str) -> Path:
    """Where the rows of a stream lie that wait for a sink."""
    return Path(root) / "into" / folder_of(sink) / folder_of(stream)


def write_quarantined(root: str | None, found: Sequence[Quarantined], name: str) -> None:
    """Write what one step of one cell kept out."""
    if root is None:
        raise DataError(
            f"a row breaks {found[0].constraint}, and there is no place for quarantined rows",
            hint="run with --checkpoint DIR; they are written to DIR/<query>/quarantine",
        )
    for number, kept_out in enumerate(found):
        if kept_out.into is None:
            folder = Path(root) / folder_of(kept_out.constraint)
        else:
            folder = waiting_for(root, kept_out.into, kept_out.stream)
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"{name}-{number}.parquet"
        # Spark's file source passes over names that begin with a dot.
        temporary = target.with_name(f".{target.name}")
        pq.write_table(kept_out.rows, temporary)
        temporary.replace(target)
