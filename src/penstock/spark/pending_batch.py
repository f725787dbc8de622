"""The batch that a run left unfinished is done again with the same files: they must still be there.

Spark notes which files a batch has before it begins, and reads them again after a restart. For a file that is gone by
then it gives no rows, and says nothing. So its notes are read before it starts. Only files of a local disk are looked
at. Files that vanish while a run goes on are asked for by `batch_files`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

from penstock.errors import DataError
from penstock.spark.file_order import is_pattern
from penstock.spark.hadoop_path import AnyPath

UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)
"""What comes of notes that are not as Spark writes them."""


def files_of_batch(spark: AnyPath, batch: int) -> Iterator[Path]:
    """The files that a batch has, by Spark's own checkpoint; raises what is UNREADABLE."""
    return _files(spark, batch, batch - 1)


def require_files(query: str, spark: AnyPath) -> None:
    """Raise DataError if the batch that is to be done again, by Spark's own checkpoint, lacks a file."""
    begun, done = _last(spark / "offsets"), _last(spark / "commits")
    if begun <= done:
        return
    try:
        gone = [path for path in _files(spark, begun, done) if not path.exists()]
        twice = list(_read_twice(_notes(spark, begun, done)))
    except UNREADABLE:
        return  # What is wrong with the checkpoint is said by Spark.
    if twice:
        raise DataError(
            f"query {query} must do batch {begun} again, and Spark would give its rows several times",
            detail=f"it has several files, and one has a sign of a pattern in its path: {twice[0]}",
            hint="rename it, and start anew with another --checkpoint and another sink",
        )
    if gone:
        raise DataError(
            f"query {query} must do batch {begun} again, and {gone[0]} is gone",
            detail="a run that ended before the batch was done had begun to read it",
            hint="put it back, or start anew with another --checkpoint and another sink",
        )


def _read_twice(notes: Iterable[tuple[int, str]]) -> Iterator[str]:
    """The files that Spark would give several times (`file_order.each_once`)."""
    files: dict[int, list[str]] = {}
    for source, entry in notes:
        files.setdefault(source, []).append(unquote(entry))
    for paths in files.values():
        yield from (path for path in paths if len(paths) > 1 and is_pattern(path, whatever_exists=True))


def _files(spark: AnyPath, begun: int, done: int) -> Iterator[Path]:
    for _, entry in _notes(spark, begun, done):
        parsed = urlparse(entry)
        if parsed.scheme in ("", "file"):
            yield Path(unquote(parsed.path))


def _notes(spark: AnyPath, begun: int, done: int) -> Iterator[tuple[int, str]]:
    """The source and the URL of each file of the batches after one, up to another."""
    before = _ends(spark, done) if done >= 0 else {}
    for source, end in _ends(spark, begun).items():
        for number in range(before.get(source, -1) + 1, end + 1):
            yield from ((source, entry) for entry in _entries(spark / "sources" / str(source), number))


def _ends(spark: AnyPath, batch: int) -> dict[int, int]:
    """By source of files, the last of its notes that a batch has."""
    _, _, *sources = (spark / "offsets" / str(batch)).read_text(encoding="utf-8").splitlines()
    read = {number: json.loads(text) for number, text in enumerate(sources) if text.startswith("{")}
    return {number: int(offset["logOffset"]) for number, offset in read.items() if "logOffset" in offset}


def _entries(notes: AnyPath, number: int) -> Iterator[str]:
    plain = notes / str(number)
    file = plain if plain.exists() else notes / f"{number}.compact"
    for line in file.read_text(encoding="utf-8").splitlines()[1:]:
        # A compact one has all files ever read.
        if f'"batchId":{number}' in line and (entry := json.loads(line))["batchId"] == number:
            yield str(entry["path"])


def _last(log: AnyPath) -> int:
    return max((int(p.name) for p in log.iterdir() if p.name.isdigit()), default=-1) if log.is_dir() else -1
