"""Files with the same modification time are read in the order of their paths (DESIGN section 2), across batches too.

Within a batch the place of each row restores the order. Which files make a batch is Spark's choice where a trigger
takes so many files or bytes and no more: it sorts by modification time alone, and files with the same time stay as the
disk lists them, which is in no order. A pattern it expands in the order of paths. So a folder of a local disk is then
read as the pattern of all that lies in it; what lies in folders within it is left out, as it is of a plain folder.

It is not done for folders with folders in them (partitions, `recursiveFileLookup`), for patterns (those of files are
in order as they are), nor for the folder of a sink of Spark's, which lists what it holds. There `unheld` says so.
Other file systems list by name.

Each file is to be read once as well: of a batch with several files, Spark gives all of them again for each whose path
could be a pattern, and such a path is an error (`each_once`). Not looked at: DataFrames that somebody else reads.
"""

from __future__ import annotations

import os
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it

from penstock.model.stream import Storage, Stream
from penstock.spark.option_values import option_values
from penstock.spark.sinks import FILES
from penstock.spark.worker_files import path_written

_LIMITS = ("maxfilespertrigger", "maxbytespertrigger")
_PATTERN = frozenset("{}[]*?\\")
"""What makes a pattern of a path."""
_VISIBLE = "{[^._]*,_*=*}"
"""What Spark's file source does not pass over."""
_SINK_LOG = "_spark_metadata"
_ANY_AGE = "36500d"
LISTS_AT_ONCE = {"spark.sql.sources.parallelPartitionDiscovery.threshold": "100000"}
"""For local disks: Spark would start a job to ask for the times of more than 32 files, 4 s for a thousand of them."""


def path_of(storage: Storage) -> str:
    """The path among the options; empty if there is none."""
    return next((value for name, value in option_values(storage) if name.lower() == "path"), "")


def is_pattern(path: str, whatever_exists: bool = False) -> bool:
    """Whether Spark is to take a path for a pattern: not if there is a file of just that name."""
    return bool(_PATTERN & set(path)) and (whatever_exists or not os.path.exists(path.removeprefix("file:")))


def escaped(path: str) -> str:
    """A path that Spark does not take for a pattern."""
    return "".join(f"\\{c}" if c in _PATTERN else c for c in path)


def options_for_spark(storage: Storage) -> dict[str, str]:
    """The options by which Spark reads files.

    A path is escaped where its own characters make a pattern. Files of any age are read: left to itself Spark passes
    over those that are a week older than the newest, without a word, which a clock that jumped or a backfill makes.
    """
    options, path = dict(option_values(storage)), path_of(storage)
    if "maxfileage" not in {name.lower() for name in options}:
        options["maxFileAge"] = _ANY_AGE
    if not _PATTERN & set(path) or is_pattern(path):
        return options
    kept = {name: value for name, value in options.items() if name.lower() != "path"}
    # What a pattern finds it takes for no folder with partitions.
    base = {"basePath": path} if os.path.isdir(path.removeprefix("file:")) else {}
    return {**base, **kept, "path": escaped(path)}


def local_folder(stream: Stream) -> Path | None:
    """The folder of a local disk that a stream is read from; None if it is another source, or a pattern."""
    if stream.storage is None or stream.storage.format.lower() not in FILES:
        return None
    path = path_of(stream.storage)
    if not path or urlparse(path).scheme not in ("", "file") or is_pattern(path):
        return None
    return Path(path_written(path))


def is_local(stream: Stream) -> bool:
    """Whether a stream is read from files of a local disk, as far as its path says."""
    if stream.storage is None or stream.storage.format.lower() not in FILES:
        return False
    return urlparse(_options(stream).get("path", "")).scheme in ("", "file") and not os.environ.get("HADOOP_CONF_DIR")


def pattern_of(stream: Stream) -> str | None:
    """The pattern that has Spark read the files of a stream in order; None where it is not needed or cannot be."""
    folder = local_folder(stream)
    if folder is None or not _is_cut(stream) or not is_local(stream) or not _is_flat(stream, folder):
        return None
    return f"{escaped(_options(stream)['path'].rstrip('/'))}/{_VISIBLE}"


def listed_files(stream: Stream) -> list[str] | None:
    """The files of a flat folder of a local disk, as Spark names them, in the order of reading; None of others."""
    folder = local_folder(stream)
    if folder is None or not is_local(stream) or "pathglobfilter" in _options(stream) or not _is_flat(stream, folder):
        return None
    try:
        with os.scandir(folder) as entries:
            found = [(entry.stat().st_mtime_ns // 1_000_000, entry.path) for entry in entries if _is_read(entry.name)]
    except OSError:
        return None  # A file has gone, or may not be looked at: Spark says so.
    return [f"file:{os.path.abspath(path)}" for _, path in sorted(found)]


def first_by_name(stream: Stream) -> Path | None:
    """The file of a local folder whose name comes first; None of other sources, and where there is none yet."""
    folder = local_folder(stream)
    try:
        names = os.listdir(folder) if folder is not None and is_local(stream) else []
    except OSError:
        return None
    files = (folder / name for name in sorted(filter(_is_read, names)) if folder is not None)
    return next((file for file in files if file.is_file()), None)


def _is_read(name: str) -> bool:
    """Whether Spark's file source does not pass over a file."""
    return not name.startswith(".") and (not name.startswith("_") or "=" in name) and not name.endswith("._COPYING_")


def unheld(stream: Stream) -> str | None:
    """Why files with the same modification time may be read in another order than that of their paths; or None."""
    if not _is_cut(stream) or not is_local(stream) or pattern_of(stream) is not None:
        return None
    path = _options(stream).get("path", "")
    if is_pattern(path) and "/" not in path[min(path.index(c) for c in _PATTERN & set(path)) :]:
        return None  # A pattern of names in one folder, which is expanded in order.
    limit = next(name for name, _ in _given(stream) if name.lower() in _LIMITS)
    return (
        f"files of {stream.name} that have the same modification time are read in the order in which the disk lists "
        f"them where {limit} parts them: {path} is not one folder of files alone"
    )


def those_in_order(spark: SparkSession, stream: Stream, rows: DataFrame) -> DataFrame:
    """What is read by `pattern_of` a stream, without what lies in folders within its own, as of a plain folder.

    But in folders named `column=value` Spark would see parts of it. By the pattern such a file has no value of that
    column, and left out it would count as read for ever: that it came is told, and ends the query.
    """
    within = f"{_as_spark_names(spark, _options(stream)['path'])}/"
    path, name = F.col("_metadata.file_path"), F.col("_metadata.file_name")
    # It is asked of every row, so what is known is compared first; a path is searched where that leaves a doubt.
    is_plain = path.endswith(name) & (F.octet_length(path) - F.octet_length(name) <= len(within.encode()))
    is_deeper = path.startswith(within) & (F.locate("/", path, len(within) + 1) > 0)
    between = F.substring(path, F.lit(len(within) + 1), F.length(path) - F.length(name) - len(within))
    told = F.raise_error(F.concat(F.lit(f"stream {stream.name}: "), path, F.lit(_CAME_LATER))).cast("boolean")
    return rows.where(is_plain | ~is_deeper | F.when(F.contains(between, F.lit("=")), told).otherwise(F.lit(False)))


def each_once(stream: Stream, rows: DataFrame) -> DataFrame:
    """The rows of the files of a stream; an error of a file whose rows Spark would give several times.

    Where it reads the files of a batch, it puts all of them in the place of each whose path could be a pattern. (It
    means to take paths as they are written.) So of several files none may have such a path.
    """
    if _options(stream).get("maxfilespertrigger", "").strip() == "1":
        return rows
    path = F.col("_metadata.file_path")
    signs = [F.contains(path, F.lit(quote(sign, safe="*"))) for sign in sorted(_PATTERN)]
    told = F.raise_error(F.concat(F.lit(f"stream {stream.name}: "), path, F.lit(_READ_TWICE))).cast("boolean")
    # Asked of every row, and few paths have any of these two.
    is_plain = ~F.contains(path, F.lit("%")) & ~F.contains(path, F.lit("*"))
    return rows.where(is_plain | F.when(reduce(or_, signs), told).otherwise(F.lit(True)))


_READ_TWICE = (
    " has one of {}[]*?\\ in its path, and Spark would give the rows of its batch several times"
    "\n  detail: among several files it takes such a path for a pattern"
    "\n  hint: rename it, or read one file a batch (maxFilesPerTrigger '1'), and start anew with another --checkpoint\n"
)
_CAME_LATER = (
    " lies in a folder that is a part of the data, and there was none when the query started"
    "\n  detail: files of a plain folder are read in another way than those of folders named column=value"
    "\n  hint: the same command goes on from there, and reads them\n"
)


def _as_spark_names(spark: SparkSession, path: str) -> str:
    """A folder as it stands in `_metadata.file_path`: there from its root, and written as a URL."""
    jvm: Any = spark.sparkContext._jvm
    made = jvm.org.apache.hadoop.fs.Path
    folder = made(path.rstrip("/") or "/")
    whole = folder.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).makeQualified(folder)
    # From its text anew, as Spark does: else it may have an empty host.
    return str(made(whole.toString()).toUri().toString()).rstrip("/")


def _is_cut(stream: Stream) -> bool:
    """Whether a trigger may take a part of the files that are there."""
    return any(name in _options(stream) for name in _LIMITS)


def _is_flat(stream: Stream, folder: Path) -> bool:
    options = _options(stream)
    if options.get("recursivefilelookup", "").lower() == "true" or options.get("latestfirst", "").lower() == "true":
        return False
    try:
        with os.scandir(folder) as entries:
            return not any(e.is_dir() and (not e.name.startswith((".", "_")) or e.name == _SINK_LOG) for e in entries)
    except OSError:
        return False


def _given(stream: Stream) -> tuple[tuple[str, str], ...]:
    return option_values(stream.storage) if stream.storage is not None else ()


def _options(stream: Stream) -> dict[str, str]:
    return {name.lower(): value for name, value in _given(stream)}
