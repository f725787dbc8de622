"""The warm cache: a cell's entries on the host's own disk, so that a batch need not read them back from Spark.

Spark hands a cell to whichever worker is idle, so a cache in the worker's memory alone would miss. Entries lie as
files that any worker of the host maps into memory. A manifest names them, as they were left, and the random tag that
the last commit wrote to the store. Another tag, a file that is missing, new or touched, means reading from the store,
so retries, moved tasks and lost hosts are always right. Each run has a folder of its own: nothing outlives it.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from penstock.runtime import Changes

_MANIFEST = "manifest.json"
_STALE_SECONDS = 7 * 24 * 3600

Signature = list[int]
"""A file as it was left: inode, size, time of its last change."""


def cache_root() -> Path:
    """Where the caches of this user lie on this host."""
    return Path(tempfile.gettempdir()) / f"penstock-cache-{os.getuid()}"


def new_run() -> str:
    """A name for the caches of one running query; it says whose they are, for `sweep`."""
    return f"{quote(socket.gethostname(), safe='')}~{os.getpid()}~{uuid.uuid4().hex}"


class WarmCache:
    """The entries of one cell of one running query."""

    def __init__(self, run: str, owner: str) -> None:
        self.folder = cache_root() / run / owner

    def load(self, tag: str) -> dict[str, Any] | None:
        """The entries as they were committed under that tag, or None."""
        try:
            files = self._files(tag)
            if files is None:
                return None
            entries = {}
            for key, signature in files.items():
                with pa.memory_map(str(self._place(key))) as mapped:
                    entries[key] = mapped.read_buffer()
                if _signature(self._place(key)) != signature:
                    return None
            return entries
        except (OSError, ValueError, TypeError, KeyError, pa.ArrowException):
            return None

    def store(self, base: str | None, tag: str, changes: Changes) -> None:
        """Take over what a commit changes, if the folder is as the commit before left it; else it goes cold."""
        try:
            files = {} if base is None else self._files(base)
            # Without a manifest the folder is invalid, so a crash in between costs a read from the store and no more.
            if not files:
                self.clear()
            if files is None:
                return
            _private(cache_root())
            (self.folder / "entries").mkdir(parents=True, exist_ok=True)
            (self.folder / _MANIFEST).unlink(missing_ok=True)
            for key in changes.delete:
                files.pop(key, None)
                self._place(key).unlink(missing_ok=True)
            for key, data in changes.put.items():
                files[key] = _write(self._place(key), data)
            _write(self.folder / _MANIFEST, json.dumps({"tag": tag, "files": files}).encode())
        except (OSError, ValueError, TypeError, KeyError):
            self.clear()

    def refill(self, tag: str, entries: Mapping[str, Any]) -> None:
        """Make it hold exactly these entries."""
        self.store(None, tag, Changes({key: bytes(data) for key, data in entries.items()}, ()))

    def clear(self) -> None:
        """Hold nothing."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _files(self, tag: str) -> dict[str, Signature] | None:
        path = self.folder / _MANIFEST
        if not path.exists():
            return None
        manifest = json.loads(path.read_bytes())
        return dict(manifest["files"]) if manifest["tag"] == tag else None

    def _place(self, key: str) -> Path:
        return self.folder / "entries" / quote(key, safe="")


def _write(path: Path, data: bytes) -> Signature:
    # A new file under the same name: whoever has mapped the old one keeps reading the old one.
    temporary = path.with_name(path.name + ".new")
    temporary.write_bytes(data)
    temporary.replace(path)
    return _signature(path)


def _signature(path: Path) -> Signature:
    found = path.stat()
    return [found.st_ino, found.st_size, found.st_mtime_ns]


def _private(root: Path) -> None:
    """The root must be ours alone: others may write to the host's temporary folder too."""
    root.mkdir(mode=0o700, exist_ok=True)
    found = root.lstat()
    if found.st_uid != os.getuid() or root.is_symlink():
        raise OSError(f"{root} belongs to someone else")


def forget(run: str) -> None:
    """Remove the caches of a query that has stopped."""
    shutil.rmtree(cache_root() / run, ignore_errors=True)


def sweep() -> None:
    """Remove what runs that ended without a word left on this host: their driver is gone, or nobody came for a week."""
    try:
        left = list(cache_root().iterdir())
    except OSError:
        return
    here = quote(socket.gethostname(), safe="")
    for folder in left:
        host, _, rest = folder.name.partition("~")
        driver = rest.partition("~")[0]
        ours = host == here and driver.isdigit()
        if (ours and not _is_alive(int(driver))) or (not ours and _age(folder) > _STALE_SECONDS):
            shutil.rmtree(folder, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _age(folder: Path) -> float:
    try:
        return time.time() - folder.stat().st_mtime
    except OSError:
        return 0.0
