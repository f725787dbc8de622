"""Segments as a host's workers map them: uncompressed, beside the warm cache, for as long as a query runs.

A segment's file in the checkpoint (`segment_files.py`) is compressed, so that as little as can be is written where it
lasts. Rows are picked out of it for results, some of some columns, so whoever holds a cell maps a copy that is not: of
that only the pages are read that are asked for, and what all workers of a host map is in memory once. A copy is made by
who writes the file, or by who first reads it on this host. It has the name of its file, which no other file ever has,
and appears whole or not at all; one of another size is not taken. Where there is no room for it, there is none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from penstock.spark.cache import cache_root
from penstock.spark.private_folder import mapped_file, opened, remove_file, write_file

_FOLDER = "segments"


@dataclass(frozen=True)
class SegmentCopies:
    """The copies of one running query on this host; `cache.forget` removes them with all that is the run's."""

    run: str

    def mapped(self, name: str, size: int) -> Any | None:
        """A copy of so many bytes, or None."""
        try:
            with opened(cache_root(), self.run, _FOLDER) as folder:
                data, _ = mapped_file(folder, name)
        except OSError:
            return None
        return data if data.size == size else None

    def add(self, name: str, data: Any) -> None:
        """Make a copy."""
        with suppress(OSError), opened(cache_root(), self.run, _FOLDER, create=True) as folder:
            try:
                write_file(folder, name, data)
            except OSError:
                remove_file(folder, f"{name}.new")

    def remove(self, names: Iterable[str]) -> None:
        """Remove copies, where there are some."""
        with suppress(OSError), opened(cache_root(), self.run, _FOLDER) as folder:
            for name in names:
                remove_file(folder, name)

    def sweep(self, beginning: str, named: Iterable[str]) -> None:
        """Of the copies whose names begin so, remove those that are not named: another host has dropped them."""
        known = set(named)
        with suppress(OSError), opened(cache_root(), self.run, _FOLDER) as folder:
            for name in os.listdir(folder):
                if name.startswith(beginning) and name not in known:
                    remove_file(folder, name)
