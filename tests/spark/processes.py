"""The processes of a run, its driver, its JVM and its Python workers, and their memory, from outside."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident(leader: int) -> dict[str, int]:
    """The bytes that the processes of a session hold by themselves, added up by kind: driver, jvm, workers."""
    found = {"driver": 0, "jvm": 0, "workers": 0}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if int((entry / "stat").read_text().rpartition(")")[2].split()[3]) != leader:
                continue
            pages = [int(n) for n in (entry / "statm").read_text().split()]
            name = (entry / "comm").read_text().strip()
        except (OSError, IndexError):
            continue
        kind = "jvm" if name == "java" else "driver" if int(entry.name) == leader else "workers"
        # Without what is mapped from files, such as the segments of the warm cache.
        found[kind] += (pages[1] - pages[2]) * _PAGE
    return found


def members(leader: int, name: str) -> list[int]:
    """The processes of a session whose command line has that in it, the youngest first; not the leader."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int(entry.name) != leader:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == leader and name in (entry / "cmdline").read_text():
                    found.append((int(fields[19]), int(entry.name)))
        except (OSError, IndexError):
            continue
    return [pid for _, pid in sorted(found, reverse=True)]


class Watched:
    """Looks at the memory of a run twice a second, until it ends."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.seen: list[tuple[float, dict[str, int]]] = []
        self._process = process
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while self._process.poll() is None:
            self.seen.append((time.monotonic(), resident(self._process.pid)))
            time.sleep(0.5)

    def most(self, *kinds: str) -> int:
        """The most that processes of these kinds held together at any look."""
        return max((sum(now[kind] for kind in kinds) for _, now in self.seen), default=0)
