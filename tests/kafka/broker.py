"""A broker of Apache Kafka in a process of its own (KRaft, a free port), and the jars for it and for Spark.

The jars come from the Maven registry, by the two pom files beside this module. A broker ends by its process id:
`stop` asks, `kill` does not.
"""

from __future__ import annotations

import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.maven import fetched

HERE = Path(__file__).parent
_PATIENCE = 90.0
_CLUSTER = "4L6g3nShT-eMCtK--X86sw"


def jars(name: str) -> list[Path]:
    """The jars that `name`.xml asks for, fetched once."""
    return fetched(HERE / f"{name}.xml")


@dataclass
class Broker:
    """One broker, which is its own controller; its data lies in a folder."""

    folder: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def address(self) -> str:
        """What clients are given as kafka.bootstrap.servers."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, on the port that it had, and wait until it answers."""
        settings = self.folder / "server.properties"
        path = ":".join(map(str, jars("broker")))
        if not self.port:
            self.port, controller = _free_port(), _free_port()
            self.folder.mkdir(parents=True, exist_ok=True)
            settings.write_text(_settings(self.folder, self.port, controller))
            self._run("kafka.tools.StorageTool", path, ["format", "-t", _CLUSTER, "-c", str(settings)])
        with (self.folder / "broker.log").open("ab") as log:
            command = ["java", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-cp", path, "kafka.Kafka", str(settings)]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        until = time.monotonic() + _PATIENCE
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the broker did not start: {(self.folder / 'broker.log').read_text()[-2000:]}")
            time.sleep(0.2)

    def _run(self, tool: str, path: str, arguments: list[str]) -> None:
        command = ["java", "-XX:TieredStopAtLevel=1", "-cp", path, tool, *arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=_PATIENCE)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1.0)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        """End it at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> None:
        """Let it end; not for ever."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found


def _settings(folder: Path, port: int, controller: int) -> str:
    return f"""
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder / "data"}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
"""
