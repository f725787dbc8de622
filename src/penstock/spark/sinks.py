"""Sinks of files, looked at before anything starts.

Spark's file sink keeps a log of the batches it holds, and passes over a batch whose number is in that log. So a folder
that another run has filled would swallow results without a word, and two queries cannot share one. A folder of
anything else would end up with our files among the others. They are looked at wherever Spark finds them: on this host,
or on any file system that it knows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol
from urllib.parse import urlparse

from pyspark.sql import SparkSession

from penstock.errors import DataError, NotSupportedYet, UsageError
from penstock.model.stream import Sink
from penstock.spark.hadoop_path import AnyPath, place_of
from penstock.spark.option_values import option_values
from penstock.spark.worker_files import path_written

FILES = frozenset({"parquet", "orc", "avro", "csv", "json", "text", "xml"})
"""Formats whose sinks are folders."""

LOG = "_spark_metadata"


def _path_of(sink: Sink) -> str | None:
    """What a sink of files says of where it lies; None if it is no such sink."""
    if sink.storage.format.lower() not in FILES:
        return None
    options = {name.lower(): value for name, value in option_values(sink.storage)}
    if not options.get("path"):
        raise UsageError(f"sink {sink.name} has no path", hint=f"USING {sink.storage.format} OPTIONS (path '…')")
    return options["path"]


def folder_of(sink: Sink) -> Path | None:
    """The folder of this host that a sink writes to, as far as its path says; None if it is no such sink."""
    path = _path_of(sink)
    return None if path is None or urlparse(path).scheme not in ("", "file") else Path(path_written(path))


def _place_of(spark: SparkSession, sink: Sink) -> AnyPath | None:
    """The folder that a sink writes to, on whatever file system Spark finds it; None if it is no sink of files."""
    path = _path_of(sink)
    if path is None:
        return None
    try:
        return place_of(spark, path)
    except OSError as error:
        raise UsageError(
            f"sink {sink.name}: Spark does not reach the file system of {path}",
            detail=str(error),
            hint="give Spark its connector and settings: docs/operations.md says which",
        ) from None


_ALWAYS_WRITTEN = frozenset({"kafka", "noop", "console", "memory"})
"""Formats whose sinks write a batch anew that is done again."""


def may_have(spark: SparkSession, sink: Sink, batch: int) -> bool:
    """Whether Spark may take a batch for written already, and so not do it again."""
    folder = _place_of(spark, sink)
    if folder is not None:
        return _last(folder / LOG) >= batch
    return sink.storage.format.lower() not in _ALWAYS_WRITTEN


def require_own_folders(queries: Iterable[tuple[str, Sink]]) -> None:
    """Raise if two queries would write to one folder."""
    owners: dict[str, str] = {}
    for query, sink in queries:
        if (path := _path_of(sink)) is None:
            continue
        folder = folder_of(sink) or path.rstrip("/")
        other = owners.setdefault(str(folder.resolve() if isinstance(folder, Path) else folder), query)
        if other != query:
            raise NotSupportedYet(
                f"queries {other} and {query} both write to {folder}, which Spark's file sink cannot do",
                hint="give each query a sink of its own",
            )


class WriterCheckpoint(Protocol):
    """The checkpoint of whoever writes a sink."""

    @property
    def folder(self) -> AnyPath:
        """Where it lies."""

    @property
    def spark(self) -> AnyPath:
        """Where Spark keeps its offsets."""

    @property
    def is_new(self) -> bool:
        """Whether nothing has started on it yet."""


def require_fit(spark: SparkSession, sink: Sink, checkpoint: WriterCheckpoint | None) -> None:
    """Raise DataError if the sink's folder is not empty and not this checkpoint's."""
    folder = _place_of(spark, sink)
    if folder is None:
        return
    if checkpoint is not None and _overlap(folder, checkpoint.folder):
        raise UsageError(
            f"sink {sink.name}: its folder {folder} and the checkpoint {checkpoint.folder} lie one in the other",
            hint="keep results and checkpoints apart",
        )
    if isinstance(folder, Path):
        _require_writable(sink, folder)
    if not folder.exists():
        if checkpoint is not None and (done := _last(checkpoint.spark / "commits")) >= 0:
            raise DataError(
                f"sink {sink.name}: {folder} is gone, with what batches up to {done} wrote",
                hint="put it back; to begin anew, use another --checkpoint",
            )
        return
    if not folder.is_dir():
        raise DataError(f"sink {sink.name}: {folder} is no folder", hint="use another path")
    log = folder / LOG
    if checkpoint is None or checkpoint.is_new:
        if log.exists():
            raise DataError(
                f"sink {sink.name}: {folder} holds the results of another run",
                detail="Spark would take new batches for those that it has already, and drop them",
                hint="go on with that run's --checkpoint, or use another folder",
            )
        if found := sorted(p.name for p in folder.iterdir() if not p.name.startswith(".")):
            raise DataError(
                f"sink {sink.name}: {folder} holds something else: {', '.join(found[:3])}",
                hint="use an empty folder",
            )
        return
    written, begun = _last(log), _last(checkpoint.spark / "offsets")
    if written > begun:
        raise DataError(
            f"sink {sink.name}: {folder} is ahead of the checkpoint {checkpoint.folder}",
            detail=f"it holds batches up to {written}, and the checkpoint has begun {begun + 1} of them",
            hint="use the checkpoint that it was written with, or another folder",
        )
    done = _last(checkpoint.spark / "commits")
    if written < done and any(not p.name.startswith((".", "_")) for p in folder.iterdir()):
        raise DataError(
            f"sink {sink.name}: {folder} no longer knows what it holds",
            detail=f"its log {log} has batches up to {written}, and {checkpoint.folder} has done {done}",
            hint="put the log back; readers that go by it would miss what was written before",
        )


def _require_writable(sink: Sink, folder: Path) -> None:
    """Raise DataError if nothing could be written there."""
    there = next((p for p in (folder, *folder.absolute().parents) if p.exists()), folder)
    if there.is_dir() and not os.access(there, os.W_OK | os.X_OK):
        is_protected = os.statvfs(there).f_flag & os.ST_RDONLY
        why = "Read-only file system" if is_protected else "no right to write"
        raise DataError(
            f"sink {sink.name}: cannot write to {there}: {why}", hint="use another folder, or make it writable"
        )


def _overlap(one: AnyPath, other: AnyPath) -> bool:
    """Whether one is the other or lies in it; on other file systems by their names."""
    if isinstance(one, Path) != isinstance(other, Path):
        return False
    first, second = (f"{p.resolve() if isinstance(p, Path) else p}/" for p in (one, other))
    return first.startswith(second) or second.startswith(first)


def _last(log: AnyPath) -> int:
    """The last batch in a log of Spark's; -1 if there is none."""
    names = [p.name.removesuffix(".compact") for p in log.iterdir()] if log.is_dir() else []
    return max((int(name) for name in names if name.isdigit()), default=-1)
