"""The parent of Spark's Python workers, started by Spark as `python -m penstock.spark.daemon`.

Spark puts pyspark on the workers' path as a zip of sources, before the installed package, so that every worker compiles
what it imports anew: seconds of the first batch. Where the installed pyspark is the one that brought the zip along, it
is imported itself, compiled already.

What every worker of a query runs is imported here, before Spark asks for the first: a worker is a fork of this process,
and has it at once. By itself each would take most of a second for it. Nothing else differs from Spark's own daemon.
"""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path

SHARED = ("operator", "pack", "parquet_files", "unpack")
"""The modules of `penstock.spark` whose classes Spark hands to workers, with all that these import."""


def without_zips(path: list[str]) -> list[str]:
    """The path without the zips that the installed pyspark brought along; unchanged if there is no such pyspark."""
    folders = [entry for entry in path if not entry.endswith(".zip")]
    found = PathFinder.find_spec("pyspark", folders)
    if found is None or found.origin is None:
        return path
    home = Path(found.origin).resolve().parent
    return [entry for entry in path if not (entry.endswith(".zip") and Path(entry).resolve().is_relative_to(home))]


if __name__ == "__main__":
    sys.path[:] = without_zips(sys.path)
    # Else each worker reads the tables of those zips again as it starts.
    sys.path_importer_cache.clear()
    from pyspark.daemon import manager

    with suppress(ImportError):  # A worker that lacks something says so itself, where Spark tells it.
        for name in SHARED:
            import_module(f"penstock.spark.{name}")
    gc.freeze()
    manager()
