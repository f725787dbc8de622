"""Files that Python workers write beside a query: rows that are kept out of it, rows that a budget archives.

On a disk that every host sees they are written there. Any other file system is Hadoop's to know, and a worker has no
JVM: it writes them to its own disk and starts Hadoop's shell to put them in their place, from the jars and with the
settings that Spark has. That takes a second or two, in a batch that keeps rows out, and is the only way that knows all
that Spark knows. Either way a file appears whole or not at all, and a batch that is done again writes the same files.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import DataError

_SHELL = "org.apache.hadoop.fs.FsShell"
_PATIENCE = 600
MAKE_ROOM = "make room or give the right to write, and run again: it goes on where it was"
"""What to do where nothing can be written."""


def path_written(name: str) -> str:
    """The path in a name or a URI of a file, as it is written: to Hadoop `?`, `#` and `%20` are no signs of a URI."""
    rest = name.partition(":")[2] if urlparse(name).scheme else name
    return f"/{rest[2:].partition('/')[2]}" if rest.startswith("//") and rest != name else rest


@dataclass(frozen=True)
class WorkerFolder:
    """A folder that workers write to: a path, or a URI with the settings that reach it."""

    root: str
    settings: Mapping[str, str] | None = field(default=None, repr=False)
    """Hadoop's; None on a disk that every host sees."""

    def write(self, files: Mapping[str, Any]) -> None:
        """Write tables as Parquet, by their paths within the folder; what is there of that name is replaced."""
        self.write_bytes({name: _parquet(table) for name, table in files.items()})

    def write_bytes(self, files: Mapping[str, bytes]) -> None:
        """Write files, by their paths within the folder, each in a folder of its own within it; likewise."""
        if self.settings is None:
            for name, data in files.items():
                _write(Path(self.root) / name, data)
            return
        with tempfile.TemporaryDirectory(prefix="penstock-") as aside:
            for name, data in files.items():
                _write(Path(aside) / name, data)
            folders = sorted(str(folder) for folder in Path(aside).iterdir())
            self._shell(self.settings, ["-put", "-f", *folders, self.root])

    def read(self, name: str) -> bytes:
        """What a file within the folder holds."""
        with self.brought(name) as file:
            return file.read_bytes()

    @contextmanager
    def brought(self, name: str) -> Iterator[Path]:
        """A file or a folder within the folder, on a disk of this host."""
        if self.settings is None:
            yield Path(self.root) / name
            return
        with tempfile.TemporaryDirectory(prefix="penstock-") as aside:
            fetched = Path(aside) / "fetched"
            self._shell(self.settings, ["-get", f"{self.root}/{name}", str(fetched)])
            yield fetched

    def names(self, folder: str) -> list[str]:
        """What lies in a folder within the folder, sorted; nothing if it is not there."""
        if self.settings is None:
            place = Path(self.root) / folder
            return sorted(path.name for path in place.iterdir()) if place.is_dir() else []
        if self._run(self.settings, ["-test", "-d", f"{self.root}/{folder}"]).returncode:
            return []
        listed = self._shell(self.settings, ["-ls", "-C", f"{self.root}/{folder}"])
        return sorted(line.rpartition("/")[2] for line in listed.splitlines() if line)

    def _shell(self, settings: Mapping[str, str], arguments: list[str]) -> str:
        done = self._run(settings, arguments)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith(("put:", "get:", "ls:"))]
            raise DataError(
                f"cannot {'write to' if arguments[0] == '-put' else 'read from'} {self.root}",
                detail=" ".join(said) or done.stderr[-400:],
                hint=MAKE_ROOM,
            )
        return done.stdout

    @staticmethod
    def _run(settings: Mapping[str, str], arguments: list[str]) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory(prefix="penstock-") as aside:
            # Hadoop reads what it is set to from its classpath.
            properties = "".join(
                f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>"
                for name, value in settings.items()
            )
            told = Path(aside) / "core-site.xml"
            told.write_text(f"<configuration>{properties}</configuration>", encoding="utf-8")
            classpath = os.pathsep.join((aside, *jars()))
            command = [java(), "-XX:TieredStopAtLevel=1", "-cp", classpath, _SHELL, *arguments]
            return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE)


def _parquet(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())


def _write(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Spark's file source passes over names that begin with a dot; another attempt may be at work beside this one.
    temporary = target.with_name(f".{target.name}-{os.getpid()}")
    temporary.write_bytes(data)
    temporary.replace(target)


def java() -> str:
    """The program that runs Java here."""
    home = os.environ.get("JAVA_HOME")
    return os.path.join(home, "bin", "java") if home else "java"


def jars() -> list[str]:
    """The jars of this host's Spark, and those that the session brought along."""
    import pyspark  # noqa: PLC0415 - only where something is written so
    from pyspark import SparkFiles  # noqa: PLC0415

    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    return [f"{folder}/*" for folder in (home / "jars", SparkFiles.getRootDirectory())]
