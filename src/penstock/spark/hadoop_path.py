"""Folders and files of any file system that Spark knows, through Hadoop's own FileSystem, on the driver.

A `HadoopPath` does what we need of `pathlib.Path`, so that whoever keeps something beside a query's state (plan, end,
parts, exactness) need not know where that is. `place_of` says which of the two a checkpoint's name means, by the same
rule as Spark's: a name without a scheme lies in the default file system.

**Replacing a file.** Not every file system renames over a file at once. So the new one is written under a name of its
own, the old one removed, and the new one renamed; a reader who finds no file takes the one that waits. That one is
complete: nothing is removed before it is. At every moment one of the two is there.

What the file system says amiss is raised as OSError, as of a local disk. Workers have no JVM: see `worker_files.py`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # py4j ships no types
from pyspark.sql import SparkSession

from penstock.spark.worker_files import WorkerFolder, path_written

_LOCAL = "file"
_WAITING = ".waiting"
_PORTION = 1 << 20


def place_of(spark: SparkSession, name: str) -> AnyPath:
    """The folder that a path or URI names."""
    scheme = urlparse(name).scheme
    is_plain = urlparse(str(_conf(spark).get("fs.defaultFS"))).scheme in ("", _LOCAL)
    if is_plain and scheme == "":
        return Path(name)
    if is_plain and scheme == _LOCAL:
        return Path(path_written(name))
    path = HadoopPath(spark, name)
    path.require_known()
    return path


class HadoopPath:
    """A folder or a file, by its URI."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self._spark = spark
        self._uri = uri.rstrip("/")

    def __str__(self) -> str:
        return self._uri

    def __truediv__(self, name: str) -> HadoopPath:
        return HadoopPath(self._spark, f"{self._uri}/{name}")

    @property
    def name(self) -> str:
        """The last of the names on the way to it."""
        return self._uri.rpartition("/")[2]

    @property
    def parent(self) -> HadoopPath:
        """The folder that it lies in."""
        return HadoopPath(self._spark, self._uri.rpartition("/")[0])

    def with_name(self, name: str) -> HadoopPath:
        """What lies beside it under that name."""
        return self.parent / name

    def with_suffix(self, suffix: str) -> HadoopPath:
        """What lies beside it under a name that ends so."""
        stem = self.name.rpartition(".")[0] or self.name
        return self.with_name(f"{stem}{suffix}")

    def absolute(self) -> HadoopPath:
        """Itself: a URI is absolute."""
        return self

    def require_known(self) -> None:
        """Raise OSError if Spark has no such file system, or it does not answer."""
        with _told():
            self._system().exists(self._path())

    def exists(self) -> bool:
        """Whether it is there."""
        with _told():
            return self._found() is not None

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        with _told():
            system, path = self._system(), self._path()
            return bool(system.exists(path)) and bool(system.getFileStatus(path).isDirectory())

    def iterdir(self) -> Iterator[HadoopPath]:
        """What lies in it."""
        with _told():
            found = [str(one.getPath().getName()) for one in self._system().listStatus(self._path())]
        return (self / name for name in found)

    def mkdir(self, parents: bool = True, exist_ok: bool = True) -> None:  # noqa: ARG002 - as pathlib has it
        """Make the folder, and those on the way to it."""
        with _told():
            self._system().mkdirs(self._path())

    def read_text(self, encoding: str = "utf-8") -> str:
        """What the file holds."""
        return self.read_bytes().decode(encoding)

    def read_bytes(self) -> bytes:
        """What the file holds."""
        with _told():
            found = self._found()
            stream = self._system().open(found if found is not None else self._path())
            read = []
            try:
                while portion := bytes(stream.readNBytes(_PORTION)):
                    read.append(portion)
            finally:
                stream.close()
            return b"".join(read)

    def write_text(self, text: str, encoding: str = "utf-8") -> None:
        """Write the file, whatever was there."""
        with _told():
            stream = self._system().create(self._path(), True)
            stream.write(bytearray(text.encode(encoding)))
            stream.close()

    def write_bytes(self, data: bytes) -> None:
        """Write the file, whatever was there."""
        with _told():
            stream = self._system().create(self._path(), True)
            for start in range(0, len(data), _PORTION):
                stream.write(bytearray(data[start : start + _PORTION]))
            stream.close()

    def remove_all(self) -> None:
        """Remove the folder and all that is in it."""
        with _told():
            self._system().delete(self._path(), True)

    def create(self, text: str) -> bool:
        """Write the file if it is not there; whether it was not."""
        with _told():
            if self._system().exists(self._path()):
                return False
        try:
            with _told():
                stream = self._system().create(self._path(), False)
                stream.write(bytearray(text.encode()))
                stream.close()
        except FileExistsError:
            return False
        return True

    def replace(self, target: HadoopPath) -> None:
        """Let it be the target from now on."""
        waiting = target._waiting()
        with _told():
            system, path = self._system(), target._path()
            system.delete(waiting, False)
            if not system.rename(self._path(), waiting):
                raise OSError(f"{self} cannot be renamed")
            system.delete(path, False)
            if not system.rename(waiting, path):
                raise OSError(f"{target} cannot be replaced")

    def touch(self) -> None:
        """Let it be there."""
        if not self.exists():
            self.write_text("")

    def unlink(self) -> None:
        """Remove the file, if it is there."""
        with _told():
            self._system().delete(self._path(), False)

    def _found(self) -> Any | None:
        """Where its content lies: under its name, or where it waits for that."""
        system = self._system()
        return next((path for path in (self._path(), self._waiting()) if system.exists(path)), None)

    def _waiting(self) -> Any:
        return self.with_name(f"{self.name}{_WAITING}")._path()

    def _path(self) -> Any:
        return _jvm(self._spark).org.apache.hadoop.fs.Path(self._uri)

    def _system(self) -> Any:
        return self._path().getFileSystem(_conf(self._spark))


AnyPath = Path | HadoopPath
"""A folder or a file, of a local disk or not."""


def replace_text(file: AnyPath, text: str) -> None:
    """Let a file hold this text; whoever reads it meanwhile finds what it held before."""
    aside = file.with_suffix(".new")
    aside.write_text(text, encoding="utf-8")
    # One type each: a file never moves from one file system to another.
    aside.replace(file)  # type: ignore[arg-type]


def remove_folder(folder: AnyPath) -> None:
    """Remove a folder and all that is in it, if it is there."""
    if isinstance(folder, HadoopPath):
        folder.remove_all()
    else:
        shutil.rmtree(folder, ignore_errors=True)


def worker_folder(spark: SparkSession, place: AnyPath) -> WorkerFolder:
    """The same folder, for workers, which stand elsewhere and have no JVM."""
    if isinstance(place, HadoopPath):
        return WorkerFolder(str(place), hadoop_settings(spark))
    return WorkerFolder(str(place.absolute()))


def hadoop_settings(spark: SparkSession) -> dict[str, str]:
    """What a process of its own must know to reach the same file systems."""
    wanted = ("fs.", "dfs.", "hadoop.security.", "hadoop.rpc.")
    entries = _conf(spark).getPropsWithPrefix
    return {f"{prefix}{name}": str(value) for prefix in wanted for name, value in dict(entries(prefix)).items()}


def _conf(spark: SparkSession) -> Any:
    return spark.sparkContext._jsc.hadoopConfiguration()


def _jvm(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm


@contextmanager
def _told() -> Iterator[None]:
    """What the JVM says amiss, as a local disk would say it."""
    try:
        yield
    except Py4JJavaError as error:
        cause = error.java_exception
        said = str(cause.getMessage() or cause.getClass().getSimpleName()).splitlines()[0]
        kind = str(cause.getClass().getSimpleName())
        raise (FileExistsError if "AlreadyExists" in kind else OSError)(said) from None
