"""What a run writes lies apart from what it reads: a query that reads its own answer, or another's state, never ends.

A sink, an archive or a checkpoint is refused if it is the folder of a stream that the script reads, lies in one, or
contains one. Links are resolved first, also those within a folder that is read with all that lies below it
(`recursiveFileLookup`). A pattern is compared part by part: `data/*.json` has nothing to do with `data/out`. Folders of
other file systems are compared by their names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from urllib.parse import urlparse

from penstock.errors import UsageError
from penstock.model.script import Script
from penstock.model.stream import Sink, Storage, Stream
from penstock.plan.plan import Plan
from penstock.spark.archive_files import archive_of
from penstock.spark.file_order import is_pattern, path_of
from penstock.spark.option_values import option_values
from penstock.spark.sinks import FILES
from penstock.spark.worker_files import path_written

Parts = tuple[str, tuple[str, ...]]
"""A folder: its file system, and the names on the way to it; those of a source may be patterns."""


def require_apart(script: Script, plans: Sequence[Plan], sinks: Sequence[Sink], checkpoint: str | None) -> None:
    """Raise UsageError if something is written where something is read."""
    read = dict.fromkeys(name for plan in plans for name in plan.read_streams)
    sources = [(stream, parts) for stream in filter(None, map(script.stream, read)) for parts in _sources(stream)]
    for what, path in _written(plans, sinks, checkpoint):
        target = _parts(path)
        for stream, source in sources:
            if _touch(source, target):
                assert stream.storage is not None
                raise UsageError(
                    f"{what} {path} and the folder that stream {stream.name} is read from lie one in the other",
                    detail=f"{stream.name} is read from {path_of(stream.storage)}",
                    hint="write to a folder of its own",
                )


def _written(plans: Sequence[Plan], sinks: Sequence[Sink], checkpoint: str | None) -> Iterator[tuple[str, str]]:
    for sink in sinks:
        if sink.storage.format.lower() in FILES and (path := path_of(sink.storage)):
            yield f"the sink {sink.name}:", path
    for plan in plans:
        if (archive := archive_of(plan)) is not None:
            yield f"the archive of {plan.query}:", archive
    if checkpoint is not None:
        yield "the checkpoint", checkpoint


def _sources(stream: Stream) -> Iterator[Parts]:
    """The folders that a stream is read from, those behind links within it among them."""
    storage = stream.storage
    if storage is None or storage.format.lower() not in FILES or not (path := path_of(storage)):
        return
    if is_pattern(path):
        yield _pattern(path)
        return
    found = _parts(path)
    yield found
    if found[0] == "file" and _is_recursive(storage):
        for folder, names, _ in os.walk(os.path.join("/", *found[1])):
            yield from (_parts(os.path.join(folder, n)) for n in names if os.path.islink(os.path.join(folder, n)))


def _is_recursive(storage: Storage) -> bool:
    return {name.lower(): value.lower() for name, value in option_values(storage)}.get("recursivefilelookup") == "true"


def _parts(path: str) -> Parts:
    parsed = urlparse(path)
    if parsed.scheme in ("", "file"):
        return "file", _names(os.path.realpath(path_written(path)))
    return f"{parsed.scheme}://{parsed.netloc}", _names(path_written(path))


def _pattern(path: str) -> Parts:
    """A pattern, the links before its first part that is one resolved."""
    names = PurePosixPath(path).parts
    first = next(n for n, name in enumerate(names) if is_pattern(name, whatever_exists=True))
    system, before = _parts(str(PurePosixPath(*names[:first])))
    return system, (*before, *names[first:])


def _names(path: str) -> tuple[str, ...]:
    return tuple(name for name in path.split("/") if name)


def _touch(source: Parts, target: Parts) -> bool:
    """Whether one is the other, lies in it, or contains it."""
    return source[0] == target[0] and all(_may_be(name, own) for own, name in zip(source[1], target[1], strict=False))


def _may_be(name: str, own: str) -> bool:
    # Spark knows {a,b} too; whatever it says, it may be the name.
    return name == own or "{" in own or fnmatchcase(name, own)
