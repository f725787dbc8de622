"""What a cluster needs that one machine does not: workers that find Penstock, and hosts that are left clean.

Executors are separate processes on hosts of their own. The package reaches them installed, in an environment that comes
with the job (`--archives`), or as a zip (`--py-files`). The warm cache lies on whichever host ran a cell.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.spark.cache import forget, sweep
from penstock.spark.failures import SPARK_ERRORS

_PYTHONPATH = "PYTHONPATH"
_UNTIL_ALL_HAVE_BEGUN = 0.3


def is_one_machine(spark: SparkSession) -> bool:
    """Whether all workers are processes of this machine, and of this run alone."""
    master = str(spark.sparkContext.master)
    return master == "local" or master.startswith("local[")


def let_workers_import(spark: SparkSession) -> None:
    """Have every worker find Penstock where it came with the job as a zip.

    Spark tells executors of such files. The worker that it starts on the driver, to ask an operator for its state, is
    told nothing but the environment.
    """
    zips = [str(parent) for parent in Path(__file__).parents if parent.suffix == ".zip"]
    known = spark.sparkContext.environment.get(_PYTHONPATH, "").split(os.pathsep)
    if missing := [one for one in zips if one not in known]:
        spark.sparkContext.environment[_PYTHONPATH] = os.pathsep.join(filter(None, (*missing, *known)))


def forget_everywhere(spark: SparkSession, run: str) -> None:
    """Remove the caches of a query that has stopped from all hosts that Spark has now.

    A task on each core, all at a time: so there is one on every host. What a host keeps that is away goes as
    `cache.sweep` says, when a later run there ends.
    """
    forget(run)
    context = spark.sparkContext
    if str(context.master).startswith("local") or context._jsc is None:
        return
    cores = max(2, context.defaultParallelism)
    # A cluster that is gone is no reason for a run to fail that is over.
    with suppress(*SPARK_ERRORS):
        context.parallelize(range(cores), cores).mapPartitions(_Forgetting(run)).count()


class _Forgetting:
    """Removes a cache on the host of a task, and what dead runs left there; then it waits for the others to begin."""

    def __init__(self, run: str) -> None:
        self.run = run

    def __call__(self, _: Iterable[int]) -> Iterator[int]:
        forget(self.run)
        sweep()
        time.sleep(_UNTIL_ALL_HAVE_BEGUN)
        return iter(())
