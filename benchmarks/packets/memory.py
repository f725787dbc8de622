"""A command run to its end while the memory of its whole process tree is sampled.

Memory is resident pages as Linux counts them (/proc), summed over the processes: pages that two of them share count
twice, on every side of a comparison alike. A peak between two samples is missed.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import MachineError

_EVERY_SECONDS = 0.2
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Sample:
    """What the processes of the tree held at one moment."""

    at: float
    """Seconds since the start."""
    bytes_by_program: Mapping[str, int]

    @property
    def total(self) -> int:
        """All processes together."""
        return sum(self.bytes_by_program.values())


@dataclass(frozen=True)
class Watched:
    """A command that has ended well."""

    seconds: float
    samples: tuple[Sample, ...]

    @property
    def peak(self) -> int:
        """The most bytes that the tree held at a sample."""
        return max((sample.total for sample in self.samples), default=0)


def run_watched(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> Watched:
    """Run a command, its output into the log; MachineError with the log's last lines if it fails."""
    began = time.perf_counter()
    samples = []
    with log.open("w", encoding="utf-8") as output:
        child = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
        )
        try:
            while child.poll() is None:
                samples.append(Sample(time.perf_counter() - began, memory_of_tree(child.pid)))
                time.sleep(_EVERY_SECONDS)
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
    seconds = time.perf_counter() - began
    if child.returncode:
        last = " | ".join(log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-5:])
        raise MachineError(
            f"{' '.join(command[:6])} … ended with code {child.returncode}",
            detail=last[-1500:],
            hint="penstock bench NAME --keep DIR leaves its log in DIR",
        )
    return Watched(seconds, tuple(samples))


def memory_of_tree(root: int) -> dict[str, int]:
    """The resident bytes of a process and all its descendants, by the name of their program."""
    parents: dict[int, int] = {}
    programs: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
                program = (entry / "exe").readlink().name
            except OSError:
                continue  # It has ended since the listing, or is none of ours.
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
            programs[int(entry.name)] = "python" if program.startswith("python") else program
    found: dict[str, int] = {}
    for pid, parent in parents.items():
        # A JVM that starts a program is for a moment two processes with one memory.
        if not _descends(pid, root, parents) or programs[pid] == programs.get(parent) == "java":
            continue
        try:
            pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        except OSError:
            continue
        found[programs[pid]] = found.get(programs[pid], 0) + pages * _PAGE
    return found


def _descends(pid: int, root: int, parents: Mapping[int, int]) -> bool:
    while pid != root:
        if pid not in parents or pid <= 1:
            return False
        pid = parents[pid]
    return True
