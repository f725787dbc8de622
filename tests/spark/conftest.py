"""One Spark for most tests: starting it takes seconds. Those that kill it run the command as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock.cli import app
from penstock.spark.jvm_options import jvm_options
from penstock.spark.session import start_session
from tests.kafka.broker import jars
from tests.maven import lacking
from tests.spark.oracle import Bag, written

MASTER = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    # The JVM's second compiler would take more time than the few rows of a test.
    **jvm_options({}, few_rows=True),
}
_FIRST_FILE = 1_700_000_000


def connector() -> dict[str, str]:
    """What brings Spark's Kafka connector, where it can be fetched and is of this Spark."""
    return (
        {}
        if lacking() is not None or os.environ.get("PENSTOCK_NO_CONNECTOR")
        else {"spark.jars": ",".join(map(str, jars("connector")))}
    )


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session that the tests share, with the settings of `penstock run`."""
    session = start_session("penstock tests", {**MASTER, **connector()})
    yield session
    session.stop()


@dataclass(frozen=True)
class Ran:
    """What came of a run."""

    code: int
    out: str
    err: str
    batches: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Bench:
    """A folder with data, a script, a sink and a checkpoint; and the ways to run it."""

    folder: Path
    files: int = 0
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def write(self, stream: str, rows: Sequence[dict[str, Any]], schema: Any, name: str | None = None) -> Path:
        """Add a parquet file to a stream; each file is a second younger than the one before."""
        path = self.place(stream, name or f"{self.files:04d}.parquet")
        temporary = path.with_name("." + path.name)
        pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), temporary)
        return self.date(temporary, path)

    def write_text(self, stream: str, name: str, text: str) -> Path:
        """Add a text file to a stream."""
        path = self.place(stream, name)
        temporary = path.with_name("." + path.name)
        temporary.write_text(text)
        return self.date(temporary, path)

    def place(self, stream: str, name: str) -> Path:
        """Where a file of a stream goes."""
        path = self.folder / "data" / stream / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def date(self, temporary: Path, path: Path) -> Path:
        """Give a file its time and, at once, its name."""
        os.utime(temporary, (_FIRST_FILE + self.files, _FIRST_FILE + self.files))
        temporary.replace(path)
        self.files += 1
        return path

    def text(self, script: str) -> str:
        """The script, with {data} and {out} for the folders."""
        return script.replace("{data}", str(self.folder / "data")).replace("{out}", str(self.folder / "out"))

    def script(self, script: str, name: str = "script.sql") -> Path:
        """The script as a file."""
        path = self.folder / name
        path.write_text(self.text(script))
        return path

    def run(
        self,
        script: str,
        *,
        conf: dict[str, str] | None = None,
        unbounded: bool = True,
        checkpoint: str | None = "checkpoint",
        strict: bool = False,
        final: bool = False,
        place: str | None = None,
        options: Sequence[str] = (),
    ) -> Ran:
        """`penstock run --available-now` in this process, on the shared session; `place` is the URI of a checkpoint."""
        arguments = self.arguments(script, conf, unbounded, checkpoint if place is None else None)
        arguments += ["--checkpoint", place] if place is not None else []
        arguments += [*(["--strict"] if strict else []), *options]
        arguments += ["--final"] if final else []
        result = CliRunner().invoke(app, arguments)
        return Ran(result.exit_code, result.stdout, result.stderr, self.metrics())

    def arguments(
        self,
        script: str,
        conf: dict[str, str] | None = None,
        unbounded: bool = True,
        checkpoint: str | None = "checkpoint",
        now: bool = True,
    ) -> list[str]:
        """What follows `penstock` on the command line."""
        arguments = ["run", str(self.script(script)), "--metrics", str(self.folder / "metrics.jsonl")]
        arguments += ["--available-now"] if now else []
        arguments += ["--checkpoint", str(self.folder / checkpoint)] if checkpoint is not None else []
        arguments += ["--allow-unbounded"] if unbounded else []
        for key, value in (conf or {}).items():
            arguments += ["--conf", f"{key}={value}"]
        return arguments

    def metrics(self) -> list[dict[str, Any]]:
        """The metrics so far; of a batch that stands there twice the last line counts."""
        path = self.folder / "metrics.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        found = {}
        for line in lines:
            read = json.loads(line)
            found[read["query"], read["batch"]] = read
        return list(found.values())

    def sink(self, name: str = "out") -> Bag:
        """What a sink under {out} holds; the folder itself for `out`."""
        return written(self.folder / "out" if name == "out" else self.folder / "out" / name)

    def start(self, script: str, **options: Any) -> subprocess.Popen[str]:
        """`penstock run` as a process and a process group of its own."""
        environment = {**os.environ, **options.pop("environment", {})}
        conf = {**MASTER, **options.pop("conf", {})}
        process = subprocess.Popen(
            [sys.executable, "-m", "penstock", *self.arguments(script, conf, **options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=environment,
        )
        self.started.append(process)
        return process

    def finish(self, process: subprocess.Popen[str], timeout: float = 300) -> Ran:
        """Wait for a process."""
        out, err = process.communicate(timeout=timeout)
        return Ran(process.returncode, out, err, self.metrics())


@pytest.fixture
def bench(tmp_path: Path, spark: SparkSession) -> Iterator[Bench]:
    """A folder to run scripts in, on the shared session."""
    yield Bench(tmp_path)
    spark.conf.unset("penstock.cells")
    spark.conf.unset("penstock.purge")
    spark.conf.unset("penstock.sample")
    spark.conf.unset("penstock.parquet")
    spark.conf.unset("penstock.json")
    spark.conf.set("spark.sql.shuffle.partitions", "2")


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Bench]:
    """A folder to run scripts in, as processes of their own; none outlives a test that fails."""
    bench = Bench(tmp_path)
    yield bench
    for process in bench.started:
        if process.poll() is None:
            kill_session(process.pid)
            process.communicate()


def kill_session(leader: int) -> None:
    """SIGKILL every process of the session that a run started; Spark's daemon leaves the group but not the session."""
    for _ in range(3):
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    if int(fields[3]) == leader:
                        os.kill(int(entry.name), signal.SIGKILL)
                except (OSError, IndexError):
                    continue
