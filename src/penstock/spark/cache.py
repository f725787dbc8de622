"""The warm cache: a cell's entries on the host's own disk, so that a batch need not read them back from Spark.

Spark hands a cell to whichever worker is idle, so a cache in the worker's memory alone would miss. Entries lie as
files that any worker of the host maps into memory. They are valid only under the random tag that the last commit
wrote to the store: a missing file or another tag means reading from the store, so retries, moved tasks and lost hosts
are always right.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa

from penstock.runtime import Changes

_TAG = "tag"


def cache_root() -> Path:
    """Where the caches of this user lie on this host."""
    return Path(tempfile.gettempdir()) / f"penstock-cache-{os.getuid()}"


class WarmCache:
    """The entries of one cell of one running query."""

    def __init__(self, run: str, owner: str) -> None:
        self.folder = cache_root() / run / owner

    def load(self, tag: str) -> dict[str, Any] | None:
        """The entries as they were committed under that tag, or None."""
        try:
            if (self.folder / _TAG).read_text() != tag:
                return None
            entries = {}
            for file in (self.folder / "entries").iterdir():
                with pa.memory_map(str(file)) as mapped:
                    entries[unquote(file.name)] = mapped.read_buffer()
            return entries
        except (OSError, pa.ArrowException):
            return None

    def store(self, tag: str, changes: Changes) -> None:
        """Take over what a commit changes; a failure only makes the cache cold."""
        entries = self.folder / "entries"
        try:
            # Without a tag the folder is invalid, so a crash in between costs a read from the store and no more.
            (self.folder / _TAG).unlink(missing_ok=True)
            entries.mkdir(parents=True, exist_ok=True, mode=0o700)
            for key in changes.delete:
                (entries / quote(key, safe="")).unlink(missing_ok=True)
            for key, data in changes.put.items():
                _write(entries / quote(key, safe=""), data)
            _write(self.folder / _TAG, tag.encode())
        except OSError:
            (self.folder / _TAG).unlink(missing_ok=True)

    def refill(self, tag: str, entries: Mapping[str, Any]) -> None:
        """Make it hold exactly these entries."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.store(tag, Changes({key: bytes(data) for key, data in entries.items()}, ()))


def _write(path: Path, data: bytes) -> None:
    # A new file under the same name: whoever has mapped the old one keeps reading the old one.
    temporary = path.with_name(path.name + ".new")
    temporary.write_bytes(data)
    temporary.replace(path)


def forget(run: str) -> None:
    """Remove the caches of a query that has stopped."""
    shutil.rmtree(cache_root() / run, ignore_errors=True)
