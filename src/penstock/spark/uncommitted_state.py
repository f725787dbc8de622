"""What a run that was killed wrote of a batch that it did not commit is removed before the next run does it again.

Batch b writes version b + 1 of every store of Spark's, then its sink's log, and then its commit. A version that is
there is not replaced (seen with the file manager that `run` uses, `session.SETTINGS`): a run that does the batch again
goes on with what it has worked out itself, while what the run before wrote is what a third one will read, with the
changes of the second on top. The two are the same as long as nothing else was changed in between: not a setting that
says when rows are purged, nor Penstock. So the version goes away, unless the sink may take the batch for done, in which
case Spark does not do it again and needs the version that is there.

Precondition: no other run is at work on the checkpoint (`run_lock.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from penstock.spark.hadoop_path import AnyPath


def remove_uncommitted(spark_folder: AnyPath, may_be_done: Callable[[int], bool]) -> int:
    """Remove what stores in Spark's part of a checkpoint have of a batch without a commit; gives how many files."""
    batch = max((int(one.name) for one in _numbered(spark_folder / "offsets")), default=None)
    if batch is None or (spark_folder / "commits" / str(batch)).exists() or may_be_done(batch):
        return 0
    removed = 0
    for store in _numbered(spark_folder / "state"):
        for partition in _numbered(store):
            files: Iterable[AnyPath] = list(partition.iterdir())
            for file in files:
                # With the checksum that lies beside it on a local disk.
                if file.name.lstrip(".").partition(".")[0] == str(batch + 1):
                    file.unlink()
                    removed += 1
    return removed


def _numbered(folder: AnyPath) -> Iterator[AnyPath]:
    """What has a number for a name in it; nothing if it is not there."""
    if folder.is_dir():
        yield from (one for one in folder.iterdir() if one.name.isdigit())
