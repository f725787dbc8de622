"""Files that Python workers write beside a query: rows that are kept out of it.

On a disk that every host sees they are written there. Any other file system is Hadoop's to know, and a worker has no
JVM: it writes them to its own disk and starts Hadoop's shell to put them in their place, from the jars and with the
settings that Spark has. That takes a second or two, in a batch that keeps rows out, and is the only way that knows all
that Spark knows. Either way a file appears whole or not at all, and a batch that is done again writes the same files.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pyarrow.parquet as pq

from penstock.errors import DataError

_SHELL = "org.apache.hadoop.fs.FsShell"
_PATIENCE = 600


@dataclass(frozen=True)
class WorkerFolder:
    """A folder that workers write to: a path, or a URI with the settings that reach it."""

    root: str
    settings: Mapping[str, str] | None = field(default=None, repr=False)
    """Hadoop's; None on a disk that every host sees."""

    def write(self, files: Mapping[str, Any]) -> None:
        """Write tables as Parquet, by their paths within the folder; what is there of that name is replaced."""
        if self.settings is None:
            for name, table in files.items():
                _write(Path(self.root) / name, table)
            return
        with tempfile.TemporaryDirectory(prefix="penstock-") as aside:
            for name, table in files.items():
                _write(Path(aside) / "files" / name, table)
            self._put(Path(aside), self.settings)

    def read(self, name: str) -> bytes:
        """What a file within the folder holds."""
        if self.settings is None:
            return (Path(self.root) / name).read_bytes()
        with tempfile.TemporaryDirectory(prefix="penstock-") as aside:
            fetched = Path(aside) / "fetched"
            self._shell(Path(aside), self.settings, ["-get", f"{self.root}/{name}", str(fetched)])
            return fetched.read_bytes()

    def _put(self, aside: Path, settings: Mapping[str, str]) -> None:
        folders = sorted(str(folder) for folder in (aside / "files").iterdir())
        self._shell(aside, settings, ["-put", "-f", *folders, self.root])

    def _shell(self, aside: Path, settings: Mapping[str, str], arguments: list[str]) -> None:
        # Hadoop reads what it is set to from its classpath.
        told = aside / "settings" / "core-site.xml"
        told.parent.mkdir()
        properties = "".join(
            f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>"
            for name, value in settings.items()
        )
        told.write_text(f"<configuration>{properties}</configuration>", encoding="utf-8")
        classpath = os.pathsep.join((str(told.parent), *jars()))
        command = [java(), "-XX:TieredStopAtLevel=1", "-cp", classpath, _SHELL]
        done = subprocess.run(
            [*command, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith(("put:", "get:"))]
            raise DataError(
                f"cannot {'write to' if arguments[0] == '-put' else 'read from'} {self.root}",
                detail=" ".join(said) or done.stderr[-400:],
                hint="make room or give the right to write, and run again: it goes on where it was",
            )


def _write(target: Path, rows: Any) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Spark's file source passes over names that begin with a dot.
    temporary = target.with_name(f".{target.name}")
    pq.write_table(rows, temporary)
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
