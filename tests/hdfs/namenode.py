"""A cluster of HDFS, name node and data node in a process of its own, from Hadoop's own mini cluster."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from tests.cluster.standalone import free_port
from tests.maven import fetched

_MAIN = "org.apache.hadoop.mapreduce.MiniHadoopClusterManager"
_PATIENCE = 180.0


@dataclass
class Hdfs:
    """One name node and one data node; their files lie in a folder."""

    folder: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def uri(self) -> str:
        """The root of the file system."""
        return f"hdfs://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.port = free_port()
        self.folder.mkdir(parents=True)
        told = self.folder / "told.json"
        path = ":".join([*map(str, fetched(Path(__file__).parent / "minicluster.xml")), f"{_spark_jars()}/*"])
        data = f"-Dtest.build.data={self.folder / 'data'}"
        options = ["-nomr", "-format", "-nnport", str(self.port), "-datanodes", "1", "-writeDetails", str(told)]
        command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", data, "-cp", path, _MAIN, *options]
        with (self.folder / "hdfs.log").open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        until = time.monotonic() + _PATIENCE
        while not (told.exists() and told.stat().st_size):
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"HDFS did not start: {(self.folder / 'hdfs.log').read_text()[-2000:]}")
            time.sleep(0.2)

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def _spark_jars() -> Path:
    return Path(pyspark.__file__).parent / "jars"
