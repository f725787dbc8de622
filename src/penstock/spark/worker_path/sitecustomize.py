"""Run by Python as it starts, where this folder is on its path: the installed pyspark in place of Spark's zip of it.

Spark puts pyspark on the path of the processes that it starts as a zip of sources, before the installed package, so
that each of them compiles what it imports anew. The parent of all workers is one such process; another is started for
every stateful stage of a query, as the query starts, where the zip was half of a second and more that it took. Where
the installed pyspark is the one that brought the zip along, it is imported itself, compiled already.

It takes the place of a `sitecustomize` that the environment has, and so runs that, too.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path


def without_zips(path: list[str]) -> list[str]:
    """The path without the zips that the installed pyspark brought along; unchanged if there is no such pyspark."""
    folders = [entry for entry in path if not entry.endswith(".zip")]
    found = PathFinder.find_spec("pyspark", folders)
    if found is None or found.origin is None:
        return path
    home = Path(found.origin).resolve().parent
    return [entry for entry in path if not (entry.endswith(".zip") and Path(entry).resolve().is_relative_to(home))]


def run_the_other(path: list[str]) -> None:
    """Run what the environment has under this name, if it has something."""
    here = Path(__file__).resolve().parent
    found = PathFinder.find_spec("sitecustomize", [entry for entry in path if Path(entry).resolve() != here])
    if found is not None and found.loader is not None:
        found.loader.exec_module(module_from_spec(found))


if __name__ == "sitecustomize":
    sys.path[:] = without_zips(sys.path)
    # Else each process that is forked of this one reads the tables of those zips again as it starts.
    sys.path_importer_cache.clear()
    run_the_other(sys.path)
