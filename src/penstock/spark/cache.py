"""The warm cache: a cell's entries on the host's own disk, so that a batch need not read them back from Spark.

Spark hands a cell to whichever worker is idle, so a cache in the worker's memory alone would miss. Entries lie as
files that any worker of the host maps into memory. A manifest names them, as they were left, and the random tag that
the last commit wrote to the store. Another tag, a file that is missing, new or touched, means reading from the store,
so retries, moved tasks and lost hosts are always right. Each run has a folder of its own: nothing outlives it. All of
it lies in a private folder: what somebody else planted there is neither read nor removed.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from penstock.runtime import Changes
from penstock.spark.private_folder import (
    Signature,
    folders_in,
    mapped_file,
    opened,
    remove_file,
    remove_folder,
    write_file,
)

_MANIFEST = "manifest.json"
_ENTRIES = "entries"
_STALE_SECONDS = 7 * 24 * 3600


def cache_root() -> Path:
    """Where the caches of this user lie on this host."""
    return Path(tempfile.gettempdir()) / f"penstock-cache-{os.getuid()}"


def new_run() -> str:
    """A name for the caches of one running query; it says whose they are, for `sweep`."""
    return f"{quote(socket.gethostname(), safe='')}~{os.getpid()}~{uuid.uuid4().hex}"


class WarmCache:
    """The entries of one cell of one running query."""

    def __init__(self, run: str, owner: str) -> None:
        self.root = cache_root()
        self.run = run
        self.owner = owner

    @property
    def folder(self) -> Path:
        """Where they lie."""
        return self.root / self.run / self.owner

    def load(self, tag: str) -> dict[str, Any] | None:
        """The entries as they were committed under that tag, or None."""
        try:
            with opened(self.root, self.run, self.owner) as folder:
                files = _files(folder, tag)
            if files is None:
                return None
            entries = {}
            with opened(self.root, self.run, self.owner, _ENTRIES) as folder:
                for key, signature in files.items():
                    entries[key], found = mapped_file(folder, _name(key))
                    if found != signature:
                        return None
            return entries
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def store(self, base: str | None, tag: str, changes: Changes) -> None:
        """Take over what a commit changes, if the folder is as the commit before left it; else it goes cold."""
        try:
            files: dict[str, Signature] | None = {}
            if base is not None:
                with opened(self.root, self.run, self.owner) as folder:
                    files = _files(folder, base)
            # Without a manifest the folder is invalid, so a crash in between costs a read from the store and no more.
            if not files:
                self.clear()
            if files is None:
                return
            with (
                opened(self.root, self.run, self.owner, create=True) as folder,
                opened(self.root, self.run, self.owner, _ENTRIES, create=True) as entries,
            ):
                remove_file(folder, _MANIFEST)
                for key in changes.delete:
                    files.pop(key, None)
                    remove_file(entries, _name(key))
                for key, data in changes.put.items():
                    files[key] = write_file(entries, _name(key), data)
                write_file(folder, _MANIFEST, json.dumps({"tag": tag, "files": files}).encode())
        except (OSError, ValueError, TypeError, KeyError):
            self.clear()

    def refill(self, tag: str, entries: Mapping[str, Any]) -> None:
        """Make it hold exactly these entries."""
        self.store(None, tag, Changes({key: bytes(data) for key, data in entries.items()}, ()))

    def clear(self) -> None:
        """Hold nothing."""
        with suppress(OSError), opened(self.root, self.run) as folder:
            remove_folder(folder, self.owner)


def _files(folder: int, tag: str) -> dict[str, Signature] | None:
    manifest = json.loads(bytes(mapped_file(folder, _MANIFEST)[0]))
    return dict(manifest["files"]) if manifest["tag"] == tag else None


def _name(key: str) -> str:
    return quote(key, safe="")


def forget(run: str) -> None:
    """Remove the caches of a query that has stopped."""
    with suppress(OSError), opened(cache_root()) as root:
        remove_folder(root, run)


def sweep() -> None:
    """Remove what runs that ended without a word left on this host: their driver is gone, or nobody came for a week."""
    here = quote(socket.gethostname(), safe="")
    with suppress(OSError), opened(cache_root()) as root:
        for name, changed in list(folders_in(root)):
            host, _, rest = name.partition("~")
            driver = rest.partition("~")[0]
            ours = host == here and driver.isdigit()
            if (ours and not _is_alive(int(driver))) or (not ours and time.time() - changed > _STALE_SECONDS):
                remove_folder(root, name)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
