"""A standalone cluster of Spark's: a master and some workers, each a process of this machine.

Each worker has a temporary folder of its own, so that what its executors keep there is seen apart. Everything ends by
its process id.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

_CLASS = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
_PATIENCE = 180.0


@dataclass
class Cluster:
    """The processes of a cluster, whose files lie in a folder."""

    folder: Path
    workers: int = 2
    environment: dict[str, str] = field(default_factory=dict)
    port: int = 0
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    """The master, then the workers."""

    @property
    def url(self) -> str:
        """What `--master` takes."""
        return f"spark://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start all, and wait until the workers are known."""
        self.port, shown = free_port(), free_port()
        here = ["--host", "127.0.0.1"]
        master = ["org.apache.spark.deploy.master.Master", *here, "--port", str(self.port), "--webui-port", str(shown)]
        self._launch("master", master)
        for number in range(self.workers):
            own = self.temporary(number)
            own.mkdir(parents=True)
            kept = ["--work-dir", str(self.folder / f"worker{number}"), "--webui-port", str(free_port())]
            worker = ["org.apache.spark.deploy.worker.Worker", *here, "--cores", "1", "--memory", "1g", *kept, self.url]
            self._launch(f"worker{number}", worker, {"TMPDIR": str(own)})
        until = time.monotonic() + _PATIENCE
        while self._alive(shown) < self.workers:
            if time.monotonic() > until:
                raise RuntimeError(f"the cluster did not start; its logs lie in {self.folder}")
            time.sleep(0.2)

    def temporary(self, worker: int) -> Path:
        """Where the processes of a worker keep what is temporary."""
        return self.folder / f"tmp{worker}"

    def _launch(self, name: str, command: list[str], environment: dict[str, str] | None = None) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        told = {**os.environ, "SPARK_DAEMON_MEMORY": "256m", **self.environment, **(environment or {})}
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes.append(subprocess.Popen([_CLASS, *command], stdout=log, stderr=log, env=told))

    def _alive(self, shown: int) -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{shown}/json/", timeout=2) as answer:
                return int(json.load(answer)["aliveworkers"])
        except (OSError, ValueError):
            return 0

    def executors(self, worker: int) -> list[int]:
        """The processes in which a worker runs tasks."""
        parent = self.processes[1 + worker].pid
        return [pid for pid, above, command in _processes() if above == parent and "ExecutorBackend" in command]

    def kill_executor(self, worker: int) -> None:
        """End the executors of a worker; it starts others."""
        for pid in self.executors(worker):
            os.kill(pid, signal.SIGKILL)

    def kill_worker(self, worker: int) -> None:
        """End a worker and its executors for good."""
        running = self.executors(worker)
        self.processes[1 + worker].kill()
        self.processes[1 + worker].wait()
        for pid in running:
            os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        """End all of it."""
        for worker in range(len(self.processes) - 1):
            if self.processes[1 + worker].poll() is None:
                self.kill_worker(worker)
        for process in self.processes[:1]:
            process.kill()
            process.wait()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found


def _processes() -> Iterator[tuple[int, int, str]]:
    """Every process: its id, its parent's, its command."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                yield int(entry.name), int(fields[1]), (entry / "cmdline").read_text()
            except OSError:
                continue
